%% Long calls hold no scheduler for long.
-module(fyris_slices_test).

-compile(export_all).
-include("fyris_same.hrl").

-define(N, 300_000).

long_calls_hold_no_scheduler_test_() ->
    {timeout, 120,
     fun() ->
             Objects = [{I, I} || I <- lists:seq(1, ?N)],
             [run(Type, Objects) || Type <- [set, ordered_set, bag]]
     end}.

%% Five milliseconds are reported; another process or the host may hold up a thread, so once in a while is forgiven.
run(Type, Objects) ->
    Calls = [fun(T) -> fyris:insert(T, Objects) end,
             fun(T) -> ?N = length(fyris:tab2list(T)) end,
             fun(T) -> fyris:foldl(fun(_, A) -> A + 1 end, 0, T) end,
             fun(T) -> fyris:delete_all_objects(T) end,
             fun(T) -> fyris:insert(T, Objects) end,
             fun(T) -> fyris:delete(T) end],
    T = fyris:new(t, [Type]),
    erlang:system_monitor(self(), [{long_schedule, 25}]),
    [F(T) || F <- Calls],
    erlang:system_monitor(undefined),
    ?assertEqual([], reports()).

reports() ->
    receive
        {monitor, Pid, long_schedule, Info} when Pid =:= self() ->
            case proplists:get_value(out, Info) of
                {fyris_nif, _, _} = Where -> [{Where, Info} | reports()];
                _ -> reports()
            end;
        {monitor, _, _, _} ->
            reports()
    after 0 -> []
    end.

the_table_may_go_away_between_slices_test() ->
    T = fyris:new(t, [public]),
    fyris:insert(T, [{I} || I <- lists:seq(1, 10_000)]),
    ?assertError(badarg, fyris:foldl(fun(_, _) -> catch fyris:delete(T) end, 0, T)).

objects_that_stay_are_seen_once_whatever_else_changes_test() ->
    [begin
         T = fyris:new(t, [Type, public]),
         fyris:insert(T, [{I, stay} || I <- lists:seq(1, 20_000, 2)]),
         Writer = spawn_link(fun Loop() ->
                                     K = 2 * rand:uniform(20_000),
                                     fyris:insert(T, {K, go}),
                                     fyris:delete(T, 2 * rand:uniform(20_000)),
                                     Loop()
                             end),
         [?assertEqual(lists:seq(1, 20_000, 2),
                       lists:sort([K || {K, stay} <- fyris:tab2list(T)]))
          || _ <- lists:seq(1, 20)],
         unlink(Writer),
         Monitor = monitor(process, Writer),
         exit(Writer, kill),
         receive {'DOWN', Monitor, process, Writer, _} -> ok end,
         fyris:delete(T)
     end || Type <- [set, ordered_set, bag, duplicate_bag]].
