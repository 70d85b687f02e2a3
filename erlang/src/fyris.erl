%% @doc Erlang Term Storage, and more: a drop-in replacement of `ets'.
%%
%% Every function of `ets' is here under its own name and answers as `ets'
%% does; what is promised beyond that stands at each function. Tables made
%% here are known here only: `ets' does not see them.
-module(fyris).

-export([all/0, new/2, delete/1, rename/2, whereis/1, info/1, info/2,
         give_away/3, setopts/2, safe_fixtable/2]).
-export([insert/2, insert_new/2, delete/2, delete_object/2,
         delete_all_objects/1, take/2, update_counter/3, update_counter/4,
         update_element/3, update_element/4, init_table/2]).
-export([lookup/2, lookup_element/3, lookup_element/4, member/2, tab2list/1,
         foldl/3, foldr/3]).
-export([first/1, last/1, next/2, prev/2, first_lookup/1, last_lookup/1,
         next_lookup/2, prev_lookup/2, slot/2]).
-export([format_error/2]).

-export_type([table/0, tid/0]).

-include("fyris_call.hrl").

-opaque tid() :: reference().
-type table() :: atom() | tid().
-type option() :: term().

%% ---------------------------------------------------------------------------
%% Tables

%% @doc All tables of this node: names of named ones, tids of the rest.
-spec all() -> [table()].
all() ->
    fyris_nif:all().

%% @doc Makes a table that belongs to the caller.
-spec new(atom(), [option()]) -> table().
new(Name, Options) ->
    ?CALL(fyris_nif:new(Name, Options), [Name, Options]).

%% @doc Removes a table. Its name and tid stop working at once; the memory is
%% given back in the background.
-spec delete(table()) -> true.
delete(Table) ->
    ?CALL(fyris_nif:delete(Table), [Table]).

%% @doc Gives a named table another name.
-spec rename(table(), atom()) -> table().
rename(Table, Name) ->
    ?CALL(fyris_nif:rename(Table, Name), [Table, Name]).

%% @doc The tid of a named table.
-spec whereis(atom()) -> tid() | undefined.
whereis(Name) ->
    ?CALL(fyris_nif:whereis(Name), [Name]).

%% @doc What there is to know of a table.
-spec info(table()) -> [{atom(), term()}] | undefined.
info(Table) ->
    case ?CALL(fyris_nif:info(Table), [Table]) of
        undefined -> undefined;
        Items -> lists:keyreplace(node, 1, Items, {node, node()})
    end.

%% @doc One item of it.
-spec info(table(), atom()) -> term() | undefined.
info(Table, Item) ->
    case {?CALL(fyris_nif:info(Table, Item), [Table, Item]), Item} of
        {undefined, _} -> undefined;
        {_, node} -> node();
        {{Time, By}, safe_fixed_monotonic_time} ->
            {erlang:convert_time_unit(Time, nanosecond, native), By};
        {Value, _} -> Value
    end.

%% @doc Makes another process the owner.
-spec give_away(table(), pid(), term()) -> true.
give_away(Table, Pid, Data) ->
    ?CALL(fyris_nif:give_away(Table, Pid, Data), [Table, Pid, Data]).

%% @doc Changes the heir or the protection.
-spec setopts(table(), term()) -> true.
setopts(Table, Options) ->
    ?CALL(fyris_nif:setopts(Table, Options), [Table, Options]).

%% @doc Fixes a table for the calling process, or releases it.
-spec safe_fixtable(table(), boolean()) -> true.
safe_fixtable(Table, Fix) ->
    ?CALL(fyris_nif:safe_fixtable(Table, Fix), [Table, Fix]).

%% ---------------------------------------------------------------------------
%% Writing

%% @doc Inserts an object, or all objects of a list in one step.
-spec insert(table(), tuple() | [tuple()]) -> true.
insert(Table, Objects) ->
    ?CALL(fyris_nif:insert(Table, Objects), [Table, Objects]).

%% @doc The same, if none of the keys is there.
-spec insert_new(table(), tuple() | [tuple()]) -> boolean().
insert_new(Table, Objects) ->
    ?CALL(fyris_nif:insert_new(Table, Objects), [Table, Objects]).

%% @doc Removes the objects with a key.
-spec delete(table(), term()) -> true.
delete(Table, Key) ->
    ?CALL(fyris_nif:delete(Table, Key), [Table, Key]).

%% @doc Removes exactly this object.
-spec delete_object(table(), tuple()) -> true.
delete_object(Table, Object) ->
    ?CALL(fyris_nif:delete_object(Table, Object), [Table, Object]).

%% @doc Empties a table, in one step and without waiting.
-spec delete_all_objects(table()) -> true.
delete_all_objects(Table) ->
    ?CALL(fyris_nif:delete_all_objects(Table), [Table]).

%% @doc Removes the objects with a key and returns them.
-spec take(table(), term()) -> [tuple()].
take(Table, Key) ->
    ?CALL(fyris_nif:take(Table, Key), [Table, Key]).

%% @doc Adds to integers of an object, in one step.
-spec update_counter(table(), term(), term()) -> integer() | [integer()].
update_counter(Table, Key, Ops) ->
    ?CALL(fyris_nif:update_counter(Table, Key, Ops), [Table, Key, Ops]).

%% @doc The same, with an object for when there is none.
-spec update_counter(table(), term(), term(), tuple()) ->
          integer() | [integer()].
update_counter(Table, Key, Ops, Default) ->
    ?CALL(fyris_nif:update_counter(Table, Key, Ops, Default),
          [Table, Key, Ops, Default]).

%% @doc Replaces elements of an object, in one step.
-spec update_element(table(), term(), term()) -> boolean().
update_element(Table, Key, Elements) ->
    ?CALL(fyris_nif:update_element(Table, Key, Elements),
          [Table, Key, Elements]).

%% @doc The same, with an object for when there is none.
-spec update_element(table(), term(), term(), tuple()) -> true.
update_element(Table, Key, Elements, Default) ->
    ?CALL(fyris_nif:update_element(Table, Key, Elements, Default),
          [Table, Key, Elements, Default]).

%% @doc Replaces the content by what a generator gives.
-spec init_table(table(), fun((read | close) -> term())) -> true.
init_table(Table, Generator) when is_function(Generator, 1) ->
    ?CALL(fyris_nif:delete_all_objects(Table), [Table, Generator]),
    generate(Table, Generator, Generator);
init_table(Table, Generator) ->
    ?BADARG([Table, Generator]).

generate(Table, Generator, First) ->
    case Generator(read) of
        end_of_input ->
            true;
        {Objects, Next} when is_list(Objects), is_function(Next, 1) ->
            try fyris_nif:insert(Table, Objects)
            catch error:{'$fyris_error', Class, Cause, Text} ->
                    _ = Generator(close),
                    erlang:error(Class, [Table, First],
                                 [{error_info, #{cause => Cause,
                                                 module => fyris,
                                                 function => init_table,
                                                 text => Text}}])
            end,
            generate(Table, Next, First);
        Other ->
            exit(Other)
    end.

%% ---------------------------------------------------------------------------
%% Reading

%% @doc The objects with a key.
-spec lookup(table(), term()) -> [tuple()].
lookup(Table, Key) ->
    ?CALL(fyris_nif:lookup(Table, Key), [Table, Key]).

%% @doc An element of the object with a key.
-spec lookup_element(table(), term(), pos_integer()) -> term().
lookup_element(Table, Key, Position) ->
    ?CALL(fyris_nif:lookup_element(Table, Key, Position),
          [Table, Key, Position]).

%% @doc The same, with a default for a key that is not there.
-spec lookup_element(table(), term(), pos_integer(), term()) -> term().
lookup_element(Table, Key, Position, Default) ->
    ?CALL(fyris_nif:lookup_element(Table, Key, Position, Default),
          [Table, Key, Position, Default]).

%% @doc Is there an object with this key?
-spec member(table(), term()) -> boolean().
member(Table, Key) ->
    ?CALL(fyris_nif:member(Table, Key), [Table, Key]).

%% @doc All objects; in term order in an `ordered_set'.
-spec tab2list(table()) -> [tuple()].
tab2list(Table) ->
    %% From the back, since the list is built from its end.
    Back = fyris_nif_type(Table) =:= ordered_set,
    ?CALL(slices(Table, fyris_nif:cursor(Table, Back), []), [Table]).

slices(Table, Cursor, Tail) ->
    case fyris_nif:slice(Table, Cursor, Tail) of
        [more | List] -> slices(Table, Cursor, List);
        List -> List
    end.

fyris_nif_type(Table) ->
    try fyris_nif:info(Table, type)
    catch error:_ -> undefined
    end.

%% @doc Folds over all objects, in ascending order in an `ordered_set'.
-spec foldl(fun((tuple(), Acc) -> Acc), Acc, table()) -> Acc.
foldl(Fun, Acc, Table) ->
    ?CALL(fixed(Table, fun() -> fold(foldl, Fun, Acc, Table) end),
          [Fun, Acc, Table]).

%% @doc Folds over all objects, in descending order in an `ordered_set'.
-spec foldr(fun((tuple(), Acc) -> Acc), Acc, table()) -> Acc.
foldr(Fun, Acc, Table) ->
    ?CALL(fixed(Table, fun() -> fold(foldr, Fun, Acc, Table) end),
          [Fun, Acc, Table]).

fixed(Table, Run) ->
    fyris_nif:safe_fixtable(Table, true),
    try Run()
    after
        %% The table may be gone by now.
        catch fyris_nif:safe_fixtable(Table, false)
    end.

fold(Direction, Fun, Acc, Table) ->
    Cursor = fyris_nif:cursor(Table, Direction =:= foldr),
    fold_slices(Direction, Fun, Acc, Table, Cursor).

fold_slices(Direction, Fun, Acc, Table, Cursor) ->
    case fyris_nif:slice(Table, Cursor, []) of
        [more | Slice] ->
            Next = lists:Direction(Fun, Acc, Slice),
            fold_slices(Direction, Fun, Next, Table, Cursor);
        Slice ->
            lists:Direction(Fun, Acc, Slice)
    end.

%% ---------------------------------------------------------------------------
%% From key to key

%% @doc The first key.
-spec first(table()) -> term() | '$end_of_table'.
first(Table) ->
    ?CALL(fyris_nif:first(Table), [Table]).

%% @doc The last key; the same as the first except in an `ordered_set'.
-spec last(table()) -> term() | '$end_of_table'.
last(Table) ->
    ?CALL(fyris_nif:last(Table), [Table]).

%% @doc The key after this one.
-spec next(table(), term()) -> term() | '$end_of_table'.
next(Table, Key) ->
    ?CALL(fyris_nif:next(Table, Key), [Table, Key]).

%% @doc The key before this one; the same as the next except in an
%% `ordered_set'.
-spec prev(table(), term()) -> term() | '$end_of_table'.
prev(Table, Key) ->
    ?CALL(fyris_nif:prev(Table, Key), [Table, Key]).

%% @doc The first key and its objects.
-spec first_lookup(table()) -> {term(), [tuple()]} | '$end_of_table'.
first_lookup(Table) ->
    ?CALL(fyris_nif:first_lookup(Table), [Table]).

%% @doc The last key and its objects.
-spec last_lookup(table()) -> {term(), [tuple()]} | '$end_of_table'.
last_lookup(Table) ->
    ?CALL(fyris_nif:last_lookup(Table), [Table]).

%% @doc The key after this one, and its objects.
-spec next_lookup(table(), term()) -> {term(), [tuple()]} | '$end_of_table'.
next_lookup(Table, Key) ->
    ?CALL(fyris_nif:next_lookup(Table, Key), [Table, Key]).

%% @doc The key before this one, and its objects.
-spec prev_lookup(table(), term()) -> {term(), [tuple()]} | '$end_of_table'.
prev_lookup(Table, Key) ->
    ?CALL(fyris_nif:prev_lookup(Table, Key), [Table, Key]).

%% @doc The objects in a slot, from 0.
-spec slot(table(), non_neg_integer()) -> [tuple()] | '$end_of_table'.
slot(Table, Slot) ->
    ?CALL(fyris_nif:slot(Table, Slot), [Table, Slot]).

%% ---------------------------------------------------------------------------

%% @doc What the shell prints of an error raised here.
-spec format_error(term(), erlang:stacktrace()) -> map().
format_error(_Reason, [{?MODULE, Function, Args, Info} | _]) ->
    fyris_error:explain(Function, Args,
                        proplists:get_value(error_info, Info, #{}));
format_error(_, _) ->
    #{}.
