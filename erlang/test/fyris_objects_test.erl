%% Sentences of ETS_API.md on objects: writing, reading, from key to key.
-module(fyris_objects_test).

-compile(export_all).
-include("fyris_same.hrl").

insert_one_or_a_list_test() ->
    ?same_types(?ALL, {M:insert(T, {1, a}), M:insert(T, [{2, b}, {1, c}]), M:insert(T, []),
                       lists:sort(M:tab2list(T)), M:lookup(T, 1)}).

insert_refuses_bad_objects_and_changes_nothing_test() ->
    [?same_types(?ALL, {fyris_same:try_it(fun() -> M:insert(T, O) end), M:info(T, size)})
     || O <- [a, {}, [{1}, a], [{1} | a], [{1}, {}], "x", [[{1}]], #{}]],
    ?same(begin T = M:new(t, [{keypos, 2}]),
                {fyris_same:try_it(fun() -> M:insert(T, [{1, 2}, {3}]) end), M:tab2list(T)} end).

an_ordered_set_replaces_the_key_too_test() ->
    ?same_types(?UNIQUE, begin
        M:insert(T, {1, a}), M:insert(T, {1.0, b}),
        {M:lookup(T, 1), M:lookup(T, 1.0), M:member(T, 1), M:tab2list(T) -- [{1, a}]}
    end).

a_bag_ignores_what_it_has_test() ->
    ?same_types(?BAGS, begin
        [M:insert(T, O) || O <- [{1, a}, {1, b}, {1, a}, {1, 1.0}, {1, 1}]],
        {M:lookup(T, 1), M:info(T, size)}
    end).

insert_new_is_all_or_nothing_test() ->
    ?same_types(?ALL, begin
        M:insert(T, {1, a}),
        {M:insert_new(T, {1, b}), M:insert_new(T, {2, b}), M:insert_new(T, [{3, a}, {1, a}]),
         M:insert_new(T, [{4, a}, {4, b}]), M:insert_new(T, []), lists:sort(M:tab2list(T))}
    end).

update_element_test() ->
    ?same_types(?UNIQUE, begin
        M:insert(T, {1, a, b}),
        {M:update_element(T, 1, {2, x}), M:update_element(T, 1, [{2, y}, {3, z}, {2, w}]),
         M:lookup(T, 1), M:update_element(T, 2, {2, x}), M:update_element(T, 1, []),
         M:update_element(T, 2, [])}
    end),
    [?same_types(?ALL, begin
        M:insert(T, {1, a, b}),
        {fyris_same:try_it(fun() -> M:update_element(T, K, E) end), M:lookup(T, 1)}
     end) || K <- [1, 2], E <- [{1, x}, {0, x}, {4, x}, [{2, x}, {1, y}], [{2, x}, {9, y}], a,
                                {a, b}, [{2, x} | y], {2}, {2, 3, 4}, [a]]].

update_counter_test() ->
    ?same_types(?UNIQUE, begin
        M:insert(T, {1, 10, 20}),
        {M:update_counter(T, 1, 5), M:update_counter(T, 1, {3, -7}),
         M:update_counter(T, 1, {2, 100, 50, 3}), M:update_counter(T, 1, {2, -100, 0, 7}),
         M:update_counter(T, 1, [{2, 1}, {3, 1}, {2, 1}]), M:update_counter(T, 1, []),
         M:update_counter(T, 1, 1 bsl 80), M:update_counter(T, 1, -(1 bsl 80)),
         M:update_counter(T, 2, {2, 3}, {x, 5}), M:lookup(T, 2),
         M:update_counter(T, 3, [], {x, 5}), lists:sort(M:tab2list(T))}
    end),
    [?same_types(?ALL, begin
        M:insert(T, {1, 10, a}),
        {fyris_same:try_it(fun() -> M:update_counter(T, K, Op) end), M:lookup(T, 1)}
     end) || {K, Op} <- [{2, 1}, {1, a}, {1, {3, 1}}, {1, {1, 1}}, {1, {4, 1}}, {1, {0, 1}},
                         {1, [{2, 1}, {3, 1}]}, {1, 1.0}, {1, {2, 1.0}}, {1, {2, 1, 2}},
                         {1, {2, 1, a, 2}}, {1, [{2, 1} | a]}]].

%% OTP 25.2.3 reverses objects of one key that come in one list; what counts is the order documented since.
a_list_keeps_the_order_of_one_key_test() ->
    [begin
         T = fyris:new(t, [Type]),
         fyris:insert(T, [{1, a}, {2, x}, {1, b}, {1, c}]),
         ?assertEqual([{1, a}, {1, b}, {1, c}], fyris:lookup(T, 1)),
         fyris:delete(T)
     end || Type <- ?BAGS].

delete_by_key_and_by_object_test() ->
    ?same_types(?ALL, begin
        M:insert(T, [{1, a}, {1, b}, {1, a}, {2, a}, {1.0, a}]),
        A = M:delete_object(T, {1, a}), L1 = lists:sort(M:tab2list(T)),
        B = M:delete(T, 1), C = M:delete(T, 7), D = M:delete_object(T, {9, 9}),
        {A, B, C, D, L1, lists:sort(M:tab2list(T)), M:info(T, size)}
    end),
    ?same_types(?ALL, M:delete_object(T, a)),
    ?same_types(?ALL, M:delete_object(T, {})).

delete_object_compares_exactly_test() ->
    ?same_types(?ALL, begin
        M:insert(T, {1, a}), M:delete_object(T, {1.0, a}), R = M:tab2list(T),
        M:insert(T, {2, 1}), M:delete_object(T, {2, 1.0}), {R, lists:sort(M:tab2list(T))}
    end).

delete_all_objects_test() ->
    ?same_types(?ALL, begin
        M:insert(T, [{I} || I <- lists:seq(1, 100)]),
        {M:delete_all_objects(T), M:info(T, size), M:tab2list(T), M:first(T)}
    end).

take_test() ->
    ?same_types(?ALL, begin
        [M:insert(T, O) || O <- [{1, a}, {1, b}, {2, a}]],
        {M:take(T, 1), M:take(T, 1), M:take(T, 2), M:info(T, size)}
    end).

lookup_element_test() ->
    ?same_types(?ALL, begin
        [M:insert(T, O) || O <- [{1, a, c}, {1, b, c}]],
        [fyris_same:try_it(fun() -> M:lookup_element(T, K, P) end)
         || K <- [1, 2], P <- [1, 2, 3, 4, 0, -1, a, 1 bsl 70]]
    end),
    ?same_types(?BAGS, begin
        M:insert(T, [{1, a}, {1, b, c}]), M:lookup_element(T, 1, 3)
    end).

lookup_element_with_default_test() ->
    T = fyris:new(t, []),
    fyris:insert(T, {1, a}),
    ?assertEqual(a, fyris:lookup_element(T, 1, 2, d)),
    ?assertEqual(d, fyris:lookup_element(T, 2, 2, d)),
    ?assertError(badarg, fyris:lookup_element(T, 1, 3, d)),
    fyris:delete(T).

update_element_with_default_test() ->
    T = fyris:new(t, []),
    ?assert(fyris:update_element(T, 1, {2, x}, {k, a, b})),
    ?assertEqual([{1, x, b}], fyris:lookup(T, 1)),
    ?assertError(badarg, fyris:update_element(T, 1, {2, x}, a)),
    ?assertError(badarg, fyris:update_element(T, 1, {2, x}, {})),
    fyris:delete(T).

%% As from OTP 29 on, also when the key is there.
a_bad_default_is_an_error_test() ->
    [?assertError(badarg, F(Default))
     || T <- [fyris:new(t, [{keypos, 2}])], fyris:insert(T, {a, 1, 5}), Default <- [a, {}, {x}, [{a, 1, 1}]],
        F <- [fun(D) -> fyris:update_counter(T, 1, {3, 1}, D) end,
              fun(D) -> fyris:update_element(T, 1, {3, x}, D) end]].

init_table_closes_its_generator_when_it_fails_test() ->
    ?same(begin
              T = M:new(t, []),
              Me = self(),
              Next = fun(read) -> end_of_input; (close) -> Me ! closed end,
              G = fun(read) -> {[bad], Next}; (close) -> Me ! closed_first end,
              Kind = try M:init_table(T, G) catch exit:{badarg, [_ | _]} -> badarg end,
              {Kind, receive Closed -> Closed after 0 -> open end}
          end).

ordered_traversal_test() ->
    ?same_types([ordered_set], begin
        Keys = [5, 1, 2.0, a, {1}, "x", <<"b">>, 3],
        M:insert(T, [{K} || K <- Keys]),
        {M:first(T), M:last(T), [{M:next(T, K), M:prev(T, K)} || K <- [0, 2, 2.5, zz, [] | Keys]],
         M:tab2list(T), [M:slot(T, I) || I <- lists:seq(0, 8)],
         M:foldl(fun(O, A) -> [O | A] end, [], T), M:foldr(fun(O, A) -> [O | A] end, [], T)}
    end),
    ?same_types([ordered_set], M:slot(T, 2)).

hash_traversal_test() ->
    ?same_types(?HASH, begin
        M:insert(T, [{K, 1} || K <- lists:seq(1, 300)]),
        Walk = fun Walk('$end_of_table') -> [];
                   Walk(K) -> [K | Walk(M:next(T, K))] end,
        Keys = Walk(M:first(T)),
        {lists:sort(Keys), M:first(T) =:= M:last(T), M:next(T, 1) =:= M:prev(T, 1),
         lists:sort(M:foldl(fun({K, _}, A) -> [K | A] end, [], T))}
    end).

the_end_is_no_key_test() ->
    ?same_types(?ALL, M:next(T, '$end_of_table')),
    ?same_types(?ALL, M:prev(T, '$end_of_table')),
    ?same_types(?ALL, begin M:insert(T, {'$end_of_table'}), M:next(T, '$end_of_table') end),
    ?same_types(?ALL, {M:first(T), M:last(T), M:slot(T, 0) =:= '$end_of_table'}).

next_from_a_key_that_is_gone_test() ->
    ?same_types(?ALL, M:next(T, 1)),
    ?same_types(?HASH, begin M:insert(T, {1}), M:delete(T, 1), M:next(T, 1) end),
    ?same_types(?ALL, begin
        M:insert(T, {1}), M:safe_fixtable(T, true), M:delete(T, 1),
        {M:next(T, 1), M:lookup(T, 1), M:member(T, 1), M:info(T, size)}
    end).

a_fixed_traversal_sees_every_object_once_test() ->
    ?same_types(?ALL, begin
        N = 500,
        M:insert(T, [{K} || K <- lists:seq(1, N)]),
        M:safe_fixtable(T, true),
        Walk = fun Walk('$end_of_table') -> [];
                   Walk(K) -> M:delete(T, K), [K | Walk(M:next(T, K))] end,
        Keys = Walk(M:first(T)),
        M:safe_fixtable(T, false),
        {lists:sort(Keys) =:= lists:seq(1, N), M:info(T, size)}
    end).

key_and_objects_in_one_call_test() ->
    T = fyris:new(t, [ordered_set]),
    ?assertEqual('$end_of_table', fyris:first_lookup(T)),
    fyris:insert(T, [{1, a}, {2, b}, {3, c}]),
    ?assertEqual({1, [{1, a}]}, fyris:first_lookup(T)),
    ?assertEqual({3, [{3, c}]}, fyris:last_lookup(T)),
    ?assertEqual({2, [{2, b}]}, fyris:next_lookup(T, 1)),
    ?assertEqual({2, [{2, b}]}, fyris:prev_lookup(T, 3)),
    ?assertEqual('$end_of_table', fyris:next_lookup(T, 3)),
    fyris:delete(T),
    B = fyris:new(t, [bag]),
    fyris:insert(B, [{1, a}, {1, b}]),
    ?assertEqual({1, [{1, a}, {1, b}]}, fyris:first_lookup(B)),
    fyris:delete(B).

init_table_test() ->
    Generate = fun G(N) ->
                       fun (read) when N > 3 -> end_of_input;
                           (read) -> {[{N, x}, {N, y}], G(N + 1)};
                           (close) -> ok
                       end
               end,
    ?same_types(?ALL, begin
        M:insert(T, {old}), {M:init_table(T, Generate(1)), lists:sort(M:tab2list(T))}
    end),
    ?same_types(?ALL, fyris_same:try_it(fun() -> M:init_table(T, fun(read) -> oops end) end)),
    %% Lists of objects among the objects.
    Nested = fun(read) -> {[{1, a}, [{2, b}, {1, c}], []], fun(_) -> end_of_input end} end,
    ?same_types(?ALL, {M:init_table(T, Nested), lists:sort(M:tab2list(T))}).

folds_test() ->
    ?same_types(?ALL, begin
        M:insert(T, [{K, 1} || K <- lists:seq(1, 1000)]),
        Sum = fun({K, _}, A) -> K + A end,
        {M:foldl(Sum, 0, T), M:foldr(Sum, 0, T), M:info(T, fixed),
         fyris_same:try_it(fun() -> M:foldl(fun(_, _) -> throw(out) end, 0, T) end), M:info(T, fixed)}
    end).

keypos_test() ->
    ?same(begin
        T = M:new(t, [{keypos, 3}]),
        M:insert(T, [{a, b, 1}, {c, d, 2, e}]),
        {M:lookup(T, 1), M:lookup(T, 2), M:lookup_element(T, 2, 3), M:update_counter(T, 2, {9, 1}, {0, 0, 0, 0, 0, 0, 0, 0, 5})}
    end).
