%% The two sides of the oracle, `ets' and `fyris': each has two processes, `a' and `b', that run commands, and the
%% tables they made.
%%
%% | argument | stands for |
%% |---|---|
%% | `{slot, N}' | where `new' puts its table |
%% | `{table, N}' | what `new' returned: a tid or a name |
%% | `{tid, N}' | the tid of that table |
%% | `{process, a}' | the pid of that process |
%% | `{options, List}' | options, with a process in heirs |
%% | `{function, collect}' | a fun for folds |
-module(fyris_oracle_sides).

-export([start/1, stop/0, run/2, look/2]).

%% `names' are those of tables and of processes that are dead.
-record(side, {module, index, clients, names = #{}, tables = #{}, tids = #{}}).

%% Tables of fyris are made on the index given; on their own for `default'.
start(Index) ->
    put(?MODULE, []),
    [#side{module = M, index = Index, clients = #{a => client(), b => client()}} || M <- [ets, fyris]].

%% Ends all that this process has started.
stop() ->
    [kill(Pid) || Pid <- erase(?MODULE)],
    ok.

%% Whether a command gives the same on both sides, and what.
run(Command, [Real, Ours]) ->
    {A, Type, Real1} = run_on(Real, Command),
    {B, _, Ours1} = run_on(Ours, Command),
    [RealReply, OurReply] = [fyris_oracle_replies:comparable(Command, Type, Reply) || Reply <- [A, B]],
    {fyris_oracle_replies:same(RealReply, OurReply), {RealReply, OurReply}, [Real1, Ours1]}.

%% What the table of a command holds after it, on both sides, three times: whether what differed is still there.
look({_, _, Args}, Sides) ->
    [[{M, ask(Pid, M, F, [T])} || #side{module = M, clients = #{a := Pid}} = Side <- Sides,
                                  T <- [table(Args, Side)], F <- [info, tab2list, walk_lookup]] || _ <- [1, 2, 3]].

run_on(#side{module = M, clients = Clients, names = Names, tables = Tables} = Before, {Process, kill, []}) ->
    Pid = map_get(Process, Clients),
    kill(Pid),
    Side = Before#side{clients = Clients#{Process := client()}, names = Names#{Pid => {dead, map_size(Names)}}},
    %% Fyris may tell heirs when their tables are next asked for.
    Owners = [{Slot, M:info(T, owner)} || {Slot, T} <- maps:to_list(Tables)],
    Messages = mail(maps:remove(Process, Clients)),
    {plain({value, {Owners, Messages}}, Side), undefined, Side};
run_on(#side{module = M, clients = Clients} = Side, {Process, F, Args} = Command) ->
    Pid = map_get(Process, Clients),
    Table = table(Args, Side),
    Type = M:info(Table, type),
    Reply = known(F, reply(Pid, Side, F, [real(Arg, Side) || {Tag, _} = Arg <- tagged(Args), Tag =/= slot])),
    After = note(Command, Reply, Side),
    Mail = case F of
               give_away -> mail(Clients);
               _ -> []
           end,
    {{plain(Reply, After), Mail =/= [] andalso plain(Mail, After), M:info(Table, size)}, Type, After}.

%% Without the items of an index that was chosen.
known(info, {value, [{_, _} | _] = Items}) ->
    {value, [Item || {Name, _} = Item <- Items, Name =/= index, Name =/= index_info]};
known(_, Reply) ->
    Reply.

%% The table that a command is about.
table(Args, Side) ->
    case [real(Arg, Side) || {Tag, _} = Arg <- tagged(Args), Tag =:= table orelse Tag =:= tid] of
        [Table | _] -> Table;
        [] -> nowhere
    end.

tagged(Args) ->
    [case Arg of
         {Tag, _} when Tag =:= slot; Tag =:= table; Tag =:= tid; Tag =:= process; Tag =:= options; Tag =:= function ->
             Arg;
         _ -> {plain, Arg}
     end || Arg <- Args].

real({plain, Term}, _) -> Term;
real({table, Slot}, #side{tables = Tables}) -> maps:get(Slot, Tables, nowhere);
real({tid, Slot}, #side{tids = Tids}) -> maps:get(Slot, Tids, nowhere);
real({process, Name}, #side{clients = Clients}) -> maps:get(Name, Clients);
real({function, collect}, _) -> fun(Object, Sofar) -> [Object | Sofar] end;
real({options, Options}, Side) -> option(Options, Side).

option([Option | More], Side) -> [option(Option, Side) | option(More, Side)];
option({heir, {process, _} = Heir, Data}, Side) -> {heir, real(Heir, Side), Data};
option({heir, {process, _} = Heir}, Side) -> {heir, real(Heir, Side)};
option(Option, _) -> Option.

note({_, new, [{slot, Slot} | _]}, {value, Table}, #side{tables = Tables, tids = Tids, names = Names} = Side) ->
    #side{module = M} = Side,
    Tid = M:info(Table, id),
    Side#side{tables = Tables#{Slot => Table}, tids = Tids#{Slot => Tid}, names = Names#{Tid => {tid, map_size(Names)}}};
note({_, rename, [{table, Slot}, _]}, {value, Name}, #side{tables = Tables} = Side) when is_atom(Name) ->
    Side#side{tables = Tables#{Slot => Name}};
note(_, _, Side) ->
    Side.

%% Without what is each side's own: tids, pids of its processes, the name of the module.
plain(Term, #side{module = M, clients = Clients, names = Names}) ->
    Living = maps:from_list([{M, module} | [{Pid, Name} || {Name, Pid} <- maps:to_list(Clients)]]),
    renamed(Term, maps:merge(Names, Living)).

renamed(Term, Names) when is_map_key(Term, Names) -> map_get(Term, Names);
renamed(Term, Names) when is_tuple(Term) -> list_to_tuple(renamed(tuple_to_list(Term), Names));
renamed([Head | Tail], Names) -> [renamed(Head, Names) | renamed(Tail, Names)];
renamed(Term, Names) when is_map(Term) -> maps:from_list(renamed(maps:to_list(Term), Names));
renamed(Term, _) -> Term.

%% ---------------------------------------------------------------------------
%% Clients

client() ->
    Pid = spawn(fun serve/0),
    put(?MODULE, [Pid | get(?MODULE)]),
    Pid.

serve() ->
    receive
        {run, From, M, F, Args} ->
            From ! {ran, self(), outcome(M, F, Args)};
        {mail, From} ->
            From ! {mail, self(), mail_of_mine()}
    end,
    serve().

%% What ets makes of other functions is raised in one of them.
outcome(M, F, Args) ->
    case fyris_same:try_it(fun() -> fyris_oracle_calls:call(M, F, Args) end) of
        {Class, Reason, Call} ->
            case erlang:is_builtin(ets, F, length(Args)) of
                true -> {Class, Reason, Call};
                false -> {Class, Reason}
            end;
        Value -> Value
    end.

mail_of_mine() ->
    receive {'ETS-TRANSFER', _, _, _} = Message -> [Message | mail_of_mine()]
    after 0 -> []
    end.

%% Chunks go on in the live table, as those of ets, also of a table whose type the index does not serve. Options that are
%% wrong are shown as they are, without more.
reply(Pid, #side{module = fyris, index = Index}, new, [Name, Options]) ->
    More = [{index, Index} || Index =/= default],
    made(Pid, Name, [[{consistent, false} | More ++ Options], [{consistent, false} | Options], Options]);
reply(Pid, #side{module = M}, F, Args) ->
    ask(Pid, M, F, Args).

%% What `new' answers to the first of some options that are right, or to the last ones.
made(Pid, Name, [Options]) ->
    ask(Pid, fyris, new, [Name, Options]);
made(Pid, Name, [Options | Others]) ->
    case ask(Pid, fyris, new, [Name, Options]) of
        {error, _, _} -> made(Pid, Name, Others);
        Reply -> Reply
    end.

ask(Pid, M, F, Args) ->
    Pid ! {run, self(), M, F, Args},
    receive {ran, Pid, Reply} -> Reply
    after 60_000 -> error({no_reply, M, F, Args})
    end.

mail(Clients) ->
    [begin
         Pid ! {mail, self()},
         receive {mail, Pid, Messages} -> {Name, lists:sort(Messages)} end
     end || {Name, Pid} <- maps:to_list(Clients)].

kill(Pid) ->
    Ref = monitor(process, Pid),
    exit(Pid, kill),
    receive {'DOWN', Ref, process, Pid, _} -> ok end.
