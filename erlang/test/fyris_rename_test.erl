%% A node gets a name, and loses it: what is local stays the same term (LOCAL, native/fyris_nif/src/kind/mod.rs),
%% whatever the node was called when it was stored.
-module(fyris_rename_test).

-compile(export_all).
-include("fyris_same.hrl").

%% More aliases than the library remembers the processes of at a time (native/fyris_nif/src/kind/alias.rs).
-define(MANY, 70_000).

rename_test_() ->
    case code:which(peer) =/= non_existing andalso os:find_executable("epmd") of
        false -> skipped("no OTP 25, or no epmd");
        _ -> {timeout, 120, {test, ?MODULE, in_a_node_of_its_own}}
    end.

skipped(Why) ->
    io:format(user, "skipped: a node cannot be renamed here: ~p~n", [Why]),
    [].

in_a_node_of_its_own() ->
    os:cmd("epmd -daemon"),
    Ebin = [filename:absname(filename:dirname(code:which(M))) || M <- [fyris, ?MODULE]],
    {ok, Peer, _} = peer:start_link(#{connection => standard_io, args => ["-pa" | Ebin]}),
    Name = list_to_atom("fyris_rename_" ++ os:getpid()),
    try peer:call(Peer, ?MODULE, renamed, [Name], 100_000) of
        ok -> ok;
        {no_name, Why} -> skipped(Why)
    after
        peer:stop(Peer)
    end.

%% In the peer, which has no name yet.
renamed(Name) ->
    {ok, Host} = inet:gethostname(),
    Terms = terms(list_to_atom(lists:concat([Name, "@", Host]))),
    Before = stored(Terms),
    all_are_found(Terms, [Before]),
    case net_kernel:start([Name, shortnames]) of
        {ok, _} ->
            true = is_alive(),
            While = stored(Terms),
            all_are_found(Terms, [Before, While]),
            forget_aliases(),
            all_are_found(Terms, [Before, While]),
            ok = net_kernel:stop(),
            forget_aliases(),
            all_are_found(Terms, [Before, While, stored(Terms)]);
        {error, Why} ->
            {no_name, Why}
    end.

%% Of this node, or with parts that are; and of others, one of them a node that once had the name that this one gets.
terms(Future) ->
    Port = open_port({spawn_executable, "/bin/cat"}, []),
    Pid = spawn_link(fun() -> receive stop -> ok end end),
    Local = [make_ref(), alias(), erlang:monitor(process, Pid), erlang:monitor(process, Pid, [{alias, demonitor}]),
             Port, Pid, self(), ets:new(t, []), atomics:new(1, [])],
    Foreign = [pid_of(Node) || Node <- ['a@b', Future]] ++ [reference_of(Node) || Node <- ['a@b', Future]],
    Funs = [fun lists:map/2, fun(X) -> {X, Local, Foreign} end],
    All = Local ++ Foreign ++ Funs,
    All ++ [All, list_to_tuple(All), #{1 => All}, maps:from_keys(All, here), {<<5:3>>, 1 bsl 80}].

pid_of(Node) -> binary_to_term(<<131, 88, (name(Node))/binary, 1:32, 2:32, 3:32>>).
reference_of(Node) -> binary_to_term(<<131, 90, 3:16, (name(Node))/binary, 3:32, 1:32, 2:32, 3:32>>).

name(Node) ->
    Name = atom_to_binary(Node),
    <<119, (byte_size(Name)), Name/binary>>.

stored(Terms) ->
    [begin
         T = fyris:new(t, [Type]),
         [fyris:insert(T, [{{I}, Term}, {Term, I}]) || {I, Term} <- lists:enumerate(Terms)],
         T
     end || Type <- [set, ordered_set]].

%% By number and as keys; also those that the machine reads from their external format, by the name of now.
all_are_found(Terms, Tables) ->
    [begin
         [{{I}, Found}] = fyris:lookup(T, {I}),
         ?assert(Found =:= Term),
         ?assertEqual([{Term, I}], fyris:lookup(T, Term)),
         ?assertEqual(Term =:= decoded(Term), [{Term, I}] =:= fyris:lookup(T, decoded(Term))),
         ?assertEqual(2 * length(Terms), fyris:info(T, size)),
         reaches(I, Found)
     end || T <- lists:append(Tables), {I, Term} <- lists:enumerate(Terms)],
    ok.

decoded(Term) -> binary_to_term(term_to_binary(Term)).

%% The second is an alias, and the fifth is a port.
reaches(2, Alias) ->
    Alias ! {here, Alias},
    receive {here, Alias} -> ok after 5000 -> error(no_message) end;
reaches(5, Port) ->
    true = port_command(Port, <<"x">>),
    receive {Port, {data, _}} -> ok after 5000 -> error(no_data) end;
reaches(_, _) ->
    ok.

forget_aliases() ->
    T = fyris:new(t, []),
    [begin
         Alias = alias(),
         fyris:insert(T, {1, Alias}),
         erlang:unalias(Alias)
     end || _ <- lists:seq(1, ?MANY)],
    fyris:delete(T).
