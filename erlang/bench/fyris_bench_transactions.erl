%% @doc Transactions against those of Mnesia over `ram_copies', and against one server process.
%%
%% `make native && mkdir -p bench/ebin && erlc -pa ebin -o bench/ebin bench/fyris_bench_transactions.erl &&
%% erl -noshell -pa ebin bench/ebin -run fyris_bench_transactions main -s erlang halt'. Microseconds an operation, medians
%% of rounds in turn; ratios to Fyris.
-module(fyris_bench_transactions).

-export([main/0, server/1]).

-define(ROUNDS, 7).
-define(COUNT, 5000).
-define(ACCOUNTS, 1000).

main() ->
    ok = mnesia:start(),
    {atomic, ok} = mnesia:create_table(account, [{ram_copies, [node()]}]),
    Table = fyris:new(account, [public]),
    Server = spawn(?MODULE, server, [#{}]),
    [begin
         fyris:insert(Table, {N, 0}),
         mnesia:dirty_write({account, N, 0})
     end || N <- lists:seq(0, ?ACCOUNTS - 1)],
    Two = fun(N) -> {N * 7919 rem ?ACCOUNTS, (N * 7919 + 31) rem ?ACCOUNTS} end,
    io:format("us an operation, of ~b accounts~n", [?ACCOUNTS]),
    Reads = [{"fyris:transaction", fun(N) -> fyris_both(Table, Two(N)) end},
             {"mnesia:transaction", fun(N) -> mnesia_both(Two(N)) end},
             {"four single calls", fun(N) -> single_both(Table, Two(N)) end},
             {"a server process", fun(N) -> ask(Server, Two(N)) end}],
    compare("2 reads and 2 writes, one process", 1, Reads),
    compare("2 reads and 2 writes, two processes", 2, Reads),
    exit(Server, kill).

fyris_both(Table, {A, B}) ->
    {atomic, true} = fyris:transaction(fun(Tx) ->
        T = fyris:within(Tx, Table),
        [{_, X}] = fyris:lookup(T, A),
        [{_, Y}] = fyris:lookup(T, B),
        fyris:insert(T, {A, X - 1}),
        fyris:insert(T, {B, Y + 1})
    end, infinity).

mnesia_both({A, B}) ->
    {atomic, ok} = mnesia:transaction(fun() ->
        [{_, _, X}] = mnesia:read(account, A),
        [{_, _, Y}] = mnesia:read(account, B),
        mnesia:write({account, A, X - 1}),
        mnesia:write({account, B, Y + 1})
    end).

single_both(T, {A, B}) ->
    [{_, X}] = fyris:lookup(T, A),
    [{_, Y}] = fyris:lookup(T, B),
    fyris:insert(T, {A, X - 1}),
    fyris:insert(T, {B, Y + 1}).

ask(Server, Both) ->
    Server ! {self(), Both},
    receive done -> ok end.

server(Accounts) ->
    receive
        {From, {A, B}} ->
            More = fun(Key, N, Map) -> maps:update_with(Key, fun(V) -> V + N end, N, Map) end,
            From ! done,
            server(More(B, 1, More(A, -1, Accounts)))
    end.

compare(Group, Processes, Cases) ->
    io:format("~s~n", [Group]),
    Rounds = [[time(Processes, Run) || {_, Run} <- Cases] || _ <- lists:seq(1, ?ROUNDS)],
    Medians = [median([lists:nth(N, Round) || Round <- Rounds]) || N <- lists:seq(1, length(Cases))],
    [io:format("  ~-20s ~8.2f  ~6.2f~n", [Name, Median, Median / hd(Medians)])
     || {{Name, _}, Median} <- lists:zip(Cases, Medians)].

time(Processes, Run) ->
    Work = fun(First) -> [Run(First + N) || N <- lists:seq(1, ?COUNT)] end,
    {Time, _} = timer:tc(fun() ->
        Workers = [spawn_monitor(fun() -> Work(P * ?COUNT) end) || P <- lists:seq(1, Processes)],
        [receive {'DOWN', Monitor, process, Pid, normal} -> ok end || {Pid, Monitor} <- Workers]
    end),
    Time / (?COUNT * Processes).

median(Times) -> lists:nth(length(Times) div 2 + 1, lists:sort(Times)).
