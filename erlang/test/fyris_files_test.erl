%% Files, dets, qlc.
-module(fyris_files_test).

-compile(export_all).
-include("fyris_same.hrl").
-include_lib("kernel/include/file.hrl").
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

%% A dump in which each byte is another one, and each beginning of it: refused with the reason that ets gives (which
%% raises where an object is none), or read as ets reads it.
damaged_dumps_are_refused_as_by_ets_test_() ->
    {timeout, 120, [{timeout, 60, fun() -> damaged(Extended) end} || Extended <- [[], [object_count], [md5sum], [object_count, md5sum]]]}.

damaged(Extended) ->
    with_file(fun(File) ->
        Bytes = dump(File, 3, Extended),
        Size = byte_size(Bytes),
        Step = 29,
        [begin
             ok = file:write_file(File, Damaged),
             ?same(try M:file2tab(File, [{verify, true}]) of
                       {ok, T} -> lists:sort(M:tab2list(T));
                       Error -> Error
                   catch error:_ -> {error, badfile}
                   end)
         end || I <- lists:seq(Size - 1, 0, -Step),
                <<Before:I/binary, Byte, After/binary>> <- [Bytes],
                Damaged <- [Before, <<Before/binary, (Byte bxor 2), After/binary>>]]
    end).

dump(File, Size, Extended) ->
    T = ets:new(t, []),
    ets:insert(T, [{I, <<"object">>} || I <- lists:seq(1001, 1000 + Size)]),
    ok = ets:tab2file(T, File, [{extended_info, Extended}]),
    ets:delete(T),
    {ok, Bytes} = file:read_file(File),
    Bytes.

%% What ets leaves out in silence is left out, but told, once.
what_is_left_out_is_told_test() ->
    [with_file(fun(File) ->
         Bytes = dump(File, 1000, Extended),
         ?assertEqual({1000, []}, loaded(File)),
         %% An object in the middle, of which 13 bytes are before its binary, and 4 before these mark an item.
         {At, _} = binary:match(Bytes, <<"object">>, [{scope, {byte_size(Bytes) div 2, 100}}]),
         [begin
              ok = file:write_file(File, Damaged),
              {Size, [#{file := Named, objects_read := Read, objects_promised := Promised}]} = loaded(File),
              ?assertEqual({File, Size, 1000, true}, {Named, Read, Promised, Size < 1000})
          end || Damaged <- [binary:part(Bytes, 0, At), with(Bytes, At - 13, <<0>>), with(Bytes, At - 17, <<0:32>>)]]
     end) || Extended <- [[], [object_count], [md5sum]]].

with(Bytes, Place, New) ->
    <<(binary:part(Bytes, 0, Place))/binary, New/binary, (binary:part(Bytes, byte_size(Bytes), Place + byte_size(New) - byte_size(Bytes)))/binary>>.

%% The number of objects that are read, and what is reported meanwhile.
loaded(File) ->
    Self = self(),
    ok = logger:add_handler(?MODULE, ?MODULE, #{config => Self, filters => [], level => warning}),
    ok = logger:update_handler_config(default, level, none),
    try
        {ok, T} = fyris:file2tab(File),
        Size = fyris:info(T, size),
        fyris:delete(T),
        {Size, reports()}
    after
        logger:remove_handler(?MODULE),
        logger:update_handler_config(default, level, all)
    end.

log(#{msg := {report, Report}}, #{config := Test}) -> Test ! {reported, Report}.

reports() ->
    receive {reported, Report} -> [Report | reports()]
    after 0 -> []
    end.

%% Whoever writes a dump may be killed: the old one is there until the new one is whole, and nothing is left beside it.
a_dump_replaces_another_when_it_is_whole_test() ->
    in_folder(fun(Folder) ->
        File = filename:join(Folder, "dump"),
        T = fyris:new(t, [public]),
        fyris:insert(T, {1}),
        ok = fyris:tab2file(T, File, [{extended_info, [md5sum]}]),
        {ok, Old} = file:read_file(File),
        ok = file:change_mode(File, 8#640),
        fyris:insert(T, [{I, I} || I <- lists:seq(1, 20000)]),
        {Writer, Monitor} = spawn_monitor(fun() -> fyris:tab2file(T, File, [{sync, true}]) end),
        wait_for_another(Folder),
        ?assertEqual({ok, Old}, file:read_file(File)),
        exit(Writer, kill),
        receive {'DOWN', Monitor, _, _, _} -> ok end,
        ?assertEqual({ok, Old}, file:read_file(File)),
        [ok = file:delete(filename:join(Folder, Other)) || Other <- names(Folder), Other =/= "dump"],
        ok = file:make_symlink("dump", filename:join(Folder, "link")),
        ok = fyris:tab2file(T, filename:join(Folder, "link"), [{sync, true}]),
        {ok, T2} = fyris:file2tab(File, [{verify, true}]),
        ?assertEqual(20000, fyris:info(T2, size)),
        ?assertEqual(["dump", "link"], names(Folder)),
        {ok, Info} = file:read_file_info(File),
        ?assertEqual(8#640, Info#file_info.mode band 8#777),
        fyris:delete(T2),
        ?assertEqual({error, badtab}, fyris:tab2file(nope, File)),
        ?same(M:tab2file(M:new(t, []), Folder)),
        ?assertEqual(["dump", "link"], names(Folder)),
        fyris:delete(T)
    end).

in_folder(Fun) ->
    Folder = file(),
    ok = file:make_dir(Folder),
    try Fun(Folder) after file:del_dir_r(Folder) end.

names(Folder) ->
    {ok, Names} = file:list_dir(Folder),
    lists:sort(Names).

wait_for_another(Folder) ->
    case names(Folder) of
        [_, _] -> ok;
        _ -> wait_for_another(Folder)
    end.

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
        fyris:delete(T)
    end),
    with_file(fun(File) ->
        write_compressed(File, [description(1, []), {1, Deep}]),
        {ok, Nested} = fyris:file2tab(File),
        ?assertEqual([{1, Deep}], fyris:tab2list(Nested)),
        fyris:delete(Nested)
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

%% What `qlc:info' prints of a handle, which a query joins and looks up by; what is refused.
qlc_handles_test_() ->
    %% qlc reads tids from text by list_to_ref/1, which keeps a table's resource for good
    %% (findings/otp-list-to-ref-keeps.sh): so in a node of its own, as other tests count resources.
    {timeout, 60, fun() -> fyris_reload_test:in_peer(fun qlc_handles/0) end}.

qlc_handles() ->
    Options = [[], {n_objects, 7}, [{n_objects, 7}, {traverse, select}], {traverse, {select, []}},
               [{parent_fun, fun erlang:self/0}], [{traverse, last_prev}, {traverse, select}],
               [{n_objects, 5}, {n_objects, x}], [{n_objects, 0}], [{parent_fun, x}], [{pre_fun, undefined}],
               [{n_objects, 5} | x], foo],
    [?same_types(?ALL, begin
        M:insert(T, [{{I, I}, I} || I <- lists:seq(1, 9)]),
        try M:table(T, Option) of
            H -> [shown(H), shown(qlc:q([Y || {X, Y} <- H, X =:= {1, 1}])),
                  shown(qlc:q([Y || {X, Y} <- H, X =:= {2, 2} orelse X =:= {3, 3}])),
                  shown(qlc:q([{Y, Z} || {X, Y} <- H, Z <- [{{1, 1.0}}, {{2, 2}}], X == element(1, Z)]))]
        catch error:badarg -> badarg
        end
     end) || Option <- Options],
    ?same([try M:table(T) catch error:badarg -> badarg end || T <- [17, "late", make_ref()]]).

%% Without what differs: tids, the module's name, where lines end.
shown(H) ->
    Differs = "\\s+|(ets|fyris):(?=table|lookup)|list_to_ref\\((\"[^\"]*\"\\s*)+\\)|#Ref<[0-9.]*>",
    [re:replace(qlc:info(H, {depth, Depth}), Differs, "", [global, {return, list}]) || Depth <- [0, 1, infinity]].
