%% Mnesia on three nodes, each an operating system process with an address of its own (`fyris_net'): what is written on
%% one is on all; a node that was killed comes back and loads from the others; a net split is noticed and ended as
%% Mnesia's manual says.
-module(fyris_mnesia_nodes_test).

-compile(export_all).
-include("fyris_same.hrl").

-define(OBJECTS, 3000).

nodes_test_() ->
    case code:which(peer) =/= non_existing andalso os:find_executable("epmd") of
        false ->
            io:format(user, "skipped: Mnesia on three nodes needs OTP 25 and epmd~n", []),
            [];
        _ ->
            {timeout, 300, {test, ?MODULE, whole_story}}
    end.

%% One story, since each chapter needs the state that the one before left.
whole_story() ->
    Dir = filename:join("/tmp", "fyris_nodes_" ++ os:getpid()),
    ok = filelib:ensure_path(Dir),
    put(net, fyris_net:make()),
    io:format(user, "three nodes, network: ~p~n", [get(net)]),
    try
        Nodes = [start(I, Dir) || I <- [1, 2, 3]],
        set_up(Nodes),
        replicates(Nodes),
        keeps_indexes_everywhere(Nodes),
        changes_storage_and_back(Nodes),
        adds_and_removes_copies(Nodes),
        Again = survives_a_kill(Nodes, Dir),
        mends_a_split(Again),
        stops_clean(Again)
    after
        [fyris_same:try_it(fun() -> peer:stop(Peer) end) || {_, Peer} <- peers()],
        fyris_net:remove(get(net)),
        file:del_dir_r(Dir)
    end.

%% ---------------------------------------------------------------------------
%% Chapters

set_up([{N1, _}, {N2, _}, {N3, _}] = Nodes) ->
    [true = on(N1, net_kernel, connect_node, [name(N)]) || N <- [N2, N3]],
    All = names(Nodes),
    ok = on(N1, mnesia, create_schema, [All, [{backend_types, [{fyris_copies, fyris_mnesia}]}]]),
    [ok = on(N, mnesia, start, []) || {N, _} <- Nodes],
    [{atomic, ok} = on(N1, mnesia, create_table,
                       [T, [{fyris_copies, All}, {type, Type}, {attributes, [k, v]}, {index, [v]}]])
     || {T, Type} <- tables()],
    ready(Nodes).

tables() -> [{s, set}, {o, ordered_set}, {b, bag}].

replicates([{N1, _}, {N2, _}, {N3, _}] = Nodes) ->
    [on(N1, ?MODULE, write_all, [T, ?OBJECTS]) || {T, _} <- tables()],
    [?assertEqual({atomic, ok}, on(N2, ?MODULE, write, [T, extra, 2])) || {T, _} <- tables()],
    [?assertEqual(?OBJECTS + 1, on(N, mnesia, table_info, [T, size])) || {N, _} <- Nodes, {T, _} <- tables()],
    ?assertEqual({atomic, [{s, extra, 2}]}, on(N3, ?MODULE, read, [s, extra])),
    ?assertEqual({aborted, wanted}, on(N3, ?MODULE, abort_after_write, [s, never])),
    ?assertEqual([[], [], []], [on(N, mnesia, dirty_read, [s, never]) || {N, _} <- Nodes]),
    same(Nodes).

keeps_indexes_everywhere(Nodes) ->
    [?assertEqual([?OBJECTS div 10],
                  lists:usort([length(on(N, mnesia, dirty_index_read, [T, 3, v])) || {N, _} <- Nodes]))
     || {T, _} <- tables()].

%% By way of ram_copies and disc_copies on one node, while the others stay as they are.
changes_storage_and_back([{N1, Name} | _] = Nodes) ->
    [begin
         {atomic, ok} = on(N1, mnesia, change_table_copy_type, [s, Name, Storage]),
         same(Nodes)
     end || Storage <- [ram_copies, fyris_copies, disc_copies, fyris_copies]],
    ?assertEqual(?OBJECTS div 10, length(on(N1, mnesia, dirty_index_read, [s, 3, v]))).

adds_and_removes_copies([{N1, _}, {_, Two}, _] = Nodes) ->
    {atomic, ok} = on(N1, mnesia, del_table_copy, [o, Two]),
    {atomic, ok} = on(N1, ?MODULE, write, [o, meanwhile, 4]),
    {atomic, ok} = on(N1, mnesia, add_table_copy, [o, Two, fyris_copies]),
    same(Nodes).

survives_a_kill([First, Second, {N3, Third}], Dir) ->
    peer:call(N3, erlang, apply, [fun os:cmd/1, ["(sleep 0.1; kill -9 " ++ peer:call(N3, os, getpid, []) ++ ") &"]]),
    until(fun() -> not lists:member(Third, on(element(1, First), mnesia, system_info, [running_db_nodes])) end),
    %% The rest goes on, and changes what the dead one had.
    [{atomic, ok} = on(element(1, First), ?MODULE, write, [T, K, alone]) || {T, _} <- tables(), K <- [1, new]],
    ok = on(element(1, Second), ?MODULE, delete, [s, 2]),
    {Peer, Third} = Back = start(3, Dir),
    %% It fails while the others are not done with the end of the one before.
    until(fun() -> ok =:= on(Peer, mnesia, start, []) end),
    Again = [First, Second, Back],
    ready(Again),
    ?assert(lists:member(on(Peer, mnesia, table_info, [s, load_node]), names([First, Second]))),
    ?assertEqual([], on(Peer, mnesia, dirty_read, [s, 2])),
    same(Again),
    Again.

%% What "Recovery from communication failure" of Mnesia's guide tells to do: choose a side, name it master, restart the
%% other.
mends_a_split([{N1, One}, {N2, Two}, {N3, Third}] = Nodes) ->
    [{ok, _} = on(N, ?MODULE, watch, []) || {N, _} <- Nodes],
    fyris_net:cut(get(net), [{N1, One}, {N2, Two}], {N3, Third}),
    [until(fun() -> length(on(N, mnesia, system_info, [running_db_nodes])) =:= Count end)
     || {N, Count} <- [{N1, 2}, {N2, 2}, {N3, 1}]],
    ?assertEqual({atomic, ok}, on(N1, ?MODULE, write, [s, side, majority])),
    ?assertEqual({atomic, ok}, on(N3, ?MODULE, write, [s, side, minority])),
    fyris_net:join(get(net), [{N1, One}, {N2, Two}], {N3, Third}),
    until(fun() -> lists:any(fun({N, _}) -> on(N, ?MODULE, saw_partition, []) end, Nodes) end),
    %% Mnesia does not merge: both sides still answer as they did.
    ?assertEqual([{s, side, minority}], on(N3, mnesia, dirty_read, [s, side])),
    stopped = on(N3, mnesia, stop, []),
    ok = on(N3, mnesia, set_master_nodes, [[One, Two]]),
    ok = on(N3, mnesia, start, []),
    ready(Nodes),
    ?assertEqual([[{s, side, majority}] || _ <- Nodes], [on(N, mnesia, dirty_read, [s, side]) || {N, _} <- Nodes]),
    same(Nodes).

stops_clean(Nodes) ->
    [begin
         stopped = on(N, mnesia, stop, []),
         ?assertEqual([events], on(N, fyris, all, []))
     end || {N, _} <- Nodes].

%% ---------------------------------------------------------------------------
%% What runs on the nodes

%% The last one waits for the other nodes, and what went before it went the same way.
write_all(T, N) ->
    [ok = mnesia:dirty_write({T, I, I rem 10}) || I <- lists:seq(1, N - 1)],
    ok = mnesia:sync_dirty(fun() -> mnesia:write({T, N, N rem 10}) end).

delete(T, K) -> mnesia:sync_dirty(fun() -> mnesia:delete({T, K}) end).

write(T, K, V) -> mnesia:sync_transaction(fun() -> mnesia:write({T, K, V}) end).

read(T, K) -> mnesia:transaction(fun() -> mnesia:read(T, K) end).

abort_after_write(T, K) -> mnesia:transaction(fun() -> mnesia:write({T, K, 1}), mnesia:abort(wanted) end).

%% Remembers Mnesia's system events in a table of the node.
watch() ->
    Parent = self(),
    Pid = spawn(fun() ->
                        fyris:new(events, [named_table, bag]),
                        {ok, _} = mnesia:subscribe(system),
                        Parent ! ready,
                        watch_loop()
                end),
    receive ready -> {ok, Pid} end.

watch_loop() ->
    receive
        {mnesia_system_event, {inconsistent_database, What, _}} -> fyris:insert(events, {What});
        _ -> ok
    end,
    watch_loop().

saw_partition() -> fyris:member(events, running_partitioned_network).

contents(T) -> lists:sort(fyris_or_ets(T)).

fyris_or_ets(T) ->
    case mnesia:table_info(T, storage_type) of
        {ext, fyris_copies, fyris_mnesia} -> fyris:tab2list(T);
        _ -> ets:tab2list(T)
    end.

%% ---------------------------------------------------------------------------
%% Nodes

start(I, Dir) ->
    Number = integer_to_list(I),
    Paths = [filename:absname(P) || P <- code:get_path(), filename:basename(P) =:= "ebin",
                                    string:prefix(P, code:root_dir()) =:= nomatch],
    {ok, Peer, Name} =
        peer:start((fyris_net:node_options(get(net), I))
                   #{name => "n" ++ Number ++ "_" ++ filename:basename(Dir), longnames => true,
                     connection => standard_io, wait_boot => 30_000,
                     args => ["-pa" | Paths] ++
                         ["-setcookie", "fyris", "-kernel", "net_ticktime", "2", "-kernel", "prevent_overlapping_partitions", "false",
                          "-mnesia", "dir", quoted(filename:join(Dir, Number)), "core_dir", quoted(Dir),
                          "-kernel", "logger_level", "none"]}),
    put(peers, lists:keystore(I, 1, peers(), {I, Peer})),
    {Peer, Name}.

quoted(Path) -> "\"" ++ Path ++ "\"".

peers() ->
    case get(peers) of undefined -> []; Peers -> Peers end.

on(Peer, M, F, Args) -> peer:call(Peer, M, F, Args, 30_000).

name(Peer) -> on(Peer, erlang, node, []).

names(Nodes) -> [Name || {_, Name} <- Nodes].

ready(Nodes) ->
    [ok = on(N, mnesia, wait_for_tables, [[T || {T, _} <- tables()], 20_000]) || {N, _} <- Nodes].

same(Nodes) ->
    [begin
         [First | Rest] = [on(N, ?MODULE, contents, [T]) || {N, _} <- Nodes],
         ?assertEqual([First || _ <- Rest], Rest)
     end || {T, _} <- tables()].

until(Fun) -> until(Fun, 200).

until(_, 0) -> error(never_came_true);
until(Fun, N) -> Fun() orelse begin timer:sleep(50), until(Fun, N - 1) end.
