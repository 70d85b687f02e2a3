%% A node is killed with signal 9 while a table changes from one kind of copy to another. When it starts again, the
%% table loads and has what it had: before the change, where it was kept then, or after it.
%%
%% The moment is a step, not a time: a call in which Mnesia or Fyris does something with files or processes of the
%% table. When the step that was drawn begins, all schedulers but one stop, and the node is killed.
%%
%% FYRIS_MNESIA_KILLS is the number of rounds, each of which starts a node (8).
-module(fyris_mnesia_kills_test).

-compile(export_all).
-include("fyris_same.hrl").

-import(fyris_mnesia_nodes_test, [start/2, on/4, until/1]).
-import(fyris_mnesia_disc_test, [created/1, started/1, loaded/2, made/3, mnesia/3, name/1, peer/1]).

-define(OBJECTS, 40).
%% More than a change has.
-define(STEPS, 115).

kills_test_() ->
    fyris_mnesia_disc_test:told(?MODULE, [killed_while_converted], 60 * rounds()).

rounds() -> list_to_integer(os:getenv("FYRIS_MNESIA_KILLS", "8")).

killed_while_converted(Dir) ->
    Node = start(1, Dir),
    created([Node]),
    made(Node, t, [{fyris_copies, [name(Node)]}, {index, [v]}, {attributes, [k, v, more]}]),
    ok = on(peer(Node), ?MODULE, fill, [0]),
    lists:foldl(fun(Round, Before) -> round(Round, Before, Dir) end, Node, lists:seq(1, rounds())).

%% One of both is Fyris.
round(Round, Node, Dir) ->
    From = storage(Node),
    To = case From of
             fyris_copies -> one([disc_copies, disc_copies, disc_only_copies, ram_copies]);
             _ -> fyris_copies
         end,
    Step = rand:uniform(?STEPS),
    ok = on(peer(Node), ?MODULE, fill, [Round]),
    killed(Node, To, Step),
    Again = start(1, Dir),
    try
        checked(Again, From, To, Round)
    catch
        Class:Reason:Stack -> erlang:raise(Class, {round, Round, From, To, step, Step, Reason}, Stack)
    end,
    Again.

one(List) -> lists:nth(rand:uniform(length(List)), List).

storage(Node) ->
    case mnesia(Node, table_info, [t, storage_type]) of
        {ext, Alias, fyris_mnesia} -> Alias;
        Storage -> Storage
    end.

%% In the step, or when the change is done if it has fewer.
killed({Peer, _}, To, Step) ->
    unlink(Peer),
    Monitor = monitor(process, Peer),
    Pid = peer:call(Peer, os, getpid, []),
    try {atomic, ok} = peer:call(Peer, ?MODULE, convert, [To, Step], 60_000)
    catch exit:_ -> died
    end,
    os:cmd("kill -9 " ++ Pid ++ " 2>&1"),
    receive {'DOWN', Monitor, process, Peer, _} -> ok end.

checked(Node, From, To, Round) ->
    started([Node]),
    ?assertEqual(ok, mnesia(Node, wait_for_tables, [[t], 60_000])),
    Storage = storage(Node),
    ?assert(lists:member(Storage, [From, To])),
    Count = mnesia(Node, table_info, [t, size]),
    ?assertEqual({Storage, ?OBJECTS}, {Storage, if Storage =:= ram_copies, Count =:= 0 -> ?OBJECTS; true -> Count end}),
    ?assertEqual(Count, length(mnesia(Node, dirty_index_read, [t, Round, v]))),
    ok = on(peer(Node), ?MODULE, fill, [Round + 0.5]),
    ?assertEqual({0, ?OBJECTS}, {length(mnesia(Node, dirty_index_read, [t, Round, v])),
                                 length(mnesia(Node, dirty_index_read, [t, Round + 0.5, v]))}).

%% ---------------------------------------------------------------------------
%% On the node

%% Some of it is in Mnesia's log only, in two steps.
fill(Round) ->
    Fill = fun(Value) -> [mnesia:write({t, I, Value, binary:copy(<<I:16>>, 20)}) || I <- lists:seq(1, ?OBJECTS)] end,
    {atomic, _} = mnesia:transaction(Fill, [{not_yet, Round}]),
    rand:uniform(2) =:= 1 andalso mnesia:dump_log(),
    {atomic, _} = mnesia:transaction(Fill, [Round]),
    mnesia:sync_log().

convert(To, Step) ->
    Self = self(),
    Killer = spawn_link(fun() -> begin_steps(Self, Step) end),
    receive {Killer, counting} -> ok end,
    mnesia:change_table_copy_type(t, node(), To).

begin_steps(Parent, Step) ->
    Port = open_port({spawn_executable, "/bin/sh"}, [{args, ["-c", "read line; kill -9 $0 2>&1", os:getpid()]}]),
    [{module, Module} = code:ensure_loaded(Module) || {Module, _} <- steps()],
    erlang:trace(all, true, [call]),
    erlang:trace(self(), false, [call]),
    [erlang:trace_pattern({Module, Function, '_'}, true, [global])
     || {Module, Functions} <- steps(), Function <- Functions],
    Parent ! {self(), counting},
    count_steps(Step, Port).

steps() ->
    [{file, [open, delete, rename, make_link, datasync]},
     {disk_log, [open, close, log_terms, alog_terms, sync, truncate]},
     {dets, [open_file, close, sync]},
     {fyris_mnesia, [create_table, load_table, close_table, delete_table]},
     {fyris_mnesia_keeper, [create, load, delete]},
     {fyris_mnesia_writer, [write, sync, stop]},
     {mnesia_recover, [note_decision, log_decision]},
     {mnesia_index, [init_indecies]}].

count_steps(0, Port) ->
    erlang:system_flag(multi_scheduling, block),
    port_command(Port, "now\n"),
    timer:sleep(infinity);
count_steps(Step, Port) ->
    receive {trace, _, call, _} -> count_steps(Step - 1, Port) end.
