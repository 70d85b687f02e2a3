%% Checkpoints and backups of tables of Fyris: they have whole transactions, whatever happens beside them.
-module(fyris_mnesia_checkpoint_test).

-compile(export_all).
-include("fyris_same.hrl").

-import(fyris_mnesia_nodes_test, [start/2, on/4, until/1]).
-import(fyris_mnesia_disc_test, [created/1, made/3, filled/2, full/2, mnesia/3, name/1, peer/1, two/1]).

checkpoint_test_() ->
    fyris_mnesia_disc_test:told(?MODULE, [whole_transactions, forgets_what_is_included, copy_added, copy_added_late, refused]).

%% A transaction is being committed, one table has its change and the writers are held, when a backup begins. The backup
%% has both changes or none.
whole_transactions(Dir) ->
    Node = start(1, Dir),
    created([Node]),
    [made(Node, Tab, [{fyris_copies, [name(Node)]}]) || Tab <- [a, b]],
    ?assertMatch([{_, Value}, {_, Value}], on(peer(Node), ?MODULE, backed_up_beside, [Dir])).

backed_up_beside(Dir) ->
    Backup = filename:join(Dir, "backup"),
    write_both(before),
    Writers = [Writer || Tab <- [a, b], {Writer, _} <- [fyris_mnesia_keeper:writer(Tab)]],
    [true = fyris_mnesia_files_test:held(Writer) || Writer <- Writers],
    %% Who begins the next change waits for the log when it is in the table.
    Ledger = persistent_term:get(fyris_mnesia_keeper),
    ok = atomics:put(Ledger, 1, atomics:get(Ledger, 1) bor 1023),
    Done = [spawn_monitor(fun() -> write_both(beside) end)],
    until(fun() -> lists:any(fun(Writer) -> process_info(Writer, message_queue_len) =/= {message_queue_len, 0} end, Writers) end),
    Backing = spawn_monitor(fun() -> ok = mnesia:backup(Backup) end),
    %% It would be done by now if it did not wait, or is held, too.
    wait([Backing], 1000),
    [true = erlang:resume_process(Writer) || Writer <- Writers],
    [] = wait(Done, infinity),
    [] = wait([Backing], infinity),
    values(Backup).

%% Returns those that have not ended in time.
wait(Processes, Time) ->
    [Process || {Pid, _} = Process <- Processes, is_process_alive(Pid), not ended(Process, Time)].

ended({Pid, Monitor}, Time) ->
    receive {'DOWN', Monitor, process, Pid, Reason} -> normal = Reason, true
    after Time -> false
    end.

write_both(Value) ->
    {atomic, ok} = mnesia:transaction(fun() -> [mnesia:write({Tab, 1, Value}) || Tab <- [a, b]], ok end).

%% What a backup gives, when what follows takes the place of what went before.
values(Backup) ->
    {ok, Found} = mnesia:traverse_backup(Backup, mnesia_backup, none, read_only,
                                         fun(Item, Found) -> {[Item], found(Item, Found)} end, #{}),
    lists:sort([{Key, Value} || {Key, Value} <- maps:to_list(Found), element(1, Key) =/= schema]).

found({Tab, Key}, Found) -> maps:remove({Tab, Key}, Found);
found({Tab, Key, Value}, Found) -> Found#{{Tab, Key} => Value}.

%% A transaction that the checkpoint includes changes a key after one that it does not: nothing is retained of the key.
%% It is Mnesia's process of the checkpoint that is told so here, as Mnesia's transactions tell it, and it does the same
%% for `ets'.
forgets_what_is_included(Dir) ->
    Node = start(1, Dir),
    created([Node]),
    [made(Node, Tab, [{Storage, [name(Node)]}]) || {Tab, Storage} <- [{d, disc_copies}, {f, fyris_copies}]],
    ?assertEqual([{d, [1], []}, {f, [1], []}], [on(peer(Node), ?MODULE, retained, [Tab]) || Tab <- [d, f]]).

retained(Tab) ->
    {ok, Name, _} = mnesia:activate_checkpoint([{max, [Tab]}]),
    Checkpoint = mnesia_checkpoint:call(Name, get_checkpoint),
    [Pending] = [T || T <- tuple_to_list(Checkpoint), is_reference(T)],
    true = ets:insert(Pending, {pending, included, [], []}),
    Pid = mnesia_lib:val({checkpoint, Name}),
    Pid ! {self(), {retain, not_included, Tab, 1, [{Tab, 1, old}]}},
    First = keys(Name, Tab),
    Pid ! {self(), {retain, included, Tab, 1, [{Tab, 1, newer}]}},
    Second = keys(Name, Tab),
    ok = mnesia:deactivate_checkpoint(Name),
    {Tab, First, Second}.

keys(Name, Tab) ->
    Add = fun(Items, Keys) -> [element(2, Item) || Item <- Items] ++ Keys end,
    {ok, Keys} = mnesia_checkpoint:iterate(Name, Tab, Add, [], retainer, checkpoint),
    lists:usort(Keys).

%% A copy that is added while there is a checkpoint has what the checkpoint retained, and goes on retaining.
copy_added(Dir) -> copy_added(Dir, fun(_) -> ok end).

%% All objects have come long before Mnesia makes the retainer of the copy.
copy_added_late(Dir) -> copy_added(Dir, fun(Node) -> on(peer(Node), ?MODULE, held_back, [point, 1000]) end).

held_back(Name, Milliseconds) ->
    {Pid, Self} = {mnesia_lib:val({checkpoint, Name}), self()},
    spawn(fun() ->
                  true = erlang:suspend_process(Pid),
                  Self ! held,
                  timer:sleep(Milliseconds),
                  erlang:resume_process(Pid)
          end),
    receive held -> ok end.

copy_added(Dir, Before) ->
    [A, B] = two(Dir),
    made(A, t, [{fyris_copies, [name(A)]}]),
    filled(A, t),
    {ok, point, _} = mnesia(A, activate_checkpoint, [[{name, point}, {max, [t]}]]),
    changed(A, 1),
    ok = Before(A),
    {atomic, ok} = mnesia(A, add_table_copy, [t, name(B), fyris_copies]),
    changed(A, 2),
    changed(B, 3),
    full_backups([A, B], Dir),
    {atomic, ok} = mnesia(A, del_table_copy, [t, name(A)]),
    changed(B, 4),
    full_backups([B], Dir),
    ok = mnesia(B, deactivate_checkpoint, [point]),
    [?assertEqual([{t, K, changed}], mnesia(B, dirty_read, [t, K])) || K <- [1, 2, 3, 4]].

changed(Node, Key) ->
    ok = mnesia(Node, sync_dirty, [fun() -> mnesia:write({t, Key, changed}) end]).

full_backups(Nodes, Dir) ->
    Objects = [{{t, K}, V} || {t, K, V} <- fyris_mnesia_disc_test:objects(t)],
    [begin
         Backup = filename:join(Dir, "backup"),
         ok = mnesia(Node, backup_checkpoint, [point, Backup]),
         ?assertEqual(lists:sort(Objects), on(peer(Node), ?MODULE, values, [Backup]))
     end || Node <- Nodes].

%% Mnesia would lose what is retained.
refused(Dir) ->
    Node = start(1, Dir),
    created([Node]),
    made(Node, t, [{disc_copies, [name(Node)]}]),
    filled(Node, t),
    {ok, point, _} = mnesia(Node, activate_checkpoint, [[{name, point}, {max, [t]}]]),
    ?assertMatch({aborted, {{active_checkpoints, [point]}, t, _}},
                 mnesia(Node, change_table_copy_type, [t, name(Node), fyris_copies])),
    ok = mnesia(Node, deactivate_checkpoint, [point]),
    {atomic, ok} = mnesia(Node, change_table_copy_type, [t, name(Node), fyris_copies]),
    full(Node, t).
