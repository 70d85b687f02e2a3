%% @doc Writes of several keys in one call: {@link fyris:write_batch/1}.
%% @hidden
-module(fyris_batch).

-export([is_batch/1, run/1]).

%% @doc Returns whether this is a list of operations, as far as their form tells.
-spec is_batch(term()) -> boolean().
is_batch([Operation | Rest]) -> is_operation(Operation) andalso is_batch(Rest);
is_batch(Rest) -> Rest =:= [].

is_operation({insert, _, Objects}) -> is_tuple(Objects) orelse is_list(Objects);
is_operation({insert_new, _, Objects}) -> is_tuple(Objects) orelse is_list(Objects);
is_operation({delete, _, _}) -> true;
is_operation({delete_object, _, Object}) -> is_tuple(Object);
is_operation({update_counter, _, _, _}) -> true;
is_operation({update_counter, _, _, _, Default}) -> is_tuple(Default);
is_operation({update_element, _, _, _}) -> true;
is_operation({check, _, _, absent}) -> true;
is_operation({check, _, _, {unchanged, _}}) -> true;
is_operation({check, _, _, Expected}) -> is_tuple(Expected) orelse is_list(Expected);
is_operation(_) -> false.

%% @doc Does all operations, or none.
-spec run([fyris:batch_op()]) -> {ok, [term()]} | {error, {check, fyris:batch_op()}}.
run(Operations) ->
    Result = fyris_transaction:run(fun(Transaction) -> run(Transaction, Operations) end, infinity),
    case Result of
        {atomic, Replies} -> {ok, Replies};
        {aborted, {check, Operation}} -> {error, {check, Operation}};
        {aborted, {Reason, Stack}} -> erlang:raise(error, Reason, Stack)
    end.

run(Transaction, Operations) ->
    Within = fyris:within(Transaction, [element(2, Operation) || Operation <- Operations]),
    Both = lists:zip(Operations, Within),
    %% What the tables held before the batch.
    [holds(Operation, Table) orelse fyris:abort({check, Operation}) || {Operation, Table} <- Both],
    [reply(Operation, Table) || {Operation, Table} <- Both].

holds({check, _, Key, Expected}, Table) -> is_as(Expected, Key, fyris:lookup(Table, Key));
holds(_, _) -> true.

is_as(absent, _, Found) -> Found =:= [];
is_as({unchanged, Snapshot}, Key, Found) -> same(Found, fyris:lookup(Snapshot, Key));
is_as(Objects, _, Found) when is_list(Objects) -> same(Found, Objects);
is_as(Object, _, Found) -> Found =:= [Object].

same(Found, Expected) -> lists:sort(Found) =:= lists:sort(Expected).

reply({insert, _, Objects}, Table) -> fyris:insert(Table, Objects);
reply({insert_new, _, Objects}, Table) -> fyris:insert_new(Table, Objects);
reply({delete, _, Key}, Table) -> fyris:delete(Table, Key);
reply({delete_object, _, Object}, Table) -> fyris:delete_object(Table, Object);
reply({update_counter, _, Key, Ops}, Table) -> fyris:update_counter(Table, Key, Ops);
reply({update_counter, _, Key, Ops, Default}, Table) -> fyris:update_counter(Table, Key, Ops, Default);
reply({update_element, _, Key, Ops}, Table) -> fyris:update_element(Table, Key, Ops);
reply({check, _, _, _}, _) -> true.
