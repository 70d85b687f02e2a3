%% @doc Explains errors to people: which argument was wrong, and why.
%% @hidden
-module(fyris_error).

-export([explain/3]).

%% @doc Returns a map from argument numbers to texts, as `erl_error' wants it.
-spec explain(atom(), list() | arity(), map()) -> map().
explain(Function, Args, #{cause := Cause} = Info) when is_list(Args) ->
    Text = maps:get(text, Info, <<>>),
    case place(Cause, Function, length(Args)) of
        general when Text =:= <<>> -> guess(Function, Args);
        general -> #{general => Text};
        Argument -> #{Argument => text(Cause, Text)}
    end;
explain(_, _, _) ->
    #{}.

%% Returns the number of the argument that a cause speaks of, or `general'.
place(Cause, Function, Arity) when Function =:= foldl; Function =:= foldr ->
    case table_cause(Cause) of
        true -> Arity;
        false -> general
    end;
place(Cause, Function, _) ->
    case table_cause(Cause) of
        true -> 1;
        false when Cause =:= already_exists, Function =:= new -> 1;
        false when Function =:= slot -> 2;
        false -> place(Cause)
    end.

table_cause(Cause) ->
    lists:member(Cause, [id, type, access, not_owner, table_type]).

place(badkey) -> 2;
place(owner) -> 2;
place(already_exists) -> 2;
place(position) -> 3;
place(keypos) -> 3;
place(_) -> general.

text(id, _) ->
    <<"the table identifier does not refer to an existing table">>;
text(type, _) ->
    <<"not a valid table identifier">>;
text(access, _) ->
    <<"the table identifier refers to a table with insufficient access rights">>;
text(not_owner, _) ->
    <<"the calling process does not own the table">>;
text(badkey, _) ->
    <<"no object has this key">>;
text(owner, _) ->
    <<"the process owns the table already">>;
text(position, <<>>) ->
    <<"an object has no such position">>;
text(_, Text) ->
    Text.

%% Returns the first argument that cannot be right, where there is no cause.
guess(new, [Name, _]) when not is_atom(Name) -> #{1 => <<"not an atom">>};
guess(rename, [_, Name]) when not is_atom(Name) -> #{2 => <<"not an atom">>};
guess(whereis, [_]) -> #{1 => <<"not an atom">>};
guess(safe_fixtable, [_, _]) -> #{2 => <<"not a boolean">>};
guess(give_away, [_, Pid, _]) when not is_pid(Pid) ->
    #{2 => <<"not a pid">>};
guess(give_away, _) -> #{2 => <<"not a live local process">>};
guess(Function, [_, _, _ | _])
  when Function =:= lookup_element -> #{3 => <<"not a position">>};
guess(Function, [_, Objects])
  when Function =:= insert; Function =:= insert_new ->
    case is_list(Objects) of
        true -> #{2 => <<"not a proper list">>};
        false -> #{2 => <<"not a tuple or a list of tuples">>}
    end;
guess(slot, _) -> #{2 => <<"not a slot of the table">>};
guess(_, _) -> #{}.
