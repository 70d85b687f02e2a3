%% The NIF's account of what is alive: tables, monitored processes, and resources (of tables, large binaries, kept
%% references). Other processes let go of theirs when they are scheduled, so whoever compares two counts waits for both.
-module(fyris_counts).

-export([extra/1]).

-define(STEP, 10).
-define(PATIENCE, 1000).

%% How many resources there are besides one for each table and each monitored process: as soon as that is as expected,
%% or after a while.
extra(Wanted) -> extra(Wanted, ?PATIENCE).

extra(Wanted, Steps) ->
    [erlang:garbage_collect(P) || P <- processes()],
    {Tables, Monitors, Resources} = fyris_nif:counts(),
    case Resources - Tables - Monitors of
        Wanted -> Wanted;
        Other when Steps =:= 0 -> Other;
        _ -> timer:sleep(?STEP), extra(Wanted, Steps - 1)
    end.
