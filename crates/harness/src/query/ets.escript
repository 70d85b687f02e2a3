#!/usr/bin/env escript
%% The real ets as a subject of the suite `query`. Terms on standard input, a line for each on standard output:
%% {new, Type, Kind, N} fills a table, and says ok; {run, Case} does a case, and says how many nanoseconds it took by the
%% clock and of processor time, by how many units of work they are divided, and what to check it by.
-mode(compile).

main(_) -> loop(none).

loop(World) ->
    case io:read('') of
        {ok, {new, Type, Kind, N}} ->
            drop(World),
            New = {fill(Type, Kind, N), Kind, N},
            io:format("ok~n"),
            loop(New);
        {ok, {run, Case}} ->
            {Time, Cpu, Units, Check} = apart(fun() -> run(Case, World) end),
            io:format("~w ~w ~w ~w~n", [Time, Cpu, Units, Check]),
            loop(World);
        eof ->
            ok
    end.

drop(none) -> ok;
drop({T, _, _}) -> ets:delete(T).

%% In a process of its own, so that what one case leaves on the heap is nobody's burden.
apart(F) ->
    Self = self(),
    spawn_link(fun() -> Self ! {done, F()} end),
    receive {done, Answer} -> Answer end.

fill(Type, Kind, N) ->
    T = ets:new(t, [Type, public]),
    fill(T, Kind, N, 0),
    T.

fill(_, _, N, N) -> ok;
fill(T, Kind, N, I) ->
    ets:insert(T, object(Kind, I * 7368787 rem N, N)),
    fill(T, Kind, N, I + 1).

object(int, K, N) -> {K, K * 7 rem N};
object(bin, K, N) -> {key(bin, K), K * 7 rem N, lists:nth(1 + K rem 3, [red, green, blue])}.

key(int, K) -> K;
key(bin, K) -> <<(K * 16#9E3779B97F4A7C15):64, K:64, 0:32>>.

head(int) -> {'$1', '$2'};
head(bin) -> {'$1', '$2', '_'}.

run(select_guard, {T, Kind, N}) ->
    Spec = [{head(Kind), [{'<', '$2', N div 2}], ['$1']}],
    timed(N, fun() -> ets:select(T, Spec) end, fun erlang:length/1);
run(select_count_guard, {T, Kind, N}) ->
    Spec = [{head(Kind), [{'<', '$2', N div 2}], [true]}],
    timed(N, fun() -> ets:select_count(T, Spec) end, fun(Count) -> Count end);
run(select_tuple_body, {T, Kind, N}) ->
    Spec = [{head(Kind), [{'<', '$2', N div 2}], [{{'$2', '$1'}}]}],
    timed(N, fun() -> ets:select(T, Spec) end, fun erlang:length/1);
run(match, {T, Kind, N}) ->
    Pattern = setelement(2, head(Kind), 5),
    timed(N, fun() -> ets:match(T, Pattern) end, fun erlang:length/1);
run(match_spec_run, {T, Kind, N}) ->
    Spec = ets:match_spec_compile([{head(Kind), [{'<', '$2', N div 2}], ['$1']}]),
    List = ets:tab2list(T),
    timed(N, fun() -> ets:match_spec_run(List, Spec) end, fun erlang:length/1);
run(compile, {_, Kind, _}) ->
    Spec = [{head(Kind), [{'>', '$2', 5}, {is_integer, '$2'}], ['$_']}],
    Ops = 100000,
    timed(Ops, fun() -> times(Ops, fun(_) -> ets:match_spec_compile(Spec) end) end, fun(_) -> Ops end);
run(lookup, {T, Kind, N}) ->
    Keys = [key(Kind, I * 97 rem N) || I <- lists:seq(1, 10000)],
    timed(10000, fun() -> each(Keys, fun(Key) -> ets:lookup(T, Key) end) end, fun(_) -> 10000 end);
run(point, {T, Kind, N}) ->
    Specs = [[{setelement(1, head(Kind), key(Kind, I * 97 rem N)), [{'>=', '$2', 0}], ['$_']}]
             || I <- lists:seq(1, 10000)],
    timed(10000, fun() -> each(Specs, fun(Spec) -> ets:select(T, Spec) end) end, fun(_) -> 10000 end).

timed(Units, Work, Check) ->
    {Before, _} = statistics(runtime),
    Start = erlang:monotonic_time(nanosecond),
    Answer = Work(),
    Time = erlang:monotonic_time(nanosecond) - Start,
    {After, _} = statistics(runtime),
    {Time, (After - Before) * 1000000, Units, Check(Answer)}.

times(0, _) -> ok;
times(N, F) -> F(N), times(N - 1, F).

each([], _) -> ok;
each([X | Xs], F) -> F(X), each(Xs, F).
