%% What people are told of a badarg: which argument, and why.
-module(fyris_errors_test).

-include_lib("stdlib/include/assert.hrl").

-export([objects_test/0, tables_test/0, tables_of_ets_test/0, tables_of_elixir_test/0, options_test/0, paths_test/0,
         snapshots_and_transactions_test/0, access_test/0, specs_test/0,
         counters_test/0, forms_test/0, atoms_test_/0, look_ups_test/0, full/0, look_ups/1]).

%% `fyris:insert(T, foo)' was once a badarg without a word, where ets says that it is not a tuple.
objects_test() ->
    T = fyris:new(t, []),
    ?assertEqual(
        #{2 => <<"not a tuple or a list of tuples">>}, told(fun() -> fyris:insert(T, foo) end)
    ),
    ?assertEqual(
        #{2 => <<"not a proper list">>}, told(fun() -> fyris:insert_new(T, [{a} | b]) end)
    ),
    ?assertEqual(
        #{2 => <<"bad key position 1 in a tuple of 0">>},
        told(fun() -> fyris:insert(T, {}) end)
    ),
    ?assertMatch(#{2 := _}, told(fun() -> fyris:compare_and_swap(T, a, {a}) end)),
    ?assertMatch(#{3 := _}, told(fun() -> fyris:compare_and_swap(T, {a}, a) end)),
    ?assertMatch(#{3 := _}, told(fun() -> fyris:upsert(T, a, a, fun(X) -> X end) end)),
    ?assertEqual(
        #{3 => <<"the default object has another key">>},
        told(fun() -> fyris:upsert(T, a, {b}, fun(X) -> X end) end)
    ),
    fyris:insert(T, {a}),
    ?assertMatch(#{4 := _}, told(fun() -> fyris:upsert(T, a, {a}, fun({_}) -> {b} end) end)).

tables_test() ->
    Gone = #{1 => <<"the table identifier does not refer to an existing table">>},
    ?assertEqual(Gone, told(fun() -> fyris:lookup(no_such_table, 1) end)),
    T = fyris:new(t, []),
    fyris:delete(T),
    Deleted = <<(maps:get(1, Gone))/binary, ": it was deleted, by a call or with its owner">>,
    ?assertEqual(#{1 => Deleted}, told(fun() -> fyris:lookup(T, 1) end)),
    ?assertEqual(
        #{1 => <<"range does not work on a set: it needs an ordered_set (in Elixir type: :ordered_set)">>},
        told(fun() -> fyris:range(fyris:new(t, []), 1, 2) end)
    ).

%% The text of a table that `ets' has was that of no table at all.
tables_of_ets_test() ->
    Name = fyris_errors_test_table,
    Unnamed = ets:new(t, []),
    Named = ets:new(Name, [named_table]),
    [
        ?assertEqual(#{1 => <<"a table of ets, not of fyris">>}, told(fun() -> fyris:lookup(T, 1) end))
     || T <- [Unnamed, Named]
    ],
    ?assertEqual(
        #{3 => <<"a table of ets, not of fyris">>},
        told(fun() -> fyris:foldl(fun(_, N) -> N + 1 end, 0, Unnamed) end)
    ),
    ets:delete(Unnamed),
    ets:delete(Named),
    ?assertEqual(
        [
            #{1 => <<"not a valid table identifier">>},
            #{1 => <<"the table identifier does not refer to an existing table">>}
        ],
        [told(fun() -> fyris:lookup(T, 1) end) || T <- [Unnamed, Name]]
    ).

%% What Elixir's `Fyris' gives for a table was told to be no table at all.
tables_of_elixir_test() ->
    T = fyris:new(t, []),
    Struct = #{'__struct__' => 'Elixir.Fyris.Table', id => T},
    [
        ?assertMatch({N, {match, _}}, {N, re:run(maps:get(N, told(Fun)), <<"Fyris.Table.id/1">>)})
     || {N, Fun} <- [
            {1, fun() -> fyris:lookup(Struct, 1) end},
            {1, fun() -> fyris:subscribe([T, Struct], all) end},
            {1, fun() -> fyris:write_batch([{delete, T, 1}, {delete, Struct, 1}]) end},
            {3, fun() -> fyris:foldr(fun(_, N) -> N end, 0, Struct) end}
        ]
    ],
    ?assertEqual(#{1 => <<"not a valid table identifier">>}, told(fun() -> fyris:lookup(#{id => T}, 1) end)),
    ?assertMatch(#{2 := <<"not a tuple", _/binary>>}, told(fun() -> fyris:insert(T, Struct) end)).

%% Options that are refused come with those that there are.
options_test() ->
    T = fyris:new(t, [ordered_set]),
    [
        begin
            #{Argument := Text} = told(Fun),
            [?assert({Text, Word, binary:match(Text, Word) =/= nomatch} =:= {Text, Word, true}) || Word <- Words]
        end
     || {Argument, Words, Fun} <- [
            {2, [<<"foo">>, <<"ordered_set">>, <<"{keypos,_}">>], fun() -> fyris:new(t, [foo]) end},
            {2, [<<"foo">>, <<"{index,_}">>], fun() -> fyris:open(t, [foo]) end},
            {2, [<<"{index,\"avl\"}">>], fun() -> fyris:new(t, [{index, "avl"}]) end},
            {2, [<<"no index foo for type set">>, <<"hash">>, <<"skip_list">>], fun() -> fyris:new(t, [{index, foo}]) end},
            {2, [<<"judysl">>, <<"ordered, others are">>], fun() -> fyris:new(t, [ordered_set, {index, hash}]) end},
            {2, [<<"none">>], fun() -> fyris:new(t, [{owner, foo}]) end},
            {2, [<<"foo">>, <<"{heir,Pid,Data}">>, <<"{protection,private}">>], fun() -> fyris:setopts(T, foo) end},
            {4, [<<"{limit,0}">>, <<"reverse">>], fun() -> fyris:range(T, 1, 2, [{limit, 0}]) end},
            {3, [<<"foo">>, <<"keys">>], fun() -> fyris:prefix(T, <<>>, [foo]) end},
            {2, [<<"traverse">>, <<"n_objects">>], fun() -> fyris:table(T, [foo]) end},
            {2, [<<"foo">>], fun() -> fyris:info(T, foo) end}
        ]
    ].

specs_test() ->
    T = fyris:new(t, []),
    [
        ?assertMatch(#{Argument := <<"bad match specification: ", _/binary>>}, told(Fun))
     || {Argument, Fun} <- [
            {1, fun() -> fyris:match_spec_compile(foo) end},
            {2, fun() -> fyris:select(T, foo) end},
            {2, fun() -> fyris:select_delete(T, [{'_', [foo, {bar}], [true]}]) end},
            {2, fun() -> fyris:explain(T, foo) end}
        ]
    ].

%% Arguments of the wrong form.
forms_test() ->
    T = fyris:new(t, []),
    O = fyris:new(t, [ordered_set]),
    [
        ?assertEqual(#{Argument => Text}, told(Fun))
     || {Argument, Text, Fun} <- [
            {1, <<"not an atom">>, fun() -> fyris:open("t", []) end},
            {1, <<"not a continuation">>, fun() -> fyris:select(foo) end},
            {1, <<"not a continuation">>, fun() -> fyris:repair_continuation(foo, [{'_', [], ['$_']}]) end},
            {1, <<"not a continuation of a table that is there">>,
             fun() -> fyris:repair_continuation({T, 1, 2, make_ref(), [], 0}, [{'_', [], ['$_']}]) end},
            {1, <<"a continuation that was read from the external term format: see repair_continuation/2">>,
             fun() -> fyris:select({T, 1, 2, make_ref(), [], 0}) end},
            {1, <<"delete_range does not work on a set: it needs an ordered_set (in Elixir type: :ordered_set)">>,
             fun() -> fyris:delete_range(T, 1, 2) end},
            {1, <<"a range does not work on a set: it needs an ordered_set (in Elixir type: :ordered_set)">>,
             fun() -> fyris:subscribe(T, {range, 1, 2}) end},
            {1, <<"put does not work on a bag">>, fun() -> fyris:put(fyris:new(b, [bag]), 1, 2) end},
            {2, <<"not a slot of the table">>, fun() -> fyris:slot(T, -1) end},
            {2, <<"not an open dets table">>, fun() -> fyris:from_dets(T, foo) end},
            {2, <<"not a proper list of keys">>, fun() -> fyris:lookup_many(T, foo) end},
            {2, <<"not a compiled match specification">>, fun() -> fyris:match_spec_run([], foo) end},
            {2, <<"not a fun of one argument">>, fun() -> fyris:init_table(T, foo) end},
            {3, <<"not up or down">>, fun() -> fyris:seek(O, 1, left) end},
            {3, <<"not a positive integer">>, fun() -> fyris:select(T, [{'_', [], ['$_']}], 0) end},
            {3, <<"not a positive integer">>, fun() -> fyris:match(T, '_', all) end}
        ]
    ].

counters_test() ->
    T = fyris:new(t, []),
    ?assertEqual(
        #{3 => <<"bad argument: no counter operation: foo">>}, told(fun() -> fyris:update_counter(T, a, foo) end)
    ),
    ?assertEqual(
        #{4 => <<"an object must be a tuple, not foo">>},
        told(fun() -> fyris:update_counter(T, a, {2, 1}, foo) end)
    ),
    ?assertEqual(
        #{2 => <<"no object has this key">>}, told(fun() -> fyris:update_counter(T, a, 1) end)
    ).

%% Who does not know what a path, a snapshot or a transaction is was told nothing, or that nothing was found.
paths_test() ->
    T = fyris:new(t, []),
    fyris:insert(T, {1, #{a => 1}}),
    Id = fun(X) -> X end,
    [
        ?assertMatch(#{3 := <<_, _/binary>>}, told(Fun))
     || Path <- [[], [a], [a, 2], a],
        Fun <- [
            fun() -> fyris:get_in(T, 1, Path) end,
            fun() -> fyris:put_in(T, 1, Path, 2) end,
            fun() -> fyris:update_in(T, 1, Path, Id) end,
            fun() -> fyris:update_in(T, 1, Path, Id, 2) end,
            fun() -> fyris:delete_in(T, 1, Path) end
        ]
    ],
    ?assertEqual(
        #{3 => <<"not a path, a list of a position and then keys of maps or positions">>},
        told(fun() -> fyris:get_in(T, 1, [a]) end)
    ),
    ?assertEqual(#{3 => <<"not a proper list">>}, told(fun() -> fyris:get_in(T, 1, [2 | a]) end)),
    ?assertEqual([{1, #{a => 1}}], fyris:lookup(T, 1)).

snapshots_and_transactions_test() ->
    T = fyris:new(t, []),
    S = fyris:snapshot(T),
    One = fun(_) -> 1 end,
    Within = fun(Tx) -> fyris:within(Tx, S) end,
    [
        ?assertEqual(#{Argument => Text}, told(Fun))
     || {Argument, Text, Fun} <- [
            {general, <<"a snapshot has no snapshots">>, fun() -> fyris:snapshot(S) end},
            {general, <<"a snapshot cannot be watched: it does not change">>, fun() -> fyris:subscribe(S, all) end},
            {general, <<"a snapshot cannot be within a transaction">>,
             fun() -> raised(fyris:transaction(Within)) end},
            {general, <<"a snapshot can only be read">>, fun() -> fyris:insert(S, {1}) end},
            {1, <<"not a snapshot, nor a proper list of snapshots">>, fun() -> fyris:release(T) end},
            {1, <<"not a fun of one argument">>, fun() -> fyris:transaction(fun() -> 1 end) end},
            {1, <<"not a transaction">>, fun() -> fyris:within(1, 2) end}
        ] ++
            [{2, <<"bad options: options are {retries,N}, {retries,infinity}, {hold,Milliseconds} of a day at most">>,
              fun() -> fyris:transaction(One, Options) end} || Options <- [-3, [{retry, 1}], [{hold, infinity}]]]
    ].

raised({aborted, {Reason, Stack}}) -> erlang:raise(error, Reason, Stack).

%% Whose the table is, and what would help; and of a batch what there is.
access_test() ->
    Test = self(),
    T = fyris:new(t, []),
    Owner = spawn_link(fun() ->
        Test ! {tables, [fyris:new(t, [Access]) || Access <- [protected, private]]},
        receive stop -> ok end
    end),
    [Protected, Private] = receive {tables, Tables} -> Tables end,
    Text = fun(Right, Access) ->
        ["^no ", Right, " access: table t \\(#\\d+\\) is ", Access, " and belongs to another owner, ",
         pid_to_list(Owner), ": public \\(in Elixir access: :public\\) gives access to all$"]
    end,
    [
        ?assertMatch({match, _}, re:run(maps:get(1, told(Fun)), Text(Right, Access)))
     || {Fun, Right, Access} <- [
            {fun() -> fyris:insert(Protected, {1}) end, "write", "protected"},
            {fun() -> fyris:lookup(Private, 1) end, "read", "private"}
        ]
    ],
    ?assertMatch(#{1 := <<"no read access: ", _/binary>>}, told(fun() -> fyris:subscribe([T, Private], all) end)),
    Owner ! stop,
    [
        begin
            #{1 := Told} = told(fun() -> fyris:write_batch([Operation]) end),
            [?assertNotEqual(nomatch, binary:match(Told, Word)) || Word <- [<<"{insert,T,Objects}">>, <<"{check,T,Key,">>]]
        end
     || Operation <- [{put, T, 1}, {insert, T}, foo]
    ].

%% What the shell would print of the error that Fun raises.
told(Fun) ->
    try Fun() of
        Value -> {no_error, Value}
    catch
        error:Reason:Stack ->
            {Module, _, _, Info} = hd(Stack),
            Error = proplists:get_value(error_info, Info, #{}),
            Explain = maps:get(function, Error, format_error),
            (maps:get(module, Error, Module)):Explain(Reason, Stack)
    end.

%% A full table of atoms is a system_limit, as in the machine, but not for a look-up, which brings no atom into it:
%% tried in a machine that has room for more. A million atoms take some seconds: only with FYRIS_ATOMS, as `make
%% test-long' has it.
atoms_test_() -> [atoms() || os:getenv("FYRIS_ATOMS") =/= false].

atoms() ->
    {timeout, 120, fun() ->
        Paths = [filename:dirname(code:which(M)) || M <- [fyris, ?MODULE]],
        Args = ["+t", "2000000", "-pa" | Paths],
        {ok, Peer, _} = peer:start(#{connection => standard_io, args => Args}),
        [] = peer:call(Peer, ?MODULE, look_ups, [0], 100000),
        {Count, Errors} = peer:call(Peer, ?MODULE, full, [], 100000),
        Differences = peer:call(Peer, ?MODULE, look_ups, [1000000], 100000),
        peer:stop(Peer),
        ?assert(Count > 1000),
        ?assertEqual([system_limit], lists:usort(Errors)),
        ?assertEqual([], Differences)
    end}.

%% A look-up by a new atom is answered as `ets' answers it, by the order of names too.
look_ups_test() -> ?assertEqual([], look_ups(0)).

%% Looks up keys with atoms that are new from number First on, and returns what is not as in `ets'.
look_ups(First) ->
    put(atoms, First),
    Inside = [fun(A) -> A end, fun(A) -> {A} end, fun(A) -> {1, A} end, fun(A) -> [x, A] end,
              fun(A) -> {2.0, #{k => A}} end, fun(A) -> #{A => 1} end, fun(A) -> {{n, {[A]}}} end],
    [Difference || Type <- [set, ordered_set, bag], Key <- Inside, Name <- [fun latin1/0, fun wide/0],
                   Difference <- differences(Type, fun() -> Key(Name()) end)].

latin1() -> list_to_atom("k " ++ integer_to_list(put(atoms, get(atoms) + 1))).

wide() -> list_to_atom([26085, $\s | integer_to_list(put(atoms, get(atoms) + 1))]).

differences(Type, Key) ->
    [Ets, Fyris] = Tables = [Module:new(t, [Type]) || Module <- [ets, fyris]],
    Known = [a, k, l, z, {a}, {z}, {1, a}, {1, z}, [x, a], [x, z], {2.0, #{k => a}}, {2.0, #{k => z}},
             #{a => 1}, #{z => 1}],
    [Module:insert(Table, [{K, 1} || K <- Known]) || {Module, Table} <- lists:zip([ets, fyris], Tables)],
    Calls = [{member, []}, {lookup, []}, {lookup_element, [2]}, {delete, []}, {take, []}, {next, []},
             {prev, []}, {update_counter, [1]}, {update_counter, [[{2, 1}, {2, 1}]]}, {update_element, [{2, 1}]}],
    Spec = fun(K) -> [{{K, '_'}, [], [true]}] end,
    Both = [{F, fun(M, T) -> apply(M, F, [T, Key() | Args]) end} || {F, Args} <- Calls] ++
        [{delete_object, fun(M, T) -> M:delete_object(T, {Key(), 1}) end},
         {delete_value, fun(M, T) -> M:delete_object(T, {a, Key()}) end},
         {select, fun(M, T) -> M:select(T, Spec({1, [latin1()]})) end}],
    Told = fun(F, M, T) -> try F(M, T) catch error:Reason -> {error, Reason} end end,
    Same = [{Type, Name, A, B} || {Name, F} <- Both, {A, B} <- [{Told(F, ets, Ets), Told(F, fyris, Fyris)}], A =/= B],
    Own = [{Type, many, X} || X <- [fyris:lookup_many(Fyris, [a, Key(), z])], X =/= [[{a, 1}], [], [{z, 1}]]] ++
        [{Type, lookup_element, X} || X <- [fyris:lookup_element(Fyris, Key(), 2, none)], X =/= none] ++
        [{Type, get_in, X} || X <- [fyris:get_in(Fyris, Key(), [2]), fyris:get_in(Fyris, a, [2, Key()])], X =/= error] ++
        [Difference || Type =:= ordered_set, Difference <- of_order(Ets, Fyris, Key)],
    [true, true] = [Module:delete(Table) || {Module, Table} <- lists:zip([ets, fyris], Tables)],
    Same ++ Own.

%% Operations on the order of keys; all keys that the function makes have one place in it.
of_order(Ets, Fyris, Key) ->
    Sorted = lists:sort([K || {K, _} <- ets:tab2list(Ets)]),
    {Below, Above} = lists:splitwith(fun(K) -> K < Key() end, Sorted),
    Counted = fyris:new(t, [ordered_set, {index, judysl}]),
    fyris:insert(Counted, [{K, 1} || K <- Sorted]),
    Nearest = fun([]) -> '$end_of_table'; ([K | _]) -> {K, 1} end,
    Tried = [{range, fyris:range(Fyris, Key(), '_', [keys]), Above},
             {range, fyris:range(Fyris, '_', Key(), [keys]), Below},
             {seek, fyris:seek(Fyris, Key()), Nearest(Above)},
             {seek, fyris:seek(Fyris, Key(), down), Nearest(lists:reverse(Below))},
             {rank, fyris:rank(Counted, Key()), length(Below)},
             {count_between, fyris:count_between(Counted, Key(), '_'), length(Above)}],
    fyris:delete(Counted),
    [{Name, Is, Expected} || {Name, Is, Expected} <- Tried, Is =/= Expected].

%% Looks up two hundred thousand atoms, fills the table with thousands of atoms at a time, and then does all that brings
%% a new one.
full() ->
    T = fyris:new(t, []),
    Class = fun(F) -> try F() of _ -> ok catch error:Class -> Class end end,
    false = lists:any(fun(I) -> fyris:member(T, list_to_atom("b" ++ integer_to_list(I))) end, lists:seq(1, 200000)),
    Atoms = fun(N) -> [list_to_atom("a" ++ integer_to_list(1000 * N + I)) || I <- lists:seq(1, 1000)] end,
    Fill = fun Fill(N) ->
        case Class(fun() -> fyris:insert(T, {N, Atoms(N)}) end) of
            ok -> Fill(N + 1);
            Error -> {N, Error}
        end
    end,
    {Count, First} = Fill(0),
    New = fun(I) -> list_to_atom("c" ++ integer_to_list(I)) end,
    _ = [Class(fun() -> fyris:insert(T, {k, New(I)}) end) || I <- lists:seq(1, 1000)],
    Calls = [fun() -> fyris:insert(T, {New(2000)}) end, fun() -> fyris:insert(T, {k, New(2001)}) end,
             fun() -> fyris:insert_new(T, {l, #{New(2002) => 1}}) end, fun() -> fyris:new(New(2003), []) end,
             fun() -> fyris:rename(T, New(2004)) end],
    {Count, [First | [Class(Call) || Call <- Calls]]}.
