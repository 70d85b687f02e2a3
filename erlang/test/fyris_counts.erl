%% The NIF's account of what is alive: tables, monitored processes, and resources (of tables, kept references, and large
%% binaries that are not the machine's own). Other processes let go of theirs when they are scheduled, so whoever
%% compares two counts waits for both.
-module(fyris_counts).

-export([extra/1, holders/2, holders/3, binaries/0, binaries_get_below/1]).

-define(STEP, 10).
-define(PATIENCE, 1000).
-define(LONG, 6000).

%% How many hold the machine's binaries of a size, of which this process has some: a number for each, as soon as they
%% are as expected, or after a while.
holders(Size, Wanted) -> holders(Size, Wanted, ?LONG).

holders(Size, Wanted, Steps) ->
    [erlang:garbage_collect(P) || P <- processes()],
    {binary, All} = process_info(self(), binary),
    case [N || {_, S, N} <- lists:usort(All), S =:= Size] of
        Wanted -> Wanted;
        Other when Steps =:= 0 -> Other;
        _ -> timer:sleep(?STEP), holders(Size, Wanted, Steps - 1)
    end.

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

%% Bytes of binaries, or none where the emulator's own allocators, which count them, are off.
binaries() ->
    try erlang:memory(binary)
    catch error:notsup -> 0
    end.

%% Whether they get below that, now or after a while.
binaries_get_below(Most) -> binaries_get_below(Most, ?LONG).

binaries_get_below(_, 0) -> false;
binaries_get_below(Most, Steps) ->
    binaries() < Most orelse begin timer:sleep(?STEP), binaries_get_below(Most, Steps - 1) end.
