%% @doc The parse transform behind `fyris:fun2ms/1'.
%%
%% It makes match specifications of funs at compile time. OTP's own transform
%% does the work, but knows the call only as `ets:fun2ms/1'.
-module(fyris_ms).

-export([parse_transform/2, parse_transform_info/0, from_shell/1]).

%% @doc Called by the compiler.
-spec parse_transform(Forms, list()) -> Forms when Forms :: term().
parse_transform(Forms, Options) ->
    ms_transform:parse_transform(rename(Forms), Options).

%% @doc Called by the compiler.
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

%% @doc The match specification of a fun of the shell.
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
    io:format("Error: ~ts~n", [ms_transform:format_error(Code)]),
    {error, transform_error};
checked(Spec) ->
    Spec.
