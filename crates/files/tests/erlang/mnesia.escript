#!/usr/bin/env escript
%%! +fnu
%% Makes directories of Mnesia, and beside each NAME what Mnesia has after a start on a copy of it, as an external term
%% in NAME.tables: [{Table, Type, Rows}].
%%
%%     escript crates/files/tests/erlang/mnesia.escript FOLDER          those of which the others are variants
%%     escript crates/files/tests/erlang/mnesia.escript all FOLDER
%%     escript crates/files/tests/erlang/mnesia.escript text FILE       a dump as text, and FILE.tables
%%     escript crates/files/tests/erlang/mnesia.escript golden FOLDER   the one that is committed
-mode(compile).

main(["golden", Dir]) -> make(Dir, counters);
main(["text", File]) -> text(File);
main(["all", Dir]) -> [make(Dir, Name) || Name <- names()];
main([Dir]) -> [make(Dir, Name) || Name <- lists:sublist(names(), 3)];
main(["write", Dir, Name]) -> write(Dir, list_to_atom(Name));
main(["read", Dir, File]) -> read(Dir, File).

names() -> [stopped, killed, restored, dumped, previous, decisions, fallback, converted, changed, counters].

make(Dir, Name) ->
    Files = filename:join(Dir, Name),
    Copy = Files ++ ".copy",
    run(["write", Files, atom_to_list(Name)]),
    after_death(Name, Files),
    os:cmd("cp -r " ++ Files ++ " " ++ Copy),
    run(["read", Copy, Files ++ ".tables"]),
    os:cmd("rm -r " ++ Copy),
    filelib:is_regular(Files ++ ".tables") orelse exit({no_tables, Name}).

run(Args) -> io:put_chars(os:cmd(string:join(["escript", escript:script_name() | Args], " "))).

start(Dir) ->
    in(Dir),
    ok = mnesia:start().

%% What a Mnesia that fails has to say is not for this repository.
in(Dir) ->
    application:set_env(mnesia, dir, Dir),
    application:set_env(mnesia, core_dir, "/tmp").

read(Dir, File) ->
    start(Dir),
    tables(File),
    halt().

tables(File) ->
    Tabs = lists:sort(mnesia:system_info(tables) -- [schema]),
    ok = mnesia:wait_for_tables(Tabs, 120000),
    Rows = fun(T) -> lists:sort(mnesia:dirty_match_object(T, mnesia:table_info(T, wild_pattern))) end,
    ok = file:write_file(File, term_to_binary([{T, mnesia:table_info(T, type), Rows(T)} || T <- Tabs])).

%% All that a character can be in a dump, which is in Latin-1.
text(File) ->
    start(File ++ ".dir"),
    {atomic, ok} = mnesia:create_table(t, []),
    Values = ["caf\x{e9}", <<"caf\x{e9}">>, [195, 169], '\x{e9}', [1078, $a], '\x{416}', <<"caf\x{e9}"/utf8>>, $\x{e9}],
    [ok = mnesia:dirty_write({t, K, V}) || {K, V} <- lists:zip(lists:seq(1, length(Values)), Values)],
    mnesia:dump_to_textfile(File),
    tables(File ++ ".tables").

write(Dir, Name) ->
    in(Dir),
    application:set_env(mnesia, dump_log_write_threshold, 100000),
    application:set_env(mnesia, dump_log_time_threshold, 3600000),
    ok = filelib:ensure_dir(filename:join(Dir, "x")),
    ok = mnesia:create_schema([node()]),
    ok = mnesia:start(),
    create(),
    fill(Name),
    case Name of
        stopped -> mnesia:stop(), timer:sleep(500), halt();
        _ ->
            disk_log:sync(latest_log),
            timer:sleep(300),
            os:cmd("kill -9 " ++ os:getpid()), timer:sleep(10000)
    end.

create() ->
    N = [node()],
    [{atomic, ok} = mnesia:create_table(T, Options) || {T, Options} <- [
        {set, [{disc_copies, N}]},
        {ordered, [{disc_copies, N}, {type, ordered_set}, {attributes, [id, name, year]}, {index, [year]}]},
        {bag, [{disc_copies, N}, {type, bag}, {record_name, item}]},
        {only, [{disc_only_copies, N}]},
        {only_bag, [{disc_only_copies, N}, {type, bag}]},
        {ram, [{ram_copies, N}]},
        {hits, [{disc_copies, N}]},
        {only_hits, [{disc_only_copies, N}]}]],
    ok.

rows(Round) ->
    transaction(fun() ->
        [mnesia:write({set, K, {Round, K}}) || K <- lists:seq(1, 20)],
        [mnesia:write(ordered, {ordered, K, <<"name">>, Round}, write) || K <- [3, 1, 2.5, {a}, "b"]],
        [mnesia:write(bag, {item, K rem 3, Round * K}, write) || K <- lists:seq(1, 9)],
        [mnesia:write({ram, K, Round}) || K <- lists:seq(1, 5)]
    end),
    transaction(fun() ->
        [mnesia:write({only, K, {Round, K}}) || K <- lists:seq(1, 10)],
        [mnesia:write({only_bag, K rem 3, Round + K}) || K <- lists:seq(1, 9)],
        mnesia:write({set, mixed, Round})
    end),
    [mnesia:dirty_write({set, {dirty, K}, Round}) || K <- lists:seq(1, 5)],
    ok.

changes() ->
    transaction(fun() ->
        [mnesia:delete({set, K}) || K <- [2, 4, 6]],
        mnesia:delete_object(bag, {item, 1, 1}, write),
        mnesia:delete({bag, 2}),
        mnesia:delete({only, 3}),
        mnesia:delete({ordered, 1})
    end),
    {aborted, _} = mnesia:transaction(fun() -> mnesia:write({set, never, 1}), mnesia:abort(no) end),
    mnesia:dirty_delete(set, {dirty, 3}),
    %% An object is a pattern, in which a map matches those that have more.
    [mnesia:dirty_write({set, K, [#{a => 1, b => K}]}) || K <- [map1, map2]],
    [mnesia:dirty_delete_object({set, K, [M]}) || {K, M} <- [{map1, #{a => 1}}, {map2, #{a => 2}}]],
    ok.

transaction(Fun) -> {atomic, _} = mnesia:transaction(Fun).

fill(stopped) -> rows(1), changes(), rows(2);
fill(killed) -> rows(1), changes();
fill(restored) ->
    rows(1),
    {atomic, ok} = mnesia:dump_tables([ram]),
    File = filename:join(mnesia:system_info(directory), "b.bup"),
    ok = mnesia:backup(File),
    dump(),
    [mnesia:dirty_update_counter(T, a, 3) || T <- [hits, only_hits]],
    {atomic, _} = mnesia:restore(File, [{default_op, clear_tables}]),
    [mnesia:dirty_update_counter(T, K, 4) || T <- [hits, only_hits], K <- [a, new]],
    dets:sync(only_hits);
fill(dumped) ->
    rows(1), dump(), changes(), dump(), rows(3), changes(),
    {atomic, ok} = mnesia:dump_tables([ram]),
    rows(4), [mnesia:dirty_delete(ram, 1)];
fill(previous) -> rows(1), dump(), rows(2);
fill(decisions) -> rows(1), dump();
fill(fallback) ->
    rows(1), changes(),
    {atomic, ok} = mnesia:dump_tables([ram]),
    ok = mnesia:backup(filename:join(mnesia:system_info(directory), "b.bup")),
    ok = mnesia:install_fallback(filename:join(mnesia:system_info(directory), "b.bup")),
    rows(7);
fill(converted) ->
    rows(1), changes(),
    {atomic, ok} = mnesia:change_table_copy_type(set, node(), disc_only_copies),
    {atomic, ok} = mnesia:change_table_copy_type(only, node(), disc_copies),
    {atomic, ok} = mnesia:change_table_copy_type(ram, node(), disc_copies),
    {atomic, ok} = mnesia:change_table_copy_type(bag, node(), ram_copies),
    rows(2);
fill(changed) ->
    rows(1),
    {atomic, ok} = mnesia:clear_table(bag),
    {atomic, ok} = mnesia:delete_table(only_bag),
    {atomic, ok} = mnesia:transform_table(ordered, fun({ordered, K, N, Y}) -> {ordered, K, N, Y, new} end,
                                          [id, name, year, more]),
    {atomic, ok} = mnesia:add_table_index(set, 3),
    {atomic, ok} = mnesia:create_table(late, [{disc_copies, [node()]}]),
    mnesia:dirty_write({late, 1, 1});
fill(counters) ->
    [mnesia:dirty_update_counter(T, K, N) || T <- [hits, only_hits], {K, N} <- [{a, 5}, {b, -3}, {a, 2}, {c, 1}]],
    mnesia:dirty_write({hits, c, 40}),
    dump(),
    [mnesia:dirty_update_counter(T, K, N)
     || T <- [hits, only_hits], {K, N} <- [{a, 5}, {b, 4}, {a, -100}, {c, 7}, {d, 2}]],
    mnesia:dirty_write({only_hits, e, 100}),
    mnesia:dirty_update_counter(only_hits, e, 3),
    mnesia:dirty_delete(hits, d),
    dets:sync(only_hits).

%% disc_only_copies are in no file for some seconds after a dump.
dump() ->
    dumped = mnesia:dump_log(),
    [dets:sync(T) || T <- [only, only_bag, only_hits]].

%% What is left of a node that died in the midst of a dump: the old log under its other name, and a new one.
after_death(previous, Files) ->
    Latest = filename:join(Files, "LATEST.LOG"),
    ok = file:rename(Latest, filename:join(Files, "PREVIOUS.LOG")),
    log(Latest, [commit(presume_commit, [{{set, 1}, {set, 1, later}, write}, {{set, 19}, {set, 19}, delete}])]);
after_death(decisions, Files) ->
    Latest = filename:join(Files, "LATEST.LOG"),
    Decision = fun(N) -> {decision, {tid, N, self()}, presume_abort, [node()], []} end,
    Write = fun(K) -> [{{set, K}, {set, K, decided}, write}] end,
    log(Latest, [commit(Decision(501), Write(501)), {decision, {tid, 501, self()}, committed, [], []},
                 commit(Decision(502), Write(502)), {decision, {tid, 502, self()}, aborted, [], []},
                 commit(Decision(503), Write(503)), {mnesia_down, other@host, date(), time()},
                 commit(presume_commit, Write(504))]);
after_death(_, _) -> ok.

commit(Decision, Ops) -> {commit, node(), Decision, [], Ops, [], [], []}.

log(File, Terms) ->
    _ = file:delete(File),
    {ok, L} = disk_log:open([{name, made}, {file, File}]),
    ok = disk_log:log_terms(L, [{log_header, trans_log, "4.3", "4.21", node(), erlang:timestamp()} | Terms]),
    ok = disk_log:close(L).
