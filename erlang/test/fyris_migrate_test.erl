%% Projects that move from ets to fyris.
-module(fyris_migrate_test).

-compile(export_all).
-include("fyris_same.hrl").

with_files(Files, Fun) ->
    Dir = filename:join("/tmp", lists:concat(["fyris_migrate_", os:getpid(), "_", erlang:unique_integer([positive])])),
    [begin
         Path = filename:join(Dir, Name),
         ok = filelib:ensure_dir(Path),
         ok = file:write_file(Path, Text)
     end || {Name, Text} <- Files],
    try Fun(Dir) after ok = file:del_dir_r(Dir) end.

%% The findings of one text, without the file.
scan(Text) ->
    with_files([{"m.erl", Text}],
               fun(Dir) -> [maps:remove(file, Finding) || Finding <- fyris_migrate:scan(Dir)] end).

calls(Text) -> [maps:get(call, Finding) || Finding <- scan(Text)].

rewritten(Text) ->
    with_files([{"m.erl", Text}],
               fun(Dir) ->
                       _ = fyris_migrate:rewrite(Dir, [write]),
                       {ok, New} = file:read_file(filename:join(Dir, "m.erl")),
                       New
               end).

calls_test() ->
    ?assertEqual([#{line => 1, column => 9, call => {lookup, 2}, becomes => "fyris:lookup/2"}],
                 scan("f(T) -> ets:lookup(T, [a, {b, c}]).")),
    ?assertEqual([{insert, 2}], calls("f() -> ets : insert(T, {a, <<1, 2>>, #{a => 1, b => 2}, [x, y]}).")),
    ?assertEqual([{foldl, 3}], calls("f() -> ets:foldl(fun(X, A) -> case X of _ -> X, A end end, 0, T).")),
    ?assertEqual([{foldl, 3}], calls("f() -> ets:foldl(fun g/2, 0, T).")),
    ?assertEqual([{foldl, 3}], calls("f() -> ets:foldl(fun G(X, A) -> G(A, X), A end, 0, T).")),
    ?assertEqual([{all, 0}], calls("f() -> ets:all().")),
    ?assertEqual([{lookup, 2}, {member, 2}], calls("f() -> [fun ets:lookup/2, begin a, ets:member(b, c) end].")),
    %% One in the other, and one behind a macro and a comment.
    ?assertEqual([{insert, 2}, {lookup, 2}], calls("f() -> ets:insert(T, ets:lookup(T, ?K)). % ets:delete(T)")),
    ?assertEqual([{new, 2}], calls("-ifdef(A).\n-define(NEW(X), ets:new(X, [])).\n-endif.")).

applied_test() ->
    ?assertEqual([{lookup, 2}], calls("f() -> apply(ets, lookup, [a, b]).")),
    ?assertEqual([{delete, unknown}], calls("f() -> spawn(ets, delete, Args).")),
    ?assertEqual([{select, 1}], calls("f() -> {ets, select, [X]}.")),
    ?assertEqual([{tab2list, 1}], calls("f() -> rpc:call(N, ets, tab2list, [X]).")),
    ?assertEqual([{'_', unknown}], calls("f(F) -> ets:F(x).")).

%% What is applied with a function that is known at run time only.
applied_by_name_test() ->
    ?assertEqual([{'_', unknown}], calls("f(F, As) -> apply(ets, F, As).")),
    ?assertEqual([{'_', unknown}], calls("f(F, As) -> erlang:spawn(ets, F, As).")),
    ?assertEqual([{'_', unknown}], calls("f(F, As) -> timer:tc(ets, F, As).")),
    ?assertEqual([reference], calls("f(F, As) -> {ets, F, As}.")),
    ?assertEqual(<<"f(F, As) -> apply(fyris, F, As).">>, rewritten("f(F, As) -> apply(ets, F, As).")).

%% A module that is held in a variable or a macro, and that calls are made with.
modules_held_test() ->
    ?assertEqual([module], calls("f(T) -> M = ets, M:lookup(T, 1).")),
    ?assertEqual(<<"f(T) -> M = fyris, M:lookup(T, 1). g() -> M = ets, M.">>,
                 rewritten("f(T) -> M = ets, M:lookup(T, 1). g() -> M = ets, M.")),
    ?assertEqual([module], calls("-define(TABLES, ets).\nf(T) -> ?TABLES:lookup(T, 1).")),
    ?assertEqual([reference], calls("-define(TABLES, ets).\nf(T) -> T.")).

%% Tables that OTP makes itself stay with ets, unless they are tables of the file.
tables_of_otp_stay_test() ->
    [begin
         [#{becomes := keep, note := Note}] = scan(Text),
         ?assert(lists:suffix(" is a table of OTP's own", Note)),
         ?assertEqual(list_to_binary(Text), rewritten(Text))
     end || Text <- ["f(K) -> ets:lookup(global_locks, K).", "f() -> ets:tab2list(mnesia_gvar).",
                     "f(F) -> ets:foldl(F, [], sys_dist).", "f() -> apply(ets, info, [ac_tab, size])."]],
    ?assertEqual(<<"f() -> fyris:new(logger, []), fyris:lookup(logger, 1).">>,
                 rewritten("f() -> ets:new(logger, []), ets:lookup(logger, 1).")),
    ?assertEqual(<<"f(K) -> fyris:lookup(mine, K).">>, rewritten("f(K) -> ets:lookup(mine, K).")).

%% Other modules of OTP take tables of ets only: the calls are listed, and stay.
tables_handed_to_otp_test() ->
    [begin
         ?assertEqual([{Use, keep, true}],
                      [{Found, Becomes, is_list(Note)} || #{call := Found, becomes := Becomes, note := Note} <- scan(Text)]),
         ?assertEqual(list_to_binary(Text), rewritten(Text))
     end || {Use, Text} <- [{{dets, to_ets, 2}, "f(D, T) -> dets:to_ets(D, T)."},
                            {{dets, from_ets, 2}, "f(D, T) -> ok = dets:from_ets(D, T)."},
                            {{dets, from_ets, 2}, "f() -> fun dets:from_ets/2."},
                            {{httpd_util, lookup, 3}, "f(T) -> httpd_util:lookup(T, port, 80)."},
                            {native_record, "-record #pair{a, b = 1}."}]],
    ?assertEqual([], scan("f(D) -> dets:lookup(D, 1). -record(pair, {a, b = #pair{}}).")),
    ?assertEqual([{dets, to_ets, 2}, {new, 2}], calls("f(D) -> dets:to_ets(D, ets:new(t, [])).")).

%% What is printed has the call and the note.
handed_tables_are_printed_test() ->
    [#{call := Call, note := Note}] = scan("f(D, T) -> dets:to_ets(D, T)."),
    ?assertEqual({{dets, to_ets, 2}, true}, {Call, is_list(string:find(Note, "fyris:from_dets"))}).

atoms_that_stay_test() ->
    ?assertEqual([reference], calls("f() -> {ets, [compressed]}.")),
    ?assertEqual([reference], calls("f() -> {ets, no_such_function, x}.")),
    ?assertEqual([], calls("f() -> \"ets:lookup(a, b)\". % ets:x()")),
    ?assertEqual(<<"f() -> {ets, [compressed]}.">>, rewritten("f() -> {ets, [compressed]}.")).

types_test() ->
    ?assertEqual([type, type], calls("-spec f(ets:tid()) -> ets:table() | atom().")).

%% Every type that ets exports, as it would be used.
types_of_every_release_test() ->
    [?assertEqual({Name, [type]}, {Name, calls(lists:concat(["-type t() :: ets:", Name, "()."]))})
     || {_, types, Facts} <- fyris_exports_test:facts(), {Name, 0} <- Facts].

%% What fyris has not stays as it is, and is reported.
what_does_not_exist_is_not_written_test() ->
    [begin
         ?assertEqual(list_to_binary(Text), rewritten(Text)),
         [#{becomes := keep, note := Note}] = scan(Text),
         ?assert(lists:prefix("fyris has no such ", Note))
     end || Text <- ["f() -> ets:nothing(1).", "f() -> ets:lookup(1).", "-type t() :: ets:no_type().", "f() -> fun ets:lookup/7."]],
    ?assertEqual(<<"f() -> ets:nothing(fyris:info(T)).">>, rewritten("f() -> ets:nothing(ets:info(T)).")).

notes_test() ->
    Note = fun(Text) -> [#{note := Found}] = scan(Text), Found end,
    ?assertEqual("fyris has no such function", Note("f() -> ets:nothing(1).")),
    ?assertEqual("fyris has no such function", Note("f() -> ets:lookup(1).")),
    ?assert(string:find(Note("f() -> ets:fun2ms(fun(X) -> X end)."), "fyris_ms") =/= nomatch),
    ?assert(string:find(Note("f() -> ets:first(T)."), "order") =/= nomatch).

rewriting_keeps_the_rest_test() ->
    Text = <<"%% ets: \x{e4}\x{20ac}\n-module(m). \t\nf(\x{c4}) -> \"\x{20ac}\", ets:lookup(t, 1), 'ets':delete(t) .\r\n\n"/utf8>>,
    New = <<"%% ets: \x{e4}\x{20ac}\n-module(m). \t\nf(\x{c4}) -> \"\x{20ac}\", fyris:lookup(t, 1), fyris:delete(t) .\r\n\n"/utf8>>,
    ?assertEqual(New, rewritten(Text)),
    %% A second time there is nothing left to do.
    ?assertEqual(New, rewritten(New)),
    %% Latin-1 stays Latin-1.
    ?assertEqual(<<"f() -> {\"", 16#e4, "\", fyris:all()}.">>, rewritten(<<"f() -> {\"", 16#e4, "\", ets:all()}.">>)).

dry_by_default_test() ->
    with_files([{"a/x.erl", "f() -> {ets:all(), ets:i()}."}, {"b.hrl", "-define(A, ets:all())."}, {"c.txt", "ets:all()"}],
               fun(Dir) ->
                       Paths = [filename:join(Dir, Name) || Name <- ["a/x.erl", "b.hrl"]],
                       ?assertEqual([{would_change, Path, N} || {Path, N} <- lists:zip(Paths, [2, 1])],
                                    fyris_migrate:rewrite(Dir)),
                       %% Nothing but `write' writes, and nothing else is taken for a dry run.
                       [?assertError({bad_options, Options}, fyris_migrate:rewrite(Dir, Options))
                        || Options <- [[wirte], [write, wirte], write, [{write, true}]]],
                       ?assertEqual(3, length(fyris_migrate:scan(Dir))),
                       ?assertEqual([{changed, Path, N} || {Path, N} <- lists:zip(Paths, [2, 1])],
                                    fyris_migrate:rewrite([Dir], [write])),
                       ?assertEqual([], fyris_migrate:scan(Dir))
               end).

bad_files_test() ->
    [{error, "/nowhere/at/all", enoent}] = fyris_migrate:scan("/nowhere/at/all"),
    with_files([{"m.erl", "f() -> \"unfinished."}],
               fun(Dir) ->
                       [{error, _, {{1, _}, _}}] = fyris_migrate:scan(Dir),
                       [{error, _, {{1, _}, _}}] = fyris_migrate:rewrite(Dir, [write])
               end).

%% A module as people write them, moved and then run.
runs_after_the_move_test() ->
    Text = "-module(fyris_moved).\n-export([run/0]).\n"
        "-include_lib(\"stdlib/include/ms_transform.hrl\").\n"
        "run() ->\n    T = ets:new(t, [ordered_set]),\n    true = ets:insert(T, [{I, I * I} || I <- lists:seq(1, 9)]),\n"
        "    {ets:info(T, size), ets:select(T, ets:fun2ms(fun({K, V}) when V > 50 -> K end)),\n"
        "     apply(ets, lookup, [T, 3]), lists:map(fun ets:info/1, [gone]), T}.\n",
    with_files([{"fyris_moved.erl", Text}],
               fun(Dir) ->
                       File = filename:join(Dir, "fyris_moved.erl"),
                       Run = fun() ->
                                     {ok, M, Code} = compile:file(File, [binary]),
                                     {module, M} = code:load_binary(M, File, Code),
                                     Result = M:run(),
                                     code:purge(M),
                                     Result
                             end,
                       {9, [8, 9], [{3, 9}], [undefined], OnEts} = Run(),
                       ?assertEqual([{changed, File, 8}], fyris_migrate:rewrite(Dir, [write])),
                       {9, [8, 9], [{3, 9}], [undefined], OnFyris} = Run(),
                       ?assertEqual([true, false], [lists:member(T, ets:all()) || T <- [OnEts, OnFyris]]),
                       ?assertEqual(9, fyris:info(OnFyris, size))
               end).
