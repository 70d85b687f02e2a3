%% Funs that are stored and made where they are: the same term in every respect, whichever way it goes, also when the
%% module that it is of was loaded again.
-module(fyris_funs_test).

-compile(export_all).
-include("fyris_same.hrl").

%% Of every kind that a closure may capture, several of one code in turn, and of many codes.
captured() ->
    [1, -1, 1 bsl 61, 1 bsl 80, -(1 bsl 80), 1.5, a, <<"short">>, binary:copy(<<7>>, 300), <<1:3>>, [], [1, 2, 3],
     "text", [a | b], {}, {1, {2}}, #{}, #{a => 1, b => 2}, #{<<"k">> => [1]},
     maps:from_list([{I, I} || I <- lists:seq(1, 40)]),
     self(), make_ref(), hd(erlang:ports()), atomics:new(1, []), fun lists:map/2, fun() -> ok end,
     fun() -> self() end, foreign(pid), foreign(ref), foreign('fun')].

foreign(pid) -> binary_to_term(<<131, 88, 119, 3, "a@b", 1:32, 2:32, 3:32>>);
foreign(ref) -> binary_to_term(<<131, 90, 3:16, 119, 3, "a@b", 1:32, 1:32, 2:32, 3:32>>);
%% Made on another node.
foreign('fun') ->
    Fun = fun() -> a end,
    <<131, 112, _:32, Head:29/binary, Rest/binary>> = term_to_binary(Fun),
    {Before, Pid} = before_pid(Rest),
    Body = <<Head/binary, Before/binary, 88, 119, 3, "a@b", 1:32, 2:32, 3:32>>,
    true = is_binary(Pid),
    binary_to_term(<<131, 112, (byte_size(Body) + 4):32, Body/binary>>).

before_pid(Rest) ->
    [Pid | _] = [P || P <- lists:seq(0, byte_size(Rest) - 1), binary:at(Rest, P) =:= 88],
    split_binary(Rest, Pid).

funs() ->
    [F || C <- captured(), F <- [fun() -> C end, fun(X) -> {X, C} end, fun() -> fun() -> [C, C] end end]]
        ++ [fun erlang:self/0, fun erlang:node/0, fun erlang:node/1, fun no_such_module:f/255, fun ?MODULE:same/2].

information(Fun) -> lists:sort(erlang:fun_info(Fun)).

same(Fun, Fun2) ->
    ?assert(Fun =:= Fun2),
    ?assertEqual(information(Fun), information(Fun2)),
    ?assertEqual(term_to_binary(Fun), term_to_binary(Fun2)).

funs_come_back_test() ->
    T = fyris:new(t, []),
    Funs = lists:zip(lists:seq(1, length(funs())), funs()),
    fyris:insert(T, Funs),
    [begin
         [{I, Got}] = fyris:lookup(T, I),
         same(Fun, Got),
         same(Fun, fyris:lookup_element(T, I, 2)),
         {[Selected], _} = fyris:select(T, [{{I, '$1'}, [], ['$1']}], 1),
         same(Fun, Selected),
         is_function(Fun, 0) andalso Fun =/= fun no_such_module:f/255 andalso called(Fun, Got)
     end || {I, Fun} <- Funs],
    erlang:garbage_collect(),
    ?assertEqual(Funs, lists:sort(fyris:tab2list(T))),
    fyris:delete(T).

called(Fun, Got) ->
    case {Fun(), Got()} of
        {F, G} when is_function(F, 0) -> same(F, G);
        {A, B} -> ?assert(A =:= B)
    end.

%% What is stored is the same bytes, whether the fun comes in an object or in a pattern, as a key or as a value.
funs_are_found_test() ->
    [begin
         T = fyris:new(t, [Type]),
         [begin
              fyris:insert(T, {Fun, {Fun}}),
              ?assert(fyris:member(T, Fun)),
              [{Key, {Value}}] = fyris:lookup(T, Fun),
              same(Fun, Key),
              same(Fun, Value),
              ?assertEqual([{Fun, {Fun}}], fyris:match_object(T, {Fun, {Fun}})),
              ?assertEqual([yes], fyris:select(T, [{{'_', {'$1'}}, [{'=:=', '$1', {const, Fun}}], [yes]}])),
              fyris:delete_object(T, {Fun, {other}}),
              ?assertEqual(1, fyris:info(T, size)),
              fyris:delete_object(T, {Fun, {Fun}}),
              ?assertEqual(0, fyris:info(T, size))
          end || Fun <- funs()],
         fyris:delete(T)
     end || Type <- [set, ordered_set, bag, duplicate_bag]].

%% More codes than a thread remembers, in turn.
many_codes_test() ->
    Module = fyris_funs_many,
    N = 200,
    Clauses = [io_lib:format("f(~p, X) -> fun(Y) -> {~p, X, Y} end;", [I, I]) || I <- lists:seq(1, N)],
    load(Module, Clauses ++ "f(_, _) -> no."),
    T = fyris:new(t, []),
    fyris:insert(T, [{I, Module:f(I, {x, I})} || I <- lists:seq(1, N)]),
    [?assertEqual({I, {x, I}, y}, (fyris:lookup_element(T, I, 2))(y)) || _ <- [1, 2], I <- lists:seq(1, N)],
    fyris:delete(T).

%% A fun of a module that is gone is what it is in a table of `ets': a name, until the same code is there again.
a_module_is_loaded_again_test() ->
    Module = fyris_funs_again,
    [T, E] = Tables = [M:new(t, []) || M <- [fyris, ets]],
    Binary = load(Module, "f(_, X) -> fun() -> {one, X} end."),
    Fun = Module:f(1, [a]),
    fyris:insert(T, {1, Fun}),
    ets:insert(E, {1, Fun}),
    Ask = fun() -> [answer(F) || F <- [fyris:lookup_element(T, 1, 2), ets:lookup_element(E, 1, 2)]] end,
    ?assertEqual([{one, [a]}, {one, [a]}], Ask()),
    unload(Module),
    ?assertMatch([Same, Same], Ask()),
    load(Module, "f(_, X) -> fun() -> {two, X} end."),
    New = Module:f(1, [a]),
    fyris:insert(T, {2, New}),
    ?assertMatch([Same, Same], Ask()),
    ?assertEqual({two, [a]}, (fyris:lookup_element(T, 2, 2))()),
    unload(Module),
    {module, Module} = code:load_binary(Module, "again", Binary),
    ?assertEqual([{one, [a]}, {one, [a]}], Ask()),
    unload(Module),
    [M:delete(Table) || {M, Table} <- lists:zip([fyris, ets], Tables)].

answer(Fun) ->
    try Fun() catch Class:Reason -> {Class, is_tuple(Reason) andalso element(1, Reason)} end.

load(Module, Source) ->
    Text = lists:flatten([io_lib:format("-module(~p). -export([f/2]). ", [Module]), Source]),
    Binary = compiled(forms(erl_scan_tokens(Text))),
    {module, Module} = code:load_binary(Module, "source", Binary),
    Binary.

erl_scan_tokens(Text) ->
    {ok, Tokens, _} = erl_scan:string(Text),
    Tokens.

forms([]) -> [];
forms(Tokens) ->
    {Form, [Dot | Rest]} = lists:splitwith(fun(Token) -> element(1, Token) =/= dot end, Tokens),
    {ok, Parsed} = erl_parse:parse_form(Form ++ [Dot]),
    [Parsed | forms(Rest)].

compiled(Forms) ->
    {ok, _, Binary} = compile:forms(Forms, []),
    Binary.

unload(Module) ->
    code:purge(Module),
    code:delete(Module),
    code:purge(Module).

%% Processes of two schedulers meet codes that none has met before.
codes_are_met_at_once_test() ->
    Module = fyris_funs_at_once,
    N = 100,
    Clauses = [io_lib:format("f(~p, X) -> fun() -> {~p, X} end;", [I, I]) || I <- lists:seq(1, N)],
    load(Module, Clauses ++ "f(_, _) -> no."),
    T = fyris:new(t, [public]),
    Worker = fun(W) -> fun() ->
        [begin
             fyris:insert(T, {{W, I}, Module:f(I, W)}),
             ?assertEqual({I, W}, (fyris:lookup_element(T, {W, I}, 2))())
         end || I <- lists:seq(1, N)] end end,
    Workers = [spawn_monitor(Worker(W)) || W <- lists:seq(1, 8)],
    [receive {'DOWN', Ref, process, _, Reason} -> ?assertEqual(normal, Reason) end || {_, Ref} <- Workers],
    ?assertEqual(8 * N, fyris:info(T, size)),
    fyris:delete(T).
