%% Transactions.
-module(fyris_transactions_test).

-include_lib("eunit/include/eunit.hrl").

types() -> [set, ordered_set, bag, duplicate_bag].

table(Type) ->
    T = fyris:new(t, [Type, public]),
    fyris:insert(T, [{N, N * 10} || N <- lists:seq(1, 5)]),
    T.

all_of(T) -> lists:sort(fyris:tab2list(T)).

%% Everything that reads or writes objects does so within a transaction, as on a table of one's own.
everything_test_() ->
    [{atom_to_list(Type), fun() -> everything(Type) end} || Type <- types()].

everything(Type) ->
    T = table(Type),
    Own = table(Type),
    Before = all_of(T),
    {atomic, {In, Mine}} =
        fyris:transaction(fun(Tx) ->
            W = fyris:within(Tx, T),
            Answers = calls(W),
            ?assertEqual(Before, all_of(T)),
            {Answers, W}
        end),
    ?assertEqual(calls(Own), In),
    ?assertEqual(all_of(Own), all_of(T)),
    ?assertError(badarg, fyris:lookup(Mine, 1)).

calls(T) ->
    IsBag = lists:member(fyris:info(T, type), [bag, duplicate_bag]),
    Ms = [{{'$1', '$2'}, [{'>', '$2', 20}], ['$1']}],
    Single = IsBag orelse [fyris:update_counter(T, 1, 5), fyris:update_element(T, 2, {2, new}),
              fyris:compare_and_swap(T, {3, 30}, {3, 33}), fyris:update_counter(T, 9, 1, {9, 0})],
    [fyris:insert(T, {6, 60}), fyris:insert(T, [{7, 70}, {7, 71}]), fyris:insert_new(T, {1, no}),
     fyris:insert_new(T, [{8, 80}, {10, a}]), fyris:take(T, 4), fyris:delete(T, 5),
     fyris:delete_object(T, {8, 80}),
     [fyris:lookup(T, N) || N <- lists:seq(0, 11)], [fyris:member(T, N) || N <- lists:seq(0, 11)],
     lists:sort(fyris:select(T, Ms)), fyris:select_count(T, [{{'_', '$1'}, [{'<', '$1', 30}], [true]}]),
     fyris:foldl(fun(_, N) -> N + 1 end, 0, T), lists:sort(fyris:match(T, {'$1', 10})),
     fyris:info(T, size), lists:sort(fyris:match_object(T, {7, '_'})),
     lists:sort(chunks(fyris:select(T, Ms, 2))),
     fyris:select_delete(T, [{{'_', 71}, [], [true]}]), lists:sort(fyris:tab2list(T)),
     lists:sort(keys(T, fyris:first(T)))
     | case IsBag of true -> []; false -> Single end].

keys(_, '$end_of_table') -> [];
keys(T, Key) -> [Key | keys(T, fyris:next(T, Key))].

chunks('$end_of_table') -> [];
chunks({Found, Next}) -> Found ++ chunks(fyris:select(Next)).

%% Two transactions, one within the time of the other, look for what the other puts in, whose key is an atom that no
%% table had until then: one of them sees it.
new_atoms_are_looked_for_test_() ->
    [{atom_to_list(F), fun() -> new_atoms_are_looked_for(F, Look) end}
     || {F, Look} <- [{lookup, fun(W, A) -> fyris:lookup(W, A) end},
                      {lookup_many, fun(W, A) -> lists:append(fyris:lookup_many(W, [A])) end},
                      {delete_object, fun(W, A) -> fyris:delete_object(W, {A}), [] end}]].

new_atoms_are_looked_for(F, Look) ->
    T = fyris:new(t, [public]),
    [A, B] = [list_to_atom(lists:concat([?MODULE, " ", F, " ", N])) || N <- [a, b]],
    Inner = fun(Tx) -> W = fyris:within(Tx, T), fyris:insert(W, {A}), fyris:lookup(W, B) end,
    Outer = fun(Tx) ->
                    W = fyris:within(Tx, T),
                    Found = Look(W, A),
                    ok = run_once(fun() -> {atomic, []} = fyris:transaction(Inner) end),
                    fyris:insert(W, {B}),
                    Found
            end,
    {atomic, Found} = fyris:transaction(Outer),
    ?assertEqual(case F of delete_object -> {[], [{B}]}; _ -> {[{A}], lists:sort([{A}, {B}])} end, {Found, all_of(T)}),
    fyris:delete(T).

%% Runs it in another process, if this one has not had that done.
run_once(Fun) ->
    case put(has_run, true) of
        true -> erase(has_run), ok;
        undefined ->
            {_, Monitor} = spawn_monitor(Fun),
            receive {'DOWN', Monitor, _, _, normal} -> ok end
    end.

%% An end of each kind, in the forms of Mnesia; and nothing is left.
aborts_test() ->
    T = table(set),
    Before = all_of(T),
    Run = fun(End) ->
        fyris:transaction(fun(Tx) ->
            W = fyris:within(Tx, T),
            fyris:insert(W, {1, new}),
            fyris:delete(W, 2),
            End()
        end)
    end,
    ?assertEqual({aborted, why}, Run(fun() -> fyris:abort(why) end)),
    ?assertEqual({aborted, {throw, why}}, Run(fun() -> throw(why) end)),
    ?assertEqual({aborted, why}, Run(fun() -> exit(why) end)),
    ?assertMatch({aborted, {why, [_ | _]}}, Run(fun() -> error(why) end)),
    ?assertMatch({aborted, {badarg, [_ | _]}}, Run(fun() -> fyris:lookup(no_such_table, 1) end)),
    ?assertEqual(Before, all_of(T)),
    ?assertEqual(undefined, get('$fyris_transaction')).

nested_test() ->
    T = table(ordered_set),
    {atomic, ok} = fyris:transaction(fun(Tx) ->
        W = fyris:within(Tx, T),
        fyris:insert(W, {6, 60}),
        Inner = fun(End) ->
            fyris:transaction(fun(Same) ->
                Inside = fyris:within(Same, T),
                [{6, 60}] = fyris:lookup(Inside, 6),
                fyris:insert(Inside, {1, inner}),
                fyris:insert(Inside, {End, End}),
                End =:= 7 orelse fyris:abort(End)
            end)
        end,
        {aborted, 8} = Inner(8),
        [{1, 10}] = fyris:lookup(W, 1),
        {atomic, true} = Inner(7),
        [{1, inner}] = fyris:lookup(W, 1),
        ok
    end),
    ?assertEqual([{1, inner}, {2, 20}, {3, 30}, {4, 40}, {5, 50}, {6, 60}, {7, 7}], all_of(T)).

conflict_test() ->
    T = table(set),
    Other = fyris:new(other, []),
    Run = fun(Retries) ->
        put(times, 0),
        fyris:transaction(fun(Tx) ->
            put(times, get(times) + 1),
            W = fyris:within(Tx, T),
            [{1, N}] = fyris:lookup(W, 1),
            %% As another process would.
            get(times) =< 2 andalso fyris:update_counter(T, 1, 1),
            fyris:insert(fyris:within(Tx, Other), {seen, N}),
            get(times)
        end, Retries)
    end,
    ?assertMatch({aborted, {conflict, _, _}}, Run(0)),
    ?assertEqual(1, get(times)),
    ?assertMatch({aborted, {conflict, _, _}}, Run(1)),
    ?assertEqual([], fyris:tab2list(Other)),
    ?assertEqual({atomic, 3}, Run(2)),
    ?assertEqual({atomic, 3}, Run(infinity)),
    ?assertEqual(fyris:lookup_element(T, 1, 2), fyris:lookup_element(Other, seen, 2)).

the_key_of_a_conflict_is_told_test() ->
    T = table(set),
    Told = fyris:transaction(fun(Tx) ->
        W = fyris:within(Tx, T),
        fyris:insert(W, {9, fyris:lookup(W, {a, key})}),
        fyris:insert(T, {{a, key}, 1})
    end, 0),
    ?assertEqual({aborted, {conflict, T, {a, key}}}, Told).

killed_test() ->
    T = table(set),
    Before = all_of(T),
    Me = self(),
    {Pid, Monitor} = spawn_monitor(fun() ->
        fyris:transaction(fun(Tx) ->
            W = fyris:within(Tx, T),
            fyris:insert(W, {1, new}),
            Me ! {ready, W},
            receive never -> ok end
        end)
    end),
    W = receive {ready, Handle} -> Handle end,
    ?assertEqual([{1, new}], fyris:lookup(W, 1)),
    exit(Pid, kill),
    receive {'DOWN', Monitor, process, Pid, killed} -> ok end,
    fyris:collect(),
    ?assertEqual(Before, all_of(T)),
    gone(W, 100),
    ?assertEqual(#{alive => 0}, maps:with([alive], fyris:info(T, snapshots))).

gone(_, 0) -> error(still_there);
gone(W, N) ->
    try fyris:lookup(W, 1) of
        _ -> timer:sleep(10), gone(W, N - 1)
    catch
        error:badarg -> ok
    end.

bad_arguments_test() ->
    T = table(set),
    [?assertError(badarg, Bad()) || Bad <- [
        fun() -> fyris:transaction(fun() -> ok end) end,
        fun() -> fyris:transaction(not_a_fun) end,
        fun() -> fyris:transaction(fun(_) -> ok end, -1) end,
        fun() -> fyris:transaction(fun(_) -> ok end, many) end,
        fun() -> fyris:within(make_ref(), T) end,
        fun() -> fyris:within(not_one, T) end]],
    {atomic, Tx} = fyris:transaction(fun(Tx) ->
        W = fyris:within(Tx, T),
        [?assertError(badarg, Bad()) || Bad <- [
            fun() -> fyris:within(Tx, no_such_table) end,
            fun() -> fyris:within(Tx, fyris:snapshot(T)) end,
            fun() -> fyris:delete(W) end,
            fun() -> fyris:delete_all_objects(W) end,
            fun() -> fyris:rename(W, other) end,
            fun() -> fyris:setopts(W, [{protection, private}]) end,
            fun() -> fyris:give_away(W, self(), x) end,
            fun() -> fyris:snapshot(W) end,
            fun() -> fyris:slot(W, 0) end,
            fun() -> fyris:insert(W, not_a_tuple) end]],
        Tx
    end),
    ?assertError(badarg, fyris:within(Tx, T)).

%% Money moves between three tables; each sum is the same.
bank_test_() ->
    {timeout, 60, fun bank/0}.

bank() ->
    Tables = [fyris:new(bank, [Type, public]) || Type <- [set, ordered_set, set]],
    [fyris:insert(T, [{N, 100} || N <- lists:seq(1, 20)]) || T <- Tables],
    Sum = fun(Views) -> lists:sum([M || T <- Views, {_, M} <- fyris:tab2list(T)]) end,
    Until = erlang:monotonic_time(millisecond) + 1500,
    Pay = fun(Tx) ->
        [A, B, _] = [fyris:within(Tx, lists:nth(rand:uniform(3), Tables)) || _ <- [1, 2, 3]],
        {From, To} = {rand:uniform(20), rand:uniform(20)},
        fyris:update_counter(A, From, -5),
        fyris:update_counter(B, To, 5)
    end,
    Payer = fun Pays(N) ->
        case erlang:monotonic_time(millisecond) < Until of
            true -> {atomic, _} = fyris:transaction(Pay, infinity), Pays(N + 1);
            false -> exit({paid, N})
        end
    end,
    Reader = fun Reads(N) ->
        Snapshots = fyris:snapshot(Tables),
        6000 = Sum(Snapshots),
        fyris:release(Snapshots),
        {atomic, 6000} = fyris:transaction(fun(Tx) -> Sum(fyris:within(Tx, Tables)) end, infinity),
        case erlang:monotonic_time(millisecond) < Until of
            true -> Reads(N + 1);
            false -> exit({read, N})
        end
    end,
    Workers = [spawn_monitor(fun() -> F(0) end) || F <- [Payer, Payer, Payer, Reader]],
    Ends = [receive {'DOWN', M, process, P, End} -> End end || {P, M} <- Workers],
    [?assertMatch({Did, N} when N > 0 andalso (Did =:= paid orelse Did =:= read), End) || End <- Ends],
    ?assertEqual(6000, Sum(Tables)).
