%% `fyris_mnesia:register()' on one node, and the first copy of a table on another one, which knew nothing of this kind
%% when it started: it comes with all objects, or is refused and the table stays what it was.
-module(fyris_mnesia_ready_test).

-compile(export_all).
-include("fyris_same.hrl").

-import(fyris_mnesia_nodes_test, [start/2, on/4, names/1, until/1]).
-import(fyris_mnesia_disc_test, [mnesia/3, name/1, peer/1, made/3, filled/2, full/2, started/1, loaded/2]).

ready_test_() ->
    fyris_mnesia_disc_test:told(?MODULE, [first_copy_elsewhere, copy_on_a_node_that_joins, refused_before_any_change]).

%% Neither has a table of this kind; each of the changes that can be the first one.
first_copy_elsewhere(Dir) ->
    [A, B] = Nodes = plain(Dir),
    ok = on(peer(A), fyris_mnesia, register, []),
    [made(A, Tab, [{Storage, [name(B)]}]) || {Tab, Storage} <- kinds()],
    [filled(A, Tab) || {Tab, _} <- kinds()],
    [{atomic, ok} = mnesia(A, change_table_copy_type, [Tab, name(B), fyris_copies]) || {Tab, _} <- kinds()],
    whole(Nodes),
    stopped = mnesia(B, stop, []),
    started([B]),
    whole(Nodes).

kinds() -> [{d, disc_copies}, {o, disc_only_copies}, {r, ram_copies}].

whole([A, B]) ->
    Tabs = [Tab || {Tab, _} <- kinds()],
    loaded([A, B], Tabs),
    [full(N, Tab) || N <- [A, B], Tab <- Tabs],
    [begin
         {atomic, ok} = mnesia(A, sync_transaction, [fun() -> mnesia:write({Tab, new, 1}) end]),
         ?assertEqual([{Tab, new, 1}], mnesia(B, dirty_read, [Tab, new])),
         {atomic, ok} = mnesia(A, sync_transaction, [fun() -> mnesia:delete({Tab, new}) end])
     end || Tab <- Tabs].

%% A node with a schema of its own joins only if that knows the kind.
copy_on_a_node_that_joins(Dir) ->
    [A, B] = Nodes = [start(I, Dir) || I <- [1, 2]],
    true = on(peer(A), net_kernel, connect_node, [name(B)]),
    ok = mnesia(A, create_schema, [[name(A)]]),
    started([A]),
    ok = on(peer(A), fyris_mnesia, register, []),
    made(A, t, [{fyris_copies, [name(A)]}]),
    filled(A, t),
    ok = on(peer(B), application, set_env, [mnesia, schema, [{backend_types, [{fyris_copies, fyris_mnesia}]}]]),
    started([B]),
    {ok, [_]} = mnesia(A, change_config, [extra_db_nodes, [name(B)]]),
    {atomic, ok} = mnesia(A, change_table_copy_type, [schema, name(B), disc_copies]),
    made(A, d, [{disc_copies, [name(B)]}]),
    filled(A, d),
    {atomic, ok} = mnesia(A, change_table_copy_type, [d, name(B), fyris_copies]),
    full(B, d),
    {atomic, ok} = mnesia(A, move_table_copy, [t, name(A), name(B)]),
    [full(N, t) || N <- Nodes].

%% Someone else has a table of that name there; its options are none of Fyris.
refused_before_any_change(Dir) ->
    [A, B] = plain(Dir),
    ok = on(peer(A), fyris_mnesia, register, []),
    {ok, _} = on(peer(B), ?MODULE, own_table, [taken]),
    Bad = [{storage_properties, [{ets, [{fyris_bad, 1}]}]}],
    made(A, taken, [{disc_copies, [name(B)]}]),
    {aborted, _} = mnesia(A, create_table, [bad, [{fyris_copies, [name(B)]} | Bad]]),
    filled(A, taken),
    ?assertMatch({aborted, {{not_ready, [{_, {error, {already_exists, taken}}}]}, taken, _}},
                 mnesia(A, change_table_copy_type, [taken, name(B), fyris_copies])),
    full(A, taken),
    ?assertEqual(disc_copies, mnesia(B, table_info, [taken, storage_type])).

own_table(Name) ->
    Self = self(),
    Pid = spawn(fun() -> fyris:new(Name, [named_table]), Self ! made, receive stop -> ok end end),
    receive made -> {ok, Pid} end.

%% Two nodes with a schema on disc that knows Mnesia's own kinds.
plain(Dir) ->
    [A, B] = Nodes = [start(I, Dir) || I <- [1, 2]],
    true = on(peer(A), net_kernel, connect_node, [name(B)]),
    ok = mnesia(A, create_schema, [names(Nodes)]),
    started(Nodes),
    Nodes.
