%% Tables on indexes from libraries of C++, beside the real ets.
-module(fyris_library_test).

-include_lib("stdlib/include/assert.hrl").

-export([map_test_/0, unordered_map_test_/0, refused_test/0]).

%% An ordered_set on std::map answers as ets does.
map_test_() ->
    on_example("map", fun(Path) ->
        T = fyris:new(t, [ordered_set, public, {index, {library, Path}}]),
        E = ets:new(t, [ordered_set, public]),
        ?assertEqual({library, Path}, fyris:info(T, index)),
        Keys = [1, 2.0, atom, self(), {a, "b"}, <<"binary">>, #{k => v}, [1 | 2], 1 bsl 80, -3.5],
        Both = fun(F) -> ?assertEqual(F(ets, E), F(fyris, T)) end,
        [Both(fun(M, Tab) -> M:insert(Tab, {Key, N, "value"}) end)
         || N <- [1, 2], Key <- Keys ++ lists:seq(1, 300)],
        Both(fun(M, Tab) -> M:insert(Tab, [{1000, a}, {7, b}, {1001, c}]) end),
        Both(fun(M, Tab) -> M:insert_new(Tab, [{1002, a}, {7, c}]) end),
        Both(fun(M, Tab) -> M:update_counter(Tab, 8, {2, 5}) end),
        Both(fun(M, Tab) -> M:tab2list(Tab) end),
        Both(fun(M, Tab) -> [M:lookup(Tab, Key) || Key <- Keys] end),
        Both(fun(M, Tab) -> {M:first(Tab), M:last(Tab), M:next(Tab, 17), M:prev(Tab, 17.5)} end),
        Both(fun(M, Tab) -> M:select(Tab, [{{'$1', 2, '_'}, [{'<', '$1', 100}], ['$1']}]) end),
        Both(fun(M, Tab) -> M:select_delete(Tab, [{{'$1', '_', '_'}, [{'<', '$1', 100}], [true]}]) end),
        Both(fun(M, Tab) -> M:foldl(fun(Object, All) -> [Object | All] end, [], Tab) end),
        Both(fun traverse/2),
        Both(fun(M, Tab) -> M:info(Tab, size) end),
        Both(fun(M, Tab) -> M:delete(Tab) end)
    end).

%% Deletes what it meets.
traverse(M, Tab) ->
    M:safe_fixtable(Tab, true),
    Met = traverse(M, Tab, M:first(Tab), []),
    M:safe_fixtable(Tab, false),
    {Met, M:tab2list(Tab)}.

traverse(_, _, '$end_of_table', Met) -> lists:reverse(Met);
traverse(M, Tab, Key, Met) ->
    M:delete(Tab, Key),
    traverse(M, Tab, M:next(Tab, Key), [Key | Met]).

%% A set on std::unordered_map has no iteration, and says so by name. Its processes share it.
unordered_map_test_() ->
    on_example("unordered_map", fun(Path) ->
        T = fyris:new(t, [set, public, {index, {library, list_to_binary(Path)}}]),
        Count = fun() ->
            [fyris:update_counter(T, N rem 7, 1, {0, 0}) || N <- lists:seq(1, 700)]
        end,
        Workers = [spawn_monitor(Count) || _ <- lists:seq(1, 4)],
        [receive {'DOWN', Ref, process, Pid, Reason} -> ?assertEqual(normal, Reason) end
         || {Pid, Ref} <- Workers],
        ?assertEqual([[{Key, 400}] || Key <- lists:seq(0, 6)],
                     [fyris:lookup(T, Key) || Key <- lists:seq(0, 6)]),
        ?assertEqual([{3, 400}], fyris:select(T, [{{3, '_'}, [], ['$_']}])),
        Text = iolist_to_binary(["index ", Path, " lacks iteration, which a step needs"]),
        ?assertEqual(#{general => Text}, told(fun() -> fyris:first(T) end)),
        NoOrder = iolist_to_binary(["library ", Path, " as an index: it has no order of keys, ",
                                    "which an ordered_set needs"]),
        ?assertEqual(#{2 => NoOrder},
                     told(fun() -> fyris:new(t, [ordered_set, {index, {library, Path}}]) end)),
        true = fyris:delete(T)
    end).

refused_test() ->
    New = fun(Index) -> fyris:new(t, [{index, Index}]) end,
    #{2 := Text} = told(fun() -> New({library, "/no/such/library.so"}) end),
    ?assertMatch({match, _}, re:run(Text, "^library /no/such/library.so as an index: No such file")),
    [?assertError(badarg, New(Bad)) || Bad <- [{library, x}, {library, [a]}, {library, [-1]}, {library, <<255>>}, {lib, ""}]].

%% What the shell would print of the error that Fun raises.
told(Fun) ->
    try Fun() of
        Value -> {no_error, Value}
    catch
        error:Reason:Stack ->
            {Module, _, _, Info} = hd(Stack),
            Error = proplists:get_value(error_info, Info, #{}),
            (maps:get(module, Error, Module)):format_error(Reason, Stack)
    end.

%% Runs a test with an example of the C API, compiled; without a compiler there is none.
on_example(Name, Test) ->
    case os:find_executable("c++") of
        false ->
            io:format(user, "skipped: no c++ here~n", []),
            [];
        _ ->
            {setup, fun() -> compile(Name) end, fun file:delete/1,
             fun(Path) -> {Name, {timeout, 120, fun() -> Test(Path) end}} end}
    end.

compile(Name) ->
    Capi = filename:absname(filename:join([filename:dirname(code:which(?MODULE)), "..", "..", "..", "crates", "capi"])),
    Path = filename:join("/tmp", lists:concat(["fyris_", Name, "_", os:getpid(), ".so"])),
    Command = lists:concat(["c++ -std=c++17 -O2 -shared -fPIC -I ", Capi, "/include -o ", Path, " ", Capi, "/examples/index/",
                            Name, ".cc && echo compiled"]),
    ?assertEqual("compiled\n", os:cmd(Command)),
    Path.
