%% Long calls hold no scheduler for long.
-module(fyris_slices_test).

-compile(export_all).
-include("fyris_same.hrl").

%% Objects, and how many milliseconds at a stretch are reported. On a machine of one's own:
%% FYRIS_LARGE=2000000 FYRIS_LONG_MS=5; beside others, the host may hold up a thread that long.
-define(N, number("FYRIS_LARGE", "300000")).
-define(LONG_MS, number("FYRIS_LONG_MS", "25")).

number(Name, Default) -> list_to_integer(os:getenv(Name, Default)).

long_calls_hold_no_scheduler_test_() ->
    {timeout, 600,
     fun() ->
             Objects = [{I, I} || I <- lists:seq(1, ?N)],
             [run(Type, Objects) || Type <- [set, ordered_set, bag]]
     end}.

run(Type, Objects) ->
    N = length(Objects),
    Some = [{{'$1', '_'}, [{'=:=', {'rem', '$1', 3}, 0}], ['$1']}],
    Third = N div 3,
    Fill = fun(T) -> fyris:insert(T, Objects) end,
    Calls = [Fill,
             fun(T) -> N = length(fyris:tab2list(T)) end,
             fun(T) -> fyris:foldl(fun(_, A) -> A + 1 end, 0, T) end,
             fun(T) -> Third = length(fyris:select(T, Some)) end,
             fun(T) -> N = length(fyris:match(T, {'$1', '_'})) end,
             fun(T) -> N = fyris:select_count(T, [{'_', [], [true]}]) end,
             fun(T) -> fyris:delete_all_objects(T) end,
             Fill,
             fun(T) -> N = length(fyris:drain(T)) end,
             Fill,
             fun(T) -> Other = spawn(fun idle/0), fyris:give_away(T, Other, gift), end_of(Other) end],
    erlang:system_monitor(self(), [{long_schedule, ?LONG_MS}]),
    T = fyris:new(t, [Type, public]),
    [F(T) || F <- Calls],
    undefined = fyris:info(T, size),
    T1 = fyris:new(t, [Type, public]),
    Fill(T1),
    fyris:delete(T1),
    erlang:system_monitor(undefined),
    ?assertEqual([], reports()).

idle() -> receive stop -> ok end.

end_of(Process) ->
    Ref = monitor(process, Process),
    exit(Process, kill),
    %% It may have ended by itself.
    receive {'DOWN', Ref, process, Process, _} -> ok end.

a_call_ends_with_its_caller_test() ->
    T = fyris:new(t, [public]),
    fyris:insert(T, [{I} || I <- lists:seq(1, 100_000)]),
    0 = fyris_counts:extra(0),
    [begin
         Caller = spawn(fun() -> F(T) end),
         timer:sleep(1),
         Start = erlang:monotonic_time(millisecond),
         end_of(Caller),
         ?assert(erlang:monotonic_time(millisecond) - Start < 2_000)
     end || F <- [fun fyris:tab2list/1,
                  fun(Table) -> fyris:foldl(fun(_, A) -> [A || _ <- lists:seq(1, 100)], A end, 0, Table) end,
                  fun(Table) -> fyris:select(Table, [{{'$1'}, [{'>', '$1', 5}], ['$_']}]) end]],
    fyris:insert(T, {0}),
    ?assertEqual(100_001, fyris:info(T, size)),
    ?assertEqual(0, fyris_counts:extra(0)),
    fyris:delete(T).

reports() ->
    receive
        %% Of any process: the tables of one that ends are deleted by a process of the machine.
        {monitor, _, long_schedule, Info} ->
            case [W || W = {fyris_nif, _, _} <- [proplists:get_value(Way, Info) || Way <- [in, out]]] of
                [] -> reports();
                Where -> [{Where, Info} | reports()]
            end;
        {monitor, _, _, _} ->
            reports()
    after 0 -> []
    end.

the_table_may_go_away_between_slices_test() ->
    T = fyris:new(t, [public]),
    fyris:insert(T, [{I} || I <- lists:seq(1, 10_000)]),
    ?assertError(badarg, fyris:foldl(fun(_, _) -> fyris_same:try_it(fun() -> fyris:delete(T) end) end, 0, T)).

%% As with ets from OTP 29 on.
a_fold_goes_on_with_its_table_under_whatever_name_test() ->
    [?assertEqual(50_005_000, fyris_same:in_process(fun() -> renamed_while_folded(M) end))
     || M <- [fyris | [ets || fyris_same:otp() >= 29]]].

renamed_while_folded(M) ->
    M:new(folded, [named_table]),
    M:insert(folded, [{I} || I <- lists:seq(1, 10_000)]),
    M:foldl(fun({I}, 0) ->
                    M:rename(folded, folded_on),
                    M:new(folded, [named_table]),
                    M:insert(folded, [{J} || J <- lists:seq(20_001, 30_000)]),
                    I;
               ({I}, Sum) -> I + Sum
            end, 0, folded).

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
