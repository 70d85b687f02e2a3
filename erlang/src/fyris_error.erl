%% @doc Explains errors to people: which argument was wrong, and why.
%% @hidden
-module(fyris_error).

-export([explain/3]).

%% @doc Returns a map from argument numbers to texts, as `erl_error' wants it.
-spec explain(atom(), list() | arity(), map()) -> map().
explain(Function, Args, Info) when is_list(Args) ->
    Place = table_place(Function, Args),
    case Args =/= [] andalso of_elixir(lists:nth(Place, Args)) of
        true -> #{Place => <<"a table of Elixir's Fyris: Fyris.Table.id/1 returns what :fyris takes">>};
        false -> of_cause(Function, Args, Info)
    end;
explain(_, _, _) ->
    #{}.

%% Returns which argument is a table, a list of them or a batch; of a function without tables any.
table_place(Function, Args) when Function =:= foldl; Function =:= foldr -> length(Args);
table_place(within, [_, _]) -> 2;
table_place(_, _) -> 1.

of_elixir(#{'__struct__' := 'Elixir.Fyris.Table'}) -> true;
of_elixir([First | More]) -> of_elixir(First) orelse of_elixir(More);
of_elixir(Operation) when tuple_size(Operation) > 1, is_map(element(2, Operation)) -> of_elixir(element(2, Operation));
of_elixir(_) -> false.

of_cause(Function, Args, #{cause := Cause} = Info) ->
    Text = maps:get(text, Info, <<>>),
    case place(Cause, Function, Args) of
        general when Text =:= <<>> -> guess(Function, Args);
        general -> #{general => on_snapshot(Function, Text)};
        Argument -> #{Argument => said(Cause, Text, Function, lists:nth(Argument, Args))}
    end;
of_cause(_, _, _) ->
    #{}.

%% What has nothing to do with writing is not done on a snapshot either.
on_snapshot(snapshot, <<"a snapshot can only be read">>) -> <<"a snapshot has no snapshots">>;
on_snapshot(subscribe, <<"a snapshot can only be read">>) -> <<"a snapshot cannot be watched: it does not change">>;
on_snapshot(within, <<"a snapshot can only be read">>) -> <<"a snapshot cannot be within a transaction">>;
on_snapshot(_, Text) -> Text.

%% Returns the number of the argument that a cause speaks of, or `general'.
place(Cause, Function, Args) ->
    case table_cause(Cause) of
        true -> table_place(Function, Args);
        false when Function =:= foldl; Function =:= foldr -> general;
        false when Cause =:= batch -> 1;
        false when Cause =:= already_exists, Function =:= new -> 1;
        false when Cause =:= option -> length(Args);
        false when Cause =:= library, Function =/= new, Function =/= open -> 1;
        false when Cause =:= library -> length(Args);
        false when Cause =:= match_spec -> match_spec_place(Function);
        false when Cause =:= object -> object_place(Function, Args);
        false when Cause =:= argument -> argument_place(Function);
        false when Cause =:= keypos, Function =:= upsert -> 4;
        false -> place(Cause)
    end.

table_cause(Cause) ->
    lists:member(Cause, [id, type, access, not_owner, table_type]).

match_spec_place(match_spec_compile) -> 1;
match_spec_place(_) -> 2.

%% Which object is no object of the table.
object_place(Function, _) when Function =:= insert; Function =:= insert_new; Function =:= delete_object -> 2;
object_place(compare_and_swap, [_, Old, _]) when not is_tuple(Old) -> 2;
object_place(compare_and_swap, _) -> 3;
object_place(Function, [_, _, _, _]) when Function =:= update_counter; Function =:= update_element -> 4;
object_place(_, _) -> general.

argument_place(prefix) -> 2;
argument_place(subscribe) -> 1;
argument_place(Function)
  when Function =:= update_counter; Function =:= update_element; Function =:= lookup_element; Function =:= get_in;
       Function =:= upsert; Function =:= put_in; Function =:= update_in; Function =:= delete_in -> 3;
argument_place(take_many) -> 2;
argument_place(_) -> general.

place(badkey) -> 2;
place(filter) -> 2;
place(receiver) -> 3;
place(item) -> 2;
place(secondary) -> 2;
place(slot) -> 2;
place(continuation) -> 1;
place(owner) -> 2;
place(already_exists) -> 2;
place(position) -> 3;
place(keypos) -> 3;
place(_) -> general.

%% Returns the text for an argument.
said(Cause, Text, Function, Argument) when Cause =:= id; Cause =:= type ->
    case in_ets(Argument) of
        true -> <<"a table of ets, not of fyris">>;
        %% Identifiers are given once.
        false when Cause =:= id, is_reference(Argument) ->
            <<(text(Cause, Text, Function))/binary, ": it was deleted, by a call or with its owner">>;
        false -> text(Cause, Text, Function)
    end;
said(access, Text, _, Table) ->
    iolist_to_binary([Text, owner(Table), ": public (in Elixir access: :public) gives access to all"]);
said(batch, Text, _, _) ->
    case binary:match(Text, <<"no operation of a batch">>) of
        nomatch -> Text;
        _ -> <<Text/binary, ": operations are {insert,T,Objects}, {insert_new,T,Objects}, {delete,T,Key}, {take,T,Key}, "
               "{delete_object,T,Object}, {update_counter,T,Key,Operation}, {update_element,T,Key,Changes}, the last two "
               "with a default behind or not, and {check,T,Key,Expected}">>
    end;
said(Cause, Text, Function, _) -> text(Cause, Text, Function).

%% Whose it is, if that is known: of several tables it is not said which one is meant.
owner(Table) when is_list(Table) -> "";
owner(Table) -> [io_lib:format(", ~w", [Owner]) || Owner <- [fyris:info(Table, owner)], is_pid(Owner)].

in_ets(Table) when is_atom(Table); is_reference(Table) ->
    try ets:info(Table, id) =/= undefined
    catch error:badarg -> false
    end;
in_ets(_) -> false.

text(receiver, _, _) ->
    <<"not a live local process">>;
%% The table's type does not go with the function that was called, which may work by another one.
text(table_type, <<"a range ", _/binary>> = Text, subscribe) ->
    of_order(Text);
text(table_type, Text, subscribe) ->
    Text;
text(table_type, Text, Function) ->
    [_, Rest] = binary:split(Text, <<" ">>),
    Named = iolist_to_binary([atom_to_binary(Function), " ", Rest]),
    case lists:member(Function, [range, prefix, seek, delete_range, take_range]) of
        true -> of_order(Named);
        false -> Named
    end;
text(Cause, Text, _) ->
    text(Cause, Text).

of_order(Text) -> <<Text/binary, ": it needs an ordered_set (in Elixir type: :ordered_set)">>.

text(id, _) ->
    <<"the table identifier does not refer to an existing table">>;
text(type, _) ->
    <<"not a valid table identifier">>;
text(not_owner, _) ->
    <<"the calling process does not own the table">>;
text(badkey, _) ->
    <<"no object has this key">>;
text(owner, _) ->
    <<"the process owns the table already">>;
text(continuation, <<>>) ->
    <<"a continuation that was read from the external term format: see repair_continuation/2">>;
text(position, <<>>) ->
    <<"an object has no such position">>;
text(_, Text) ->
    Text.

%% Returns the first argument that cannot be right, where there is no cause.
guess(new, [Name, _]) when not is_atom(Name) -> #{1 => <<"not an atom">>};
guess(rename, [_, Name]) when not is_atom(Name) -> #{2 => <<"not an atom">>};
guess(open, [Name, _]) when not is_atom(Name) -> #{1 => <<"not an atom">>};
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
guess(nth, _) -> #{2 => <<"not a number from 0 on">>};
guess(memory, _) -> #{1 => <<"not a kind of memory: kinds are total, objects, indexes">>};
guess(seek, [_, _, _]) -> #{3 => <<"not up or down">>};
guess(upsert, [_, _, Default, _]) when not is_tuple(Default) -> #{3 => <<"not a tuple">>};
guess(unsubscribe, _) -> #{1 => <<"not a subscription">>};
guess(set_active, [_, Active]) when Active =:= true; is_integer(Active), Active > 0 -> #{1 => <<"not a subscription">>};
guess(set_active, _) -> #{2 => <<"not true or a positive integer">>};
guess(subscribe, [_ | _]) -> #{1 => <<"not a table or a proper list of tables">>};
guess(lookup_many, _) -> #{2 => <<"not a proper list of keys">>};
guess(Function, _) when Function =:= lookup_by; Function =:= add_secondary; Function =:= remove_secondary ->
    #{2 => <<"not an atom">>};
guess(Function, [_, _, Path | _])
  when Function =:= get_in; Function =:= put_in; Function =:= update_in; Function =:= delete_in ->
    case Path of
        [Position | _] when is_integer(Position) -> #{3 => <<"not a proper list">>};
        _ -> #{3 => <<"not a path, a list of a position and then keys of maps or positions">>}
    end;
guess(release, _) -> #{1 => <<"not a snapshot, nor a proper list of snapshots">>};
guess(transaction, [Fun, _]) when not is_function(Fun, 1) -> #{1 => <<"not a fun of one argument">>};
guess(transaction, _) ->
    #{2 => <<"bad options: options are {retries,N}, {retries,infinity}, {hold,Milliseconds} of a day at most">>};
guess(within, _) -> #{1 => <<"not a transaction">>};
guess(write_batch, _) -> #{1 => <<"not a proper list of operations">>};
guess(init_table, _) -> #{2 => <<"not a fun of one argument">>};
guess(table, [_, _]) ->
    #{2 => <<"bad option: options are {traverse,first_next}, {traverse,last_prev}, {traverse,select}, "
             "{traverse,{select,MatchSpec}}, {n_objects,N}, {n_objects,default}">>};
guess(Function, [_, Dets]) when Function =:= from_dets; Function =:= to_dets ->
    case dets:info(Dets, type) of
        undefined -> #{2 => <<"not an open dets table">>};
        _ -> #{}
    end;
guess(match_spec_run, [List, Spec]) ->
    case is_list(List) andalso fyris:is_compiled_ms(Spec) of
        true -> #{1 => <<"not a proper list of tuples">>};
        false when is_list(List) -> #{2 => <<"not a compiled match specification">>};
        false -> #{1 => <<"not a list">>}
    end;
guess(repair_continuation, _) -> #{1 => <<"not a continuation of a table that is there">>};
guess(Function, [_, _, Limit])
  when not is_integer(Limit), Function =/= update_counter, Function =/= update_element;
       is_integer(Limit), Limit < 1, Function =/= update_counter, Function =/= update_element ->
    limit(Function);
guess(_, _) -> #{}.

limit(Function)
  when Function =:= select; Function =:= select_reverse; Function =:= match; Function =:= match_object ->
    #{3 => <<"not a positive integer">>};
limit(_) -> #{}.
