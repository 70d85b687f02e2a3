%% Every kind of term goes in and comes out as it was.
-module(fyris_terms_test).

-compile(export_all).
-include("fyris_same.hrl").

terms() ->
    Self = self(),
    Deep = lists:foldl(fun(_, T) -> [T] end, x, lists:seq(1, 300)),
    [0, 1, -1, 127, 128, 255, 256, 4223, 4224, -16, -17, 1 bsl 31, 1 bsl 59, (1 bsl 59) - 1,
     -(1 bsl 59), -(1 bsl 59) - 1, (1 bsl 63) - 1, 1 bsl 63, -(1 bsl 63), -(1 bsl 63) - 1,
     1 bsl 64, 1 bsl 2000, -(1 bsl 2000), 0.0, 1.0, -1.5, 1.0e300, 5.0e-324, 1.0e22,
     a, '', 'with space', 'ätom', 'λ∀', list_to_atom(lists:duplicate(255, $x)),
     <<>>, <<0>>, <<1, 0, 2>>, binary:copy(<<7>>, 15), binary:copy(<<7>>, 16),
     binary:copy(<<7>>, 64), binary:copy(<<7>>, 65), binary:copy(<<7>>, 255), binary:copy(<<7>>, 256), binary:copy(<<7>>, 70_000),
     <<1:1>>, <<5:3>>, <<0:7, 1:800>>, {}, {1}, {a, {b, [c]}}, list_to_tuple(lists:seq(1, 300)),
     [], [[]], "text", [1, 2, 256], [1, a], [1 | 2], [a, b | {c}], [1.0], [-1],
     lists:seq(1, 1000), Deep, #{}, #{a => 1}, #{1 => a, 1.0 => b}, #{z => 1, a => 2, "k" => 3},
     maps:from_list([{list_to_atom("k" ++ integer_to_list(I)), I} || I <- lists:seq(1, 31)]),
     maps:from_list([{I, {I}} || I <- lists:seq(1, 200)]), #{#{a => 1} => #{b => #{}}},
     Self, make_ref(), hd(erlang:ports()), fun lists:map/2, fun(X) -> {X, Self, Deep} end,
     fun() -> ok end, {Self, [make_ref()], #{Self => <<1:1>>}},
     binary_to_term(<<131, 88, 119, 3, "a@b", 1:32, 2:32, 3:32>>),
     binary_to_term(<<131, 90, 3:16, 119, 3, "a@b", 1:32, 1:32, 2:32, 3:32>>)].

values_come_back_as_they_were_test() ->
    [begin
         T = fyris:new(t, [Type]),
         [begin
              fyris:insert(T, {K, V}),
              [{_, Got}] = fyris:lookup(T, K),
              ?assert(Got =:= V),
              Element = case fyris:info(T, type) of
                            bag -> [V];
                            duplicate_bag -> [V];
                            _ -> V
                        end,
              ?assert(Element =:= fyris:lookup_element(T, K, 2)),
              fyris:delete(T, K)
          end || {K, V} <- lists:zip(lists:seq(1, length(terms())), terms())],
         fyris:delete(T)
     end || Type <- ?ALL].

keys_come_back_as_they_were_test() ->
    T = fyris:new(t, []),
    Terms = terms(),
    [fyris:insert(T, {K, x}) || K <- Terms],
    [?assert([{K, x}] =:= fyris:lookup(T, K)) || K <- Terms],
    Got = [K || {K, _} <- fyris:tab2list(T)],
    ?assertEqual([], Got -- Terms),
    ?assertEqual(length(Terms), length(Got)),
    [?assert(fyris:member(T, K)) || K <- Got],
    fyris:delete(T).

ordered_keys_are_in_term_order_test() ->
    Terms = lists:usort(terms()),
    ?same(begin
        T = M:new(t, [ordered_set]),
        [M:insert(T, {K}) || K <- Terms],
        Keys = [K || {K} <- M:tab2list(T)],
        {Keys =:= lists:usort(Keys), length(Keys) =:= length(lists:usort(fun(A, B) -> A =< B end, Terms)),
         [K =:= K2 || {K, K2} <- lists:zip(Keys, lists:usort(fun(A, B) -> A =< B end, Terms))]}
    end).

bag_objects_compare_exactly_test() ->
    Terms = terms(),
    ?same(begin
        T = M:new(t, [bag]),
        [M:insert(T, {1, V}) || V <- Terms ++ Terms],
        [M:delete_object(T, {1, V}) || V <- Terms, is_map(V)],
        M:info(T, size)
    end).

a_large_binary_outlives_its_object_test() ->
    T = fyris:new(t, []),
    fyris:insert(T, {1, binary:copy(<<"abc">>, 1000)}),
    [{1, B}] = fyris:lookup(T, 1),
    fyris:insert(T, {1, x}),
    fyris:delete(T),
    erlang:garbage_collect(),
    ?assertEqual(binary:copy(<<"abc">>, 1000), B).

%% As deep as terms may be, of every kind that has parts: schedulers have small stacks, those for long work smaller
%% ones.
%% Some ten seconds: keys of deep maps take the square of their depth.
deep_terms_come_back_test_() ->
    {timeout, 60, fun deep_terms_come_back/0}.

deep_terms_come_back() ->
    T = fyris:new(t, []),
    Kinds = [fun(X) -> {X} end, fun(X) -> [X] end, fun(X) -> [X | a] end, fun(X) -> #{k => X, b => 1} end],
    Deeps = [lists:foldl(fun(_, X) -> Kind(X) end, x, lists:seq(1, 990)) || Kind <- Kinds],
    [begin
         fyris:insert(T, {1, Deep}),
         ?assertEqual([{1, Deep}], fyris:lookup(T, 1)),
         fyris:insert(T, [{I, Deep} || I <- lists:seq(1, 1100)]),
         fyris:insert(T, [{{I, Deep}, I} || I <- lists:seq(1, 1100)]),
         ?assertEqual([{{7, Deep}, 7}], fyris:lookup(T, {7, Deep})),
         ?assertEqual(Deep, fyris:lookup_element(T, 1100, 2)),
         fyris:delete_all_objects(T)
     end || Deep <- Deeps ++ [fun() -> Deep end || Deep <- Deeps]
                ++ [lists:foldl(fun(_, X) -> fun() -> X end end, x, lists:seq(1, 490))]],
    Deep = lists:foldl(fun(_, X) -> #{X => 1, b => 2} end, x, lists:seq(1, 990)),
    fyris:insert(T, [{1, Deep}, {Deep, 1}]),
    ?assertEqual([{1, Deep}], fyris:lookup(T, 1)),
    ?assertEqual([{Deep, 1}], fyris:lookup(T, Deep)),
    fyris:delete(T).

%% What ets stores is stored, however deep: as keys, values, in dumps, in what is compared and made.
any_depth_is_stored_test_() ->
    {timeout, 120,
     fun() ->
             Tower = fun(Wrap, Levels) -> lists:foldl(fun(_, X) -> Wrap(X) end, x, lists:seq(1, Levels)) end,
             Deeps = [Tower(Wrap, 1_000_000)
                      || Wrap <- [fun(X) -> {X} end, fun(X) -> [X, 1] end, fun(X) -> #{a => X} end]]
                 ++ [Tower(Wrap, 5_000)
                     || Wrap <- [fun(X) -> #{X => 1} end, fun(X) -> [a | {X}] end, fun(X) -> fun() -> X end end]],
             [any_depth_is_stored(set, Deep) || Deep <- Deeps],
             any_depth_is_stored(ordered_set, hd(Deeps))
     end}.

any_depth_is_stored(Type, Deep) ->
    T = fyris:new(t, [Type]),
    true = fyris:insert(T, [{1, Deep}, {Deep, 2}]),
    ?assert(fyris:lookup(T, 1) =:= [{1, Deep}]),
    ?assert(fyris:lookup(T, Deep) =:= [{Deep, 2}]),
    ?assert(fyris:match_object(T, {'_', 2}) =:= [{Deep, 2}]),
    ?assertEqual(false, fyris:member(T, {Deep})),
    ?assert(fyris:take(T, Deep) =:= [{Deep, 2}]),
    fyris:delete(T).

local_pids_are_in_order_and_come_back_test_() ->
    {timeout, 60,
     fun() ->
             Pids = [spawn(fun() -> ok end) || _ <- lists:seq(1, 40_000)],
             T = fyris:new(t, [ordered_set]),
             fyris:insert(T, [{P} || P <- Pids]),
             ?assertEqual(lists:usort(Pids), [P || {P} <- fyris:tab2list(T)]),
             fyris:delete(T)
     end}.
