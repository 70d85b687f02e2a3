%% Queries that name a key: those that a lookup answers, and those that look like them.
-module(fyris_point_test).

-compile(export_all).
-include("fyris_same.hrl").

keys() ->
    [1, 1.0, 0, -1, 1 bsl 70, a, '$1', '$x', '_', '$_', [], "a", [a | b], [1, '$1'], <<>>, <<"b">>, <<1:3>>, {}, {1, a}, {1.0, a}, {1, '_'}, {a, {'$2'}},
     #{}, #{a => 1}, {#{a => 1}}, self(), make_ref(), fun lists:map/2, lists:foldl(fun(_, Deep) -> {Deep} end, a, lists:seq(1, 20))].

%% Objects with the key K in the place Pos.
objects(K, 1) -> [{K, b}, {K, "x", <<"y">>}, {K, 1, 2, 3}];
objects(K, 2) -> [{b, K}, {"x", K, <<"y">>}, {1, K, 2, 3}].

heads(K, 1) -> [{K}, {K, '_'}, {K, '$1'}, {K, '$2', '$1'}, {K, '$1', '$1'}, {K, '$0', '$15'}, {K, '_', '$16'}, {K, b}, {K, '_', '_', '_'}, K, '_', '$1'];
heads(K, 2) -> [{K}, {'_', K}, {'$1', K}, {'$2', K, '$1'}, {'$1', K, '$1'}, {'_', K, '$16'}, {b, K}, {'_', K, '_', '_'}].

bodies() -> [['$_'], ['$$'], [true], [false], ['$1'], ['$2'], ['$0'], ['$9'], ['$16'], [{{'$1'}}], ['$1', '$2'], [], [b], x].

%% All there is to be seen: what each call answers or raises, and what it leaves.
reads_test_() ->
    [{lists:flatten(io_lib:format("~p, key ~p", [Type, Pos])),
      fun() ->
          [?same(begin
                     T = M:new(t, [Type, {keypos, Pos}]),
                     [M:insert(T, O) || O <- objects(K, Pos) ++ objects(other, Pos)],
                     [[fyris_same:try_it(fun() -> answer(M, Verb, T, Head) end) || Verb <- [match, match_object], Head <- heads(K, Pos)],
                      [fyris_same:try_it(fun() -> answer(M, Verb, T, [{Head, Guards, Body}]) end)
                       || Verb <- [select, select_reverse, select_count], Head <- heads(K, Pos), Body <- bodies(), Guards <- [[]]]]
                 end) || K <- keys()]
      end} || Type <- ?ALL, Pos <- [1, 2]].

%% In an order that tells `1' from `1.0'.
sorted(List) -> [Term || {_, Term} <- lists:sort([{term_to_binary(Term), Term} || Term <- List])].

%% The order among objects is a table's own but in an ordered one and of one key.
answer(M, Verb, T, Spec) ->
    case M:Verb(T, Spec) of
        List when is_list(List) -> sorted(List);
        Count -> Count
    end.

deletes_test_() ->
    [{lists:flatten(io_lib:format("~p, key ~p", [Type, Pos])),
      fun() ->
          [?same([begin
                      T = M:new(t, [Type, {keypos, Pos}]),
                      [M:insert(T, O) || K1 <- [1, 1.0, a, {1, a}, K], O <- objects(K1, Pos)],
                      Answer = fyris_same:try_it(fun() -> M:Verb(T, Spec) end),
                      {Answer, sorted(M:tab2list(T)), M:info(T, size)}
                  end || Head <- heads(K, Pos),
                         {Verb, Spec} <- [{match_delete, Head} | [{select_delete, [{Head, [], Body}]} || Body <- bodies()]]])
           || K <- keys()]
      end} || Type <- ?ALL, Pos <- [1, 2]].

%% In a bag, all objects of the key that match; the others stay.
objects_of_a_bag_test() ->
    [?same(begin
               T = M:new(t, [Type]),
               M:insert(T, [{k, I} || I <- lists:seq(1, 20)] ++ [{k, I, I} || I <- lists:seq(1, 3)]),
               Before = {sorted(M:select(T, [{{k, '$1'}, [], ['$1']}])), sorted(M:match(T, {k, '_', '$3'})),
                         sorted(M:match_object(T, {k, '_'})), M:select_count(T, [{{k, '_'}, [], [true]}])},
               {Before, M:select_delete(T, [{{k, '_'}, [], [true]}]), sorted(M:lookup(T, k))}
           end) || Type <- ?BAGS].

%% A deleted key is still passed over in a fixed table, and rights are asked for.
fixed_and_protected_test() ->
    [begin
         ?same_types([Type], begin
             M:insert(T, [{I, I} || I <- lists:seq(1, 50)]),
             M:safe_fixtable(T, true),
             Walk = fun Walk('$end_of_table') -> 0;
                        Walk(K) -> M:select_delete(T, [{{K, '_'}, [], [true]}]) + Walk(M:next(T, K))
                    end,
             Walk(M:first(T))
         end),
         ?same(begin
                   Self = self(),
                   {_, Monitor} = spawn_monitor(fun() ->
                       Tables = [M:new(t, [Type, Protection]) || Protection <- [private, protected]],
                       [M:insert(T, {k, 1}) || T <- Tables],
                       Self ! Tables,
                       receive done -> ok end
                   end),
                   Tables = receive Both -> Both after 10_000 -> error(timeout) end,
                   erlang:demonitor(Monitor),
                   [fyris_same:try_it(fun() -> Call(T) end)
                    || T <- Tables ++ [gone, make_ref(), 1],
                       Call <- [fun(Tab) -> M:select(Tab, [{{k, '_'}, [], ['$_']}]) end, fun(Tab) -> M:match_object(Tab, {k, '_'}) end,
                                fun(Tab) -> M:select_delete(Tab, [{{k, '_'}, [], [true]}]) end, fun(Tab) -> M:match_delete(Tab, {k, '_'}) end]]
               end)
     end || Type <- ?ALL].

%% The default counts where there is no object.
defaults_test_() ->
    Defaults = [{k, 10}, {x, 10, 20}, {k, a}, {k, 1 bsl 80}],
    [{atom_to_list(Type),
      fun() -> ?same([begin
                          T = M:new(t, [Type]),
                          Object =/= none andalso M:insert(T, Object),
                          {fyris_same:try_it(fun() -> M:update_counter(T, k, Op, Default) end), sorted(M:tab2list(T))}
                      end || Object <- [none, {k, 1}, {k, 1 bsl 62}, {k, a}, {k}, {k, 1, 2}], Default <- Defaults,
                             Op <- [1, {2, 5}, {3, 1}, {2, 1 bsl 70}, {1, 1}, {2, a}, {0, 1}, [], [{2, 1}]]])
      end} || Type <- ?ALL].

%% A default has to be an object in any case. (Of OTP 25, ets does harm to the node's memory here and there, so it is
%% not asked.)
bad_defaults_test() ->
    [begin
         T = fyris:new(t, [Type, {keypos, 2}]),
         fyris:insert(T, Object),
         [?assertError(badarg, fyris:update_counter(T, Key, Op, Default)) || Key <- [k, absent], Default <- [{}, {k}, k, [], 7], Op <- [1, {1, 1}, {3, 1}]],
         ?assertEqual([Object], fyris:tab2list(T)),
         fyris:delete(T)
     end || Type <- ?UNIQUE, Object <- [{1, k, 1}, {a, k}]].

%% OTP 27 has update_element/4.
element_defaults_test() ->
    [begin
         T = fyris:new(t, [Type]),
         ?assertEqual(true, fyris:update_element(T, k, {2, a}, {k, 0, 0})),
         ?assertEqual(true, fyris:update_element(T, k, {3, b}, {k, 0, 0})),
         ?assertEqual(true, fyris:update_element(T, k, {2, <<"long enough">>}, {k, 0})),
         ?assertError(badarg, fyris:update_element(T, k, {2, a}, x)),
         ?assertError(badarg, fyris:update_element(T, k, {4, a}, {k, 0, 0, 0})),
         ?assertEqual([{k, <<"long enough">>, b}], fyris:lookup(T, k)),
         fyris:delete(T)
     end || Type <- ?UNIQUE].
