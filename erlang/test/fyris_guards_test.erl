%% Every guard of OTP 29, with each number of arguments and each kind of argument, against the answers of its `ets', which
%% are kept in fyris_guards_test.facts: on every release `fyris' gives these. On OTP 29 they are asked for anew, and
%% `erlang/otp.sh 29 erl -noshell -pa test/ebin -eval "fyris_guards_test:make(), halt()."' makes the file.
-module(fyris_guards_test).

-compile(export_all).
-include("fyris_same.hrl").

file() ->
    filename:join([filename:dirname(code:which(?MODULE)), "..", atom_to_list(?MODULE) ++ ".facts"]).

facts() ->
    {ok, Facts} = file:consult(file()),
    [{Name, Arity, unpacked(Answers)} || {Name, Arity, Answers} <- Facts].

make() ->
    ok = file:write_file(file(), ["%% Made by fyris_guards_test:make/0 on OTP ", erlang:system_info(otp_release), ".\n",
                                  [io_lib:format("~0p.~n", [{Name, Arity, packed(Answers)}]) || {Name, Arity, Answers} <- asked(ets)]]).

%% Equal answers in a row are kept once, with their number.
packed(refused) -> refused;
packed([Answer | More]) ->
    {Same, Others} = lists:splitwith(fun(Other) -> Other =:= Answer end, More),
    [{length(Same) + 1, Answer} | packed(Others)];
packed([]) -> [].

unpacked(refused) -> refused;
unpacked(Packed) -> lists:append([lists:duplicate(Count, Answer) || {Count, Answer} <- Packed]).

the_facts_are_those_of_29_test() ->
    fyris_same:otp() =/= 29 orelse [?assertEqual(Fact, Asked) || {Fact, Asked} <- lists:zip(facts(), asked(ets))].

fyris_answers_as_29_test_() ->
    {timeout, 120, fun() ->
        [?assertEqual(Fact, answers(fyris, Name, Arity)) || {Name, Arity, _} = Fact <- facts()]
    end}.

%% Where arguments stand in the specification, and not in the object.
constants_are_as_variables_test_() ->
    {timeout, 120, fun() ->
        [?assertEqual({Name, Arguments, Answer}, {Name, Arguments, constant(Name, Arguments)})
         || {Name, Arity, [_ | _] = Answers} <- facts(), Arity < 3, Name =/= const,
            {Arguments, Answer} <- lists:zip(arguments(Arity), Answers)]
    end}.

constant(Name, Arguments) ->
    Call = list_to_tuple([Name | [{const, Argument} || Argument <- Arguments]]),
    [Answer] = run(fyris, {x}, Call, [{x}]),
    Answer.

asked(M) -> [answers(M, Name, Arity) || Name <- names(), Arity <- lists:seq(0, 4)].

%% The names that this release allows in guards, and those that match specifications have besides.
names() ->
    lists:usort([const, 'andalso', 'orelse'] ++ [F || {F, Arity} <- erlang:module_info(exports), is_guard(F, Arity)]).

is_guard(F, Arity) ->
    erl_internal:guard_bif(F, Arity) orelse
        try lists:member(erl_internal:op_type(F, Arity), [arith, bool, comp])
        catch error:_ -> false
        end.

answers(M, Name, Arity) ->
    Variables = lists:sublist(['$1', '$2', '$3', '$4'], Arity),
    Objects = [list_to_tuple([x | Arguments]) || Arguments <- arguments(Arity)],
    {Name, Arity, run(M, list_to_tuple([x | Variables]), list_to_tuple([Name | Variables]), Objects)}.

run(M, Head, Call, Objects) ->
    try M:match_spec_compile([{Head, [], [{{Call}}]}]) of
        Compiled -> [shown(Answer) || Answer <- M:match_spec_run(Objects, Compiled)]
    catch error:badarg -> refused
    end.

%% A failure is x; what is another in each run has a name.
shown({'EXIT'}) -> x;
shown({true}) -> t;
shown({false}) -> f;
shown({Pid}) when is_pid(Pid) -> pid;
shown({Reference}) when is_reference(Reference) -> reference;
shown({Port}) when is_port(Port) -> port;
shown({Fun}) when is_function(Fun) -> 'fun';
shown(Answer) -> Answer.

arguments(0) -> [[]];
arguments(1) -> [[A] || A <- kinds()];
arguments(2) -> [[A, B] || A <- kinds(), B <- kinds()];
arguments(3) -> [[A, B, C] || A <- few() ++ [{a, 1}, <<1, 2, 3:5>>], B <- few(), C <- few()];
arguments(4) -> [[A, B, C, D] || A <- [true, false, a], B <- [true, false, 1], C <- [true, false], D <- [true, false, a]].

few() -> [a, true, 0, 1, 2, -1, 1.0, 1 bsl 70, [], {a, 1, 2}, <<1, 2, 3>>].

kinds() ->
    Local = fun(_) -> true end,
    [a, true, false, 0, 1, -2, 3, 1 bsl 70, -(1 bsl 64), 1.0, -2.5, 1.0e300, [], [a, 1], [a | 1], "ab", {}, {a}, {1, 1},
     {-1, 1}, #{}, #{a => 1, 1 => b}, <<>>, <<1, 2, 3>>, <<1, 2, 3:5>>, <<1:1>>, Local, fun lists:map/2, fun lists:foreach/1,
     self(), make_ref(), hd(erlang:ports())].
