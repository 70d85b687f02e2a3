%% Batches of writes and checks.
-module(fyris_batch_test).

-include_lib("eunit/include/eunit.hrl").

-export([maker/1]).

table(Type) ->
    T = fyris:new(t, [Type, public]),
    fyris:insert(T, [{N, N * 10} || N <- lists:seq(1, 5)]),
    T.

all_of(T) -> lists:sort(fyris:tab2list(T)).

forms_test() ->
    T = table(set),
    O = table(ordered_set),
    B = table(bag),
    Before = [all_of(X) || X <- [T, O, B]],
    S = fyris:snapshot(T),
    {ok, [true, 15, true, true, false, 7, true, true, true]} =
        fyris:write_batch([{check, T, 1, {1, 10}}, {update_counter, T, 1, 5}, {insert, O, [{6, 60}, {7, 70}]},
                           {delete, T, 2}, {insert_new, T, {1, no}}, {update_counter, T, new, {2, 7}, {new, 0}},
                           {update_element, O, 6, {2, sixty}}, {delete_object, B, {3, 30}}, {check, B, 3, [{3, 30}]}]),
    ?assertEqual([[{1, 15}], [], [{6, sixty}], []],
                 [fyris:lookup(T, 1), fyris:lookup(T, 2), fyris:lookup(O, 6), fyris:lookup(B, 3)]),
    After = [all_of(X) || X <- [T, O, B]],
    ?assertNotEqual(Before, After),
    Nothing = fun(Check) ->
        ?assertEqual({error, {check, Check}}, fyris:write_batch([{insert, O, {1, x}}, Check, {delete, B, 1}]))
    end,
    Nothing({check, T, 1, {1, 10}}),
    Nothing({check, T, 1, absent}),
    Nothing({check, T, 1, {unchanged, S}}),
    Nothing({check, B, 1, [{1, 10}, {1, 11}]}),
    [?assertError(badarg, fyris:write_batch([{insert, O, {1, x}} | Bad])) || Bad <- [
        [nonsense], [{insert, T, 1}], [{delete, T}], [{check, T, 1, 1}], not_a_list, [{insert, T, {1}} | improper],
        [{update_counter, T, absent, 1}], [{insert, no_such_table, {1}}], [{insert, S, {1}}], [{insert, T, {}}]]],
    ?assertEqual(After, [all_of(X) || X <- [T, O, B]]),
    ?assertMatch({ok, [true, true]},
                 fyris:write_batch([{check, T, 3, {unchanged, S}}, {check, T, 99, absent}])),
    ?assertEqual({ok, []}, fyris:write_batch([])).

%% One operation alone goes another way, as inserts into one table do: it answers alike.
alone_test_() ->
    [{atom_to_list(Type), fun() -> alone(table(Type)) end} || Type <- [set, ordered_set, bag, duplicate_bag]].

alone(T) ->
    One = fun(Operation) -> {ok, [Answer]} = fyris:write_batch([Operation]), Answer end,
    ?assertEqual([true, false, true, true, true],
                 [One({insert, T, {6, a}}), One({insert_new, T, [{7, a}, {6, b}]}), One({insert_new, T, {7, a}}),
                  One({delete, T, 7}), One({delete_object, T, {6, a}})]),
    ?assertEqual({ok, [true, true, true]}, fyris:write_batch([{insert, T, {8, N}} || N <- [1, 2, 1]])),
    Expected = case fyris:info(T, type) of
        bag -> [{8, 1}, {8, 2}];
        duplicate_bag -> [{8, 1}, {8, 2}, {8, 1}];
        _ -> [{8, 1}]
    end,
    ?assertEqual(Expected, fyris:lookup(T, 8)),
    ?assertEqual(true, One({check, T, 8, lists:reverse(Expected)})),
    case lists:member(fyris:info(T, type), [set, ordered_set]) of
        true ->
            Counters = [{update_counter, T, 1, {2, 1}}, {update_counter, T, 1, [{2, 1}, {2, 1}]},
                        {update_counter, T, 9, 1, {x, 1 bsl 70}}, {update_element, T, 1, [{2, x}]},
                        {update_element, T, 11, {2, x}}, {update_element, T, 11, {2, x}, {0, 0}}],
            Answers = [11, [12, 13], (1 bsl 70) + 1, true, false, true],
            ?assertEqual(Answers, [One(Counter) || Counter <- Counters]),
            Again = [{update_element, T, 1, {2, 10}}, {delete, T, 9}, {delete, T, 11} | Counters],
            ?assertEqual({ok, [true, true, true | Answers]}, fyris:write_batch(Again));
        false ->
            ?assertError(badarg, One({update_counter, T, 1, 1}))
    end.

%% Of more than 500 keys: on a dirty scheduler.
many_test() ->
    [T, O] = [table(set), table(ordered_set)],
    Many = [{N, new} || N <- lists:seq(1, 3000)],
    Check = {check, T, 1, {1, 10}},
    ?assertEqual({ok, [true, true, true]}, fyris:write_batch([Check, {insert, T, Many}, {insert, O, Many}])),
    ?assertEqual([Many, Many], [all_of(T), all_of(O)]),
    Single = [{update_element, T, N, {2, N}} || N <- lists:seq(1, 1000)],
    ?assertEqual({error, {check, Check}}, fyris:write_batch(Single ++ [Check])),
    ?assertEqual(Many, all_of(T)),
    ?assertEqual({ok, lists:duplicate(1000, true)}, fyris:write_batch(Single)),
    ?assertEqual([{1000, 1000}, {1001, new}], [hd(fyris:lookup(T, K)) || K <- [1000, 1001]]),
    ?assertError(badarg, fyris:write_batch(Single ++ [nonsense])),
    ?assertError(badarg, fyris:write_batch(Single ++ improper)).

within_a_transaction_test() ->
    [T, O] = [table(set), table(ordered_set)],
    {atomic, done} = fyris:transaction(fun(Tx) ->
        W = fyris:within(Tx, T),
        fyris:insert(W, {1, mine}),
        Check = {check, W, 1, {1, 10}},
        ?assertEqual({error, {check, Check}}, fyris:write_batch([{delete, O, 1}, Check])),
        ?assertEqual({ok, [true, true]}, fyris:write_batch([{check, T, 1, {1, mine}}, {delete, O, 2}])),
        ?assertEqual({ok, [true]}, fyris:write_batch([{insert, T, [{N, many} || N <- lists:seq(1, 1000)]}])),
        ?assertError(badarg, fyris:write_batch([{delete, W, 1}, {update_counter, O, 99, 1}])),
        ?assertEqual([[{1, 10}], [{1, many}], [{2, 20}], []],
                     [fyris:lookup(T, 1), fyris:lookup(W, 1), fyris:lookup(O, 2), fyris:lookup(fyris:within(Tx, O), 2)]),
        done
    end),
    ?assertEqual([[{1, many}], [{1, 10}], []], [fyris:lookup(T, 1), fyris:lookup(O, 1), fyris:lookup(O, 2)]),
    ?assertEqual({aborted, stopped}, fyris:transaction(fun(_) ->
        {ok, [true]} = fyris:write_batch([{delete, T, 1}]),
        fyris:abort(stopped)
    end)),
    ?assertEqual([{1, many}], fyris:lookup(T, 1)),
    %% A conflict in it is one of the transaction.
    {atomic, 2} = fyris:transaction(fun(Tx) ->
        Runs = put(runs, case get(runs) of undefined -> 1; N -> N + 1 end),
        fyris:lookup(fyris:within(Tx, T), 1),
        Runs =:= undefined andalso fyris:insert(T, {1, changed}),
        {ok, [true]} = fyris:write_batch([{delete, O, 3}]),
        get(runs)
    end),
    ?assertEqual([], fyris:lookup(O, 3)).

tables_test() ->
    Named = fyris:new(?MODULE, [named_table, public]),
    T = table(set),
    ?assertEqual({ok, [true, true]}, fyris:write_batch([{insert, Named, {1, T}}, {insert, T, {1, Named}}])),
    ?assertEqual([{1, T}], fyris:lookup(Named, 1)),
    %% Of a process that has ended, with and without an heir.
    [Heired, Gone] = [begin
        {Maker, Monitor} = spawn_monitor(?MODULE, maker, [{self(), Options}]),
        receive {Maker, Table} -> Table end,
        receive {'DOWN', Monitor, process, Maker, _} -> Table end
    end || Options <- [[public, {heir, self(), none}], [public]]],
    ?assertEqual({ok, [true, true]}, fyris:write_batch([{insert, T, {2, x}}, {insert, Heired, {1, x}}])),
    receive {'ETS-TRANSFER', Heired, _, none} -> true end,
    ?assertError(badarg, fyris:write_batch([{insert, T, {2, y}}, {insert, Gone, {1, x}}])),
    ?assertEqual([{2, x}], fyris:lookup(T, 2)),
    Protected = fyris:new(t, []),
    {Other, Ref} = spawn_monitor(fun() ->
        ?assertError(badarg, fyris:write_batch([{insert, T, {2, y}}, {insert, Protected, {1, x}}])),
        exit({ok, fyris:write_batch([{check, Protected, 1, absent}, {insert, T, {2, y}}])})
    end),
    receive {'DOWN', Ref, process, Other, Result} -> ?assertEqual({ok, {ok, [true, true]}}, Result) end,
    fyris:delete(Named).

maker({Parent, Options}) -> Parent ! {self(), fyris:new(t, Options)}.

%% Which operation was wrong, and why.
errors_test() ->
    [T, B] = [table(set), table(bag)],
    Told = fun(Operations) ->
        try fyris:write_batch(Operations) of
            Done -> Done
        catch
            error:Reason:Stack -> {Reason, fyris:format_error(Reason, Stack)}
        end
    end,
    Behind = fun(First, Operation) ->
        {badarg, #{1 := Text}} = Told([First, Operation]),
        {match, [Why]} = re:run(Text, "operation 1 of the batch: (.*)", [{capture, all_but_first, list}]),
        Why
    end,
    Second = fun(Operation) -> Behind({delete, T, 1}, Operation) end,
    %% Inserts into one table go a way of their own.
    [begin
         ?assertEqual("bad key position 1 in a tuple of 0", Behind(First, {insert, T, {}})),
         ?assertEqual("bad key position 1 in a tuple of 0", Behind(First, {insert, T, [{1}, {}]})),
         ?assertEqual("an object must be a tuple, not nothing", Behind(First, {insert, T, nothing})),
         ?assertEqual("an object must be a tuple, not nothing", Behind(First, {insert, T, [{1}, nothing]}))
     end || First <- [{insert, T, {1, x}}, {delete, T, 1}]],
    ?assertEqual("bad argument: not a proper list of objects", Behind({insert, T, {1, x}}, {insert, T, [{1} | improper]})),
    ?assertMatch({badarg, #{1 := <<"operation 0 of the batch: no table gone">>}}, Told([{insert, gone, {1, x}}])),
    ?assertMatch({badarg, #{1 := <<"operation 0 of the batch: no table gone">>}}, Told([{delete, gone, 1}])),
    ?assertEqual("no object has this key", Second({update_counter, T, 99, 1})),
    ?assertEqual("update_counter does not work on a bag", Second({update_counter, B, 1, 1})),
    ?assertEqual("element 2 is x, not an integer", begin fyris:insert(T, {2, x}), Second({update_counter, T, 2, 1}) end),
    ?assertEqual("position 1 is the key, which cannot be updated", Second({update_element, T, 2, {1, x}})),
    ?assertEqual("bad argument: not a table", Second({insert, "t", {1}})),
    ?assertMatch("bad argument: no operation of a batch: operations are " ++ _, Second({check, T, 1})),
    ?assertEqual("bad argument: not a snapshot of the table", Second({check, T, 1, {unchanged, B}})),
    ?assertEqual("no table no_such_table", Second({insert, no_such_table, {1}})),
    ?assertMatch({badarg, #{1 := <<"not a proper list of operations">>}}, Told([{delete, T, 1} | improper])),
    ?assertEqual([{1, 10}], fyris:lookup(T, 1)).

%% What refers to a resource of the machine holds it, from a batch as from an insert.
resources_test() ->
    [T, O] = [table(set), table(set)],
    {ok, _} = fyris:write_batch([{insert, T, {counter, atomics:new(1, [])}}, {insert, O, {counter, atomics:new(1, [])}}]),
    {ok, _} = fyris:write_batch([{update_element, T, 1, {2, atomics:new(1, [])}}, {delete, O, 1}]),
    erlang:garbage_collect(),
    [begin
         [{_, Counter}] = fyris:lookup(Table, Key),
         ?assertEqual(1, atomics:add_get(Counter, 1, 1))
     end || {Table, Key} <- [{T, counter}, {O, counter}, {T, 1}]],
    %% Other tests count who holds resources.
    [fyris:delete(Table) || Table <- [T, O]].

%% Processes move amounts between two tables as long as what they have seen is still so, and others count there.
race_test_() ->
    {timeout, 120, fun race/0}.

race() ->
    Tables = [T, O] = [table(set), table(ordered_set)],
    Sum = fun(Of) -> lists:sum([V || X <- Of, {_, V} <- fyris:tab2list(X)]) end,
    Begin = Sum(Tables),
    Move = fun(N) ->
        [From, To] = [N rem 5 + 1, (N + 2) rem 5 + 1],
        [[{_, A}] = SeenT, [{_, B}] = SeenO] = [fyris:lookup(T, From), fyris:lookup(O, To)],
        case fyris:write_batch([{insert, T, {From, A - 1}}, {insert, O, {To, B + 1}},
                                {check, T, From, SeenT}, {check, O, To, SeenO}]) of
            {ok, [true, true, true, true]} -> moved;
            {error, {check, {check, _, _, _}}} -> lost
        end
    end,
    Count = fun(N) ->
        Key = N rem 5 + 1,
        {ok, [_, _]} = fyris:write_batch([{update_counter, T, Key, 1}, {update_counter, O, Key, -1}]),
        moved
    end,
    Work = fun(F, Seed) -> fun() -> exit({done, [F(N + Seed) || N <- lists:seq(1, 1000)]}) end end,
    Watch = fun() -> exit({done, [Sum(fyris:snapshot(Tables)) || _ <- lists:seq(1, 200)]}) end,
    Workers = [spawn_monitor(F) || F <- [Work(Move, 0), Work(Move, 1), Work(Count, 0), Work(Count, 3), Watch]],
    [One, Two, Three, Four, Seen] =
        [receive {'DOWN', M, process, P, End} -> {done, Results} = End, Results end || {P, M} <- Workers],
    ?assertEqual([Begin], lists:usort(Seen)),
    ?assertEqual(Begin, Sum(Tables)),
    [?assert(lists:member(moved, Results)) || Results <- [One, Two]],
    ?assertEqual([moved], lists:usort(Three ++ Four)).
