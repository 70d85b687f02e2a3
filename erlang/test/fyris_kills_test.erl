%% Owners, heirs, fixers and callers killed at random under load: nothing of theirs is left.
-module(fyris_kills_test).

-compile(export_all).
-include("fyris_same.hrl").

%% Seconds of killing, and at least so long as it takes for 200; more with FYRIS_SOAK. For half an hour with the memory
%% watched, see `fyris_soak'.
-define(SECONDS, list_to_integer(os:getenv("FYRIS_SOAK", "8"))).
-define(WORKERS, 8).

nothing_is_left_of_the_killed_test_() ->
    {timeout, 60 + ?SECONDS,
     fun() ->
             {Tables, Monitors, Resources} = settled(none, 100),
             Until = now_ms() + 1000 * ?SECONDS,
             %% By a process of its own: it inherits and is monitored, and it too ends.
             {Driver, Ref} = spawn_monitor(fun() -> run_until(Until) end),
             receive {'DOWN', Ref, process, Driver, Reason} -> ?assertEqual(normal, Reason) end,
             Left = settled({Tables, Monitors, Resources}, 100),
             ?assertEqual({0, Left}, {above(Left, {Tables, Monitors, Resources}), Left})
     end}.

run_until(Until) ->
    Seed = erlang:phash2(make_ref()),
    io:format(user, "kills: seed ~b~n", [Seed]),
    rand:seed(exsss, Seed),
    persistent_term:put({?MODULE, killed}, counters:new(1, [])),
    kill_at_random([worker() || _ <- lists:seq(1, ?WORKERS)], Until).

%% How many processes were killed by the last run.
killed() -> counters:get(persistent_term:get({?MODULE, killed}), 1).

now_ms() -> erlang:monotonic_time(millisecond).

kill_at_random(Workers, Until) ->
    case now_ms() > Until andalso killed() > 200 of
        true ->
            [kill(W) || W <- Workers];
        false ->
            {Dying, Others} = lists:split(1, [W || {_, W} <- lists:sort([{rand:uniform(), W} || W <- Workers])]),
            [kill(W) || W <- Dying],
            counters:add(persistent_term:get({?MODULE, killed}), 1, 1),
            timer:sleep(rand:uniform(8) - 1),
            delete_inherited(),
            kill_at_random([worker() | Others], Until)
    end.

%% Most of it; the rest goes with the heir.
delete_inherited() ->
    receive
        {'ETS-TRANSFER', Table, _, _} ->
            rand:uniform(2000) > 1 andalso fyris_same:try_it(fun() -> fyris:delete(Table) end),
            delete_inherited()
    after 0 -> ok
    end.

kill(Worker) ->
    Ref = monitor(process, Worker),
    exit(Worker, kill),
    receive {'DOWN', Ref, process, Worker, _} -> ok end.

%% Garbage that others hold, and freeing in the background, may take a moment.
settled(Wanted, Tries) ->
    [erlang:garbage_collect(P) || P <- processes()],
    timer:sleep(20),
    Now = fyris_nif:counts(),
    case (Wanted =:= none andalso Tries < 95) orelse (Wanted =/= none andalso above(Now, Wanted) =:= 0) of
        true -> Now;
        false when Tries =:= 0 -> Now;
        false -> settled(Wanted, Tries - 1)
    end.

%% How many of three counts are above three others; what earlier tests had may go meanwhile.
above({A, B, C}, {X, Y, Z}) ->
    length([1 || {Now, Then} <- [{A, X}, {B, Y}, {C, Z}], Now > Then]).

%% Makes tables, gives them away, inherits, fixes and watches them, and reads and writes those of others.
worker() ->
    Heir = self(),
    spawn(fun() ->
                  rand:seed(exsss),
                  put(?MODULE, worker),
                  work(Heir)
          end).

work(Heir) ->
    fyris_same:try_it(fun() -> step(rand:uniform(17), Heir) end),
    work(Heir).

step(1, _) ->
    fyris:new(t, [public, any_type()]);
step(2, Heir) ->
    fyris:new(t, [public, any_type(), {heir, Heir, leave}]);
step(3, _) ->
    fyris:new(list_to_atom("kill" ++ integer_to_list(rand:uniform(4))), [named_table, public]);
step(4, _) ->
    fyris:safe_fixtable(any_table(), true);
step(5, _) ->
    fyris:give_away(any_table(), any(workers()), gift);
step(6, _) ->
    fyris:insert(any_table(), [{I, binary:copy(<<"large">>, 100)} || I <- lists:seq(1, 3000)]);
step(7, _) ->
    fyris:tab2list(any_table());
step(8, _) ->
    fyris:select(any_table(), [{{'$1', '_'}, [{'>', '$1', 10}], ['$_']}], 10);
step(9, _) ->
    fyris:foldl(fun(_, A) -> A + 1 end, 0, any_table());
step(10, _) ->
    fyris:delete(any_table());
step(11, _) ->
    fyris:delete_all_objects(any_table());
step(12, _) ->
    fyris:lookup(any_table(), rand:uniform(3000));
step(13, _) ->
    fyris:drain(any_table());
step(14, _) ->
    fyris:select_delete(any_table(), [{{'$1', '_'}, [{'<', '$1', 1500}], [true]}]);
step(15, _) ->
    fyris:insert(any_table(), {rand:uniform(3000), atomics:new(1, []), 0});
step(16, _) ->
    fyris:update_element(any_table(), rand:uniform(3000), {2, atomics:new(1, [])});
step(17, _) ->
    %% Few messages: nobody takes them.
    From = any([[], [{from, snapshot}]]),
    fyris:subscribe(any_table(), any([all, {key, rand:uniform(3000)}]), [{active, 3}, {queue, 100} | From]).

workers() ->
    [P || P <- processes(),
          {dictionary, Dictionary} <- [process_info(P, dictionary)],
          lists:member({?MODULE, worker}, Dictionary)].

any_type() -> any([set, ordered_set, bag, duplicate_bag]).

any_table() -> any(fyris:all()).

any(List) -> lists:nth(rand:uniform(length(List)), List).
