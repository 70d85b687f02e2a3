#!/usr/bin/env escript
%% The real ets as a subject of the suite `judy`. Terms on standard input, a line for each on standard output:
%% {pass, Type, N, Repeats} runs the seven programs over fresh tables, and says for each how many nanoseconds it took
%% by the clock and of processor time, and then for each how many keys it found right; {memory, Type, N} says how many
%% bytes a table takes.
-mode(compile).

main(_) -> loop().

loop() ->
    case io:read('') of
        {ok, {pass, Type, N, Repeats}} ->
            say(apart(fun() -> pass(Type, N, Repeats) end)),
            loop();
        {ok, {memory, Type, N}} ->
            T = ets:new(t, [Type]),
            insert(T, 0, N),
            say([ets:info(T, memory) * erlang:system_info(wordsize)]),
            ets:delete(T),
            loop();
        eof ->
            ok
    end.

say(Numbers) -> io:format("~s~n", [lists:join(" ", [integer_to_list(N) || N <- Numbers])]).

%% Runs F in a process of its own, so that no pass collects the garbage of the one before.
apart(F) ->
    Self = self(),
    spawn_link(fun() -> Self ! {done, F()} end),
    receive {done, Answer} -> Answer end.

pass(Type, N, Repeats) ->
    Order = shuffled(N),
    None = lists:duplicate(7, {0, 0, 0}),
    Sum = lists:foldl(fun(_, Sum) -> lists:zipwith(fun add/2, Sum, once(Type, N, Order)) end, None,
                      lists:seq(1, Repeats)),
    lists:append([[Wall, Cpu] || {Wall, Cpu, _} <- Sum]) ++ [Check || {_, _, Check} <- Sum].

add({A, B, C}, {X, Y, Z}) -> {A + X, B + Y, C + Z}.

once(Type, N, Order) ->
    {T, R} = {ets:new(t, [Type]), ets:new(r, [Type])},
    InsertSequential = timed(fun() -> insert(T, 0, N) end),
    InsertRandom = timed(fun() -> insert_all(R, Order, 0) end),
    ets:delete(R),
    Times = [InsertSequential, InsertRandom,
             timed(fun() -> lookup(T, 0, N, 0) end),
             timed(fun() -> lookup_all(T, Order, 0) end),
             timed(fun() -> traverse(T, ets:first(T), 0) end),
             timed(fun() -> update_all(T, Order, 0) end),
             timed(fun() -> delete(T) end)],
    ets:delete(T),
    Times.

timed(Work) ->
    {Before, _} = statistics(runtime),
    Start = erlang:monotonic_time(nanosecond),
    Check = Work(),
    Time = erlang:monotonic_time(nanosecond) - Start,
    {After, _} = statistics(runtime),
    {Time, (After - Before) * 1000000, Check}.

insert(_, N, N) -> N;
insert(T, K, N) -> ets:insert(T, {K, 1}), insert(T, K + 1, N).

insert_all(_, [], Count) -> Count;
insert_all(T, [K | Ks], Count) -> ets:insert(T, {K, 1}), insert_all(T, Ks, Count + 1).

lookup(_, N, N, Count) -> Count;
lookup(T, K, N, Count) -> [_] = ets:lookup(T, K), lookup(T, K + 1, N, Count + 1).

lookup_all(_, [], Count) -> Count;
lookup_all(T, [K | Ks], Count) -> [_] = ets:lookup(T, K), lookup_all(T, Ks, Count + 1).

traverse(_, '$end_of_table', Count) -> Count;
traverse(T, K, Count) -> traverse(T, ets:next(T, K), Count + 1).

update_all(_, [], Count) -> Count;
update_all(T, [K | Ks], Count) -> 2 = ets:update_counter(T, K, 1), update_all(T, Ks, Count + 1).

%% A set that shrinks meanwhile would pass keys over, unless it is fixed.
delete(T) ->
    ets:safe_fixtable(T, true),
    Count = delete(T, ets:first(T), 0),
    ets:safe_fixtable(T, false),
    Count.

delete(_, '$end_of_table', Count) -> Count;
delete(T, K, Count) ->
    Next = ets:next(T, K),
    ets:delete(T, K),
    delete(T, Next, Count + 1).

%% The numbers below N in an order that looks random, the same as the other subjects'.
shuffled(N) ->
    Bits = bits(N - 1, 0),
    Mask = (1 bsl Bits) - 1,
    shuffled(Mask, N, Mask, Bits div 2 + 1, []).

shuffled(-1, _, _, _, Order) -> Order;
shuffled(I, N, Mask, Half, Order) ->
    X = I * 16#9E3779B1 band Mask,
    Y = (X bxor (X bsr Half)) * 16#85EBCA6B band Mask,
    case Y bxor (Y bsr Half) of
        K when K < N -> shuffled(I - 1, N, Mask, Half, [K | Order]);
        _ -> shuffled(I - 1, N, Mask, Half, Order)
    end.

bits(0, Bits) -> Bits;
bits(N, Bits) -> bits(N bsr 1, Bits + 1).
