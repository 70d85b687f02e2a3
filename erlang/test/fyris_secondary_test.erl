%% Secondary indexes: objects are found by values beside the key. That indexes are right beside writers is for the tests
%% of the store.
-module(fyris_secondary_test).

-compile(export_all).
-include("fyris_same.hrl").

table(Type, Indexes) ->
    fyris:new(people, [Type, public | [{secondary, Name, Value} || {Name, Value} <- Indexes]]).

people() -> [{1, ada, #{born => 1815, at => {london, 51}}}, {2, emmy, #{born => 1882, at => {erlangen, 49}}},
             {3, alan, #{born => 1912, at => {london, 51}}}, {4, nobody}].

each_type(Test) -> [{atom_to_list(Type), fun() -> Test(Type) end} || Type <- ?ALL].

%% An element, a path, and what expressions make of the object; what has no such value is not found.
kinds_test_() -> each_type(fun kinds/1).

kinds(Type) ->
    T = table(Type, [{by_name, {element, 2}}, {by_city, {path, [3, at, 1]}},
                     {by_length, {body, [{map_size, {element, 3, '$_'}}, {tuple_size, '$_'}]}},
                     {by_third, {element, 3}}]),
    [Ada, Emmy, Alan, Nobody] = people(),
    fyris:insert(T, people()),
    ?assertEqual([Emmy], fyris:lookup_by(T, by_name, emmy)),
    ?assertEqual([Nobody], fyris:lookup_by(T, by_name, nobody)),
    ?assertEqual([], fyris:lookup_by(T, by_name, an_atom_that_no_table_has)),
    ?assertEqual([Ada, Alan], fyris:lookup_by(T, by_city, london)),
    ?assertEqual([Ada, Emmy, Alan], fyris:lookup_by(T, by_length, 3)),
    ?assertEqual([], fyris:lookup_by(T, by_length, 2)),
    ?assertEqual([Ada], fyris:lookup_by(T, by_third, element(3, Ada))),
    fyris:delete(T, 1),
    fyris:delete_object(T, Emmy),
    ?assertEqual([[], [Alan], [Alan]],
                 [fyris:lookup_by(T, Index, Value)
                  || {Index, Value} <- [{by_name, ada}, {by_city, london}, {by_length, 3}]]),
    fyris:delete_all_objects(T),
    ?assertEqual([], fyris:lookup_by(T, by_city, london)),
    fyris:delete(T).

%% What each writer leaves is found, and what it has replaced is not.
writers_test() ->
    T = table(set, [{by, {element, 2}}]),
    Found = fun(Value) -> [Key || {Key, _} <- fyris:lookup_by(T, by, Value)] end,
    fyris:insert(T, [{Key, 0} || Key <- [1, 2, 3]]),
    ?assertEqual([1, 2, 3], Found(0)),
    fyris:update_counter(T, 1, 5),
    fyris:update_element(T, 2, {2, 5}),
    ?assertEqual({[3], [1, 2]}, {Found(0), Found(5)}),
    fyris:compare_and_swap(T, {1, 5}, {1, 0}),
    fyris:upsert(T, 4, {4, 0}, fun(Object) -> Object end),
    fyris:insert_new(T, {3, 5}),
    ?assertEqual({[1, 3, 4], [2]}, {Found(0), Found(5)}),
    fyris:take(T, 3),
    fyris:select_delete(T, [{{'_', 5}, [], [true]}]),
    fyris:select_replace(T, [{{4, '_'}, [], [{{4, {{a, 1}}}}]}]),
    ?assertEqual({[1], [], [4]}, {Found(0), Found(5), Found({a, 1})}),
    fyris:delete(T).

%% In a bag the objects of a key come in the order of their insertion; `1' and `1.0' are two values.
order_test_() -> each_type(fun order/1).

order(Type) ->
    T = table(Type, [{by, {element, 2}}]),
    Objects = [{Key, Value, N} || N <- [2, 1], Key <- [b, a, c], Value <- [1, 1.0]],
    fyris:insert(T, Objects),
    Expected = case lists:member(Type, ?BAGS) of
                   true -> [{Key, 1, N} || Key <- [a, b, c], N <- [2, 1]];
                   false -> []
               end,
    ?assertEqual(Expected, fyris:lookup_by(T, by, 1)),
    ?assert(lists:all(fun({_, Value, _}) -> Value =:= 1.0 end, fyris:lookup_by(T, by, 1.0))),
    fyris:delete(T).

%% A snapshot shows the objects that had the value at its moment.
snapshots_test_() -> each_type(fun snapshots/1).

snapshots(Type) ->
    T = table(Type, [{by, {element, 2}}]),
    fyris:insert(T, [{N, old} || N <- lists:seq(1, 2000)]),
    S = fyris:snapshot(T),
    fyris:delete_all_objects(T),
    fyris:insert(T, [{N, new} || N <- lists:seq(1, 3)]),
    fyris:insert(T, {0, old}),
    ?assertEqual([{N, old} || N <- lists:seq(1, 2000)], fyris:lookup_by(S, by, old)),
    ?assertEqual({[], [{0, old}]}, {fyris:lookup_by(S, by, new), fyris:lookup_by(T, by, old)}),
    fyris:release(S),
    ?assertError(badarg, fyris:lookup_by(S, by, old)),
    fyris:delete(T).

%% A transaction finds what it has written itself, and begins again if another one commits an object with a value that
%% it has looked for, an atom that no table had until then among them.
transactions_test() ->
    T = table(set, [{by, {element, 2}}]),
    fyris:insert(T, [{1, a}, {2, b}]),
    ?assertEqual({atomic, {[{1, a}], [{1, b}, {2, b}], []}},
                 fyris:transaction(
                   fun(Tx) ->
                           W = fyris:within(Tx, T),
                           Before = fyris:lookup_by(W, by, a),
                           fyris:insert(W, {1, b}),
                           {Before, fyris:lookup_by(W, by, b), fyris:lookup_by(W, by, a)}
                   end)),
    ?assertEqual([{1, b}, {2, b}], fyris:lookup_by(T, by, b)),
    [begin
         Tries = counters:new(1, []),
         ?assertEqual({atomic, [{Value, Value}]},
                      fyris:transaction(
                        fun(Tx) ->
                                W = fyris:within(Tx, T),
                                Found = fyris:lookup_by(W, by, Value),
                                counters:add(Tries, 1, 1),
                                counters:get(Tries, 1) =:= 1 andalso fyris:insert(T, {Value, Value}),
                                fyris:insert(W, {found, length(Found)}),
                                Found
                        end)),
         ?assertEqual(2, counters:get(Tries, 1))
     end || Value <- [7, list_to_atom("new in " ++ ?MODULE_STRING)]],
    fyris:delete(T).

%% Queries that name an element find their objects by its index, and `explain' says so.
queries_test_() -> each_type(fun queries/1).

queries(Type) ->
    T = table(Type, [{by_group, {element, 2}}]),
    fyris:insert(T, [{N, N rem 100, x} || N <- lists:seq(1, 10_000)]),
    Spec = [{{'$1', 7, '_'}, [], ['$1']}],
    ?assertMatch(#{kind := point, secondary := by_group, estimated := 100, size := 10_000}, fyris:explain(T, Spec)),
    ?assertEqual(lists:seq(7, 10_000, 100), lists:sort(fyris:select(T, Spec))),
    ?assertEqual(100, fyris:select_count(T, [{{'_', 7, '_'}, [], [true]}])),
    ?assertEqual(100, length(fyris:match_object(T, {'_', 7, '_'}))),
    ?assert(not maps:is_key(secondary, fyris:explain(T, [{{7, '_', '_'}, [], ['$_']}]))),
    ?assert(not maps:is_key(secondary, fyris:explain(T, [{{'_', '_', x}, [], ['$_']}]))),
    ?assertEqual(100, fyris:select_delete(T, [{{'_', 7, '_'}, [], [true]}])),
    ?assertEqual({[], 9900}, {fyris:lookup_by(T, by_group, 7), fyris:info(T, size)}),
    fyris:delete(T).

%% A long result comes in slices, between which others run, and shows one moment.
large_results_test_() -> [{timeout, 60, Test} || Test <- each_type(fun large_results/1)].

large_results(Type) ->
    N = 30_000,
    T = table(Type, [{by, {element, 2}}]),
    fyris:insert(T, [{Key, all} || Key <- lists:seq(1, N)]),
    ?assertEqual([{Key, all} || Key <- lists:seq(1, N)], fyris:lookup_by(T, by, all)),
    Writer = spawn_monitor(fun() -> moving(T, N) end),
    [?assertEqual(N, length(fyris:lookup_by(T, by, all))) || _ <- lists:seq(1, 20)],
    {Pid, Monitor} = Writer,
    exit(Pid, kill),
    receive {'DOWN', Monitor, _, _, _} -> ok end,
    fyris:delete(T).

%% Puts an object in and takes another one out, in one step.
moving(T, Key) ->
    {ok, _} = fyris:write_batch([{delete, T, Key}, {insert, T, {Key + 1, all}}]),
    moving(T, Key + 1).

%% The table is renamed and deleted between slices: they show the moment at which the first was read.
tables_that_go_test() ->
    T = table(set, [{by, {element, 2}}]),
    fyris:insert(T, [{Key, all} || Key <- lists:seq(1, 5000)]),
    {more, Place, Some} = fyris_nif:query_by(T, by, all),
    ?assert(length(Some) < 5000),
    fyris:rename(T, others),
    [more | More] = fyris_nif:step(Place, Some),
    fyris:delete(T),
    ?assertEqual([{Key, all} || Key <- lists:seq(5000, 1, -1)], all_steps(Place, [more | More])).

all_steps(Place, [more | More]) -> all_steps(Place, fyris_nif:step(Place, More));
all_steps(_, All) -> All.

%% Values of every kind, as those of keys.
values_test_() -> each_type(fun values/1).

values(Type) ->
    T = table(Type, [{by, {element, 2}}, {by_part, {path, [3, part]}}]),
    Large = binary:copy(<<"large">>, 1000),
    Values = [fun lists:map/2, fun() -> Large end, self(), make_ref(), Large, <<"small">>, hd(erlang:ports()),
              #{Large => self()}, {Large, [1.5, make_ref()]}, 1 bsl 100, [], atomics:new(1, []), <<5:3>>, "text", -0.5],
    Objects = [{N, Value, #{part => Value}} || {N, Value} <- lists:enumerate(Values)],
    fyris:insert(T, Objects),
    [?assertEqual({Object, [Object]}, {Object, fyris:lookup_by(T, Index, Value)})
     || {_, Value, _} = Object <- Objects, Index <- [by, by_part]],
    ?assertEqual([], fyris:lookup_by(T, by, make_ref())),
    fyris:delete(T).

%% A value that is looked for is not kept, and one that is indexed goes with its object.
nothing_is_kept_test() ->
    Before = fyris_counts:extra(0),
    T = table(set, [{by, {element, 2}}]),
    Large = binary:copy(<<"kept">>, 1000),
    fyris:insert(T, [{N, {atomics:new(1, []), Large}} || N <- lists:seq(1, 10)]),
    [?assertEqual([], fyris:lookup_by(T, by, {atomics:new(1, []), Large})) || _ <- lists:seq(1, 10)],
    fyris:delete_all_objects(T),
    fyris:delete(T),
    ?assertEqual(Before, fyris_counts:extra(Before)).

%% The indexes of a table, as they were given.
info_test() ->
    Indexes = [{a, {element, 2}}, {b, {path, [1, k, <<"s">>]}}, {c, {body, [{element, 1, '$_'}]}}],
    T = table(bag, Indexes),
    ?assertEqual(Indexes, fyris:info(T, secondary)),
    ?assertEqual(Indexes, fyris:info(fyris:snapshot(T), secondary)),
    ?assertEqual([], fyris:info(fyris:new(t, []), secondary)),
    ?assert(not lists:keymember(secondary, 1, fyris:info(T))),
    fyris:delete(T).

open_test() ->
    T = fyris:open(?MODULE, [{secondary, by, {element, 2}}]),
    fyris:insert(T, {1, x}),
    ?assertEqual([{1, x}], fyris:lookup_by(?MODULE, by, x)),
    fyris:delete(T).

errors_test() ->
    T = table(set, [{by, {element, 2}}]),
    [?assertEqual(#{2 => Text}, told(fun() -> fyris:lookup_by(T, Name, x) end))
     || {Text, Name} <- [{<<"the table has no secondary index other">>, other}, {<<"not an atom">>, "by"}]],
    ?assertEqual(#{1 => <<"the table identifier does not refer to an existing table">>},
                 told(fun() -> fyris:lookup_by(no_such_table, by, x) end)),
    fyris:insert(T, {1, x}),
    fyris:setopts(T, {protection, private}),
    Self = self(),
    spawn(fun() -> Self ! {told, told(fun() -> fyris:lookup_by(T, by, x) end)} end),
    ?assertMatch(#{1 := <<"no ", _/binary>>},
                 receive {told, Told} -> Told end),
    fyris:delete(T).

%% Options that are refused come with what they can be.
options_test() ->
    [begin
         #{2 := Text} = told(fun() -> fyris:new(t, [{secondary, by, Value}]) end),
         [?assert({Text, Word, binary:match(Text, Word) =/= nomatch} =:= {Text, Word, true})
          || Word <- [<<"secondary">>, <<"{element, Position}">>, <<"{path, ">>, <<"{body, ">>]]
     end || Value <- [2, {element, 0}, {element, a}, {path, []}, {path, [k]}, {path, 2}, {body, []}, {body, [{foo, 1}]},
                      {body, [{self}]}, {body, x}, {other, 1}]],
    [?assertError(badarg, fyris:new(t, [Option]))
     || Option <- [{secondary, "by", {element, 2}}, {secondary, by}, secondary]],
    #{2 := Twice} = told(fun() -> table(set, [{by, {element, 2}}, {by, {element, 3}}]) end),
    ?assertMatch({match, _}, re:run(Twice, "secondary,by")),
    Many = fun(N) -> [{list_to_atom("by_" ++ integer_to_list(I)), {element, I}} || I <- lists:seq(1, N)] end,
    ?assertEqual(64, length(fyris:info(table(set, Many(64)), secondary))),
    #{2 := TooMany} = told(fun() -> table(set, Many(65)) end),
    ?assertMatch({match, _}, re:run(TooMany, "64")).

%% What is said of the arguments.
told(Fun) ->
    try {no_error, Fun()}
    catch error:badarg:Stack -> fyris:format_error(badarg, Stack)
    end.

%% A value of a unique index is one object's; the error says which, whatever brings it.
unique_test_() ->
    [{atom_to_list(Type), fun() -> unique(Type) end} || Type <- [set, ordered_set]].

unique(Type) ->
    T = table(Type, [{by_email, {unique, {element, 2}}}, {by_age, {element, 3}}]),
    Taken = {not_unique, by_email, <<"ada@example.org">>},
    Ada = {1, <<"ada@example.org">>, 36},
    fyris:insert(T, [Ada, {2, bob, 0}, {3}]),
    Refused = [fun() -> fyris:insert(T, {4, <<"ada@example.org">>, 1}) end,
               fun() -> fyris:insert_new(T, {4, <<"ada@example.org">>, 1}) end,
               fun() -> fyris:insert(T, [{4, new, 1}, {2, <<"ada@example.org">>, 1}]) end,
               fun() -> fyris:insert(T, [{4, <<"ada@example.org">>, 1}, {5, <<"ada@example.org">>, 1}]) end,
               fun() -> fyris:insert_new(T, [{4, <<"ada@example.org">>}, {5}]) end,
               fun() -> fyris:update_element(T, 2, {2, <<"ada@example.org">>}) end,
               fun() -> fyris:update_element(T, 4, {3, 1}, {4, <<"ada@example.org">>, 0}) end,
               fun() -> fyris:compare_and_swap(T, {2, bob, 0}, {2, <<"ada@example.org">>, 0}) end,
               fun() -> fyris:upsert(T, 2, {2, bob}, fun(_) -> {2, <<"ada@example.org">>} end) end,
               fun() -> fyris:select_replace(T, [{{2, '_', '$1'}, [], [{{2, <<"ada@example.org">>, '$1'}}]}]) end,
               fun() -> fyris:write_batch([{insert, T, {4, free, 1}}, {insert, T, {2, <<"ada@example.org">>}}]) end,
               fun() -> fyris:write_batch([{delete, T, 3}, {update_element, T, 2, {2, <<"ada@example.org">>}}]) end],
    [?assertError(Taken, Refuse()) || Refuse <- Refused],
    ?assertEqual(lists:sort([Ada, {2, bob, 0}, {3}]), lists:sort(fyris:tab2list(T))),
    {aborted, {Reason, Stack}} =
        fyris:transaction(fun(Tx) -> fyris:insert(fyris:within(Tx, T), {9, <<"ada@example.org">>, 1}) end),
    ?assertEqual({Taken, true}, {Reason, is_list(Stack)}),
    %% Exchanged, as a whole.
    fyris:insert(T, [{1, bob, 36}, {2, <<"ada@example.org">>, 0}]),
    ?assertEqual({atomic, true},
                 fyris:transaction(fun(Tx) -> W = fyris:within(Tx, T),
                                              fyris:update_element(W, 2, {2, bob}),
                                              fyris:update_element(W, 1, {2, <<"ada@example.org">>})
                                   end)),
    ?assertEqual([Ada], fyris:lookup_by(T, by_email, <<"ada@example.org">>)),
    ?assertEqual([{by_email, {unique, {element, 2}}}, {by_age, {element, 3}}], fyris:info(T, secondary)),
    %% Many at once, on a scheduler for long work.
    Many = [{Key, Key} || Key <- lists:seq(10, 3000)],
    ?assertError(Taken, fyris:insert(T, Many ++ [{3001, <<"ada@example.org">>}])),
    ?assertEqual(3, fyris:info(T, size)),
    fyris:insert(T, Many),
    ?assertError({not_unique, by_email, 77}, fyris:insert(T, {78, 77})),
    fyris:insert(T, [{Key, 3010 - Key} || {Key, _} <- Many]),
    fyris:insert(T, {2, bob, 36}),
    fyris:remove_secondary(T, by_age),
    ?assertError({not_unique, by_age, 36}, fyris:add_secondary(T, by_age, {unique, {element, 3}})),
    fyris:delete(T).

unique_of_a_bag_test_() ->
    [fun() -> ?assertError(badarg, fyris:new(t, [Type, {secondary, by, {unique, {element, 2}}}])) end
     || Type <- [bag, duplicate_bag]].

%% Processes take one value after another: each time one of them gets it.
unique_beside_processes_test_() -> {timeout, 60, fun unique_beside_processes/0}.

unique_beside_processes() ->
    T = table(set, [{by, {unique, {element, 2}}}]),
    Take = fun(Me, N) when N rem 3 =:= 0 -> fyris:insert(T, {{Me, N}, N});
              (Me, N) when N rem 3 =:= 1 -> fyris:insert(T, [{{Me, N}, N}, {{Me, N, more}, {Me, N}}]);
              (Me, N) -> fyris:transaction(fun(Tx) -> fyris:insert(fyris:within(Tx, T), {{Me, N}, N}) end)
           end,
    Gets = fun(Me, N) -> try Take(Me, N) of
                             true -> true;
                             {atomic, true} -> true;
                             {aborted, {{not_unique, by, N}, _}} -> false
                         catch error:{not_unique, by, N} -> false
                         end end,
    Tries = fun(Me) -> [N || N <- lists:seq(1, 2000), Gets(Me, N)] end,
    Self = self(),
    Pids = [spawn_link(fun() -> Self ! {self(), Tries(Me)} end) || Me <- [1, 2, 3]],
    Got = lists:append([receive {Pid, Got} -> Got end || Pid <- Pids]),
    ?assertEqual(lists:seq(1, 2000), lists:sort(Got)),
    fyris:delete(T).
