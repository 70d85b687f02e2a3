%% The examples in the documentation of `fyris' are true, and every function has one.
%%
%% An expression stands behind `> ', on one line, and the lines below it are a pattern of its value, or what the shell
%% says of an error. What an expression binds is known to those after it.
-module(fyris_doc_examples_test).

-compile(export_all).
-include("fyris_same.hrl").

-define(BAD_ARGUMENT, "** exception error: bad argument").

every_function_has_an_example_test() ->
    ?assertEqual([], [Function || {Function, Example} <- examples(), Example =:= []]),
    ?assertEqual([], exported() -- [Function || {Function, _} <- examples()]).

exported() -> fyris:module_info(exports) -- [{module_info, 0}, {module_info, 1}].

examples_test_() ->
    [{lists:concat([Name, "/", Arity]), fun() -> run(Example) end} || {{Name, Arity}, Example} <- examples()].

%% The functions that have a spec, each with the lines of its example.
examples() ->
    Beam = code:which(fyris),
    {ok, {fyris, [{abstract_code, {_, Forms}}]}} = beam_lib:chunks(Beam, [abstract_code]),
    {ok, Source} = file:read_file(filename:join([filename:dirname(Beam), "..", "src", "fyris.erl"])),
    Lines = string:split(Source, "\n", all),
    [{Function, example(lists:reverse(lists:sublist(Lines, erl_anno:line(Place) - 1)))}
     || {attribute, Place, spec, {Function, _}} <- Forms, lists:member(Function, exported())].

%% The example of the comment that ends with the first of these lines, the last line first.
example(Lines) ->
    Comment = [Text || <<"%% ", Text/binary>> <- lists:takewhile(fun is_comment/1, Lines)],
    Inside = lists:takewhile(fun(Text) -> Text =/= <<"```">> end,
                             tl(lists:dropwhile(fun(Text) -> Text =/= <<"'''">> end, Comment) ++ [none])),
    [unicode:characters_to_list(Text) || Text <- lists:reverse(Inside), is_binary(Text)].

is_comment(<<"%%", _/binary>>) -> true;
is_comment(_) -> false.

run(Example) ->
    fyris_same:in_process(
      fun() ->
              fyris_people_test:printed(
                fun() -> lists:foldl(fun step/2, erl_eval:new_bindings(), steps(Example)) end, []),
              ok
      end).

%% Expressions, each with what is expected of it, which is nothing in some cases.
steps([]) -> [];
steps(["> " ++ Expression | Lines]) ->
    {Expected, Rest} = lists:splitwith(fun(Line) -> not lists:prefix("> ", Line) end, Lines),
    [{Expression, lists:join(" ", Expected)} | steps(Rest)].

step({Expression, [?BAD_ARGUMENT]}, Bindings) ->
    ?assertError(badarg, evaluated(Expression, Bindings)),
    Bindings;
step({Expression, []}, Bindings) ->
    {_, Bound} = evaluated(Expression, Bindings),
    Bound;
step({Expression, Pattern}, Bindings) ->
    {Value, Bound} = evaluated(Expression, Bindings),
    Match = lists:flatten([Pattern, " = Value__."]),
    try evaluated(Match, erl_eval:add_binding('Value__', Value, Bound)) of
        _ -> Bound
    catch error:{badmatch, _} -> error({example, Expression, [{expected, lists:flatten(Pattern)}, {value, Value}]})
    end.

evaluated(Text, Bindings) ->
    {ok, Tokens, _} = erl_scan:string(Text),
    {ok, Expressions} = erl_parse:parse_exprs(Tokens),
    {value, Value, Bound} = erl_eval:exprs(Expressions, Bindings),
    {Value, Bound}.
