%% @doc The parse transform behind `fyris:fun2ms/1'.
%%
%% It makes match specifications of funs at compile time. OTP's own transform does the work, but knows the call only as
%% `ets:fun2ms/1'. A module says `-compile({parse_transform, fyris_ms}).', and may then call
%% ```
%% fyris:fun2ms(fun({Number, odd}) when Number > 1 -> Number end)
%% '''
%% which is `[{{'$1', odd}, [{'>', '$1', 1}], ['$1']}]' in the compiled module.
-module(fyris_ms).

-export([parse_transform/2, parse_transform_info/0, format_error/1, from_shell/1]).

%% @doc Returns the forms of a module with each call of `fyris:fun2ms/1' replaced by a match specification. Called by
%% the compiler.
-spec parse_transform(Forms, list()) -> Forms when Forms :: term().
parse_transform(Forms, Options) ->
    case ms_transform:parse_transform(rename(Forms), Options) of
        {error, Errors, Warnings} -> {error, ours(Errors), ours(Warnings)};
        {warning, New, Warnings} -> {warning, New, ours(Warnings)};
        New -> New
    end.

ours(Problems) ->
    [{File, [case Problem of
                 {Place, ms_transform, Code} -> {Place, ?MODULE, Code};
                 Other -> Other
             end || Problem <- InFile]} || {File, InFile} <- Problems].

%% @doc Returns the text of an error, which names the call as it was written. Called by the compiler.
-spec format_error(term()) -> string().
format_error(Code) ->
    Text = lists:flatten(ms_transform:format_error(Code)),
    re:replace(Text, "ets(/dbg)?:fun2ms", "fyris:fun2ms", [global, unicode, {return, list}]).

%% @doc Returns what the compiler asks of a parse transform: errors have columns.
-spec parse_transform_info() -> map().
parse_transform_info() ->
    #{error_location => column}.

rename({call, Place, {remote, Place2, {atom, Place3, fyris},
                      {atom, _, fun2ms} = Name}, [Fun]}) ->
    {call, Place, {remote, Place2, {atom, Place3, ets}, Name}, [rename(Fun)]};
rename(Form) when is_tuple(Form) ->
    list_to_tuple(rename(tuple_to_list(Form)));
rename([Form | Forms]) ->
    [rename(Form) | rename(Forms)];
rename(Form) ->
    Form.

%% @doc Returns the match specification of a fun that the shell has made, for `fyris:fun2ms/1'.
%%
%% Fails with `{badarg, {fyris, fun2ms, _}}' if the argument is no fun, or one of a compiled module.
-spec from_shell(fun()) -> [tuple()].
from_shell(Fun) when is_function(Fun) ->
    case erl_eval:fun_data(Fun) of
        {fun_data, Bindings, Clauses} ->
            checked(ms_transform:transform_from_shell(ets, Clauses, Bindings));
        {named_fun_data, Bindings, _, Clauses} ->
            checked(ms_transform:transform_from_shell(ets, Clauses, Bindings));
        _ ->
            erlang:error({badarg, {fyris, fun2ms, untransformed_fun}})
    end;
from_shell(Other) ->
    erlang:error({badarg, {fyris, fun2ms, Other}}).

checked({error, [{_, [{_, _, Code} | _]} | _], _}) ->
    io:format("Error: ~ts~n", [format_error(Code)]),
    {error, transform_error};
checked(Spec) ->
    Spec.
