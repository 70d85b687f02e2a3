%% Files, dets, qlc.
-module(fyris_files_test).

-compile(export_all).
-include("fyris_same.hrl").
-include_lib("stdlib/include/qlc.hrl").

file() ->
    filename:join("/tmp", "fyris_test_" ++ os:getpid() ++ "_" ++
                      integer_to_list(erlang:unique_integer([positive]))).

with_file(Fun) ->
    File = file(),
    try Fun(File) after file:delete(File) end.

objects() -> [{I, fyris_terms_test:terms()} || I <- [1, 2]] ++ [{I, I} || I <- lists:seq(3, 2500)].

files_go_both_ways_test() ->
    Objects = lists:sort(objects()),
    [with_file(fun(File) ->
         T = From:new(t, [Type, {keypos, 1}]),
         From:insert(T, Objects),
         ok = From:tab2file(T, File, [{extended_info, Extended}]),
         From:delete(T),
         {ok, T2} = To:file2tab(File, [{verify, true}]),
         ?assertEqual(Objects, lists:sort(To:tab2list(T2))),
         ?assertEqual(Type, To:info(T2, type)),
         To:delete(T2)
     end) || {From, To} <- [{fyris, ets}, {ets, fyris}, {fyris, fyris}], Type <- ?ALL,
             Extended <- [[], [object_count], [md5sum], [object_count, md5sum]]].

%% Of all that a table may be made with, what ets keeps is kept.
options_are_kept_test_() ->
    Options = [[{read_concurrency, true}, {write_concurrency, true}], [{read_concurrency, true}], [{write_concurrency, true}],
               [{write_concurrency, auto}], [{write_concurrency, true}, {decentralized_counters, true}],
               [{write_concurrency, auto}, {decentralized_counters, false}], [compressed, {write_concurrency, false}]],
    [{lists:flatten(io_lib:format("~p ~p", [Type, Some])),
      fun() -> with_file(fun(File) ->
                   ?same(begin
                             T = M:new(t, [Type, protected | Some]),
                             ok = M:tab2file(T, File),
                             {ok, T2} = M:file2tab(File),
                             [M:info(T2, Item) || Item <- [read_concurrency, write_concurrency, decentralized_counters,
                                                           compressed, protection, type]]
                         end),
                   %% And what one of them wrote, the other reads so.
                   [?assertEqual(info_of(From, ets, File, Type, Some), info_of(From, fyris, File, Type, Some))
                    || From <- [ets, fyris]]
               end) end}
     || Type <- ?ALL, Some <- Options].

info_of(From, To, File, Type, Options) ->
    T = From:new(t, [Type | Options]),
    ok = From:tab2file(T, File),
    From:delete(T),
    {ok, T2} = To:file2tab(File),
    Info = [To:info(T2, Item) || Item <- [read_concurrency, write_concurrency, decentralized_counters, compressed]],
    To:delete(T2),
    Info.

errors_test() ->
    ?same(M:tab2file(M:new(t, []), "/nowhere/at/all")),
    ?same(M:file2tab("/nowhere/at/all")),
    ?same(M:tabfile_info("/nowhere")),
    ?same(M:file2tab(code:which(lists))),
    with_file(fun(File) ->
        ?same(M:tab2file(nope, File)),
        ?same(element(1, M:tab2file(M:new(t, []), File, [foo]))),
        ?same(element(1, M:file2tab(File, [foo]))),
        ?same(begin
                  M:new(named, [named_table]), M:tab2file(named, File),
                  M:file2tab(File)
              end)
    end).

tabfile_info_test() ->
    with_file(fun(File) ->
        T = fyris:new(t, [bag]),
        fyris:insert(T, {1}),
        ok = fyris:tab2file(T, File, [{extended_info, [md5sum]}, {sync, true}]),
        {ok, Info} = fyris:tabfile_info(File),
        ?assertEqual([bag, 1, [md5sum], {1, 0}],
                     [proplists:get_value(I, Info) || I <- [type, size, extended_info, version]]),
        fyris:delete(T)
    end).

%% The dumps that crates/store keeps, damaged ones too: the answers are those of ets.
kept_dumps_test_() ->
    Dir = filename:join([filename:dirname(code:which(?MODULE)), "..", "..", "..",
                         "crates", "store", "tests", "data"]),
    {timeout, 60, fun() ->
        [?same(begin
                   case M:file2tab(File, [{verify, Verify}]) of
                       {ok, T} -> {lists:sort(M:tab2list(T)), M:info(T, type), M:info(T, keypos)};
                       Error -> Error
                   end
               end) || File <- filelib:wildcard(filename:join(Dir, "*.ets")), Verify <- [true, false]],
        [?same(M:tabfile_info(File)) || File <- filelib:wildcard(filename:join(Dir, "*.ets"))]
    end}.

%% A dump whose items are these, each of them compressed, as no `tab2file' writes it.
write_compressed(File, Items) ->
    Log = make_ref(),
    {ok, Log} = disk_log:open([{name, Log}, {file, File}]),
    ok = disk_log:blog_terms(Log, [compressed(Item) || Item <- Items]),
    ok = disk_log:close(Log).

%% `term_to_binary/2' leaves a short term as it is.
compressed(Item) ->
    <<131, Plain/binary>> = term_to_binary(Item),
    <<131, 80, (byte_size(Plain)):32, (zlib:compress(Plain))/binary>>.

description(Size, Extended) ->
    {{name, squeezed}, {type, set}, {protection, public}, {named_table, false}, {keypos, 1}, {size, Size},
     {extended_info, Extended}, {major_version, 1}, {minor_version, 0}}.

%% 100,000 elements: 200 KB inflated and 3.2 MB as terms, in 300 bytes.
long(Key) -> {Key, lists:duplicate(100000, [])}.

compressed_terms_are_read_test() ->
    Objects = [{I, fyris_terms_test:terms(), lists:duplicate(1000, I)} || I <- lists:seq(1, 20)],
    [with_file(fun(File) ->
         write_compressed(File, [description(20, Extended) | Objects]
                              ++ [['$end_of_table', [{count, 20}]] || Extended =/= []]),
         [begin
              {ok, T} = M:file2tab(File, [{verify, Verify}]),
              ?assertEqual(Objects, lists:sort(M:tab2list(T))),
              M:delete(T)
          end || M <- [ets, fyris], Verify <- [false, true]],
         ?same(M:tabfile_info(File))
     end) || Extended <- [[], [object_count]]].

%% One bound for all of them, whatever they inflate to, that names itself; and it is the caller's.
compressed_terms_are_bounded_test() ->
    with_file(fun(File) ->
        Many = 30,
        write_compressed(File, [description(Many, []) | [long(I) || I <- lists:seq(1, Many)]]),
        Allowance = 32 * filelib:file_size(File),
        Tables = lists:sort(fyris:all()),
        [?assertEqual({error, {compressed_terms_too_large, [{max_inflated, Most}, {bound, Most + Allowance}]}},
                      fyris:file2tab(File, [{verify, Verify} | Option]))
         || Verify <- [false, true],
            {Most, Option} <- [{64 bsl 20, []}, {0, [{max_inflated, 0}]}, {1 bsl 20, [{max_inflated, 1 bsl 20}]}]],
        ?assertEqual(Tables, lists:sort(fyris:all())),
        {ok, T} = fyris:file2tab(File, [{max_inflated, 128 bsl 20}, {verify, true}]),
        ?assertEqual(Many, fyris:info(T, size)),
        fyris:delete(T),
        {ok, T2} = fyris:file2tab(File, [{max_inflated, 1 bsl 80}]),
        ?assertEqual([long(7)], fyris:lookup(T2, 7)),
        fyris:delete(T2),
        ?assertEqual({error, {unknown_option, {max_inflated, -1}}}, fyris:file2tab(File, [{max_inflated, -1}]))
    end).

%% The description and the end mark too.
compressed_ends_are_bounded_test() ->
    Long = [{comment, lists:duplicate(3000000, [])}],
    with_file(fun(File) ->
        write_compressed(File, [list_to_tuple(tuple_to_list(description(0, [])) ++ Long)]),
        [?assertMatch({error, {compressed_terms_too_large, _}}, fyris:F(File)) || F <- [file2tab, tabfile_info]]
    end),
    with_file(fun(File) ->
        write_compressed(File, [description(0, [object_count]), ['$end_of_table', [{count, 0} | Long]]]),
        ?assertMatch({error, {compressed_terms_too_large, _}}, fyris:file2tab(File))
    end).

%% What is no term is what it is uncompressed.
damaged_compressed_terms_test() ->
    Deep = lists:foldl(fun(_, Sofar) -> [Sofar] end, [], lists:seq(1, 2000)),
    with_file(fun(File) ->
        write_compressed(File, [description(2, []), {1}, {2}]),
        {ok, Whole} = file:read_file(File),
        %% The last byte is of the checksum of the compressed bytes.
        Cut = byte_size(Whole) - 1,
        <<Front:Cut/binary, Last>> = Whole,
        ok = file:write_file(File, [Front, Last bxor 1]),
        ?same(case M:file2tab(File, [{verify, true}]) of {error, _} = Error -> Error end),
        {ok, T} = fyris:file2tab(File),
        ?assertEqual([{1}], fyris:tab2list(T)),
        fyris:delete(T),
        write_compressed(File, [description(1, []), {1, Deep}]),
        ?assertError(system_limit, fyris:file2tab(File))
    end).

dets_test() ->
    with_file(fun(File) ->
        {ok, D} = dets:open_file(File, [{file, File}]),
        T = fyris:new(t, []),
        fyris:insert(T, [{I, x} || I <- lists:seq(1, 1000)]),
        ?assertEqual(D, fyris:to_dets(T, D)),
        ?assertEqual(1000, dets:info(D, size)),
        fyris:insert(T, {old}),
        ?assertEqual(true, fyris:from_dets(T, D)),
        ?assertEqual(1000, fyris:info(T, size)),
        ok = dets:close(D),
        ?assertError(badarg, fyris:from_dets(T, D)),
        fyris:delete(T)
    end).

qlc_test() ->
    [?same_types(?ALL, begin
        M:insert(T, [{I, I rem 5} || I <- lists:seq(1, 300)]),
        H = M:table(T, Options),
        {lists:sort(qlc:e(qlc:q([X || {X, 2} <- H]))),
         qlc:e(qlc:q([Y || {X, Y} <- H, X =:= 17])),
         lists:sort(qlc:e(qlc:q([{X, Z} || {X, 1} <- H, {Z, 2} <- H, X + 1 =:= Z]))),
         M:info(T, fixed)}
     end) || Options <- [[], {n_objects, 7}, [{traverse, first_next}], [{traverse, last_prev}]]],
    ?same(begin T = M:new(t, []), try M:table(T, foo) catch error:badarg -> badarg end end).
