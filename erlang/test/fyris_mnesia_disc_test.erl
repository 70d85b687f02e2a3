%% What Mnesia's tables on Fyris hold after nodes stop, die, start from a fallback or change where a table is kept:
%% never an empty table where there was data. Each story has its own nodes and directories.
-module(fyris_mnesia_disc_test).

-compile(export_all).
-include("fyris_same.hrl").

-import(fyris_mnesia_nodes_test, [start/2, on/4, names/1, until/1]).

-define(OBJECTS, 300).

disc_test_() ->
    told(?MODULE, [stopped_in_turn, died_at_once, acknowledged_outlives_kill, in_step_with_mnesia, large_table_outlives_kill,
                   conversions_outlive_restart, copied_again, left_for_memory, killed_after_conversion, fallback, recreated_twice, recreated_when_gone,
                   snmp_rows, files_go, keeper_killed, killed_without_node, loading_breaks_off, schema_goes_to_disc, dump_tables,
                   dump_refused_without_directory, fragments, refused_without_directory, refused_beside_disc]).

%% Tests that tell stories of a module, each in so many seconds at most.
told(Module, Stories) -> told(Module, Stories, 300).

told(Module, Stories, Seconds) ->
    case code:which(peer) =/= non_existing andalso os:find_executable("epmd") of
        false ->
            io:format(user, "skipped: Mnesia on disc needs OTP 25 and epmd~n", []),
            [];
        _ ->
            {timeout, 4 * Seconds, {inparallel, 2, [{timeout, Seconds, {atom_to_list(Story), fun() -> tell(Module, Story) end}}
                                                    || Story <- Stories]}}
    end.

tell(Module, Story) ->
    Dir = filename:join("/tmp", lists:concat(["fyris_", Story, "_", os:getpid()])),
    ok = filelib:ensure_path(Dir),
    put(net, loopback),
    try Module:Story(Dir)
    after
        [fyris_same:try_it(fun() -> peer:stop(Peer) end) || {_, Peer} <- fyris_mnesia_nodes_test:peers()],
        file:del_dir_r(Dir)
    end.

%% ---------------------------------------------------------------------------
%% Which copy is loaded

%% A disc copy on one node, and one of Fyris on another; whoever was up last has the data, and loads them alone.
stopped_in_turn(Dir) ->
    [A, B] = Nodes = two(Dir),
    made(A, t, [{disc_copies, [name(A)]}, {fyris_copies, [name(B)]}]),
    filled(A, t),
    stopped_one_by_one(A, B),
    started([B]),
    ok = mnesia(B, wait_for_tables, [[t], 10_000]),
    full(B, t),
    started([A]),
    loaded(Nodes, [t]),
    [full(N, t) || N <- Nodes],
    stopped_one_by_one(B, A),
    started([A]),
    loaded([A], [t]),
    full(A, t).

%% Mnesia loads a table first where it went last, if that node has heard that the other went. One that is stopped at once
%% may not have, and waits for the other then.
stopped_one_by_one(First, Last) ->
    stopped = mnesia(First, stop, []),
    until(fun() -> [name(Last)] =:= mnesia(Last, system_info, [running_db_nodes]) end),
    stopped = mnesia(Last, stop, []).

%% Names decide which one Mnesia loads first, so each has the disc copy once.
died_at_once(Dir) ->
    [A, B] = Nodes = two(Dir),
    made(A, ab, [{disc_copies, [name(A)]}, {fyris_copies, [name(B)]}]),
    made(A, ba, [{disc_copies, [name(B)]}, {fyris_copies, [name(A)]}]),
    made(A, both, [{fyris_copies, [name(A), name(B)]}]),
    Tabs = [ab, ba, both],
    [filled(A, Tab) || Tab <- Tabs],
    [dumped = mnesia(N, dump_log, []) || N <- Nodes],
    [kill(N) || N <- Nodes],
    Again = [start(I, Dir) || I <- [1, 2]],
    together(Again),
    loaded(Again, Tabs),
    [full(N, Tab) || N <- Again, Tab <- Tabs].

together([A, B]) ->
    true = on(peer(A), net_kernel, connect_node, [name(B)]),
    Starts = [spawn_monitor(fun() -> started([N]) end) || N <- [A, B]],
    [receive {'DOWN', Monitor, _, _, Reason} -> normal = Reason end || {_, Monitor} <- Starts].

%% ---------------------------------------------------------------------------
%% Killed at any moment

%% Writers on a node note in files of their own what Mnesia has synced, then the node is killed with signal 9. All that
%% was noted is there, again and again, whether Mnesia or Fyris was dumping or not. Mnesia dumps its log often.
acknowledged_outlives_kill(Dir) ->
    Small = small_writer(Dir),
    Node = start(1, Dir),
    created([Node]),
    [made(Node, Tab, [{fyris_copies, [name(Node)]}, {type, Type}]) || {Tab, Type} <- written_tabs()],
    lists:foldl(fun(Round, N) -> round(Round, N, Dir, Small) end, Node, lists:seq(1, 6)).

written_tabs() -> [{s, set}, {o, ordered_set}, {b, bag}].

round(Round, Node, Dir, Small) ->
    {module, _} = on(peer(Node), code, load_abs, [Small]),
    loaded([Node], [Tab || {Tab, _} <- written_tabs()]),
    ok = on(peer(Node), ?MODULE, begin_writes, [Dir, Round]),
    timer:sleep(200 + rand:uniform(600)),
    kill(Node),
    Again = start(1, Dir),
    {module, _} = on(peer(Again), code, load_abs, [Small]),
    started([Again]),
    loaded([Again], [Tab || {Tab, _} <- written_tabs()]),
    [check_writes(Again, Dir, Round, Tab, How) || {Tab, How} <- writes()],
    Again.

writes() -> [{Tab, How} || {Tab, _} <- written_tabs(), How <- [dirty, transaction]] ++ [{s, counter}].

begin_writes(Dir, Round) ->
    spawn(fun Dump() -> mnesia:dump_log(), timer:sleep(rand:uniform(20)), Dump() end),
    [spawn(fun() -> write_on(Dir, Round, Tab, How) end) || {Tab, How} <- writes()],
    ok.

write_on(Dir, Round, Tab, How) ->
    {ok, File} = file:open(notes(Dir, Tab, How), [write, raw]),
    write_on(File, Tab, How, {How, Round}, 1).

write_on(File, Tab, How, Key, N) ->
    write(How, Tab, Key, N),
    N rem 10 =:= 0 andalso begin written(How), ok = file:pwrite(File, 0, <<N:64>>) end,
    write_on(File, Tab, How, Key, N + 1).

write(dirty, Tab, Key, N) ->
    mnesia:dirty_write({Tab, Key, N}),
    mnesia:dirty_delete_object({Tab, Key, N - 1});
write(transaction, Tab, Key, N) ->
    {atomic, ok} = mnesia:transaction(fun() -> mnesia:delete({Tab, Key}), mnesia:write({Tab, Key, N}) end);
write(counter, Tab, Key, N) ->
    N = mnesia:dirty_update_counter(Tab, Key, 1).

%% A counter is written when it is answered.
written(counter) -> ok;
written(_) -> ok = mnesia:sync_log().

notes(Dir, Tab, How) -> filename:join(Dir, lists:concat([Tab, "_", How])).

%% All that was noted is there, or what was written after it; where the write has two steps, also what is between them.
check_writes(Node, Dir, Round, Tab, How) ->
    N = case file:read_file(notes(Dir, Tab, How)) of
            {ok, <<Noted:64>>} -> Noted;
            {ok, <<>>} -> 0
        end,
    Values = lists:sort([V || {_, _, V} <- mnesia(Node, dirty_read, [Tab, {How, Round}])]),
    case Values of
        [] when N =:= 0 -> ok;
        [V] when V >= N -> ok;
        [V, W] when V >= N, W =:= V + 1, How =:= dirty -> ok;
        _ -> error({Round, Tab, How, noted, N, found, Values})
    end.

%% Nothing is written here of itself. What Mnesia forgets is; and what is written here is in Mnesia's file, too, so that
%% the table does not go back to what that file ends with.
in_step_with_mnesia(Dir) ->
    Small = small_writer(Dir),
    Node = start(1, Dir),
    {module, _} = on(peer(Node), code, load_abs, [Small]),
    created([Node]),
    made(Node, t, [{fyris_copies, [name(Node)]}]),
    filled(Node, t),
    dumped = mnesia(Node, dump_log, []),
    Again = killed_and_full(Node, Dir),
    ok = mnesia(Again, dirty_write, [{t, 1, 2}]),
    ok = mnesia(Again, sync_log, []),
    ok = mnesia(Again, dirty_write, [{t, 1, 1}]),
    ok = on(peer(Again), fyris_mnesia_keeper, written, []),
    counters_are_kept(killed_and_full(Again, Dir), Dir, Small).

%% Mnesia does not count again what it finds in its log.
counters_are_kept(Node, Dir, Small) ->
    {module, _} = on(peer(Node), code, load_abs, [Small]),
    made(Node, c, [{fyris_copies, [name(Node)]}]),
    ?assertEqual([10, 0, 4, 0], [mnesia(Node, dirty_update_counter, [c, K, By]) || {K, By} <- [{a, 10}, {b, -1}, {d, 4}, {d, -5}]]),
    ok = mnesia(Node, sync_log, []),
    Again = killed_and_full(Node, Dir),
    ok = mnesia(Again, wait_for_tables, [[c], 25_000]),
    ?assertEqual([[{c, a, 10}], [{c, b, 0}], [{c, d, 0}]], [mnesia(Again, dirty_read, [c, K]) || K <- [a, b, d]]).

%% Compiled so that the writer dumps from a kilobyte on.
small_writer(Dir) ->
    {ok, fyris_mnesia_writer} =
        compile:file(fyris_mnesia_files_test:source(), [{d, 'FYRIS_SMALL'}, {outdir, Dir}]),
    filename:join(Dir, "fyris_mnesia_writer").

%% Enough for several dumps, and lists of objects from another node.
large_table_outlives_kill(Dir) ->
    [A, B] = two(Dir),
    made(A, t, [{fyris_copies, [name(A)]}]),
    ok = on(peer(A), ?MODULE, write_large, [t, 1, 4000]),
    {atomic, ok} = mnesia(A, add_table_copy, [t, name(B), fyris_copies]),
    ok = on(peer(A), ?MODULE, write_large, [t, 4001, 5000]),
    {atomic, ok} = mnesia(A, sync_transaction, [fun() -> mnesia:write({t, last, 1}) end]),
    [ok = mnesia(N, sync_log, []) || N <- [A, B]],
    [kill(N) || N <- [A, B]],
    Again = [start(I, Dir) || I <- [1, 2]],
    together(Again),
    loaded(Again, [t]),
    [?assertEqual(5001, mnesia(N, table_info, [t, size])) || N <- Again],
    ?assertEqual([{t, 4321, binary:copy(<<4321:16>>, 500)}], mnesia(hd(Again), dirty_read, [t, 4321])).

write_large(Tab, From, To) ->
    [mnesia:dirty_write({Tab, I, binary:copy(<<I:16>>, 500)}) || I <- lists:seq(From, To)],
    ok.

%% ---------------------------------------------------------------------------
%% Where a table is kept

%% From this storage to another one and back: writes are there, the index knows them, and all is there after a restart.
conversions_outlive_restart(Dir) ->
    Node = start(1, Dir),
    created([Node]),
    made(Node, t, [{fyris_copies, [name(Node)]}, {index, [v]}, {attributes, [k, v]}]),
    filled(Node, t),
    [converted(Node, Storage) || Other <- [disc_copies, disc_only_copies, ram_copies], Storage <- [Other, fyris_copies]].

converted(Node, Storage) ->
    {atomic, ok} = mnesia(Node, change_table_copy_type, [t, name(Node), Storage]),
    full(Node, t),
    indexed(Node),
    {atomic, ok} = mnesia(Node, transaction, [fun() -> mnesia:write({t, new, {by, Storage}}) end]),
    found(Node, Storage),
    Storage =/= ram_copies andalso restarted(Node, Storage),
    {atomic, ok} = mnesia(Node, transaction, [fun() -> mnesia:delete({t, new}) end]),
    ?assertEqual([], mnesia(Node, dirty_index_read, [t, {by, Storage}, v])).

restarted(Node, Storage) ->
    stopped = mnesia(Node, stop, []),
    started([Node]),
    loaded([Node], [t]),
    found(Node, Storage),
    indexed(Node),
    ?assertEqual(?OBJECTS + 1, mnesia(Node, table_info, [t, size])).

found(Node, Storage) ->
    ?assertEqual([{t, new, {by, Storage}}], mnesia(Node, dirty_read, [t, new])),
    ?assertEqual([{t, new, {by, Storage}}], mnesia(Node, dirty_index_read, [t, {by, Storage}, v])).

indexed(Node) ->
    ?assertEqual([{t, 7, 7}], mnesia(Node, dirty_index_read, [t, 7, v])),
    ?assertEqual([3], mnesia(Node, table_info, [t, index])).

%% A node whose copy went to `disc_only_copies' and was deleted gets another one: writes reach its rows and its index.
copied_again(Dir) ->
    [A, B] = Nodes = two(Dir),
    made(A, t, [{fyris_copies, names(Nodes)}, {index, [v]}, {attributes, [k, v]}]),
    {atomic, ok} = mnesia(A, change_table_copy_type, [t, name(A), disc_only_copies]),
    {atomic, ok} = mnesia(A, del_table_copy, [t, name(A)]),
    {atomic, ok} = mnesia(A, move_table_copy, [t, name(B), name(A)]),
    ok = mnesia(B, sync_dirty, [fun mnesia:write/1, [{t, new, 7}]]),
    ?assertEqual([{t, new, 7}], mnesia(A, dirty_read, [t, new])),
    ?assertEqual([{t, new, 7}], mnesia(A, dirty_index_read, [t, 7, v])).

%% A table that is in memory only now loads when its nodes start, whatever it was before, and a copy is added while they
%% are down.
left_for_memory(Dir) ->
    [A, B] = Nodes = two(Dir),
    made(A, t, [{fyris_copies, names(Nodes)}]),
    [{atomic, ok} = mnesia(A, change_table_copy_type, [t, N, ram_copies]) || N <- names(Nodes)],
    made(A, u, [{fyris_copies, names(Nodes)}]),
    {atomic, ok} = mnesia(A, change_table_copy_type, [u, name(B), ram_copies]),
    {atomic, ok} = mnesia(A, del_table_copy, [u, name(A)]),
    [stopped = mnesia(N, stop, []) || N <- Nodes],
    started([A]),
    loaded([A], [t]),
    {atomic, ok} = mnesia(A, add_table_copy, [u, name(A), ram_copies]),
    ok = mnesia(A, dirty_write, [{u, 1, 1}]),
    started([B]),
    loaded(Nodes, [t, u]),
    ?assertEqual([{u, 1, 1}], mnesia(B, dirty_read, [u, 1])).

fallback(Dir) ->
    [A, _] = Nodes = two(Dir),
    Backup = filename:join(Dir, "backup"),
    made(A, t, [{fyris_copies, names(Nodes)}, {index, [v]}, {attributes, [k, v]}]),
    made(A, empty, [{fyris_copies, names(Nodes)}]),
    filled(A, t),
    ok = mnesia(A, backup, [Backup]),
    {atomic, ok} = mnesia(A, clear_table, [t]),
    ok = mnesia(A, dirty_write, [{empty, 1, 1}]),
    ok = mnesia(A, install_fallback, [Backup]),
    [stopped = mnesia(N, stop, []) || N <- Nodes],
    started(Nodes),
    loaded(Nodes, [t, empty]),
    [begin full(N, t), indexed(N), ?assertEqual(0, mnesia(N, table_info, [empty, size])) end || N <- Nodes],
    [kill(N) || N <- Nodes],
    Again = [start(I, Dir) || I <- [1, 2]],
    together(Again),
    loaded(Again, [t]),
    [full(N, t) || N <- Again].

recreated_twice(Dir) ->
    [A, B] = Nodes = two(Dir),
    Backup = filename:join(Dir, "backup"),
    made(A, t, [{fyris_copies, names(Nodes)}, {type, ordered_set}, {index, [v]}, {attributes, [k, v]}]),
    filled(A, t),
    ok = mnesia(A, backup, [Backup]),
    [begin
         {atomic, ok} = mnesia(A, sync_transaction, [fun() -> mnesia:write({t, after_backup, 1}) end]),
         {atomic, [t]} = mnesia(B, restore, [Backup, [{default_op, recreate_tables}]]),
         [begin full(N, t), indexed(N) end || N <- Nodes]
     end || _ <- [1, 2, 3]],
    {atomic, ok} = mnesia(A, sync_transaction, [fun() -> mnesia:write({t, last, 1}) end]),
    [?assertEqual([{t, last, 1}], mnesia(N, dirty_read, [t, last])) || N <- Nodes].

recreated_when_gone(Dir) ->
    Node = start(1, Dir),
    created([Node]),
    Backup = filename:join(Dir, "backup"),
    made(Node, t, [{fyris_copies, [name(Node)]}, {attributes, [k, v]}]),
    filled(Node, t),
    ok = mnesia(Node, backup, [Backup]),
    {atomic, ok} = mnesia(Node, delete_table, [t]),
    {atomic, [t]} = mnesia(Node, restore, [Backup, [{default_op, recreate_tables}]]),
    full(Node, t),
    ok = mnesia(Node, sync_log, []),
    killed_and_full(Node, Dir).

killed_and_full(Node, Dir) ->
    kill(Node),
    Again = start(1, Dir),
    started([Again]),
    loaded([Again], [t]),
    full(Again, t),
    Again.

%% Mnesia has forgotten its log when the call returns, and the file with the objects.
killed_after_conversion(Dir) ->
    Node = start(1, Dir),
    created([Node]),
    made(Node, t, [{disc_copies, [name(Node)]}]),
    filled(Node, t),
    {atomic, ok} = mnesia(Node, change_table_copy_type, [t, name(Node), fyris_copies]),
    killed_and_full(Node, Dir).

snmp_rows(Dir) ->
    [A, B] = Nodes = two(Dir),
    made(A, t, [{fyris_copies, names(Nodes)}, {snmp, [{key, integer}]}]),
    Rows = fun(N) ->
                   ?assertEqual({ok, [1]}, mnesia(N, snmp_get_next_index, [t, []])),
                   ?assertEqual({ok, [8]}, mnesia(N, snmp_get_next_index, [t, [7]])),
                   ?assertEqual({ok, {t, 7, 7}}, mnesia(N, snmp_get_row, [t, [7]])),
                   ?assertEqual({ok, 7}, mnesia(N, snmp_get_mnesia_key, [t, [7]]))
           end,
    filled(A, t),
    [Rows(N) || N <- Nodes],
    stopped_one_by_one(A, B),
    started([B]),
    loaded([B], [t]),
    Rows(B),
    started([A]),
    loaded([A], [t]),
    Rows(A),
    ?assertMatch({aborted, {{snmp_stays, _}, t, _}}, mnesia(A, change_table_copy_type, [t, name(A), disc_copies])),
    ok = mnesia(A, dirty_delete, [t, 8]),
    ?assertEqual({ok, [9]}, mnesia(A, snmp_get_next_index, [t, [7]])).

%% No file stays when a table goes, or the schema.
files_go(Dir) ->
    Node = start(1, Dir),
    created([Node]),
    [made(Node, Tab, [{fyris_copies, [name(Node)]}]) || Tab <- [t, u]],
    [filled(Node, Tab) || Tab <- [t, u]],
    Files = fun() -> lists:sort([filename:basename(F) || F <- filelib:wildcard(filename:join([Dir, "1", "*.FY?"]))]) end,
    ?assertEqual(["t.FYL", "u.FYL"], Files()),
    {atomic, ok} = mnesia(Node, delete_table, [t]),
    ?assertEqual(["u.FYL"], Files()),
    stopped = mnesia(Node, stop, []),
    ok = mnesia(Node, delete_schema, [[name(Node)]]),
    ?assertEqual([], Files()).

%% ---------------------------------------------------------------------------
%% What goes wrong

%% Tables that vanished are not taken for empty ones: Mnesia ends on the node, and finds them when it starts again.
keeper_killed(Dir) ->
    Node = start(1, Dir),
    created([Node]),
    made(Node, t, [{fyris_copies, [name(Node)]}]),
    filled(Node, t),
    on(peer(Node), ?MODULE, kill_registered, [fyris_mnesia_keeper]),
    until(fun() -> no =:= mnesia(Node, system_info, [is_running]) end),
    started([Node]),
    loaded([Node], [t]),
    full(Node, t).

%% Mnesia is killed, not the node, and starts again while the writers are still busy; from a fallback, too. Nothing of
%% the old ones gets into the new tables, or ends the new Mnesia.
killed_without_node(Dir) ->
    Small = small_writer(Dir),
    Node = start(1, Dir),
    {module, _} = on(peer(Node), code, load_abs, [Small]),
    created([Node]),
    Backup = filename:join(Dir, "backup"),
    [begin made(Node, Tab, [{fyris_copies, [name(Node)]}]), filled(Node, Tab) end || Tab <- [t, u]],
    ok = mnesia(Node, backup, [Backup]),
    [begin
         ok = on(peer(Node), ?MODULE, write_large, [u, 1, 3000]),
         Fallback andalso (ok = mnesia(Node, install_fallback, [Backup])),
         on(peer(Node), ?MODULE, hold_and_kill, [u]),
         ok = mnesia(Node, start, []),
         loaded([Node], [t, u]),
         full(Node, t),
         Fallback andalso full(Node, u)
     end || Fallback <- [false, true, false, true, true]].

%% The writer ends only after a while.
hold_and_kill(Tab) ->
    {Writer, _} = fyris_mnesia_keeper:writer(Tab),
    Self = self(),
    spawn(fun() ->
                  fyris_mnesia_files_test:held(Writer),
                  Self ! held,
                  timer:sleep(500),
                  erlang:resume_process(Writer)
          end),
    receive held -> mnesia:lkill() end.

kill_registered(Name) -> exit(whereis(Name), kill).

%% Mnesia deletes a table when the node that it comes from dies in the midst; what is on disc here is still good.
loading_breaks_off(Dir) ->
    Node = start(1, Dir),
    created([Node]),
    made(Node, t, [{fyris_copies, [name(Node)]}]),
    filled(Node, t),
    ?assertEqual(?OBJECTS, on(peer(Node), ?MODULE, break_off, [t])).

break_off(Tab) ->
    ok = fyris_mnesia_keeper:load(Tab, node),
    {more, none} = fyris_mnesia:receive_data([{Tab, other, 1}], fyris_copies, Tab, self(), none),
    ok = fyris_mnesia:delete_table(fyris_copies, Tab),
    ok = fyris_mnesia_keeper:create(Tab, [set, {keypos, 2}]),
    ok = fyris_mnesia_keeper:load(Tab, files),
    fyris:info(Tab, size).

%% A node without a directory that gets one has its tables there, too.
schema_goes_to_disc(Dir) ->
    Node = start(1, Dir),
    started([Node]),
    ok = on(peer(Node), fyris_mnesia, register, []),
    made(Node, t, [{fyris_copies, [name(Node)]}]),
    filled(Node, t),
    {atomic, ok} = mnesia(Node, change_table_copy_type, [schema, name(Node), disc_copies]),
    until(fun() -> none =/= on(peer(Node), fyris_mnesia_keeper, writer, [t]) end),
    ok = mnesia(Node, dirty_write, [{t, 1, 1}]),
    dumped = mnesia(Node, dump_log, []),
    killed_and_full(Node, Dir).

%% ---------------------------------------------------------------------------
%% What is refused

%% What is dumped is on disc, as it is without that.
dump_tables(Dir) ->
    Small = small_writer(Dir),
    [A, B] = Nodes = two(Dir),
    [{module, _} = on(peer(N), code, load_abs, [Small]) || N <- Nodes],
    [made(A, Tab, Definition) || {Tab, Definition} <- [{t, [{fyris_copies, names(Nodes)}]},
                                                       {m, [{fyris_copies, [name(A)]}, {ram_copies, [name(B)]}]},
                                                       {d, [{fyris_copies, [name(A)]}, {disc_copies, [name(B)]}]}]],
    filled(A, t),
    {atomic, ok} = mnesia(A, dump_tables, [[t]]),
    [?assertMatch({aborted, {"Only allowed on ram_copies", _, [_ | _]}}, mnesia(A, dump_tables, [[Tab]])) || Tab <- [m, d]],
    [kill(N) || N <- Nodes],
    [file:delete(Log) || Log <- filelib:wildcard(filename:join([Dir, "*", "LATEST.LOG"]))],
    Again = [start(I, Dir) || I <- [1, 2]],
    together(Again),
    loaded(Again, [t]),
    [full(N, t) || N <- Again].

dump_refused_without_directory(Dir) ->
    Node = start(1, Dir),
    started([Node]),
    ok = on(peer(Node), fyris_mnesia, register, []),
    made(Node, t, [{fyris_copies, [name(Node)]}]),
    ?assertMatch({aborted, {"Only allowed on ram_copies", t, [_]}}, mnesia(Node, dump_tables, [[t]])).

%% Mnesia makes fragments of other kinds only; they can be changed.
fragments(Dir) ->
    Node = start(1, Dir),
    created([Node]),
    Name = name(Node),
    made(Node, f, [{frag_properties, [{n_fragments, 3}, {node_pool, [Name]}, {n_disc_copies, 1}]}]),
    Frags = [f, f_frag2, f_frag3],
    ok = on(peer(Node), ?MODULE, fill_fragments, [1, 50]),
    [{atomic, ok} = mnesia(Node, change_table_copy_type, [Frag, Name, fyris_copies]) || Frag <- Frags],
    ok = on(peer(Node), ?MODULE, fill_fragments, [51, 100]),
    {aborted, _} = mnesia(Node, change_table_frag, [f, {add_frag, [Name]}]),
    {aborted, _} = mnesia(Node, create_table, [g, [{frag_properties, [{n_external_copies, 1}]}]]),
    stopped = mnesia(Node, stop, []),
    started([Node]),
    loaded([Node], Frags),
    ?assertEqual(100, on(peer(Node), ?MODULE, count_fragments, [])),
    ?assertEqual(yes, mnesia(Node, system_info, [is_running])).

fill_fragments(From, To) ->
    mnesia:activity(transaction, fun() -> [mnesia:write({f, I, I}) || I <- lists:seq(From, To)], ok end, [], mnesia_frag).

count_fragments() ->
    mnesia:activity(transaction, fun() -> length([I || I <- lists:seq(1, 100), mnesia:read(f, I) =:= [{f, I, I}]]) end,
                    [], mnesia_frag).

refused_without_directory(Dir) ->
    Node = start(1, Dir),
    started([Node]),
    ok = on(peer(Node), fyris_mnesia, register, []),
    made(Node, t, [{fyris_copies, [name(Node)]}]),
    filled(Node, t),
    ?assertMatch({aborted, {{no_directory, _}, t, _}}, mnesia(Node, change_table_copy_type, [t, name(Node), ram_copies])),
    full(Node, t),
    {atomic, ok} = mnesia(Node, create_table, [r, []]),
    ?assertMatch({aborted, _}, mnesia(Node, change_table_copy_type, [r, name(Node), fyris_copies])).

%% A copy that is in memory only beside one that is on a disc, however it comes about.
refused_beside_disc(Dir) ->
    A = start(1, Dir),
    B = start(2, Dir),
    true = on(peer(A), net_kernel, connect_node, [name(B)]),
    created([A]),
    ok = on(peer(B), application, set_env, [mnesia, schema, [{backend_types, [{fyris_copies, fyris_mnesia}]}]]),
    started([B]),
    {ok, [_]} = mnesia(B, change_config, [extra_db_nodes, [name(A)]]),
    [made(A, Tab, [{Storage, [name(Node)]}])
     || {Tab, Storage, Node} <- [{d, disc_copies, A}, {o, disc_only_copies, A}, {f, fyris_copies, A},
                                 {r, ram_copies, A}, {m, fyris_copies, B}]],
    Refused = fun(Tab, F, Args) ->
                      {aborted, {Reason, Tab, _}} = mnesia(A, F, Args),
                      ?assertEqual({memory_only, [name(B)]}, Reason)
              end,
    [Refused(Tab, add_table_copy, [Tab, name(B), fyris_copies]) || Tab <- [d, o, f]],
    [Refused(m, add_table_copy, [m, name(A), Storage]) || Storage <- [disc_copies, disc_only_copies, fyris_copies]],
    [Refused(new, create_table, [new, [{fyris_copies, Names} | More]])
     || {Names, More} <- [{[name(B)], [{disc_copies, [name(A)]}]}, {[name(B)], [{disc_only_copies, [name(A)]}]},
                          {[name(A), name(B)], []}]],
    {atomic, ok} = mnesia(A, add_table_copy, [m, name(A), ram_copies]).

%% ---------------------------------------------------------------------------
%% Nodes

two(Dir) ->
    Nodes = [A, B] = [start(I, Dir) || I <- [1, 2]],
    true = on(peer(A), net_kernel, connect_node, [name(B)]),
    created(Nodes),
    Nodes.

peer({Peer, _}) -> Peer.

name({_, Name}) -> Name.

mnesia({Peer, _}, F, Args) -> on(Peer, mnesia, F, Args).

created([First | _] = Nodes) ->
    ok = mnesia(First, create_schema, [names(Nodes), [{backend_types, [{fyris_copies, fyris_mnesia}]}]]),
    started(Nodes).

started(Nodes) ->
    [until(fun() -> ok =:= mnesia(N, start, []) end) || N <- Nodes],
    ok.

%% At once, as if the power had gone.
kill({Peer, _}) ->
    unlink(Peer),
    Pid = peer:call(Peer, os, getpid, []),
    Monitor = monitor(process, Peer),
    os:cmd("kill -9 " ++ Pid),
    receive {'DOWN', Monitor, _, _, _} -> ok end.

made(Node, Tab, Definition) ->
    {atomic, ok} = mnesia(Node, create_table, [Tab, Definition]).

loaded(Nodes, Tabs) ->
    [ok = mnesia(N, wait_for_tables, [Tabs, 25_000]) || N <- Nodes],
    ok.

filled(Node, Tab) -> ok = on(peer(Node), ?MODULE, fill, [Tab]).

fill(Tab) ->
    {atomic, ok} = mnesia:sync_transaction(fun() -> lists:foreach(fun mnesia:write/1, objects(Tab)) end),
    ok.

objects(Tab) -> [{Tab, I, I} || I <- lists:seq(1, ?OBJECTS)].

full(Node, Tab) ->
    ?assertEqual(objects(Tab), lists:sort(on(peer(Node), ?MODULE, content, [Tab]))).

content(Tab) ->
    [Object || Object <- mnesia:dirty_match_object(mnesia:table_info(Tab, wild_pattern)), element(2, Object) =/= new].
