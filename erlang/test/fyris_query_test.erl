%% Sentences of ETS_API.md on match specifications and patterns.
-module(fyris_query_test).

-compile(export_all).
-include("fyris_same.hrl").
-compile({parse_transform, fyris_ms}).

fill(M, T) ->
    [M:insert(T, {I, I rem 7, {x, I}, #{k => I rem 3}}) || I <- lists:seq(1, 3000)].

sorted(L) -> lists:sort(L).

specs() ->
    [[{'$1', [], ['$1']}],
     [{{'$1', 3, '_', '_'}, [], ['$1']}],
     [{{'$1', '$2', '_', '_'}, [{'>', '$2', 4}], [{{'$1', '$2'}}]}],
     [{{17, '_', '_', '_'}, [], ['$_']}],
     [{{'$1', '_', {x, '$1'}, '_'}, [{'<', '$1', 10}], ['$$']}],
     [{{'$1', '_', '_', #{k => '$2'}}, [{'=:=', '$2', 2}, {'<', '$1', 50}], ['$2']}],
     [{{'$1', '_', '_', '_'}, [{'>=', '$1', 100}, {'<', '$1', 110}], [{'+', '$1', 1}]}],
     [{{'$1', '_', '_', '_'}, [], [{hd, '$1'}]}],
     [{{'$1', '_', '_', '_'}, [{hd, '$1'}], ['$1']}],
     [{{1, '_', '_', '_'}, [], [{{self}}]}, {{2, '_', '_', '_'}, [], [{const, {a}}]}],
     [], [{'_', [], [true]}], [{{a}, [], [true]}]].

select_test() ->
    [?same_types(?ALL, begin
        fill(M, T),
        {sorted(M:select(T, Spec)), sorted(M:select_reverse(T, Spec)), M:select_count(T, Spec)}
     end) || Spec <- specs()].

order_of_an_ordered_set_test() ->
    [?same_types([ordered_set], begin
        fill(M, T), {M:select(T, Spec), M:select_reverse(T, Spec)}
     end) || Spec <- specs()].

limits_test() ->
    Collect = fun Collect(_, '$end_of_table') -> [];
                  Collect(Next, {L, C}) -> [L | Collect(Next, Next(C))] end,
    [?same_types([ordered_set], begin
        fill(M, T),
        {Collect(fun M:select/1, M:select(T, Spec, Limit)),
         Collect(fun M:select_reverse/1, M:select_reverse(T, Spec, Limit))}
     end) || Spec <- specs(), Limit <- [1, 7, 100, 10000], Limit > 1 orelse length(Spec) =/= 1],
    [?same_types(?ALL, begin
        fill(M, T),
        {sorted(lists:append(Collect(fun M:select/1, M:select(T, Spec, 50)))),
         sorted(lists:append(Collect(fun M:match/1, M:match(T, {'$1', 1, '_', '_'}, 50)))),
         sorted(lists:append(Collect(fun M:match_object/1, M:match_object(T, {'_', 1, '_', '_'}, 50))))}
     end) || Spec <- specs()].

patterns_test() ->
    [?same_types(?ALL, begin
        fill(M, T),
        {sorted(M:match(T, P)), sorted(M:match_object(T, P)), M:match_delete(T, P), M:info(T, size)}
     end) || P <- ['_', '$1', {'$1', 1, '_', '_'}, {'_', '$0', {x, '$1'}, '_'}, {5, '$1', '_', '_'},
                   {a}, {'_', '_', '_', #{k => 1}}, {'$2', '$2', '_', '_'}]].

bad_specs_test() ->
    [?same_types([set], begin M:insert(T, {1, a}), F(M, T) end)
     || F <- [fun(M, T) -> M:select(T, foo) end, fun(M, T) -> M:select(T, [foo]) end,
              fun(M, T) -> M:select(T, [{'$1', [], []}]) end,
              fun(M, T) -> M:select(T, [{'$1', [{foo, 1}], ['$1']}]) end,
              fun(M, T) -> M:select(T, [{'$1', [], ['$2']}]) end,
              fun(M, T) -> M:select(T, [{'$1', [], ['$1']}], 0) end,
              fun(M, T) -> M:select(T, [{'$1', [], ['$1']}], foo) end,
              fun(M, T) -> M:select_count(T, {}) end,
              fun(M, T) -> M:match_object(T, {#{'$1' => 1}}) end,
              fun(M, _) -> M:select(nope, [{'$1', [], ['$1']}]) end,
              fun(M, _) -> M:match_spec_compile(foo) end,
              fun(M, _) -> M:match_spec_compile([]) end,
              fun(M, T) -> M:select_replace(T, [{{'$1', '$2'}, [], [{{'$2', '$1'}}]}]) end]].

select_delete_test() ->
    [?same_types(?ALL, begin
        fill(M, T), {M:select_delete(T, Spec), sorted(M:tab2list(T))}
     end) || Spec <- [[{'_', [], [true]}], [{{'_', 3, '_', '_'}, [], [true]}],
                      [{{'$1', '_', '_', '_'}, [{'<', '$1', 1500}], [true]}],
                      [{{'$1', '_', '_', '_'}, [], ['$1']}]]].

select_replace_test() ->
    ?same_types([set, ordered_set, duplicate_bag], begin
        fill(M, T),
        {M:select_replace(T, [{{'$1', '$2', '$3', '_'}, [{'<', '$1', 2000}], [{{'$1', new, '$3', '$2'}}]}]),
         sorted(M:tab2list(T))}
    end),
    ?same_types([set], begin
        M:insert(T, {1, a}),
        {M:select_replace(T, [{{1, a}, [], [{const, {1, b}}]}]),
         M:select_replace(T, [{{1, a}, [], [{const, {1, c}}]}]), M:lookup(T, 1)}
    end),
    ?same_types([bag], M:select_replace(T, [{{'$1', '$2'}, [], [{{'$1', a}}]}])).

%% In OTP 25 they still belong to the name.
continuations_belong_to_the_table_test() ->
    [continuation_belongs_to_the_table(Options, Rest)
     || {Options, Rest} <- [{[], [{4}, {5}, {6}]}, {[{consistent, false}], [{5}, {6}, {7}]}]].

continuation_belongs_to_the_table(Options, Rest) ->
    fyris:new(a, [named_table, ordered_set | Options]),
    fyris:insert(a, [{I} || I <- lists:seq(1, 10)]),
    {L1, C} = fyris:select(a, [{'$1', [], ['$1']}], 3),
    fyris:rename(a, b),
    fyris:delete(b, 4),
    {L2, C2} = fyris:select(C),
    ?assertEqual({[{1}, {2}, {3}], Rest}, {L1, L2}),
    fyris:delete(b),
    fyris:new(a, [named_table, ordered_set]),
    ?assertError(badarg, fyris:select(C2)),
    fyris:delete(a).

continuations_survive_deletions_and_end_test() ->
    ?same(begin
        T = M:new(a, [ordered_set | [{consistent, false} || M =:= fyris]]),
        M:insert(T, [{I} || I <- lists:seq(1, 10)]),
        {L1, C} = M:select(T, [{'$1', [], ['$1']}], 3),
        M:delete(T, 4),
        {L2, C2} = M:select(C),
        M:delete(T),
        {L1, L2, try M:select(C2) catch error:badarg -> badarg end,
         M:select('$end_of_table'), M:match('$end_of_table'), M:match_object('$end_of_table')}
    end),
    ?same(try M:select(foo) catch error:badarg -> badarg end).

continuations_pass_through_the_external_format_test() ->
    T = fyris:new(t, [ordered_set]),
    fyris:insert(T, [{I} || I <- lists:seq(1, 10)]),
    Spec = [{{'$1'}, [], ['$1']}],
    {[1, 2, 3], C} = fyris:select(T, Spec, 3),
    Saved = term_to_binary(C),
    Bin = fyris_same:in_process(
            fun() -> {_, C1} = fyris:select(T, Spec, 3), term_to_binary(C1) end),
    erlang:garbage_collect(),
    C2 = fyris:repair_continuation(binary_to_term(Bin), Spec),
    ?assertMatch({[4, 5, 6], _}, fyris:select(C2)),
    ?assertMatch({[4, 5, 6], _}, fyris:select(fyris:repair_continuation(binary_to_term(Saved), Spec))),
    ?assertEqual('$end_of_table', fyris:repair_continuation('$end_of_table', Spec)),
    fyris:delete(T).

%% What libraries look at in a continuation of `ets': its first element (a backend of Mnesia tells it from that of dets
%% so), its size; what OTP's own tests break, and repair_continuation/2 mends.
continuations_have_the_form_of_those_of_ets_test() ->
    Spec = [{{'$1'}, [], ['$1']}],
    [
        ?same_types([Type], begin
            M:insert(T, [{I} || I <- lists:seq(1, 10)]),
            Chunks = [M:select(T, Spec, 3), M:select_reverse(T, Spec, 3), M:match(T, {'$1'}, 3), M:match_object(T, {'_'}, 3)],
            [begin
                {Found, C} = Chunk,
                Broken = setelement(Place, C, <<>>),
                Refused = try M:select(Broken) catch error:badarg -> badarg end,
                Mended = M:repair_continuation(Broken, Spec),
                {element(1, C) =:= M:info(T, id), element(Limit, C), tuple_size(C), length(Found), Refused,
                 length(element(1, M:select(Mended))), M:repair_continuation(C, Spec) =:= C}
             end || Chunk <- Chunks]
        end)
     || {Type, Place, Limit} <- [{set, 4, 3}, {bag, 4, 3}, {duplicate_bag, 4, 3}, {ordered_set, 5, 4}]
    ].

compiled_specs_test() ->
    ?same(begin
        S = M:match_spec_compile([{{'$1', '$2'}, [{'>', '$2', 2}], ['$1']}]),
        {M:is_compiled_ms(S), M:is_compiled_ms(foo), M:is_compiled_ms(make_ref()),
         M:match_spec_run([{I, I rem 5} || I <- lists:seq(1, 2000)], S),
         M:match_spec_run_r([{1, 3}, x, {2, 4}], S, [tail]),
         M:match_spec_run([], S)}
    end),
    ?same(begin S = M:match_spec_compile([{'_', [], ['$_']}]),
                [try F() catch error:badarg -> badarg end
                 || F <- [fun() -> M:match_spec_run(foo, S) end,
                          fun() -> M:match_spec_run([a | b], S) end,
                          fun() -> M:match_spec_run([a], foo) end]] end).

test_ms_test() ->
    ?same([M:test_ms(Term, Spec)
           || Term <- [{1, 2}, {a}], Spec <- [[{{'$1', '$2'}, [], ['$2']}], [{{'$1'}, [], ['$_']}]]]),
    ?assertMatch({error, [{error, [_ | _]} | _]}, fyris:test_ms({1}, [{'$1', [{foo}], ['$1']}])).

fun2ms_test() ->
    ?assertEqual([{{'$1', '$2'}, [{'>', '$2', 3}], ['$1']}],
                 fyris:fun2ms(fun({A, B}) when B > 3 -> A end)),
    ?assertError({badarg, _}, apply(fyris, fun2ms, [foo])).

%% Errors name the call as it was written.
fun2ms_errors_test() ->
    [begin
         {ok, Tokens, _} = erl_scan:string("f(X) -> fyris:fun2ms(" ++ Argument ++ ")."),
         {ok, Form} = erl_parse:parse_form(Tokens),
         {error, [{_, [{_, Module, Code} | _]} | _], _} =
             fyris_ms:parse_transform([{attribute, 1, file, {"m.erl", 1}}, {attribute, 1, module, m}, Form], []),
         Text = lists:flatten(Module:format_error(Code)),
         ?assertEqual({Text, true, nomatch}, {Text, is_list(string:find(Text, Said)), string:find(Text, "ets")})
     end || {Argument, Said} <- [{"X", "fyris:fun2ms/1"}, {"fun(A, B) -> {A, B} end", "fyris:fun2ms requires"},
                                 {"fun(A) when foo(A) -> A end", "foo"}]].

a_table_changes_between_slices_test() ->
    T = fyris:new(t, [public]),
    fyris:insert(T, [{I} || I <- lists:seq(1, 20_000)]),
    Deleter = spawn_link(fun() -> timer:sleep(1), fyris:delete(T) end),
    R = try fyris:select_count(T, [{'_', [{'==', {'+', 1, 1}, 2}], [true]}]) catch error:badarg -> badarg end,
    ?assert(R =:= badarg orelse R =:= 20_000),
    unlink(Deleter),
    exit(Deleter, kill).

%% What is local is stored under a name of its own; nobody is to see it.
node_is_the_name_of_the_node_test() ->
    Guards = [{'==', {node, '$1'}, {node}}, {'==', {node, '$2'}, node()}],
    ?same(begin
              T = M:new(t, []),
              M:insert(T, {self(), make_ref()}),
              M:select(T, [{{'$1', '$2'}, Guards, [{{{node}, {node, '$1'}, '$1', '$2'}}]}])
                  =:= [{node(), node(), K, V} || {K, V} <- M:tab2list(T)]
          end).

functions_newer_than_otp_25_test() ->
    Value = fun(Body) -> fyris:test_ms({1, 2}, [{{'$1', '$2'}, [], [Body]}]) end,
    ?assertEqual([{ok, 2}, {ok, 1}, {ok, true}, {ok, 2}, {ok, false}],
                 [Value(B) || B <- [{max, '$1', '$2'}, {min, '$1', '$2'}, {is_integer, '$1', 1, 5},
                                    {tuple_size, '$_'}, {is_boolean, '$1'}]]).

%% As deep as `ets' of OTP 25 takes them.
specifications_nest_as_those_of_ets_test() ->
    Numbers = lists:seq(1, 3_000),
    Differ = [{'=/=', '$1', N} || N <- Numbers],
    Right = lists:foldl(fun(One, All) -> {'andalso', One, All} end, true, Differ),
    Left = lists:foldl(fun(One, All) -> {'andalso', All, One} end, true, Differ),
    Sum = lists:foldl(fun(_, All) -> {'+', All, 1} end, '$2', Numbers),
    Tuples = lists:foldl(fun(_, All) -> {{All}} end, '$2', lists:seq(1, 1_400)),
    Lists = lists:foldl(fun(_, All) -> [All, x] end, '$1', Numbers),
    Deep = fun(Inner, Wrap) -> lists:foldl(fun(_, All) -> Wrap(All) end, Inner, Numbers) end,
    Tower = fun(Inner) -> Deep(Deep(Inner, fun(In) -> [In, x] end), fun(In) -> {a, In} end) end,
    Objects = [{2_999, 1}, {3_001, 2}, {a, 3}, {Tower(5), 4}, {b, Tower(6)}],
    Specs = [[{{'$1', '$2'}, [Right], [{{Sum, Tuples}}]}],
             [{{'$1', '$2'}, [Left], [Lists]}],
             [{{Tower('$1'), '$2'}, [], ['$1']}, {{'$1', Tower('$2')}, [], ['$2']}]],
    [?assertEqual(lists:sort(run(ets, Type, Objects, Spec)), lists:sort(run(fyris, Type, Objects, Spec)))
     || Type <- [set, ordered_set], Spec <- Specs].

run(M, Type, Objects, Spec) ->
    T = M:new(t, [Type]),
    M:insert(T, Objects),
    M:select(T, Spec).

%% Beyond what `ets' takes.
a_million_levels_are_taken_test() ->
    Deep = lists:foldl(fun(_, G) -> {'not', G} end, '$1', lists:seq(1, 1_000_000)),
    Compiled = fyris:match_spec_compile([{{'$1'}, [Deep], ['$1']}]),
    ?assertEqual([true], fyris:match_spec_run([{true}, {false}, {a}], Compiled)).

%% What is written `X =/= 1 andalso X =/= 2 ...'.
fun2ms_of_a_long_chain_test() ->
    Differ = lists:join(" andalso ", [["X =/= ", integer_to_list(N)] || N <- lists:seq(1, 3_000)]),
    {ok, Tokens, _} = erl_scan:string(lists:flatten(["fun({X}) when ", Differ, " -> X end."])),
    {ok, Expressions} = erl_parse:parse_exprs(Tokens),
    {value, Fun, _} = erl_eval:exprs(Expressions, []),
    Spec = apply(fyris, fun2ms, [Fun]),
    ?assertEqual([-1, 3_001], lists:sort(run(fyris, set, [{1}, {3_000}, {3_001}, {-1}], Spec))),
    ?assertEqual([-1, 3_001], lists:sort(run(ets, set, [{1}, {3_000}, {3_001}, {-1}], Spec))).
