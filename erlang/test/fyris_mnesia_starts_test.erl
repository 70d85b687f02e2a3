%% Two of three nodes start at once, while the third has the tables: afterwards all three write to all three copies, so
%% that none is left out of what is acknowledged. Mnesia itself loses a node from its account now and then, when loading
%% takes long; so no call of the loader, nor of the process that keeps the account, may wait for anything but the files.
%%
%% FYRIS_MNESIA_STARTS is the number of rounds (2), in which tables of kind `disc_copies' are compared with them.
-module(fyris_mnesia_starts_test).

-compile(export_all).
-include("fyris_same.hrl").

-import(fyris_mnesia_nodes_test, [start/2, on/4, names/1, until/1]).
-import(fyris_mnesia_disc_test, [two/1, mnesia/3, name/1, peer/1, made/3, filled/2, full/2, created/1, loaded/2]).

starts_test_() ->
    fyris_mnesia_disc_test:told(?MODULE, [all_write_to_all, end_of_loading_waits_for_nobody, account_waits_for_no_file],
                                120 + 4 * rounds()).

rounds() -> list_to_integer(os:getenv("FYRIS_MNESIA_STARTS", "2")).

-define(TABLES, [{fyris_copies, [f1, f2, f3]}, {disc_copies, [d1, d2, d3]}]).

%% The rounds in which a node was left out, by kind.
all_write_to_all(Dir) ->
    Nodes = [start(I, Dir) || I <- [1, 2, 3]],
    [true = on(peer(hd(Nodes)), net_kernel, connect_node, [name(N)]) || N <- tl(Nodes)],
    created(Nodes),
    [made(hd(Nodes), Tab, [{Storage, names(Nodes)}]) || {Storage, Tabs} <- ?TABLES, Tab <- Tabs],
    [filled(hd(Nodes), Tab) || {_, Tabs} <- ?TABLES, Tab <- Tabs],
    Lost = lists:append([restarted(Nodes) || _ <- lists:seq(1, rounds())]),
    Counts = [{Storage, length([S || S <- Lost, S =:= Storage])} || {Storage, _} <- ?TABLES],
    rounds() > 10 andalso io:format(user, "~p rounds, a node left out: ~p~n", [rounds(), Counts]),
    [{fyris_copies, Ours}, {disc_copies, Theirs}] = Counts,
    ?assert(Ours =< Theirs).

restarted([First | Others] = Nodes) ->
    [stopped = mnesia(N, stop, []) || N <- Others],
    until(fun() -> [name(First)] =:= mnesia(First, system_info, [running_db_nodes]) end),
    Starts = [spawn_monitor(fun() -> ok = mnesia(N, start, []) end) || N <- Others],
    [receive {'DOWN', Monitor, _, _, Reason} -> normal = Reason end || {_, Monitor} <- Starts],
    loaded(Nodes, [Tab || {_, Tabs} <- ?TABLES, Tab <- Tabs]),
    [Storage || {Storage, Tabs} <- ?TABLES, lists:any(fun(Tab) -> not settled(Nodes, Tab, 40) end, Tabs)].

%% Those that have loaded a table tell the others next.
settled(Nodes, Tab, Tries) ->
    All = lists:sort(names(Nodes)),
    case [N || N <- Nodes, lists:sort(mnesia(N, table_info, [Tab, where_to_write])) =/= All] of
        [] -> true;
        _ when Tries =:= 0 -> false;
        _ -> timer:sleep(5), settled(Nodes, Tab, Tries - 1)
    end.

%% The sender's last message comes when it comes.
end_of_loading_waits_for_nobody(Dir) ->
    [Node, _] = two(Dir),
    made(Node, t, [{fyris_copies, [name(Node)]}]),
    ?assertEqual(ok, on(peer(Node), ?MODULE, received, [t])).

received(Tab) ->
    ok = fyris_mnesia_keeper:load(Tab, node),
    {more, none} = fyris_mnesia:receive_data([{Tab, other, 1}], fyris_copies, Tab, self(), none),
    fyris_mnesia:receive_done(fyris_copies, Tab, self(), none).

%% A log that is not written yet holds up nobody who is told of a copy elsewhere.
account_waits_for_no_file(Dir) ->
    [A, B] = two(Dir),
    made(A, t, [{fyris_copies, [name(A)]}]),
    made(A, u, [{fyris_copies, [name(B)]}]),
    filled(A, u),
    ?assertEqual(yes, on(peer(B), ?MODULE, told_of_copy, [u, t, name(A)])).

told_of_copy(Held, Tab, Node) ->
    {Writer, _} = fyris_mnesia_keeper:writer(Held),
    %% It waits a tenth of a second before it writes.
    ok = mnesia:dirty_write({Held, late, 1}),
    true = fyris_mnesia_files_test:held(Writer),
    gen_server:cast(mnesia_controller, {i_have_tab, Tab, Node}),
    try gen_server:call(mnesia_controller, disc_load_intents, 5_000) of
        {ok, _, _} -> yes
    catch
        exit:{timeout, _} -> no
    after
        erlang:resume_process(Writer)
    end.
