%% Nodes whose files of a table are damaged: the table is not loaded from there, with a word; the rest of Mnesia goes on;
%% the files stay; the table comes from another node, or as much of it as is whole when that is asked for.
-module(fyris_mnesia_damage_test).

-compile(export_all).
-include("fyris_same.hrl").

-import(fyris_mnesia_nodes_test, [start/2, on/4, names/1, until/1]).
-import(fyris_mnesia_disc_test, [two/1, mnesia/3, name/1, peer/1, made/3, filled/2, full/2, created/1, started/1, loaded/2,
                                 kill/1, killed_and_full/2]).

damage_test_() ->
    fyris_mnesia_disc_test:told(?MODULE, [loaded_from_another_node, loaded_by_force, changes_behind_the_damage, torn_end_is_kept]).

%% The node that was up last has the newest copy, damaged; the other one waits for it, until it is told not to.
loaded_from_another_node(Dir) ->
    [A, B] = Nodes = two(Dir),
    [made(A, Tab, [{fyris_copies, names(Nodes)}]) || Tab <- [t, u]],
    [filled(A, Tab) || Tab <- [t, u]],
    [dumped = mnesia(N, dump_log, []) || N <- Nodes],
    fyris_mnesia_disc_test:stopped_one_by_one(B, A),
    Bytes = damaged(Dir, 1, "t.FYL"),
    watched(A),
    started([A]),
    loaded([A], [u]),
    ?assertMatch({timeout, [t]}, mnesia(A, wait_for_tables, [[t], 1_000])),
    ?assert(told(A, "is damaged")),
    {ok, Bytes} = file:read_file(file(Dir, 1, "t.FYL")),
    %% A adopts the table once more when B comes, and is held at that until B has left the loading to it.
    on(peer(A), sys, suspend, [fyris_mnesia_keeper]),
    started([B]),
    until(fun() -> on(peer(A), ?MODULE, left_to, [t]) =:= [[]] end),
    Test = self(),
    spawn_link(fun() -> Test ! {forced, mnesia(B, force_load_table, [t])} end),
    until(fun() -> on(peer(B), ?MODULE, left_to, [t]) =:= [[name(A)]] end),
    on(peer(A), sys, resume, [fyris_mnesia_keeper]),
    yes = receive {forced, Answer} -> Answer end,
    loaded(Nodes, [t, u]),
    [full(N, Tab) || N <- Nodes, Tab <- [t, u]],
    ?assertEqual([{ok, Bytes}], kept(Dir, 1, "t.FYL")),
    [stopped = mnesia(N, stop, []) || N <- Nodes],
    started(Nodes),
    loaded(Nodes, [t]),
    [full(N, t) || N <- Nodes].

%% A log and a dump, of two tables.
loaded_by_force(Dir) ->
    Node = start(1, Dir),
    created([Node]),
    [made(Node, Tab, [{fyris_copies, [name(Node)]}]) || Tab <- [t, d]],
    {module, _} = on(peer(Node), code, load_abs, [fyris_mnesia_disc_test:small_writer(Dir)]),
    [[ok = mnesia(Node, dirty_write, [{Tab, I, binary:copy(<<I>>, Size)}]) || I <- lists:seq(1, 20)]
     || {Tab, Size} <- [{t, 5}, {d, 500}]],
    dumped = mnesia(Node, dump_log, []),
    stopped = mnesia(Node, stop, []),
    Files = ["t.FYL", "d.FYD"],
    Bytes = [damaged(Dir, 1, File) || File <- Files],
    watched(Node),
    started([Node]),
    ?assertMatch({timeout, [_, _]}, mnesia(Node, wait_for_tables, [[t, d], 1_000])),
    [yes = mnesia(Node, force_load_table, [Tab]) || Tab <- [t, d]],
    ?assert(told(Node, "without what is damaged")),
    ?assertEqual([0, 0], [mnesia(Node, table_info, [Tab, size]) || Tab <- [t, d]]),
    ?assertEqual([[{ok, Was}] || Was <- Bytes], [kept(Dir, 1, File) || File <- Files]),
    ok = mnesia(Node, dirty_write, [{t, 1, again}]),
    stopped = mnesia(Node, stop, []),
    started([Node]),
    loaded([Node], [t, d]),
    ?assertEqual([{t, 1, again}], mnesia(Node, dirty_read, [t, 1])).

%% What Mnesia's own log has is done again before anything is loaded; it is not lost with the damage.
changes_behind_the_damage(Dir) ->
    Node = start(1, Dir),
    created([Node]),
    made(Node, t, [{fyris_copies, [name(Node)]}]),
    [begin
         ok = mnesia(Node, dirty_write, [{t, I, I}]),
         ok = on(peer(Node), fyris_mnesia_keeper, written, [t])
     end || I <- [1, 2, 3, 4]],
    dumped = mnesia(Node, dump_log, []),
    ok = mnesia(Node, dirty_write, [{t, 5, 5}]),
    ok = mnesia(Node, sync_log, []),
    kill(Node),
    damaged(Dir, 1, "t.FYL"),
    Again = start(1, Dir),
    started([Again]),
    ?assertMatch({timeout, [t]}, mnesia(Again, wait_for_tables, [[t], 1_000])),
    yes = mnesia(Again, force_load_table, [t]),
    ?assertEqual([{t, 5, 5}], mnesia(Again, dirty_read, [t, 5])).

torn_end_is_kept(Dir) ->
    Node = start(1, Dir),
    created([Node]),
    made(Node, t, [{fyris_copies, [name(Node)]}]),
    filled(Node, t),
    stopped = mnesia(Node, stop, []),
    ok = file:write_file(file(Dir, 1, "t.FYL"), "torn", [append]),
    watched(Node),
    started([Node]),
    loaded([Node], [t]),
    full(Node, t),
    ?assert(told(Node, "4 bytes")),
    ?assertEqual([{ok, <<"torn">>}], kept(Dir, 1, "t.FYL")).

%% ---------------------------------------------------------------------------

file(Dir, I, Name) -> filename:join([Dir, integer_to_list(I), Name]).

kept(Dir, I, Name) -> [file:read_file(File) || File <- filelib:wildcard(file(Dir, I, Name ++ "-*.FYX"))].

%% Flips a bit of the first record's body; returns what is there now.
damaged(Dir, I, Name) ->
    {ok, <<Before:40/binary, Byte, After/binary>>} = file:read_file(file(Dir, I, Name)),
    Bytes = <<Before/binary, (Byte bxor 4), After/binary>>,
    ok = file:write_file(file(Dir, I, Name), Bytes),
    Bytes.

%% The nodes to which Mnesia here leaves the loading of a table that it is about to load; `[]' if it is not.
left_to(Tab) ->
    Queues = [Queue || {N, _} = Queue <- tuple_to_list(sys:get_state(mnesia_controller)), is_integer(N)],
    [element(tuple_size(Late), Late)
     || Queue <- Queues, {value, Late} <- [gb_trees:lookup(Tab, Queue)], element(1, Late) =:= late_load].

%% What Mnesia reports on a node.
watched({Peer, _}) -> ok = on(Peer, ?MODULE, watch, []).

watch() ->
    Self = self(),
    spawn(fun() -> ets:new(?MODULE, [named_table, public]), Self ! ready, timer:sleep(infinity) end),
    receive ready -> ok end,
    _ = logger:remove_handler(default),
    ok = logger:set_primary_config(level, notice),
    ok = logger:add_handler(?MODULE, ?MODULE, #{}).

log(Event, _) ->
    ets:insert(?MODULE, {erlang:unique_integer(), lists:flatten(logger_formatter:format(Event, #{single_line => true}))}).

told({Peer, _}, Words) -> on(Peer, ?MODULE, has_told, [Words]).

has_told(Words) -> lists:any(fun({_, Text}) -> string:find(Text, Words) =/= nomatch end, ets:tab2list(?MODULE)).
