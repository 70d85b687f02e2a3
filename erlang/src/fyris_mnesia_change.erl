%% @doc Changes of Mnesia's tables, by the processes that ask for them.
%%
%% A process changes the table itself, and then tells the table's writer what it has touched: a key, or an object of a
%% bag. The writer logs what is there when it writes. So the log needs no order among processes: its last record of a key
%% is what the table had after the last change of it. A change whose extent is in no key (a pattern, all objects) is done
%% by the writer, and so is a count, whose answer waits for the log.
%% @hidden
-module(fyris_mnesia_change).

-export([do/2, apply_to/2, operations/3]).

-type change() :: fyris_mnesia_file:operation() | {update_counter, term(), term()}.
%% What the writer is told.
-type touched() :: {key, term()} | {object, tuple()}.

-export_type([change/0, touched/0]).

%% @doc Does a change; returns what it returns, or fails as it fails.
-spec do(fyris_mnesia_keeper:tab(), change()) -> term().
do(Tab, Change) ->
    case fyris_mnesia_keeper:writer(Tab) of
        none -> element(1, apply_to(fyris_mnesia_keeper:table(Tab), Change));
        {Writer, By} -> do(Tab, Change, Writer, touched(By, Change))
    end.

do(_, Change, Writer, unknown) ->
    fyris_mnesia_writer:change(Writer, Change);
do(Tab, Change, Writer, Touched) ->
    {Result, _} = apply_to(Tab, Change),
    ok = fyris_mnesia_writer:touched(Writer, Touched),
    Result.

touched(object, {insert, Object}) when is_tuple(Object) -> {object, Object};
touched(key, {insert, Object}) when is_tuple(Object) -> {key, element(2, Object)};
touched(_, {delete, Key}) -> {key, Key};
touched(By, {match_delete, Pattern}) when is_tuple(Pattern) -> touched_by(By, Pattern, is_ground(element(2, Pattern)));
touched(_, _) -> unknown.

touched_by(_, _, false) -> unknown;
touched_by(key, Pattern, true) -> {key, element(2, Pattern)};
touched_by(object, Pattern, true) ->
    case is_ground(Pattern) of
        true -> {object, Pattern};
        false -> {key, element(2, Pattern)}
    end.

%% Returns whether a pattern matches itself only.
is_ground('_') -> false;
is_ground(Atom) when is_atom(Atom) -> not is_variable(atom_to_binary(Atom));
is_ground([Head | Tail]) -> is_ground(Head) andalso is_ground(Tail);
is_ground(Tuple) when is_tuple(Tuple) -> is_ground(tuple_to_list(Tuple));
is_ground(Map) when is_map(Map) -> is_ground(maps:to_list(Map));
is_ground(_) -> true.

is_variable(<<$$, Digit, _/binary>>) -> Digit >= $0 andalso Digit =< $9;
is_variable(_) -> false.

%% @doc Does a change in a table; returns its result, and the operation that does it again.
-spec apply_to(fyris:table(), change()) -> {term(), fyris_mnesia_file:operation()}.
apply_to(Table, {insert, Objects} = Change) ->
    true = fyris:insert(Table, Objects),
    {ok, Change};
apply_to(Table, {delete, Key} = Change) ->
    true = fyris:delete(Table, Key),
    {ok, Change};
apply_to(Table, {match_delete, '_'} = Change) ->
    true = fyris:delete_all_objects(Table),
    {ok, Change};
apply_to(Table, {match_delete, Pattern} = Change) ->
    true = fyris:match_delete(Table, Pattern),
    {ok, Change};
apply_to(Table, {update_counter, Key, Ops}) ->
    Result = fyris:update_counter(Table, Key, Ops),
    {Result, {insert, fyris:lookup(Table, Key)}}.

%% @doc Returns the operations that make up what was done, of which the last came first, in their order. Of what was
%% touched more than once, the last time counts.
-spec operations(fyris:table(), key | object, [touched() | fyris_mnesia_file:operation()]) -> [fyris_mnesia_file:operation()].
operations(Table, By, Done) ->
    {Operations, _} = lists:foldl(fun(One, Sofar) -> operation(Table, By, One, Sofar) end, {[], #{}}, Done),
    Operations.

operation(Table, By, {key, Key} = Touched, {Operations, Seen}) ->
    case is_map_key(Touched, Seen) of
        true -> {Operations, Seen};
        false -> {of_key(By, Key, fyris:lookup(Table, Key)) ++ Operations, Seen#{Touched => []}}
    end;
operation(Table, By, {object, Object} = Touched, {Operations, Seen}) ->
    Key = element(2, Object),
    case is_map_key(Touched, Seen) orelse is_map_key({key, Key}, Seen) of
        true ->
            {Operations, Seen};
        false ->
            Known = objects(Table, Key, Seen),
            {of_object(By, Object, Known) ++ Operations, Seen#{Touched => [], {objects, Key} => Known}}
    end;
operation(_, _, Operation, {Operations, Seen}) ->
    {[Operation | Operations], Seen}.

%% The objects of a key of a bag may be many, and touched one by one.
objects(_, Key, Seen) when is_map_key({objects, Key}, Seen) -> map_get({objects, Key}, Seen);
objects(Table, Key, _) -> maps:from_keys(fyris:lookup(Table, Key), []).

of_key(_, Key, []) -> [{delete, Key}];
of_key(key, _, Objects) -> [{insert, Objects}];
of_key(object, Key, Objects) -> [{delete, Key}, {insert, Objects}].

of_object(By, Object, Known) ->
    case {is_map_key(Object, Known), is_ground(Object)} of
        {true, _} -> [{insert, Object}];
        {false, true} -> [{match_delete, Object}];
        {false, false} -> of_key(By, element(2, Object), maps:keys(Known))
    end.
