%% What ets does not have.
-module(fyris_verbs_test).

-compile(export_all).
-include("fyris_same.hrl").

ordered() ->
    T = fyris:new(t, [ordered_set, public]),
    fyris:insert(T, [{I, I rem 3} || I <- lists:seq(1, 2000)]),
    T.

range_test() ->
    T = ordered(),
    ?assertEqual([{5, 2}, {6, 0}, {7, 1}], fyris:range(T, 5, 7)),
    ?assertEqual([6], fyris:range(T, 5, 7, [keys, {from, excluded}, {to, excluded}])),
    ?assertEqual([2000, 1999], fyris:range(T, '_', '_', [keys, reverse, {limit, 2}])),
    ?assertEqual(fyris:tab2list(T), fyris:range(T, '_', '_')),
    ?assertEqual([1, 2], fyris:range(T, '_', 2.0, [keys])),
    ?assertEqual([], fyris:range(T, 7, 5)),
    ?assertError(badarg, fyris:range(T, 1, 2, [foo])),
    ?assertError(badarg, fyris:range(T, 1, 2, [{limit, 0}])),
    S = fyris:new(t, []),
    ?assertError(badarg, fyris:range(S, 1, 2)).

prefix_test() ->
    T = fyris:new(t, [ordered_set]),
    Keys = [{a, 1, x}, {a, 2, x}, {a, 2}, {b, 1, x}, <<"joe">>, <<"john">>, <<"mike">>,
            [a, b], [a, b, c], [a], "abc"],
    fyris:insert(T, [{K} || K <- Keys]),
    ?assertEqual([{a, 1, x}, {a, 2, x}], fyris:prefix(T, {a, '_', '_'}, [keys])),
    ?assertEqual([{<<"joe">>}, {<<"john">>}], fyris:prefix(T, <<"jo">>)),
    ?assertEqual([[a, b], [a, b, c]], fyris:prefix(T, [a, b | '_'], [keys])),
    ?assertEqual([<<"john">>], fyris:prefix(T, <<"jo">>, [keys, reverse, {limit, 1}])),
    ?assertError(badarg, fyris:prefix(T, a)),
    ?assertError(badarg, fyris:prefix(T, {a, '_', b})).

put_test() ->
    [begin
         T = fyris:new(t, [Type]),
         [?assert(fyris:put(T, K, V)) || {K, V} <- [{1, a}, {1.0, b}, {[], <<1:9>>}, {1, c}]],
         ?assertEqual([{1, c}], [O || {1, _} = O <- fyris:lookup(T, 1)]),
         Second = fyris:new(t, [Type, {keypos, 2}]),
         ?assert(fyris:put(Second, k, v)),
         ?assertEqual([{v, k}], fyris:tab2list(Second)),
         Third = fyris:new(t, [Type, {keypos, 3}]),
         ?assertError(badarg, fyris:put(Third, k, v)),
         ?assertEqual([], fyris:tab2list(Third))
     end || Type <- [set, ordered_set]],
    [begin
         T = fyris:new(t, [Type]),
         ?assertError(badarg, fyris:put(T, k, v)),
         ?assertEqual([], fyris:tab2list(T))
     end || Type <- [bag, duplicate_bag]],
    ?assertError(badarg, fyris:put(nobody, k, v)).

places_test() ->
    [places(Index) || Index <- [judysl, judyesl]],
    Others = [fyris:new(t, Options) || Options <- [[ordered_set], [set], [set, {index, judyeh}]]],
    [?assertError(badarg, apply(fyris, F, [T | Arguments]))
     || T <- Others, {F, Arguments} <- [{nth, [0]}, {rank, [1]}, {count_between, [1, 2]}]].

places(Index) ->
    T = fyris:new(t, [ordered_set, {index, Index}]),
    Keys = lists:usort([{K, N} || K <- [a, "list", <<"binary">>, 1 bsl 70, -1.5], N <- lists:seq(1, 50)]
                       ++ lists:seq(1, 100)),
    true = fyris:insert(T, [{K} || K <- Keys]),
    ?assertEqual(Keys, [fyris:nth(T, N) || N <- lists:seq(0, length(Keys) - 1)]),
    ?assertEqual('$end_of_table', fyris:nth(T, length(Keys))),
    ?assertEqual(lists:seq(0, length(Keys) - 1), [fyris:rank(T, K) || K <- Keys]),
    ?assertEqual([0, 100, length(Keys)], [fyris:rank(T, K) || K <- [0, atom, <<>>]]),
    ?assertEqual(11, fyris:count_between(T, 10, 20)),
    ?assertEqual(length(Keys) - 9, fyris:count_between(T, 9.5, {z, 0, 0})),
    ?assertEqual(0, fyris:count_between(T, 20, 10)),
    %% The open end is that of `range'.
    ?assertEqual([length(Keys), 100, 21, length(Keys)],
                 [fyris:count_between(T, '_', '_'), fyris:count_between(T, '_', 100), fyris:count_between(T, 30, 50),
                  fyris:rank(T, '_')]),
    ?assertEqual(length(fyris:range(T, 70, '_')), fyris:count_between(T, 70, '_')),
    [?assertEqual('$end_of_table', fyris:nth(T, Many)) || Many <- [1 bsl 59, 1 bsl 63, 1 bsl 64, 1 bsl 100]],
    [?assertError(badarg, fyris:nth(T, Few)) || Few <- [-1, -(1 bsl 59), -(1 bsl 100)]],
    ?assertError(badarg, fyris:nth(T, a)),
    fyris:delete(T).

options_are_told_test() ->
    T = fyris:new(t, [ordered_set]),
    fyris:insert(T, [{I} || I <- lists:seq(1, 10)]),
    ?assertEqual(10, length(fyris:range(T, 1, '_', [{limit, 1 bsl 59 - 1}]))),
    [?assertMatch(<<"bad option ", _/binary>>, said(F, [T | Arguments]))
     || {F, Arguments} <- [{range, [1, 2, [{limit, 1 bsl 59}]]}, {range, [1, 2, [{limit, 1 bsl 100}]]},
                           {range, [1, 2, [keys | reverse]]}, {range, [1, 2, keys]},
                           {prefix, [{'_'}, [{limit, 1 bsl 64}]]}, {prefix, [{'_'}, [keys | 1]]},
                           {prefix, [{'_'}, [{from, excluded}]]}, {prefix, [{'_'}, [{to, included}]]}]],
    [?assertEqual(<<"not a proper list of keys">>, said(lookup_many, [T, Keys]))
     || Keys <- [[1 | 2], lists:seq(1, 1000) ++ 2, 1]].

%% What is said of the last argument.
said(F, Arguments) ->
    try apply(fyris, F, Arguments)
    catch error:badarg:Stack -> maps:get(length(Arguments), fyris:format_error(badarg, Stack))
    end.

seek_test() ->
    T = fyris:new(t, [ordered_set]),
    fyris:insert(T, [{10}, {20}]),
    ?assertEqual([{10}, {10}, {20}, '$end_of_table'], [fyris:seek(T, K) || K <- [5, 10, 11, 21]]),
    ?assertEqual(['$end_of_table', {10}, {10}, {20}], [fyris:seek(T, K, down) || K <- [5, 10, 11, 21]]),
    ?assertError(badarg, fyris:seek(T, 1, sideways)).

lookup_many_test() ->
    [begin
         T = fyris:new(t, [Type]),
         fyris:insert(T, [{I, I} || I <- lists:seq(1, 1000)]),
         Keys = lists:seq(500, 1500),
         ?assertEqual([fyris:lookup(T, K) || K <- Keys], fyris:lookup_many(T, Keys)),
         ?assertEqual([], fyris:lookup_many(T, [])),
         ?assertError(badarg, fyris:lookup_many(T, foo))
     end || Type <- ?ALL].

taking_test() ->
    T = ordered(),
    ?assertEqual(901, fyris:delete_range(T, 100, 1000)),
    ?assertEqual([{1001, 2}, {1002, 0}], fyris:take_range(T, 100, 1002)),
    ?assertEqual(1097, fyris:info(T, size)),
    ?assertEqual(1097, length(fyris:drain(T))),
    ?assertEqual(0, fyris:info(T, size)).

%% The right to write is lost while a range is taken: what is out of the table is
%% with who took it.
taking_half_way_test_() ->
    {timeout, 60, fun() -> [taking_half_way(Delay) || Delay <- lists:seq(0, 40)] end}.

taking_half_way(Delay) ->
    Keys = lists:seq(1, 30000),
    T = fyris:new(t, [ordered_set, public]),
    fyris:insert(T, [{K} || K <- Keys]),
    Take = fun() -> exit({taken, try fyris:take_range(T, 1, 30000) catch error:badarg -> [] end}) end,
    {_, Monitor} = spawn_monitor(Take),
    timer:sleep(Delay),
    fyris:setopts(T, {protection, private}),
    Taken = receive {'DOWN', Monitor, _, _, {taken, Objects}} -> Objects end,
    ?assertEqual(Keys, [K || {K} <- Taken ++ fyris:drain(T)]),
    fyris:delete(T).

%% Two processes put keys back into a range while it is taken out slice by slice: each key comes up once, in order.
a_range_is_gone_through_once_test() ->
    Keys = lists:seq(0, 20_000),
    [begin
         T = fyris:new(t, [ordered_set, public, {index, Index}]),
         Put = fun Put() -> fyris:insert(T, {rand:uniform(20_001) - 1}), Put() end,
         with_writers(Put, fun() ->
                 [begin
                      fyris:insert(T, [{K} || K <- Keys]),
                      ?assert(fyris:delete_range(T, 0, 20_000) =< 20_001),
                      fyris:insert(T, [{K} || K <- Keys]),
                      Taken = fyris:take_range(T, 0, '_'),
                      ?assertEqual(lists:usort(Taken), Taken)
                  end || _ <- [1, 2, 3]]
         end),
         fyris:delete(T)
     end || Index <- [ordered, avl, judysl]].

%% Two processes put ever higher keys in: what takes a table out, and what walks through it, comes to its end. (A fold
%% of an `ordered_set' sees what is written ahead, as that of ets.)
writers_do_not_keep_calls_from_their_end_test_() ->
    {timeout, 60, fun() -> [calls_end(Index) || Index <- [ordered, skip_list]] end}.

calls_end(Index) ->
    T = fyris:new(t, [ordered_set, public, {index, Index}]),
    Next = counters:new(1, []),
    Put = fun Put() ->
                  counters:add(Next, 1, 1),
                  fyris:insert(T, {counters:get(Next, 1), self(), Next}),
                  Put()
          end,
    with_writers(Put, fun() ->
            [F() || F <- [fun() -> fyris:take_range(T, '_', '_') end,
                          fun() -> fyris:delete_range(T, 0, '_') end,
                          fun() -> fyris:drain(T) end,
                          fun() -> fyris:select(T, [{'_', [], ['$_']}]) end,
                          fun() -> fyris:range(T, '_', '_') end]]
    end),
    fyris:delete(T).

with_writers(Put, Run) ->
    Writers = [spawn_monitor(Put) || _ <- [1, 2]],
    try Run()
    after
        [exit(Writer, kill) || {Writer, _} <- Writers],
        [receive {'DOWN', Ref, process, _, _} -> ok end || {_, Ref} <- Writers]
    end.

cas_and_upsert_test() ->
    T = fyris:new(t, [public]),
    ?assertEqual({k, 1}, fyris:upsert(T, k, {k, 1}, fun({k, N}) -> {k, N + 1} end)),
    ?assertEqual({k, 2}, fyris:upsert(T, k, {k, 1}, fun({k, N}) -> {k, N + 1} end)),
    ?assertEqual(false, fyris:compare_and_swap(T, {k, 1}, {k, 5})),
    ?assertEqual(true, fyris:compare_and_swap(T, {k, 2}, {k, 5})),
    ?assertError(badarg, fyris:compare_and_swap(T, {k, 5}, {j, 5})),
    ?assertError(badarg, fyris:upsert(T, k, {k, 1}, fun(_) -> {j, 1} end)),
    %% A default with another key was once put in, and looked for in vain for ever.
    ?assertError(badarg, fyris:upsert(T, i, {j, 1}, fun(Object) -> Object end)),
    ?assertError(badarg, fyris:upsert(T, 1, {1.0, 1}, fun(Object) -> Object end)),
    ?assertEqual({1.0, 1}, fyris:upsert(fyris:new(t, [ordered_set]), 1, {1.0, 1}, fun(Object) -> Object end)),
    ?assertError(badarg, fyris:upsert(fyris:new(t, [bag]), k, {k, 1}, fun(Object) -> Object end)),
    Add = fun({k, N}) -> {k, N + 1} end,
    Monitors = [spawn_monitor(fun() -> [fyris:upsert(T, k, {k, 0}, Add) || _ <- lists:seq(1, 2000)] end)
                || _ <- [1, 2, 3]],
    [receive {'DOWN', M, _, _, _} -> ok end || {_, M} <- Monitors],
    ?assertEqual([{k, 6005}], fyris:lookup(T, k)).

get_in_test() ->
    T = fyris:new(t, []),
    fyris:insert(T, {joe, #{lang => [erlang, prolog], big => binary:copy(<<"x">>, 1000)}, {a, {b}}}),
    ?assertEqual({ok, prolog}, fyris:get_in(T, joe, [2, lang, 2])),
    ?assertEqual({ok, b}, fyris:get_in(T, joe, [3, 2, 1])),
    ?assertEqual({ok, joe}, fyris:get_in(T, joe, [1])),
    ?assertEqual({ok, binary:copy(<<"x">>, 1000)}, fyris:get_in(T, joe, [2, big])),
    ?assertEqual(error, fyris:get_in(T, joe, [2, nope])),
    ?assertEqual(error, fyris:get_in(T, mike, [2])).

parts_are_changed_test() ->
    T = fyris:new(t, []),
    fyris:insert(T, {joe, #{lang => [c, prolog]}, {a, {b}}}),
    ?assert(fyris:put_in(T, joe, [2, lang, 1], erlang)),
    ?assert(fyris:put_in(T, joe, [3, 2, 1], new)),
    ?assert(fyris:put_in(T, joe, [2, an_atom_that_is_new_here], <<"x">>)),
    ?assertEqual(false, fyris:put_in(T, mike, [2], 1)),
    ?assertEqual([{joe, #{lang => [erlang, prolog], an_atom_that_is_new_here => <<"x">>}, {a, {new}}}], fyris:lookup(T, joe)),
    ?assertEqual({ok, <<"x">>}, fyris:delete_in(T, joe, [2, an_atom_that_is_new_here])),
    ?assertEqual(error, fyris:delete_in(T, joe, [2, list_to_atom("never_" ++ "seen_before")])),
    ?assertEqual(error, fyris:delete_in(T, mike, [2, lang])),
    ?assertEqual({ok, 2}, fyris:update_in(T, joe, [2, lang], fun length/1)),
    ?assertEqual(error, fyris:update_in(T, joe, [2, none], fun length/1)),
    ?assertEqual(error, fyris:update_in(T, mike, [2, none], fun length/1, 1)),
    ?assertEqual({ok, 7}, fyris:update_in(T, joe, [2, seven], fun length/1, 7)),
    ?assertEqual([{joe, #{lang => 2, seven => 7}, {a, {new}}}], fyris:lookup(T, joe)),
    ?assertError(oops, fyris:update_in(T, joe, [2, lang], fun(_) -> error(oops) end)),
    [?assertError(badarg, fyris:put_in(T, joe, Path, 1)) || Path <- [[], [1], [4], [x], [2, lang, 1], [3, 3], [3 | 1], 3]],
    [?assertError(badarg, fyris:delete_in(T, joe, Path)) || Path <- [[], [1], [2], [3, 1], [3 | 1], x]],
    ?assertError(badarg, fyris:update_in(T, joe, [2, lang, 1], fun(X) -> X end, 1)),
    ?assertEqual([{joe, #{lang => 2, seven => 7}, {a, {new}}}], fyris:lookup(T, joe)),
    ?assertError(badarg, fyris:put_in(fyris:new(t, [bag]), joe, [2], 1)).

%% What was put in by a path is held as long as it is there, and what is taken away is still good.
parts_hold_resources_test() ->
    T = fyris:new(t, []),
    fyris:insert(T, {k, #{}, []}),
    [begin
         fyris:put_in(T, k, [2, N], counters:new(1, [])),
         {ok, Counter} = fyris:get_in(T, k, [2, N]),
         ok = counters:add(Counter, 1, N)
     end || N <- lists:seq(1, 100)],
    erlang:garbage_collect(),
    [begin
         {ok, Counter} = fyris:delete_in(T, k, [2, N]),
         ?assertEqual(N, counters:get(Counter, 1))
     end || N <- lists:seq(1, 100)],
    fyris:insert(T, [{N, counters:new(1, [])} || N <- lists:seq(1, 5000)]),
    erlang:garbage_collect(),
    Taken = fyris:select_take(T, [{{'_', '$1'}, [], ['$1']}]),
    ?assertEqual(lists:duplicate(5000, 0), [counters:get(Counter, 1) || Counter <- Taken]),
    fyris:insert(T, [{N, counters:new(1, [])} || N <- lists:seq(1, 100)]),
    erlang:garbage_collect(),
    Many = fyris:take_many(T, lists:seq(1, 100)),
    ?assertEqual(lists:duplicate(100, 0), [counters:get(Counter, 1) || [{_, Counter}] <- Many]).

no_change_of_a_part_is_lost_test() ->
    T = fyris:new(t, [public]),
    fyris:insert(T, {k, #{}}),
    Add = fun(Part) -> fyris:update_in(T, k, [2, Part], fun(N) -> N + 1 end, 1) end,
    Workers = [spawn_monitor(fun() -> [begin Add(all), Add(Part) end || _ <- lists:seq(1, 500)] end) || Part <- [1, 2, 3]],
    [receive {'DOWN', Ref, process, Pid, Reason} -> ?assertEqual(normal, Reason) end || {Pid, Ref} <- Workers],
    ?assertEqual([{k, #{1 => 500, 2 => 500, 3 => 500, all => 1500}}], fyris:lookup(T, k)).

%% In more than one slice, in every type of table: what is taken is what a select would have returned.
changes_return_what_they_changed_test() ->
    [begin
         T = fyris:new(t, [Type, public]),
         InOrder = fun(List) when Type =:= ordered_set -> List; (List) -> lists:sort(List) end,
         fyris:insert(T, [{N div 2, N rem 7, N} || N <- lists:seq(1, 10000)]),
         Spec = [{{'$1', '$2', '$3'}, [{'<', '$2', 3}], [{{'$1', '$3'}}]}],
         Size = fyris:info(T, size),
         All = fyris:select(T, Spec),
         ?assertEqual(InOrder(All), InOrder(fyris:select_take(T, Spec))),
         ?assertEqual({Size - length(All), []}, {fyris:info(T, size), fyris:select(T, Spec)}),
         More = [{{'$1', '$2', '$3'}, [{'>', '$2', 4}], [{{'$1', '$2', {{new, '$3'}}}}]}],
         case Type of
             bag -> ?assertError(badarg, fyris:select_replace_returning(T, More));
             _ ->
                 New = fyris:select(T, More),
                 ?assertEqual(InOrder(New), InOrder(fyris:select_replace_returning(T, More))),
                 ?assertEqual(New, fyris:match_object(T, {'_', '_', {new, '_'}}))
         end,
         Mine = [spawn_monitor(fun() -> exit({taken, fyris:select_take(T, [{'$1', [], ['$1']}])}) end) || _ <- [1, 2, 3]],
         Rest = lists:sort(fyris:tab2list(T)),
         Got = [receive {'DOWN', Ref, process, Pid, {taken, Taken}} -> Taken end || {Pid, Ref} <- Mine],
         ?assertEqual(0, fyris:info(T, size)),
         ?assertEqual(length(lists:append(Got)), length(lists:usort(lists:append(Got)))),
         ?assert(Rest -- lists:append(Got) =:= [])
     end || Type <- [set, ordered_set, bag, duplicate_bag]].

%% Also where the specification names the key, which other queries answer by a lookup.
changes_of_a_key_return_what_they_changed_test() ->
    [begin
         T = fyris:new(t, [Type, public]),
         fyris:insert(T, {2, later}),
         [begin
              fyris:insert(T, {1, due}),
              ?assertEqual(Wanted, fyris:select_take(T, [{{1, '$1'}, [], [Body]}])),
              ?assertEqual([{2, later}], fyris:tab2list(T)),
              ?assertEqual([], fyris:select_take(T, [{{1, '$1'}, [], [Body]}]))
          end || {Body, Wanted} <- [{'$_', [{1, due}]}, {true, [true]}, {'$1', [due]}]],
         fyris:insert(T, {1, due}),
         Claim = [{{1, '$1'}, [], [{{1, {{new, '$1'}}}}]}],
         case Type of
             bag -> ?assertError(badarg, fyris:select_replace_returning(T, Claim));
             _ ->
                 ?assertEqual([{1, {new, due}}], fyris:select_replace_returning(T, Claim)),
                 ?assertEqual([{1, {new, due}}], fyris:lookup(T, 1))
         end,
         [?assertError(badarg, fyris:select_replace_returning(T, [{{1, '$1'}, [], [Body]}])) || Body <- ['$1', true]],
         Snapshot = fyris:snapshot(T),
         ?assertError(badarg, fyris:select_take(Snapshot, [{{1, '_'}, [], ['$_']}])),
         ?assertError(badarg, fyris:delete_in(Snapshot, 1, [2, list_to_atom("no_such_step_" ++ atom_to_list(Type))])),
         fyris:setopts(T, {protection, protected}),
         Calls = [fun() -> fyris:select_take(T, [{{1, '_'}, [], ['$_']}]) end, fun() -> fyris:take_many(T, [1]) end],
         {_, Ref} = spawn_monitor(fun() -> exit([fyris_same:try_it(Call) || Call <- Calls]) end),
         receive {'DOWN', Ref, process, _, Refused} ->
             ?assertMatch([{error, badarg, _}, {error, badarg, _}], Refused) end,
         ?assertEqual(1, length(fyris:lookup(T, 1)))
     end || Type <- [set, ordered_set, bag, duplicate_bag]].

%% An object that is taken by another between is not said to have been changed.
parts_of_what_has_gone_test() ->
    T = fyris:new(t, [public]),
    Taker = fun Loop(N) ->
                receive stop -> exit({parts, N})
                after 0 -> case fyris:delete_in(T, 1, [2, a]) of {ok, 1} -> Loop(N + 1); error -> Loop(N) end
                end
            end,
    Takers = [spawn_monitor(fun() -> Taker(0) end) || _ <- [1, 2]],
    Wholes = [x || _ <- lists:seq(1, 10000), fyris:insert(T, {1, #{a => 1}}), [{1, #{a := 1}}] <- [fyris:take(T, 1)]],
    [Pid ! stop || {Pid, _} <- Takers],
    Parts = [receive {'DOWN', Ref, process, Pid, {parts, N}} -> N end || {Pid, Ref} <- Takers],
    ?assertEqual(10000, length(Wholes) + lists:sum(Parts)).

many_are_taken_as_one_test() ->
    T = fyris:new(t, [public]),
    Keys = lists:seq(1, 8),
    Taker = fun Loop(0, Wholes) -> exit({wholes, Wholes});
                Loop(N, Wholes) ->
                    case length([x || [_] <- fyris:take_many(T, Keys)]) of
                        0 -> Loop(N - 1, Wholes);
                        8 -> Loop(N - 1, Wholes + 1)
                    end
            end,
    Takers = [spawn_monitor(fun() -> Taker(300, 0) end) || _ <- [1, 2]],
    Put = length([x || _ <- lists:seq(1, 300), fyris:insert_new(T, [{K, 1} || K <- Keys])]),
    Wholes = [receive {'DOWN', Ref, process, Pid, {wholes, N}} -> N end || {Pid, Ref} <- Takers],
    ?assertEqual(Put, lists:sum(Wholes) + fyris:info(T, size) div 8),
    ?assertError(badarg, fyris:take_many(T, [1 | 2])),
    ?assertError(badarg, fyris:take_many(no_such_table, [1])),
    ?assertError(badarg, fyris:take_many(T, 1)).

explain_test() ->
    T = ordered(),
    #{kind := Kind, size := 2000, estimated := N} =
        fyris:explain(T, [{{'$1', '_'}, [{'>', '$1', 10}, {'<', '$1', 20}], ['$1']}]),
    ?assert(is_atom(Kind) andalso N < 100).

open_test() ->
    fyris_same:in_process(fun() -> kept = fyris:open(kept, [{owner, none}, bag]) end),
    ?assertEqual(kept, fyris:open(kept, [bag])),
    ?assertEqual(none, fyris:info(kept, owner)),
    ?assert(is_reference(fyris:whereis(kept))),
    ?assertError(badarg, fyris:open(kept, [set])),
    ?assertEqual(true, fyris:insert(kept, {1})),
    fyris:delete(kept).

%% Ends that do not count stay; a wrong option changes nothing.
ends_of_ranges_test() ->
    T = fyris:new(t, [ordered_set]),
    fyris:insert(T, [{N} || N <- lists:seq(1, 9)]),
    ?assertEqual([{2}, {3}], fyris:take_range(T, 1, 3, [{from, excluded}])),
    ?assertEqual([{8}], fyris:take_range(T, 8, 9, [{to, excluded}])),
    ?assertEqual(1, fyris:delete_range(T, 4, 6, [{from, excluded}, {to, excluded}])),
    ?assertEqual(1, fyris:delete_range(T, 7, 7, [{from, included}])),
    [?assertError(badarg, F(T, '_', '_', Wrong))
     || F <- [fun fyris:take_range/4, fun fyris:delete_range/4],
        Wrong <- [[reverse], [{limit, 1}], [keys], [{from, 5}], [{form, excluded}], {from, excluded}, [{to, excluded} | x]]],
    ?assertEqual([{1}, {4}, {6}, {9}], fyris:tab2list(T)).
