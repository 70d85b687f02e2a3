%% A quick comparison with the real ets, in one machine.
%%
%% Runs are interleaved and the median counts; the harness's own loop is measured and subtracted. Figures are
%% nanoseconds an operation; the last column is fyris / ets: lower is better.
-module(fyris_bench).

-export([main/0, main/1]).

-define(RUNS, 3).

main() ->
    main(200_000).

main(N) ->
    io:format("~b objects, ~b runs, ~b scheduler(s)~n~-28s~8s~8s~8s~n",
              [N, ?RUNS, erlang:system_info(schedulers_online),
               "case", "ets", "fyris", "ratio"]),
    [table(Type, Keys, N) || Type <- [set, ordered_set],
                             Keys <- [integer, binary]],
    whole(N),
    hot(N),
    ok.

%% The phases of one table type and kind of key.
table(Type, Keys, N) ->
    Present = shuffled([key(Keys, 2 * I) || I <- lists:seq(1, N)]),
    Half = shuffled([key(Keys, I) || I <- lists:seq(1, 2 * N)]),
    Half1 = lists:sublist(Half, N),
    Empty = overhead(Present),
    Phases =
        [{insert, Present, fun(M, T, K) -> M:insert(T, {K, 1}) end},
         {hit, Present, fun(M, T, K) -> M:lookup(T, K) end},
         {lookup50, Half1, fun(M, T, K) -> M:lookup(T, K) end},
         {member, Present, fun(M, T, K) -> M:member(T, K) end},
         {lookup_element, Present,
          fun(M, T, K) -> M:lookup_element(T, K, 2) end},
         {update_counter, Present,
          fun(M, T, K) -> M:update_counter(T, K, 1) end},
         {update_element, Present,
          fun(M, T, K) -> M:update_element(T, K, {2, 7}) end},
         {next, Present, fun(M, T, K) -> M:next(T, K) end},
         {delete, Present, fun(M, T, K) -> M:delete(T, K) end}],
    Runs = [[phases(M, Type, Phases) || M <- order(R)]
            || R <- lists:seq(1, ?RUNS)],
    Times = lists:append(lists:append(Runs)),
    [report([atom_to_list(Type), " ", atom_to_list(Keys), " ",
             atom_to_list(P)], P, Times, N, Empty)
     || {P, _, _} <- Phases].

order(R) when R rem 2 =:= 0 -> [ets, fyris];
order(_) -> [fyris, ets].

phases(M, Type, Phases) ->
    T = M:new(bench, [Type, public]),
    Times = [{{P, M}, time(fun() -> each(Keys, F, M, T) end)}
             || {P, Keys, F} <- Phases],
    M:delete(T),
    Times.

%% Whole tables and long lists.
whole(N) ->
    List = [{I, I} || I <- lists:seq(1, N)],
    Phases =
        [{insert_list, fun(M, T) -> M:insert(T, List) end},
         {tab2list, fun(M, T) -> M:tab2list(T) end},
         {foldl, fun(M, T) -> M:foldl(fun({_, V}, A) -> V + A end, 0, T) end}],
    [begin
         Runs = [{{P, M}, time(fun() -> F(M, T) end)}
                 || R <- lists:seq(1, ?RUNS), M <- order(R),
                    T <- [M:new(bench, [Type])],
                    {P, F} <- Phases],
         [fyris:delete(T) || T <- fyris:all()],
         [report([atom_to_list(Type), " ", atom_to_list(P)], P, Runs, N, 0)
          || {P, _} <- Phases]
     end || Type <- [set, ordered_set]].

%% A table that stays in the cache.
hot(N) ->
    Keys = [I rem 1024 || I <- lists:seq(1, N)],
    Empty = overhead(Keys),
    Lookup = fun(M, T, K) -> M:lookup(T, K) end,
    Fill = fun(M) ->
                   T = M:new(bench, []),
                   M:insert(T, [{I} || I <- lists:seq(0, 1023)]),
                   T
           end,
    Times = [{{hot, M}, time(fun() -> each(Keys, Lookup, M, T) end)}
             || R <- lists:seq(1, 3 * ?RUNS), M <- order(R), T <- [Fill(M)]],
    report("hot lookup", hot, Times, N, Empty).

each([K | Keys], F, M, T) ->
    F(M, T, K),
    each(Keys, F, M, T);
each([], _, _, _) ->
    ok.

overhead(Keys) ->
    Nothing = fun(_, _, K) -> K end,
    median([time(fun() -> each(Keys, Nothing, ets, none) end)
            || _ <- lists:seq(1, 5)]).

report(Name, Phase, Times, N, Empty) ->
    [Ets, Fyris] = [max(median([T || {{P, M1}, T} <- Times,
                                     P =:= Phase, M1 =:= M]) - Empty, 0) / N
                    || M <- [ets, fyris]],
    io:format("~-28s~8.1f~8.1f~8.2f~n",
              [Name, Ets, Fyris, Fyris / max(Ets, 0.01)]).

time(F) ->
    erlang:garbage_collect(),
    T0 = erlang:monotonic_time(nanosecond),
    F(),
    erlang:monotonic_time(nanosecond) - T0.

median(List) ->
    lists:nth((length(List) + 1) div 2, lists:sort(List)).

key(integer, I) -> I;
key(binary, I) -> <<"key-", (16#1000000000000000 + I):128>>.

shuffled(List) ->
    rand:seed(exsss, 42),
    [X || {_, X} <- lists:sort([{rand:uniform(), X} || X <- List])].
