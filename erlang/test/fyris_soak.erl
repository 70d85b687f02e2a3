%% Killing owners, heirs, fixers and callers under load for long, with the memory of the machine watched: `make soak'.
%%
%% Prints a line every so often, and fails if at the end something is left of the killed, or if in the last quarter the
%% memory of the process (as the kernel counts it) is above what it was in the second by more than a tenth.
-module(fyris_soak).

-export([main/1]).

-define(LINES, 40).

main([Seconds]) ->
    try run(list_to_integer(Seconds)) of
        _ -> halt(0)
    catch Class:Reason:Stack ->
            io:format("soak: ~p~n", [{Class, Reason, Stack}]),
            halt(1)
    end.

run(Seconds) ->
    Before = fyris_nif:counts(),
    Until = fyris_kills_test:now_ms() + 1000 * Seconds,
    {Driver, Ref} = spawn_monitor(fun() -> fyris_kills_test:run_until(Until) end),
    io:format("~8s ~12s ~12s ~10s  {tables, processes, resources}~n", ["seconds", "process MB", "beam MB", "killed"]),
    Sizes = [sample(N, Seconds, Until) || N <- lists:seq(1, ?LINES)],
    receive {'DOWN', Ref, process, Driver, normal} -> ok;
            {'DOWN', Ref, process, Driver, Reason} -> error(Reason)
    end,
    Left = fyris_kills_test:settled(Before, 100),
    io:format("left: ~p, before: ~p~n", [Left, Before]),
    0 = fyris_kills_test:above(Left, Before),
    [_, Second, _, Last] = quarters(Sizes),
    io:format("median MB of the second quarter: ~b, of the last: ~b~n", [median(Second), median(Last)]),
    true = median(Last) =< median(Second) * 11 div 10 + 16.

sample(N, Seconds, Until) ->
    Left = 1000 * Seconds * (?LINES - N) div ?LINES,
    timer:sleep(max(0, Until - Left - fyris_kills_test:now_ms())),
    Size = resident(),
    io:format("~8b ~12b ~12b ~10b  ~p~n",
              [N * Seconds div ?LINES, Size, erlang:memory(total) bsr 20, fyris_kills_test:killed(), fyris_nif:counts()]),
    Size.

%% MB that the kernel counts for this process.
resident() ->
    {ok, Status} = file:read_file("/proc/self/status"),
    {match, [KB]} = re:run(Status, "VmRSS:\\s+(\\d+)", [{capture, all_but_first, list}]),
    list_to_integer(KB) div 1024.

quarters(List) ->
    N = length(List) div 4,
    [lists:sublist(List, 1 + I * N, N) || I <- [0, 1, 2, 3]].

median(List) -> lists:nth((length(List) + 1) div 2, lists:sort(List)).
