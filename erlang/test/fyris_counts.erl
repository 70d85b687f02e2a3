%% The NIF's account of what is alive: tables, fixations and resources of large binaries. Other processes let go of
%% theirs when they are scheduled, so whoever compares two counts waits for both.
-module(fyris_counts).

-export([resources/0, resources/1]).

-define(STEP, 10).
-define(STILL, 30).
-define(PATIENCE, 1000).

%% The count of resources once what earlier tests have left is gone: when it has stood still for a while.
resources() -> still(count(), ?STILL).

still(Count, 0) -> Count;
still(Count, Steps) ->
    timer:sleep(?STEP),
    case count() of
        Count -> still(Count, Steps - 1);
        Moved -> still(Moved, ?STILL)
    end.

%% The count of resources as soon as it is as expected, or what it is after a while.
resources(Wanted) -> awaited(Wanted, ?PATIENCE).

awaited(Wanted, Steps) ->
    case count() of
        Wanted -> Wanted;
        Other when Steps =:= 0 -> Other;
        _ -> timer:sleep(?STEP), awaited(Wanted, Steps - 1)
    end.

count() ->
    [erlang:garbage_collect(P) || P <- processes()],
    {_, _, Count} = fyris_nif:counts(),
    Count.
