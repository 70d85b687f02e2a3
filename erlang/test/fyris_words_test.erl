%% Terms that are written word by word into the heap: what comes back is the same term in every respect, also after the
%% heap was collected; and the resources that large binaries come from.
-module(fyris_words_test).

-compile(export_all).
-include("fyris_same.hrl").

-define(LARGE, 100_000).

%% Every release that these tests run on has words that are known; on another one, calls do it, slowly.
words_are_known_test() ->
    ?assertEqual([true], lists:usort(tuple_to_list(fyris_nif:layout()))).

binaries() ->
    [list_to_binary([if I rem 5 =:= 0 -> 0; true -> I + N end || I <- lists:seq(1, N)]) || N <- lists:seq(0, 70)].

maps() ->
    Atoms = [list_to_atom("key_" ++ integer_to_list(I * 7919 rem 101)) || I <- lists:seq(1, 40)],
    Keys = [Atoms, lists:seq(-20, 19), [integer_to_binary(I) || I <- lists:seq(1, 40)],
            mixed(Atoms), mixed(odd()), lists:reverse(Atoms), signs() ++ Atoms,
            [1 bsl 70, 1.0e30, -(1 bsl 70), 3, -1.5, 1 bsl 64, 1 bsl 61, 2.5, -(1 bsl 60), a, 1.0e15, <<"b">>]],
    [maps:from_list([{K, {N, <<"v", 0, N>>}} || K <- lists:sublist(Of, N)])
     || Of <- Keys, N <- [0, 1, 2, 5, 31, 32, 33, 40]].

mixed([]) -> [];
mixed([K | Rest]) -> [K, {K}, [K, 1.5], #{K => 1}, {K, 1 bsl 70} | mixed(Rest)].

%% Two keys since OTP 27, and one before.
signs() -> [list_to_float(Zero) || Zero <- ["0.0", "-0.0"]].

odd() ->
    Foreign = binary_to_term(<<131, 88, 119, 3, "a@b", 1:32, 2:32, 3:32>>),
    [self(), make_ref(), fun() -> self() end, Foreign, fun lists:map/2, <<1:3>>, hd(erlang:ports())].

terms() ->
    binaries() ++ maps() ++
        [{}, {1}, {{}, [], [a | b]}, "a string", lists:seq(1, 3000), list_to_tuple(lists:seq(1, 255)),
         list_to_tuple([{I, <<"x">>} || I <- lists:seq(1, 2000)]), [[[[#{a => {b, [c]}}]]]]].

same(Term, Copy) ->
    Term =:= Copy
        andalso term_to_binary(Term) =:= term_to_binary(Copy)
        andalso erts_debug:flat_size(Term) =:= erts_debug:flat_size(Copy).

values_are_the_same_terms_test() ->
    T = fyris:new(t, []),
    Numbered = lists:enumerate(terms()),
    [fyris:insert(T, {I, Term, x}) || {I, Term} <- Numbered],
    Found = [{Term, fyris:lookup(T, I)} || {I, Term} <- Numbered],
    erlang:garbage_collect(),
    [?assert(same([{I, Term, x}], Copy)) || {{I, _}, {Term, Copy}} <- lists:zip(Numbered, Found)],
    [?assertEqual(maps:get(K, Map), maps:get(K, fyris:lookup_element(T, I, 2)))
     || {I, Map} <- Numbered, is_map(Map), K <- maps:keys(Map)],
    fyris:delete(T).

%% More sets of keys than the library remembers the orders of, each of them often.
maps_of_many_shapes_test() ->
    T = fyris:new(t, []),
    Pool = lists:reverse([list_to_atom("shape_" ++ integer_to_list(I)) || I <- lists:seq(1, 60)]) ++ [1, 2.5, {shape}, <<"shape">>],
    Shapes = list_to_tuple([lists:sublist(shuffled(Pool), rand:uniform(34)) || _ <- lists:seq(1, 100)]),
    [begin
         Map = maps:from_list([{K, {I, J}} || {J, K} <- lists:enumerate(element(1 + I * I rem 100, Shapes))]),
         fyris:insert(T, {1, Map}),
         ?assert(same(Map, fyris:lookup_element(T, 1, 2)))
     end || I <- lists:seq(1, 3000)],
    fyris:delete(T).

%% Sets of many keys, each written and read more often than it takes to be remembered, more of them than are
%% remembered, and some that begin like others of their size; maps in maps; keys that are parts of binaries, and some
%% that no set has.
maps_of_many_keys_test_() ->
    {timeout, 120,
     fun() ->
             T = fyris:new(t, []),
             Sets = list_to_tuple(many_keys()),
             [begin
                  Turn = case I rem 3 of 0 -> rand:uniform(1000); _ -> I div 40 end,
                  Keys = element(1 + Turn rem tuple_size(Sets), Sets),
                  Map = many(Keys, I),
                  fyris:insert(T, {1, Map, I}),
                  [{1, Copy, I}] = fyris:lookup(T, 1),
                  ?assert(same(Map, Copy)),
                  ?assert(same(Map, fyris:lookup_element(T, 1, 2))),
                  Key = lists:nth(rand:uniform(length(Keys)), Keys),
                  ?assertEqual(maps:get(Key, Map), maps:get(Key, Copy)),
                  ?assert(same(Map#{Key := new, other => I}, Copy#{Key := new, other => I})),
                  ?assert(same(maps:remove(Key, Map), maps:remove(Key, Copy))),
                  I rem 50 =:= 0 andalso erlang:garbage_collect()
              end || I <- lists:seq(1, 6000)],
             fyris:delete(T)
     end}.

%% Keys are stored in their order, whatever the way to it: spread evenly, crowded, below zero, of several kinds.
maps_of_many_keys_are_in_order_test() ->
    T = fyris:new(t, []),
    Sets = [[rand:uniform(1 bsl 58) - (1 bsl 57) || _ <- lists:seq(1, 300)], lists:seq(-50, 50),
            [I * I * I * I || I <- lists:seq(1, 500)], [I bsl 40 || I <- lists:seq(1, 3000)] ++ lists:seq(1, 100),
            mixed_keys(200)],
    [begin
         Map = maps:from_list([{K, x} || K <- Keys]),
         fyris:insert(T, {1, Map}),
         %% Reads the keys, which have to be in order.
         ?assertEqual([true], fyris:select(T, [{{1, '$1'}, [{'=:=', '$1', {const, Map}}], [true]}])),
         ?assertEqual([maps:size(Map)], fyris:select(T, [{{1, '$1'}, [], [{map_size, '$1'}]}])),
         [?assertEqual([x], fyris:select(T, [{{1, '$1'}, [], [{map_get, {const, K}, '$1'}]}]))
          || K <- lists:sublist(Keys, 40)]
     end || Keys <- Sets],
    fyris:delete(T).

%% Maps in maps, each with all keys but the last of a set that is remembered: to read them takes no longer for that.
maps_with_a_last_key_of_their_own_test_() ->
    {timeout, 20,
     fun() ->
             T = fyris:new(t, []),
             Known = maps:from_list([{K, K} || K <- lists:seq(1, 33)]),
             [begin
                  fyris:insert(T, {1, Known}),
                  ?assertEqual([{1, Known}], fyris:lookup(T, 1))
              end || _ <- lists:seq(1, 300)],
             Like = maps:remove(33, Known),
             Less = maps:remove(32, Like),
             [begin
                  Deep = lists:foldl(fun(_, Inner) -> Nest(Inner) end, lists:seq(1, 100_000), lists:seq(1, 990)),
                  fyris:insert(T, {2, Deep}),
                  ?assert([{2, Deep}] =:= fyris:lookup(T, 2))
              end || Nest <- [fun(Inner) -> Like#{32 => Inner, {a} => 1} end,
                              fun(Inner) -> Less#{{a} => 1, {b} => Inner} end,
                              fun(Inner) -> Like#{1 => Inner, 34 => 1} end,
                              fun(Inner) -> Like#{33 => Inner} end]],
             fyris:delete(T)
     end}.

%% Enough keys that two have the same hash of 32 bits, which the machine's trees are made of up to OTP 26.
maps_of_keys_with_equal_hashes_test() ->
    T = fyris:new(t, []),
    Map = maps:from_list([{I * 3, I} || I <- lists:seq(1, 250_000)]),
    fyris:insert(T, {1, Map}),
    ?assert(Map =:= fyris:lookup_element(T, 1, 2)),
    fyris:delete(T).

many_keys() ->
    Text = binary:copy(<<"a long text with keys in it">>, 60),
    Lots = [[K || K <- lists:seq(1, N)] || N <- [33, 34, 50, 100, 300, 1000]]
        ++ [[1, 2 | lists:seq(N, N + 97)] || N <- lists:seq(10, 200, 2)]
        ++ [[integer_to_binary(I * I) || I <- lists:seq(1, N)] || N <- [33, 40, 200, 700]]
        ++ [[binary:part(Text, I, I rem 65) || I <- lists:seq(1, N)] || N <- [40, 100]]
        ++ [[list_to_atom("many_" ++ integer_to_list(I)) || I <- lists:seq(1, N)] || N <- [33, 90, 200]]
        ++ [mixed_keys(N) || N <- [40, 100, 500]]
        ++ [[{I} || I <- lists:seq(1, 40)], [1.5, 1 bsl 70 | lists:seq(1, 40)], lists:seq(1, 5000)],
    [lists:usort(Keys) || Keys <- Lots].

mixed_keys(N) ->
    [case I rem 3 of
         0 -> -I * 100_003;
         1 -> <<"key", (binary:copy(<<I>>, I rem 62))/binary>>;
         2 -> list_to_atom("many_mixed_" ++ integer_to_list(I))
     end || I <- lists:seq(1, N)].

many(Keys, I) ->
    maps:from_list([{K, case (I + J) rem 7 of
                            0 -> {I, [J]};
                            1 -> integer_to_binary(I * J);
                            2 when J =:= 2 -> maps:from_list([{Inner, I + J} || Inner <- lists:sublist(Keys, 60)]);
                            _ -> J - I
                        end} || {J, K} <- lists:enumerate(Keys)]).

shuffled(List) -> [X || {_, X} <- lists:sort([{rand:uniform(), X} || X <- List])].

%% What stands in one word, or in words that the library writes by itself, beside what does not.
references_ports_and_large_integers_test() ->
    T = fyris:new(t, []),
    Ports = [open_port({spawn_executable, "/bin/cat"}, []) || _ <- lists:seq(1, 3)],
    Large = [S * (1 bsl Bits + D)
             || Bits <- [59, 60, 62, 63, 64, 65, 80, 127, 128, 129, 640, 4096], D <- [-1, 0, 1], S <- [1, -1]],
    Monitor = erlang:monitor(process, self(), [{alias, explicit_unalias}]),
    Terms = lists:usort(Ports ++ erlang:ports()) ++ Large ++ [make_ref() || _ <- lists:seq(1, 100)]
        ++ [Monitor, alias(), erlang:monitor(process, self()), fun lists:map/2, fun fyris:new/2, <<5:3>>],
    Numbered = lists:enumerate(Terms ++ [[X, {X}, #{X => X, a => X}] || X <- Terms]),
    [fyris:insert(T, {I, Term, x}) || {I, Term} <- Numbered],
    Found = [fyris:lookup(T, I) || {I, _} <- Numbered],
    erlang:garbage_collect(),
    [?assert(same([{I, Term, x}], Copy)) || {{I, Term}, Copy} <- lists:zip(Numbered, Found)],
    Self = self(),
    spawn_link(fun() -> Self ! {sorted, lists:sort(fyris:tab2list(T))} end),
    receive {sorted, Sorted} -> ?assertEqual([{I, Term, x} || {I, Term} <- Numbered], Sorted) end,
    [?assertEqual([{I}], fyris:select(T, [{{'$1', Term, x}, [], [{{'$1'}}]}])) || {I, Term} <- Numbered, is_port(Term)],
    [port_close(Port) || Port <- Ports],
    fyris:delete(T),
    by_key(Terms).

by_key(Terms) ->
    T = fyris:new(t, [ordered_set]),
    [fyris:insert(T, {Term, 1}) || Term <- Terms],
    [?assertEqual([{Term, 1}], fyris:lookup(T, Term)) || Term <- Terms],
    ?assertEqual(lists:usort(Terms), [Key || {Key, _} <- fyris:tab2list(T)]),
    fyris:delete(T).

%% Terms of other nodes, some of which start again; and of more nodes than are remembered, by a machine of its own.
terms_of_other_nodes_test() ->
    terms_of_other_nodes(20).

terms_of_too_many_nodes_test_() ->
    {timeout, 60,
     fun() ->
             Paths = [filename:dirname(code:which(M)) || M <- [fyris, ?MODULE]],
             Call = "fyris_words_test:terms_of_other_nodes(1100), io:format(good), halt().",
             Line = lists:flatten(io_lib:format("erl -noshell -pa ~ts -pa ~ts -eval '~s'", Paths ++ [Call])),
             ?assertEqual("good", os:cmd(Line))
     end}.

terms_of_other_nodes(Nodes) ->
    T = fyris:new(t, [ordered_set]),
    V = fyris:new(t, []),
    Terms = [remote(Kind, Node, Creation, [A, B, C])
             || Node <- [1, 2, Nodes], Creation <- [1, 2, 77], Kind <- [pid, reference],
                [A, B, C] <- [[1, 2, 3], [9, 0, 0], [0, 1, 1 bsl 31]]]
        ++ [remote(Kind, Node, 3, [Node, 1, 5]) || Node <- lists:seq(1, Nodes), Kind <- [pid, reference]]
        ++ [binary_to_term(<<131, 90, N:16, 119, 3, "a@b", 3:32, (binary:copy(<<7:32>>, N))/binary>>)
            || N <- lists:seq(1, 5)],
    [begin
         fyris:insert(T, [{X, [X, {X}]} || X <- Terms]),
         fyris:insert(V, [{I, X, #{X => X}} || {I, X} <- lists:enumerate(Terms)]),
         Found = [fyris:lookup_element(T, X, 2) || X <- Terms],
         All = [fyris:lookup(V, I) || I <- lists:seq(1, length(Terms))],
         Self = self(),
         spawn_link(fun() -> Self ! {sorted, fyris:tab2list(T)} end),
         erlang:garbage_collect(),
         [?assert(same([X, {X}], Y)) || {X, Y} <- lists:zip(Terms, Found)],
         [?assert(same([{I, X, #{X => X}}], Y)) || {I, X, Y} <- lists:zip3(lists:seq(1, length(Terms)), Terms, All)],
         receive {sorted, Sorted} -> ?assertEqual([{X, [X, {X}]} || X <- lists:usort(Terms)], Sorted) end,
         ?assert(lists:all(fun(X) -> fyris:match_object(V, {'_', X, '_'}) =/= [] end, lists:sublist(Terms, 20))),
         ?assertEqual(lists:sort(Terms), lists:sort(fyris:select(V, [{{'_', '$1', '_'}, [], ['$1']}])))
     end || _ <- [1, 2]],
    [fyris:delete(X) || X <- [T, V]].

%% Of what a pid has, two numbers; of a reference, whose first number is short, three.
remote(Kind, Node, Creation, [A, B, C]) ->
    Name = list_to_binary("node_" ++ integer_to_list(Node) ++ "@other"),
    Atom = <<119, (byte_size(Name)), Name/binary>>,
    binary_to_term(case Kind of
                       pid -> <<131, 88, Atom/binary, A:32, B:32, Creation:32>>;
                       reference -> <<131, 90, 3:16, Atom/binary, Creation:32, A:32, B:32, C:32>>
                   end).

%% A reference to what a library of the machine keeps is that, and not only equal to it.
references_to_resources_test() ->
    T = fyris:new(t, []),
    Counters = atomics:new(1, []),
    Table = ets:new(t, [public]),
    Own = fyris:new(own, [public]),
    fyris:insert(T, {1, Counters, Table, Own}),
    [{1, C, E, F}] = fyris:lookup(T, 1),
    ok = atomics:put(C, 1, 42),
    ?assertEqual(42, atomics:get(Counters, 1)),
    true = ets:insert(E, {a}),
    true = fyris:insert(F, {b}),
    ?assertEqual({[{a}], [{b}]}, {ets:tab2list(Table), fyris:tab2list(Own)}),
    [fyris:delete(X) || X <- [T, Own]],
    ets:delete(Table).

%% Pids in the order that `ets' has them, also when their numbers have outgrown the process table.
many_local_pids_are_in_order_test_() ->
    {timeout, 60,
     fun() ->
             Pids = [spawn(fun() -> ok end) || _ <- lists:seq(1, 600_000)],
             Some = [{Pid} || {I, Pid} <- lists:enumerate(Pids), I rem 500 =:= 0],
             ?same(begin
                       T = M:new(t, [ordered_set]),
                       M:insert(T, Some),
                       [M:insert(T, {{a, Pid}, Pid}) || {Pid} <- Some],
                       {M:tab2list(T), [M:member(T, Pid) || {Pid} <- Some]}
                   end)
     end}.

%% What goes through `open/2' and `explain/2' is held on the way.
references_to_resources_on_the_way_test() ->
    Self = self(),
    Owner = spawn(fun() -> fyris:open(held_on_the_way, [{heir, Self, {data, atomics:new(1, [])}}]) end),
    receive
        {'ETS-TRANSFER', held_on_the_way, Owner, {data, Atomics}} -> ?assertEqual(0, atomics:get(Atomics, 1))
    end,
    T = fyris:new(t, []),
    Explain = fun() -> fyris:explain(T, [{{atomics:new(1, []), '_'}, [], ['$_']}]) end,
    #{plan := #{bounds := [{key, Key}]}} = Explain(),
    ?assertEqual(0, atomics:get(Key, 1)),
    [fyris:delete(X) || X <- [T, held_on_the_way]].

%% The name that local terms are stored under is no name of a node.
terms_of_a_node_of_that_name_are_refused_test() ->
    Node = <<119, 14, "nonode@nohost", 1>>,
    Pid = binary_to_term(<<131, 88, Node/binary, 1:32, 0:32, 16#FFFFFFF:32>>),
    Port = binary_to_term(<<131, 120, Node/binary, 1:64, 3:32>>),
    Reference = binary_to_term(<<131, 90, 3:16, Node/binary, 0:32, 1:32, 2:32, 3:32>>),
    T = fyris:new(t, []),
    [?assertError(badarg, fyris:insert(T, Object))
     || Term <- [Pid, Port, Reference],
        Object <- [{Term}, {1, Term}, {1, [{Term}]}, {1, fun() -> Term end}, {#{Term => 1}}]],
    ?assertEqual([], fyris:tab2list(T)),
    fyris:delete(T).

%% A map is stored in one form, in whichever order the machine has its keys: the map of a file is equal to it.
maps_have_one_form_test() ->
    File = "/tmp/fyris_words_" ++ os:getpid(),
    T = fyris:new(t, [ordered_set]),
    Atoms = [list_to_atom("form_" ++ integer_to_list(I * 7919 rem 101)) || I <- lists:seq(1, 40)],
    Keys = [Atoms, lists:reverse(Atoms), lists:seq(-20, 19), lists:seq(-3, 3) ++ Atoms, [1 bsl 61, a, 7, -(1 bsl 62)],
            [<<"b">>, 3, form, <<>>, <<"ab">>, -1], [1 bsl 70, 1.0e30, -(1 bsl 70), 3, -1.5, 2.5, a], signs() ++ [0, a, 1.5, {b}]],
    Maps = [maps:from_list([{K, {K}} || K <- lists:sublist(Of, N)]) || Of <- Keys, N <- [1, 2, 7, 32, 33]],
    Objects = lists:enumerate(Maps),
    fyris:insert(T, Objects),
    ok = fyris:tab2file(T, File),
    {ok, Loaded} = fyris:file2tab(File),
    file:delete(File),
    [begin
         true = fyris:delete_object(Loaded, Object),
         ?assertEqual([], fyris:lookup(Loaded, I))
     end || {I, _} = Object <- Objects],
    [fyris:delete(X) || X <- [T, Loaded]].

keys_are_the_same_terms_test() ->
    [begin
         T = fyris:new(t, [Type]),
         Numbered = lists:enumerate(lists:usort(terms())),
         [fyris:insert(T, {Term, I}) || {I, Term} <- Numbered],
         Found = lists:sort(fyris:tab2list(T)),
         erlang:garbage_collect(),
         ?assert(same([{Term, I} || {I, Term} <- Numbered], Found)),
         [?assertEqual(fyris:lookup(T, Next), Objects)
          || {Key, _} <- Found, {Next, Objects} <- [fyris:next_lookup(T, Key)]],
         fyris:delete(T)
     end || Type <- [set, ordered_set]].

%% More atoms than most programs have: beyond the first some thousand they are found another way.
many_atoms_test() ->
    T = fyris:new(t, []),
    Atoms = [list_to_atom("one_of_many_" ++ integer_to_list(I)) || I <- lists:seq(1, 20_000)],
    fyris:insert(T, [{A, A, [A]} || A <- Atoms]),
    [?assertEqual([{A, A, [A]}], fyris:lookup(T, A)) || A <- Atoms],
    fyris:delete(T).

%% Numbers and atoms whose stored forms are of all lengths, at the end of an object and before others; and what is put
%% in their place, as long or longer or shorter.
lengths_test() ->
    T = fyris:new(t, []),
    Powers = [P + D || S <- [0, 4, 7, 8, 12, 13, 15, 16, 31, 32, 47, 55, 58, 59, 60, 62, 63], P <- [1 bsl S, -(1 bsl S)], D <- [-1, 0, 1]],
    Values = Powers ++ [1.5, a, fyris_words_test, <<"123456789012345">>, <<"1234567890123456">>, {}, [], "ab"],
    [begin
         fyris:insert(T, {1, V, W, V}),
         ?assertEqual([{1, V, W, V}], fyris:lookup(T, 1)),
         true = fyris:update_element(T, 1, {3, V}),
         true = fyris:update_element(T, 1, {4, W}),
         ?assertEqual([{1, V, V, W}], fyris:lookup(T, 1)),
         ?assertEqual({ok, W}, fyris:get_in(T, 1, [4]))
     end || V <- Values, W <- Values],
    [begin
         fyris:insert(T, {1, V, W, x}),
         ?assertEqual(V + W, fyris:update_counter(T, 1, {2, W})),
         ?assertEqual([{1, V + W, W, x}], fyris:lookup(T, 1))
     end || V <- Powers, W <- Powers],
    fyris:delete(T).

%% Parts of maps whose keys begin alike, and are as long as others that begin alike.
parts_of_maps_test() ->
    T = fyris:new(t, []),
    Keys = [list_to_atom("field_" ++ integer_to_list(I)) || I <- lists:seq(1, 40)]
        ++ [<<"a common beginning ", I>> || I <- lists:seq(1, 20)] ++ [1, 255, 256, 1.0, [1], {1, <<"x">>}, #{a => 1}],
    Map = maps:from_list([{K, {K, [K], #{K => 1}}} || K <- Keys]),
    fyris:insert(T, {1, Map}),
    [?assertEqual({ok, K}, fyris:get_in(T, 1, [2, K, 1])) || K <- Keys],
    [?assertEqual({ok, 1}, fyris:get_in(T, 1, [2, K, 3, K])) || K <- Keys],
    [?assertEqual(error, fyris:get_in(T, 1, [2, K])) || K <- [field_41, field_, <<>>, <<"a common beginning ">>, 2, {1}, "1"]],
    fyris:delete(T).

%% Replies of all lengths in turn, kept over many collections, and sent to others.
heaps_stay_whole_test() ->
    T = fyris:new(t, []),
    Numbered = lists:enumerate(terms()),
    [fyris:insert(T, {I, Term}) || {I, Term} <- Numbered],
    Self = self(),
    Pids = [spawn_link(fun() ->
                               rand:seed(exsss, Seed),
                               Kept = [begin
                                           I = rand:uniform(length(Numbered)),
                                           Reply = fyris:lookup(T, I),
                                           N rem 100 =:= 0 andalso erlang:garbage_collect(),
                                           {I, Reply}
                                       end || N <- lists:seq(1, 2000)],
                               Self ! {self(), Kept}
                       end) || Seed <- [1, 2, 3]],
    Terms = list_to_tuple(terms_of(Numbered)),
    [receive
         {Pid, Kept} ->
             erlang:garbage_collect(),
             [?assert([{I, element(I, Terms)}] =:= Reply) || {I, Reply} <- Kept]
     end || Pid <- Pids],
    fyris:delete(T).

terms_of(Numbered) -> [Term || {_, Term} <- Numbered].

%% Large binaries are held by the objects that they are in, and by whoever has them.
blobs_go_test() ->
    T = fyris:new(t, []),
    [First, Second] = [binary:copy(<<I>>, ?LARGE + I) || I <- [1, 2]],
    [1] = fyris_counts:holders(?LARGE + 1, [1]),
    fyris:insert(T, {1, 0, First, Second}),
    ?assertEqual([[2], [2]], [fyris_counts:holders(?LARGE + I, [2]) || I <- [1, 2]]),
    ?assertEqual([{1, 0, First, Second}], fyris:lookup(T, 1)),
    fyris:update_counter(T, 1, 1),
    fyris:update_element(T, 1, {3, small}),
    ?assertEqual([{1, 1, small, Second}], fyris:lookup(T, 1)),
    ?assertEqual([[1], [2]], [fyris_counts:holders(?LARGE + I, [I]) || I <- [1, 2]]),
    [{_, _, _, Second}] = fyris:take(T, 1),
    ?assertEqual([1], fyris_counts:holders(?LARGE + 2, [1])),
    ?assertEqual([binary:copy(<<I>>, ?LARGE + I) || I <- [1, 2]], [First, Second]),
    ?assertEqual(0, fyris_counts:extra(0)),
    fyris:delete(T).

%% Equal objects with large binaries are one in a bag, and compare_and_swap knows them.
blobs_are_compared_by_content_test() ->
    T = fyris:new(t, [bag]),
    Object = fun() -> {1, binary:copy(<<1>>, ?LARGE)} end,
    fyris:insert(T, [Object(), Object()]),
    fyris:insert(T, Object()),
    ?assertEqual(1, fyris:info(T, size)),
    fyris:delete_object(T, Object()),
    ?assertEqual(0, fyris:info(T, size)),
    Set = fyris:new(t, []),
    fyris:insert(Set, Object()),
    ?assert(fyris:compare_and_swap(Set, Object(), {1, two})),
    [fyris:delete(X) || X <- [T, Set]].

%% More large binaries than an object keeps resources for.
many_blobs_test() ->
    T = fyris:new(t, []),
    Object = list_to_tuple([1 | [binary:copy(<<I>>, ?LARGE) || I <- lists:seq(1, 20)]]),
    fyris:insert(T, Object),
    ?assertEqual([Object], fyris:lookup(T, 1)),
    fyris:delete(T).

%% A pair of integers is made in one piece: the key has its place wherever it is.
a_pair_has_its_key_in_its_place_test() ->
    [begin
         T = fyris:new(t, [Type, {keypos, 2}]),
         fyris:insert(T, {7, 1}),
         ?assertEqual([{7, 1}], fyris:lookup(T, 1)),
         ?assertEqual({7, 1}, {fyris:lookup_element(T, 1, 1), fyris:lookup_element(T, 1, 2)}),
         ?assertEqual([{7, 1}], fyris:take(T, 1)),
         fyris:delete(T)
     end || Type <- [set, ordered_set]].
