%% @doc Changes of Mnesia's tables, by the processes that ask for them.
%%
%% A process changes the table itself, and tells the table's writer: before, what it is about to touch; behind, that it
%% has. The writer logs what is there then.
%%
%% Invariants:
%%
%% * Who sees a change and then asks the writer for something, asks it behind what was told of the change.
%% * What is logged of a key was read when the change had ended. So of one key the log keeps the table's order, whoever
%%   changed it, and of a key of a bag it keeps the order of the objects.
%%
%% A change whose extent is in no key (a pattern, all objects) is done by the writer, between two records of the log, and
%% so is a count, whose answer waits for the log.
%% @hidden
-module(fyris_mnesia_change).

-export([do/2, apply_to/2, operations/3, whole/1]).

-type change() :: fyris_mnesia_file:operation() | {update_counter, term(), term()}.
%% By what the writer of a table is told of changes: by key, or by object where a key may have many.
-type by() :: key | object.
-type touched() :: {Key :: term(), all | {tuple(), written | deleted}}.

-export_type([change/0, by/0, touched/0]).

%% @doc Does a change; returns what it returns, or fails as it fails.
-spec do(fyris_mnesia_keeper:tab(), change()) -> term().
do(Tab, Change) ->
    case fyris_mnesia_keeper:writer(Tab) of
        none -> apply_to(fyris_mnesia_keeper:table(Tab), Change);
        {Writer, By} -> do(Tab, Change, Writer, touched(By, Change))
    end.

do(_, Change, Writer, unknown) ->
    fyris_mnesia_writer:change(Writer, Change);
do(Tab, Change, Writer, Touched) ->
    Begun = fyris_mnesia_writer:begins(Writer, Touched),
    try apply_to(Tab, Change)
    after
        fyris_mnesia_writer:ended(Writer, Begun)
    end.

touched(_, {delete, Key}) ->
    {Key, all};
touched(By, {insert, Object}) when tuple_size(Object) >= 2 ->
    touched(By, Object, written);
touched(By, {match_delete, Pattern}) when tuple_size(Pattern) >= 2 ->
    case {is_ground(element(2, Pattern)), By =:= object andalso is_ground(Pattern)} of
        {false, _} -> unknown;
        {true, false} -> {element(2, Pattern), all};
        {true, true} -> touched(By, Pattern, deleted)
    end;
touched(_, _) ->
    unknown.

touched(key, Object, _) -> {element(2, Object), all};
touched(object, Object, How) -> {element(2, Object), {Object, How}}.

%% Returns whether a pattern matches itself only. A map matches those that have more, too.
is_ground('_') -> false;
is_ground(Atom) when is_atom(Atom) -> not is_variable(atom_to_binary(Atom));
is_ground([Head | Tail]) -> is_ground(Head) andalso is_ground(Tail);
is_ground(Tuple) when is_tuple(Tuple) -> is_ground(tuple_to_list(Tuple));
is_ground(Term) -> not is_map(Term).

is_variable(<<$$, Digit, _/binary>>) -> Digit >= $0 andalso Digit =< $9;
is_variable(_) -> false.

%% @doc Does a change in a table.
-spec apply_to(fyris:table(), change()) -> term().
apply_to(Table, {insert, Objects}) -> done(fyris:insert(Table, Objects));
apply_to(Table, {delete, Key}) -> done(fyris:delete(Table, Key));
apply_to(Table, {match_delete, '_'}) -> done(fyris:delete_all_objects(Table));
apply_to(Table, {match_delete, Pattern}) -> done(fyris:match_delete(Table, Pattern));
apply_to(Table, {update_counter, Key, Ops}) -> fyris:update_counter(Table, Key, Ops).

done(true) -> ok.

%% @doc Says that all objects of a key may have been touched.
-spec whole(touched()) -> touched().
whole({Key, _}) -> {Key, all}.

%% @doc Returns the operations that make of what the log has what the table has, where it was touched.
-spec operations(fyris:table(), by(), [touched()]) -> [fyris_mnesia_file:operation()].
operations(Table, By, Touched) ->
    {Deletions, Objects} = maps:fold(fun(Key, How, Sofar) -> operations(Table, By, Key, How, Sofar) end, {[], []},
                                     lists:foldl(fun by_key/2, #{}, Touched)),
    Deletions ++ [{insert, Objects} || Objects =/= []].

by_key({Key, all}, Keys) ->
    Keys#{Key => all};
by_key({Key, {Object, How}}, Keys) ->
    case Keys of
        #{Key := all} -> Keys;
        #{Key := #{Object := deleted}} -> Keys;
        #{Key := Objects} -> Keys#{Key := Objects#{Object => How}};
        #{} -> Keys#{Key => #{Object => How}}
    end.

operations(Table, By, Key, How, {Deletions, Objects} = Sofar) ->
    case fyris_mnesia_rows:found(fun() -> fyris:lookup(Table, Key) end, Key, none) of
        none ->
            Sofar;
        Found ->
            {Deleted, Written} = of_key(By, Key, in_order(How, Found), Found),
            {Deleted ++ Deletions, Written ++ Objects}
    end.

of_key(key, _, all, [Object]) -> {[], [Object]};
of_key(_, Key, all, Objects) -> {[{delete, Key}], Objects};
of_key(object, _, Touched, Objects) ->
    {[{match_delete, Object} || {Object, deleted} <- maps:to_list(Touched)], [Object || Object <- Objects, is_map_key(Object, Touched)]}.

%% An object that was deleted and is there again stands before others that were put in later, and those may be in the log
%% already: it may have been read while their changes were under way.
in_order(all, _) ->
    all;
in_order(Touched, Found) ->
    case lists:any(fun(Object) -> maps:get(Object, Touched, none) =:= deleted end, Found) of
        true -> all;
        false -> Touched
    end.
