%% Folds over live tables beside those of ets: what is written ahead of them is seen.
-module(fyris_folds_test).

-compile(export_all).
-include("fyris_same.hrl").

-define(FOLDS, [foldl, foldr]).

live(ets) -> [];
live(fyris) -> [{consistent, false}].

funs() ->
    [fun() -> none end, fun(_) -> one end, fun(_, A) -> A end, fun(_, _, _) -> three end, not_a_fun].

a_fun_is_looked_at_when_there_is_an_object_test() ->
    [?same_types(?ALL, M:Fold(Fun, acc, T)) || Fold <- ?FOLDS, Fun <- funs()],
    [?same_types(?ALL, begin M:insert(T, {1}), M:Fold(Fun, acc, T) end) || Fold <- ?FOLDS, Fun <- funs()].

%% Each change, by the fun itself and by another process that the fun waits for; made at every object from the `From`th
%% on.
what_is_written_ahead_is_seen_test_() ->
    [{lists:concat([Name, " ", Fold, " from ", From, " of ", N, " ", By]),
      fun() -> ?same(begin
                         T = M:new(t, [ordered_set, public | live(M)]),
                         M:insert(T, [{I * 10, 0} || I <- lists:seq(1, N)]),
                         visits(M, Fold, T, From, run(By, Change))
                     end) end}
     || {Name, Change} <- changes(), Fold <- ?FOLDS, {From, N} <- [{1, 40}, {30, 700}], By <- [itself, another]].

%% The objects that come, at most 3000 of them.
visits(M, Fold, T, From, Change) ->
    Visit = fun(_, {3000, Seen}) -> {3000, Seen};
               ({K, _} = Object, {I, Seen}) ->
                    I + 1 >= From andalso Change(M, T, K),
                    {I + 1, [Object | Seen]}
            end,
    M:Fold(Visit, {0, []}, T).

run(itself, Change) -> Change;
run(another, Change) ->
    fun(M, T, K) ->
            {Pid, Monitor} = spawn_monitor(fun() -> Change(M, T, K) end),
            receive {'DOWN', Monitor, process, Pid, Reason} -> Reason =:= normal orelse error(Reason) end
    end.

changes() ->
    Next = fun(M, T, K) -> M:next(T, K) end,
    [{insert_up, fun(M, T, K) -> M:insert(T, {K + 1, new}) end},
     {insert_down, fun(M, T, K) -> M:insert(T, {K - 3, new}) end},
     {insert_new_up, fun(M, T, K) -> M:insert_new(T, {K + 1, new}) end},
     {insert_both, fun(M, T, K) -> M:insert(T, [{K + 7, new}, {K - 7, new}]) end},
     {insert_new_both, fun(M, T, K) -> M:insert_new(T, [{K + 7, new}, {K - 7, new}]) end},
     {delete_up, fun(M, T, K) -> M:delete(T, K + 10) end},
     {delete_down, fun(M, T, K) -> M:delete(T, K - 20) end},
     {delete_object_up, fun(M, T, K) -> M:delete_object(T, {K + 10, 0}) end},
     {delete_itself, fun(M, T, K) -> M:delete(T, K) end},
     {take_up, fun(M, T, K) -> M:take(T, K + 10) end},
     {count_up, fun(M, T, K) -> M:update_counter(T, K + 10, 1, {K + 10, 100}) end},
     {count_down, fun(M, T, K) -> Next(M, T, K - 11) =:= K - 10 andalso M:update_counter(T, K - 10, {2, 5}) end},
     {change_up, fun(M, T, K) -> M:update_element(T, K + 10, {2, [changed]}) end},
     {change_down, fun(M, T, K) -> M:update_element(T, K - 10, [{2, {K}}]) end},
     {select_delete, fun(M, T, K) -> M:select_delete(T, [{{'$1', '_'}, [{'=:=', '$1', K + 10}], [true]}]) end},
     {match_delete, fun(M, T, K) -> M:match_delete(T, {K - 10, '_'}) end},
     {select_replace, fun(M, T, K) -> M:select_replace(T, [{{'$1', '_'}, [{'=:=', '$1', K + 10}], [{{'$1', x}}]}]) end},
     {select_replace_down, fun(M, T, K) -> M:select_replace(T, [{{'$1', 0}, [{'=:=', '$1', K - 10}], [{{'$1', K}}]}]) end},
     {delete_all, fun(M, T, K) -> K rem 100 =:= 0 andalso M:delete_all_objects(T) end},
     {init_table, fun(M, T, K) ->
                          Objects = [{I, K} || I <- lists:seq(K - 5, K + 5)],
                          M:init_table(T, fun(read) -> {Objects, fun(_) -> end_of_input end} end)
                  end},
     {delete_all_at_once, fun(M, T, K) -> K rem 350 =:= 0 andalso M:delete_all_objects(T) end}].

a_table_that_goes_away_is_noticed_at_once_test() ->
    [?same(begin
               T = M:new(t, [ordered_set | live(M)]),
               M:insert(T, [{I} || I <- lists:seq(1, 700)]),
               Seen = counters:new(1, []),
               Visit = fun({I}, _) -> counters:add(Seen, 1, 1), I =:= Last andalso M:delete(T) end,
               {try M:foldl(Visit, 0, T) catch error:badarg -> badarg end, counters:get(Seen, 1)}
           end) || Last <- [1, 10, 300]].

%% Changes that only fyris has.
more_changes() ->
    [{compare_and_swap, fun(T, K) -> fyris:compare_and_swap(T, {K + 10, 0}, {K + 10, K}) end,
      fun(T, K) -> fyris:update_element(T, K + 10, {2, K}) end},
     {take_range, fun(T, K) -> fyris:take_range(T, K + 5, K + 15) end, fun(T, K) -> fyris:delete(T, K + 10) end},
     {delete_range, fun(T, K) -> fyris:delete_range(T, K + 5, K + 15) end, fun(T, K) -> fyris:delete(T, K + 10) end},
     {upsert, fun(T, K) -> fyris:upsert(T, K + 1, {K + 1, K}, fun(O) -> O end) end,
      fun(T, K) -> fyris:insert_new(T, {K + 1, K}) end},
     {drain, fun(T, K) -> K >= 400 andalso fyris:drain(T) end,
      fun(T, K) -> K >= 400 andalso fyris:delete_all_objects(T) end}].

what_is_written_in_other_ways_is_seen_test() ->
    [begin
         [Ours, Like] = [begin
                             T = fyris:new(t, [ordered_set, public | live(fyris)]),
                             fyris:insert(T, [{I * 10, 0} || I <- lists:seq(1, 200)]),
                             visits(fyris, foldl, T, 20, fun(fyris, Table, K) -> Change(Table, K) end)
                         end || Change <- [One, Other]],
         ?assertEqual({Name, Like}, {Name, Ours})
     end || {Name, One, Other} <- more_changes()].

%% A change at random at some of the objects, anywhere in the table.
random_changes_test_() ->
    [{lists:concat([Fold, " ", Seed]),
      fun() -> ?same(begin
                         T = M:new(t, [ordered_set, public | live(M)]),
                         M:insert(T, [{I * 10, 0} || I <- lists:seq(1, 1500)]),
                         _ = rand:seed(exsss, Seed),
                         visits(M, Fold, T, 1, fun random_change/3)
                     end) end}
     || Fold <- ?FOLDS, Seed <- lists:seq(1, 20)].

random_change(M, T, K) ->
    case rand:uniform(60) of
        1 -> M:insert(T, {K + rand:uniform(50) - 25, new});
        2 -> M:delete(T, K + 10 * (rand:uniform(9) - 5));
        3 -> M:update_element(T, K + 10 * (rand:uniform(9) - 5), {2, K});
        4 -> M:insert(T, [{K + I, list} || I <- lists:seq(-20, 20, 7)]);
        _ -> ok
    end.

%% Folds within folds over one table, and one that is left by an exception: nothing of them stays.
nothing_stays_test() ->
    T = fyris:new(t, [ordered_set, public]),
    fyris:insert(T, [{I} || I <- lists:seq(1, 200)]),
    0 = fyris_counts:extra(0),
    Inner = fun({_}, Sum) -> fyris:foldr(fun(_, A) -> A + 1 end, Sum, T) end,
    ?assertEqual(200 * 200, fyris:foldl(Inner, 0, T)),
    ?assertError(enough, fyris:foldl(fun({I}, _) -> I < 100 orelse error(enough) end, 0, T)),
    ?assertEqual(false, fyris:info(T, fixed)),
    ?assertEqual(0, fyris_counts:extra(0)),
    fyris:delete(T).

%% Every write that has returned before the fun is called is seen, whoever wrote and whenever the fold began.
a_fold_sees_what_others_have_written_test_() ->
    {timeout, 120, fun() -> [writer_ahead(Round) || Round <- lists:seq(1, 300)] end}.

%% A writer counts an object up and then says in an atomic how far it is; the fold finds no less than it read before.
writer_ahead(Round) ->
    T = fyris:new(t, [ordered_set, public | live(fyris)]),
    Said = atomics:new(1, []),
    N = 64,
    fyris:insert(T, [{I, 0} || I <- lists:seq(1, N)]),
    Writer = spawn_link(fun() -> count_all(T, Said, N, 1) end),
    _ = fyris:foldl(fun({_, Found}, Least) ->
                            ?assert(Found >= Least),
                            [erlang:yield() || _ <- lists:seq(1, Round rem 3)],
                            atomics:get(Said, 1)
                    end, 0, T),
    unlink(Writer),
    Monitor = monitor(process, Writer),
    exit(Writer, kill),
    receive {'DOWN', Monitor, process, Writer, _} -> ok end,
    fyris:delete(T).

count_all(T, Said, N, Count) ->
    [fyris:update_element(T, I, {2, Count}) || I <- lists:seq(N, 1, -1)],
    atomics:put(Said, 1, Count),
    count_all(T, Said, N, Count + 1).
