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

%% Heads that say something of the values too.
values() ->
    [1, 1.0, 0.0, a, <<"y">>, <<1:3>>, <<>>, [], "x", [1, a], [a | b], {}, {1, 2}, {1, a}, {a, {b, 3}}, {self(), 1}, {1.0, a},
     #{}, #{a => 1}, {#{a => 1}, 2}, 1 bsl 70, binary:copy(<<"long">>, 50), make_ref(), {a, [x], <<"z">>}].

patterns() ->
    values() ++ [{'_', '_'}, {1, '_'}, {'_', a}, {a, '_'}, {a, {'_', 3}}, {a, {b, '_'}}, {{'_'}}, {self(), '_'}, {'$1', a}, {1, '$1'}, ['_'], [1, '_'],
                 ['_' | b], {a, ['_'], '_'}, {'_', ['_'], <<"z">>}, {#{}, '_'}, {#{a => '_'}, 2}, #{a => '_'}, '$_', '$$', {'$_', a}, {1.0, '_'},
                 lists:foldl(fun(_, Deep) -> {Deep} end, '_', lists:seq(1, 20)), {'_', 1.0}, {'_', '_', <<"z">>}, {1 bsl 70, '_'}].

%% In a set each value has a key of its own, in a bag all have one.
keys_of(Type) when Type =:= set; Type =:= ordered_set -> lists:seq(1, length(values()));
keys_of(_) -> [k].

table_of_values(M, Type, Pos) ->
    T = M:new(t, [Type, {keypos, Pos}]),
    Keys = case keys_of(Type) of [k] -> [k || _ <- values()]; Many -> Many end,
    [M:insert(T, O) || {K, V} <- lists:zip(Keys, values()), O <- around(Pos, K, V)],
    T.

%% Objects, or heads, with a value in each place around the key. In a set the last one stays.
around(1, K, V) -> [{K, V, '$1'}, {K, x, V}, {K, V, V}, {K, V}];
around(2, K, V) -> [{V, K, '$1'}, {x, K, V}, {V, K, V}, {V, K}].

patterns_test_() ->
    [{lists:flatten(io_lib:format("~p, key ~p", [Type, Pos])), {timeout, 60, fun() -> patterns(Type, Pos) end}}
     || Type <- ?ALL, Pos <- [1, 2]].

patterns(Type, Pos) ->
    Keys = keys_of(Type),
    ?same(begin
              T = table_of_values(M, Type, Pos),
              [fyris_same:try_it(fun() -> answer_any(M, Verb, T, Spec) end)
               || P <- patterns(), K <- Keys, Head <- around(Pos, K, P),
                  {Verb, Spec} <- [{match, Head}, {match_object, Head}, {select_count, [{Head, [], [true]}]},
                                   {select, [{Head, [], ['$_']}]}, {select, [{Head, [], ['$1']}]}]]
          end),
    ?same([begin
               T = table_of_values(M, Type, Pos),
               Answers = [M:Verb(T, case Verb of match_delete -> Head; _ -> [{Head, [], [true]}] end)
                          || K <- Keys, Head <- [lists:nth(N, around(Pos, K, P))]],
               Left = {Answers, sorted(M:tab2list(T)), M:info(T, size)},
               M:delete(T),
               Left
           end || P <- patterns(), N <- [1, 2, 3, 4], Verb <- [match_delete, select_delete]]).

answer_any(M, Verb, T, Spec) ->
    case M:Verb(T, Spec) of
        List when is_list(List) -> sorted(List);
        Other -> Other
    end.

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
