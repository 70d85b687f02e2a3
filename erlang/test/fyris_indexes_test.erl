%% Tables on every index, and the options that choose its locks.
-module(fyris_indexes_test).

-compile(export_all).
-include("fyris_same.hrl").

%% The indexes, and whether they keep an order: `only' if they serve nothing else.
indexes() ->
    [{hash, false}, {ordered, true}, {avl, true}, {treap, true}, {btree, true}, {ca_avl, true}, {ca_treap, true},
     {relaxed_avl, true}, {skip_list, true}, {linear_hash, false}, {split_ordered, false}, {michael_hash, false},
     {judysl, only}, {judyesl, only}, {judyeh, false}].

every_index_holds_a_table_test() ->
    [holds(Index, Type) || {Index, Ordered} <- indexes(),
                            Type <- [set || Ordered =/= only] ++ [bag || Ordered =/= only]
                                ++ [ordered_set || Ordered =/= false]].

holds(Index, Type) ->
    T = fyris:new(t, [Type, {index, Index}]),
    [true = fyris:insert(T, {N, 2 * N}) || N <- lists:seq(1, 300)],
    true = fyris:delete(T, 7),
    ?assertEqual(299, fyris:info(T, size)),
    ?assertEqual([{8, 16}], fyris:lookup(T, 8)),
    ?assertEqual(299, length(fyris:tab2list(T))),
    ?assertEqual(Index, fyris:info(T, index)),
    ?assert(length(fyris:info(T, index_info)) > 0),
    fyris:delete(T).

options_choose_locks_test() ->
    Locks = fun(Options) ->
                T = fyris:new(t, [public, {index, linear_hash} | Options]),
                Info = fyris:info(T, index_info),
                fyris:delete(T),
                [proplists:get_value(Item, Info) || Item <- [lock, bucket_locks, bucket_lock]]
            end,
    ?assertEqual([normal, 0, undefined], Locks([])),
    ?assertEqual([freq_r, 0, undefined], Locks([{read_concurrency, true}])),
    ?assertEqual([freq_r, 64, normal], Locks([{write_concurrency, true}])),
    ?assertEqual([freq_r, 64, freq_r], Locks([{write_concurrency, true}, {read_concurrency, true}])),
    ?assertEqual([freq_r, 256, normal], Locks([{bucket_locks, 256}])),
    ?assertMatch([freq_r, _, normal], Locks([{bucket_locks, auto}, {reader_groups, 4}])).

wrong_numbers_are_refused_test() ->
    [?assertError(badarg, fyris:new(t, [Option]))
     || Option <- [{bucket_locks, 3}, {bucket_locks, 0}, {bucket_locks, 65536}, {bucket_locks, true},
                   {reader_groups, 0}, {reader_groups, 65}]].

numbers_of_locks_that_are_not_there_are_refused_test() ->
    [?assertError(badarg, fyris:new(t, Options))
     || Options <- [[{bucket_locks, 4}], [ordered_set, {reader_groups, 4}], [{index, split_ordered}, {bucket_locks, 4}],
                    [ordered_set, {index, avl}, {bucket_locks, 4}], [{index, skip_list}, {reader_groups, 4}]]],
    fyris:delete(fyris:new(t, [ordered_set, {index, avl}, {reader_groups, 4}])).

info_tells_of_an_index_that_was_chosen_test() ->
    Items = fun(Options) -> [Item || {Item, _} <- fyris:info(fyris:new(t, Options))] end,
    Default = Items([]),
    ?assertEqual(false, lists:member(index_info, Default)),
    ?assertEqual(Default ++ [index, index_info], Items([{index, linear_hash}])).
