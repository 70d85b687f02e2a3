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
-export([select/1, select/2, select/3, select_reverse/1, select_reverse/2,
         select_reverse/3, select_count/2, select_delete/2, select_replace/2,
         match/1, match/2, match/3, match_object/1, match_object/2,
         match_object/3, match_delete/2, repair_continuation/2]).
-export([match_spec_compile/1, match_spec_run/2, match_spec_run_r/3,
         is_compiled_ms/1, test_ms/2, fun2ms/1]).
-export([tab2file/2, tab2file/3, file2tab/1, file2tab/2, tabfile_info/1,
         from_dets/2, to_dets/2, table/1, table/2, i/0, i/1, i/2, i/3]).
-export([open/2, range/3, range/4, prefix/2, prefix/3, seek/2, seek/3,
         lookup_many/2, delete_range/3, take_range/3, drain/1, explain/2, cas/3,
         upsert/4, get_in/3]).
-export([format_error/2]).

-export_type([table/0, tid/0, continuation/0, compiled_match_spec/0]).
%% Further names that ets has for types.
-export_type([tab/0, match_spec/0, match_pattern/0, comp_match_spec/0,
              table_type/0, table_access/0]).

-include("fyris_call.hrl").

-opaque tid() :: reference().
-type table() :: atom() | tid().
-type option() :: term().
-opaque continuation() :: tuple() | '$end_of_table'.
-opaque compiled_match_spec() :: reference().
-type tab() :: table().
-type match_spec() :: [tuple()].
-type match_pattern() :: tuple() | atom().
-type comp_match_spec() :: compiled_match_spec().
-type table_type() :: set | ordered_set | bag | duplicate_bag.
-type table_access() :: public | protected | private.

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

%% The tid of a named table: what takes several calls goes on with the table that it began with, under whatever name.
resolve(Name) when is_atom(Name) ->
    case fyris_nif:whereis(Name) of
        undefined -> error({'$fyris_error', badarg, id, <<>>});
        Tid -> Tid
    end;
resolve(Tid) -> Tid.

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
    generate(?CALL(emptied(resolve(Table)), [Table, Generator]), Generator);
init_table(Table, Generator) ->
    ?BADARG([Table, Generator]).

emptied(Table) ->
    fyris_nif:delete_all_objects(Table),
    Table.

generate(Table, Generator) ->
    case Generator(read) of
        end_of_input ->
            true;
        {Objects, Next} when is_list(Objects), is_function(Next, 1) ->
            %% As ets has it, this ends in an exit.
            try insert(Table, Objects)
            catch error:Reason:Stack ->
                    ignore_errors(fun() -> Next(close) end),
                    exit({Reason, Stack})
            end,
            generate(Table, Next);
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
    ?CALL(objects(resolve(Table)), [Table]).

objects(Table) ->
    %% From the back, since the list is built from its end.
    Back = fyris_nif_type(Table) =:= ordered_set,
    slices(Table, fyris_nif:cursor(Table, Back), []).

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
    ?CALL(fixed(resolve(Table), fun(T) -> fold(foldl, Fun, Acc, T) end),
          [Fun, Acc, Table]).

%% @doc Folds over all objects, in descending order in an `ordered_set'.
-spec foldr(fun((tuple(), Acc) -> Acc), Acc, table()) -> Acc.
foldr(Fun, Acc, Table) ->
    ?CALL(fixed(resolve(Table), fun(T) -> fold(foldr, Fun, Acc, T) end),
          [Fun, Acc, Table]).

fixed(Table, Run) ->
    fyris_nif:safe_fixtable(Table, true),
    try Run(Table)
    after
        %% The table may be gone by now.
        ignore_errors(fun() -> fyris_nif:safe_fixtable(Table, false) end)
    end.

%% Whatever becomes of it.
ignore_errors(Fun) ->
    try Fun(), ok
    catch _:_ -> ok
    end.

fold(Direction, Fun, Acc, Table) ->
    Back = Direction =:= foldr,
    case fyris_nif_type(Table) of
        ordered_set -> fold_ordered(Fun, Acc, Table, Back);
        _ -> fold_slices(Direction, Fun, Acc, Table, fyris_nif:cursor(Table, Back))
    end.

fold_slices(Direction, Fun, Acc, Table, Cursor) ->
    case fyris_nif:slice(Table, Cursor, []) of
        [more | Slice] ->
            Next = fold_slice(Direction, Fun, Acc, Slice),
            fold_slices(Direction, Fun, Next, Table, Cursor);
        Slice ->
            fold_slice(Direction, Fun, Acc, Slice)
    end.

%% Without an object the fun is not looked at.
fold_slice(_, _, Acc, []) -> Acc;
fold_slice(Direction, Fun, Acc, Slice) -> lists:Direction(Fun, Acc, Slice).

%% In order, and seeing what is written ahead: the rest of a slice that is not current any more is read again.
fold_ordered(Fun, Acc, Table, Back) ->
    KeyPos = fyris_nif:info(Table, keypos),
    Place = fyris_nif:fold(Table, Back),
    try fold_ordered(Fun, Acc, Table, KeyPos, Place, [])
    after
        fyris_nif:fold_end(Place)
    end.

fold_ordered(Fun, Acc, Table, KeyPos, Place, Last) ->
    case fyris_nif:fold_slice(Table, Place, Last) of
        [] ->
            Acc;
        Slice ->
            {Next, NewLast} = fold_current(Fun, Acc, Place, Slice),
            fold_ordered(Fun, Next, Table, KeyPos, Place, [element(KeyPos, NewLast)])
    end.

fold_current(Fun, Acc, Place, [Object | Rest]) when is_function(Fun, 2) ->
    Next = Fun(Object, Acc),
    case Rest =/= [] andalso fyris_nif:fold_is_current(Place) of
        true -> fold_current(Fun, Next, Place, Rest);
        false -> {Next, Object}
    end;
fold_current(NoFun, Acc, _, Slice) ->
    %% Raises what it raises in ets.
    {lists:foldl(NoFun, Acc, Slice), none}.

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
%% Match specifications

%% @doc What a match specification makes of the objects.
-spec select(table(), match_spec()) -> [term()].
select(Table, Spec) ->
    ?CALL(query(fyris_nif:query(Table, Spec, select)), [Table, Spec]).

%% @doc The same, so many at a time.
-spec select(table(), match_spec(), pos_integer()) ->
          {[term()], continuation()} | '$end_of_table'.
select(Table, Spec, Limit) ->
    ?CALL(chunk(fyris_nif:chunk(Table, Spec, select, Limit)),
          [Table, Spec, Limit]).

%% @doc The next ones.
-spec select(continuation()) -> {[term()], continuation()} | '$end_of_table'.
select(Continuation) ->
    ?CALL(continue(Continuation), [Continuation]).

%% @doc The same from the end, in an `ordered_set'.
-spec select_reverse(table(), match_spec()) -> [term()].
select_reverse(Table, Spec) ->
    ?CALL(query(fyris_nif:query(Table, Spec, select_reverse)), [Table, Spec]).

%% @doc The same, so many at a time.
-spec select_reverse(table(), match_spec(), pos_integer()) ->
          {[term()], continuation()} | '$end_of_table'.
select_reverse(Table, Spec, Limit) ->
    ?CALL(chunk(fyris_nif:chunk(Table, Spec, select_reverse, Limit)),
          [Table, Spec, Limit]).

%% @doc The next ones.
-spec select_reverse(continuation()) -> {[term()], continuation()} | '$end_of_table'.
select_reverse(Continuation) ->
    ?CALL(continue(Continuation), [Continuation]).

%% @doc What the variables of a pattern stand for, object by object.
-spec match(table(), tuple() | atom()) -> [term()].
match(Table, Pattern) ->
    ?CALL(query(fyris_nif:query(Table, Pattern, match)), [Table, Pattern]).

%% @doc The same, so many at a time.
-spec match(table(), tuple() | atom(), pos_integer()) ->
          {[term()], continuation()} | '$end_of_table'.
match(Table, Pattern, Limit) ->
    ?CALL(chunk(fyris_nif:chunk(Table, Pattern, match, Limit)),
          [Table, Pattern, Limit]).

%% @doc The next ones.
-spec match(continuation()) -> {[term()], continuation()} | '$end_of_table'.
match(Continuation) ->
    ?CALL(continue(Continuation), [Continuation]).

%% @doc The objects that match a pattern.
-spec match_object(table(), tuple() | atom()) -> [term()].
match_object(Table, Pattern) ->
    ?CALL(query(fyris_nif:query(Table, Pattern, match_object)), [Table, Pattern]).

%% @doc The same, so many at a time.
-spec match_object(table(), tuple() | atom(), pos_integer()) ->
          {[term()], continuation()} | '$end_of_table'.
match_object(Table, Pattern, Limit) ->
    ?CALL(chunk(fyris_nif:chunk(Table, Pattern, match_object, Limit)),
          [Table, Pattern, Limit]).

%% @doc The next ones.
-spec match_object(continuation()) -> {[term()], continuation()} | '$end_of_table'.
match_object(Continuation) ->
    ?CALL(continue(Continuation), [Continuation]).

%% @doc Of how many objects the value is `true'.
-spec select_count(table(), match_spec()) -> non_neg_integer().
select_count(Table, Spec) ->
    ?CALL(query(fyris_nif:query(Table, Spec, select_count)), [Table, Spec]).

%% @doc Deletes those; how many.
-spec select_delete(table(), match_spec()) -> non_neg_integer().
select_delete(Table, Spec) ->
    ?CALL(query(fyris_nif:query(Table, Spec, select_delete)), [Table, Spec]).

%% @doc Puts values in the places of objects; how many.
-spec select_replace(table(), match_spec()) -> non_neg_integer().
select_replace(Table, Spec) ->
    ?CALL(query(fyris_nif:query(Table, Spec, select_replace)), [Table, Spec]).

%% @doc Deletes what matches a pattern.
-spec match_delete(table(), tuple() | atom()) -> true.
match_delete(Table, Pattern) ->
    ?CALL(begin
              _ = query(fyris_nif:query(Table, Pattern, match_delete)),
              true
          end, [Table, Pattern]).

query({done, Result}) -> Result;
query({more, Query, Sofar}) -> query(Query, Sofar).

query(Query, Sofar) ->
    case fyris_nif:step(Query, list_of(Sofar)) of
        [more | More] -> query(Query, More);
        Result -> Result
    end.

%% A count so far is kept by the query itself.
list_of(List) when is_list(List) -> List;
list_of(_) -> [].

chunk([more | Place]) ->
    chunk(fyris_nif:chunk_step(Place));
chunk('$end_of_table') ->
    '$end_of_table';
chunk({Results, '$end_of_table', _}) ->
    {Results, '$end_of_table'};
chunk({Results, Place, Saved}) ->
    {Results, {fyris_continuation, Place, Saved}}.

continue('$end_of_table') ->
    '$end_of_table';
continue({fyris_continuation, Place, _}) ->
    chunk(fyris_nif:chunk_next(Place));
continue(_) ->
    error({'$fyris_error', badarg, none, <<"not a continuation">>}).

%% @doc Makes a continuation good again that was written down and read.
-spec repair_continuation(continuation(), match_spec()) -> continuation().
repair_continuation('$end_of_table', _) ->
    '$end_of_table';
repair_continuation({fyris_continuation, Place, Saved} = Continuation, Spec) ->
    case fyris_nif:is_place(Place) of
        true ->
            Continuation;
        false ->
            New = ?CALL(fyris_nif:repair(Saved, Spec, select),
                        [Continuation, Spec]),
            {fyris_continuation, New, Saved}
    end;
repair_continuation(Continuation, Spec) ->
    ?BADARG([Continuation, Spec]).

%% @doc Checks and compiles a match specification.
-spec match_spec_compile(match_spec()) -> compiled_match_spec().
match_spec_compile(Spec) ->
    ?CALL(fyris_nif:match_spec_compile(Spec), [Spec]).

%% @doc What a compiled match specification makes of the terms of a list.
-spec match_spec_run([term()], compiled_match_spec()) -> [term()].
match_spec_run(List, Compiled) ->
    ?CALL(lists:reverse(run_spec(List, Compiled, [])), [List, Compiled]).

%% @doc The same, in reverse and in front of a list.
-spec match_spec_run_r([term()], compiled_match_spec(), list()) -> [term()].
match_spec_run_r(List, Compiled, Tail) ->
    ?CALL(run_spec(List, Compiled, Tail), [List, Compiled, Tail]).

run_spec(List, Compiled, Values) ->
    case fyris_nif:run_spec(List, Compiled, Values) of
        {[], All} -> All;
        {Rest, More} -> run_spec(Rest, Compiled, More)
    end.

%% @doc Is it a compiled match specification?
-spec is_compiled_ms(term()) -> boolean().
is_compiled_ms(Term) ->
    fyris_nif:is_compiled_ms(Term).

%% @doc What a match specification makes of one term.
-spec test_ms(term(), match_spec()) ->
          {ok, term()} | {error, [{error, string()}]}.
test_ms(Term, Spec) ->
    case ?CALL(fyris_nif:test_ms(Term, Spec), [Term, Spec]) of
        {error, Texts} ->
            {error, [{error, unicode:characters_to_list(Text)}
                     || {error, Text} <- Texts]};
        Result ->
            Result
    end.

%% @doc A match specification from a fun.
%%
%% In a module, include the parse transform: `-compile({parse_transform,
%% fyris_ms})'. In the shell it works by itself.
-spec fun2ms(fun()) -> match_spec().
fun2ms(Fun) ->
    fyris_ms:from_shell(Fun).

%% ---------------------------------------------------------------------------
%% Files, dets, qlc, people

%% @doc Writes a table to a file that `ets:file2tab/1' reads too.
-spec tab2file(table(), file:name()) -> ok | {error, term()}.
tab2file(Table, File) ->
    tab2file(Table, File, []).

%% @doc The same, with options.
-spec tab2file(table(), file:name(), [term()]) -> ok | {error, term()}.
tab2file(Table, File, Options) ->
    fyris_file:write(Table, File, Options).

%% @doc Makes a table of a file, also of one that `ets:tab2file/2' wrote. As `file2tab(File, [])'.
-spec file2tab(file:name()) -> {ok, table()} | {error, term()}.
file2tab(File) ->
    file2tab(File, []).

%% @doc Makes a table of a file, also of one that `ets:tab2file/2' wrote, with options.
%%
%% <dl>
%% <dt>`{verify, boolean()}'</dt><dd>As in `ets:file2tab/2'.</dd>
%% <dt>`{max_inflated, Bytes}'</dt><dd>How many bytes of memory all compressed terms of the file together may take,
%% beyond 32 for each byte of the file: what they inflate to, and 32 for each element in them. 64 MiB unless it is
%% given. Neither `ets' nor `fyris' writes compressed terms, but a file can hold them, and a few KB of them can stand
%% for gigabytes. Where they need more, with or without `verify', the answer is
%% `{error, {compressed_terms_too_large, [{max_inflated, Bytes}, {bound, Whole}]}}' with the option and what it came to
%% for this file, and there is no table. A single term inflates to no more than 256 MiB.</dd>
%% </dl>
-spec file2tab(file:name(), [{verify, boolean()} | {max_inflated, non_neg_integer()}]) ->
          {ok, table()} | {error, term()}.
file2tab(File, Options) ->
    fyris_file:read(File, Options).

%% @doc What a file says of its table. A compressed description is bounded as in {@link file2tab/1}.
-spec tabfile_info(file:name()) -> {ok, [{atom(), term()}]} | {error, term()}.
tabfile_info(File) ->
    fyris_file:info(File).

%% @doc Replaces the content of a table by that of a dets table.
-spec from_dets(table(), term()) -> true.
from_dets(Table, Dets) ->
    case lists:member(Dets, dets:all()) andalso info(Table) =/= undefined of
        true -> init_table(Table, fyris_file:dets_generator(Dets));
        false -> erlang:error(badarg, [Table, Dets])
    end.

%% @doc Replaces the content of a dets table by that of a table.
-spec to_dets(table(), Dets) -> Dets when Dets :: term().
to_dets(Table, Dets) ->
    case lists:member(Dets, dets:all()) andalso info(Table) =/= undefined of
        true ->
            ok = dets:init_table(Dets, dets_source(Table, [Table, Dets])),
            Dets;
        false ->
            erlang:error(badarg, [Table, Dets])
    end.

%% The process of the dets table reads what it can; of a private table its owner reads all.
dets_source(Table, Args) ->
    case info(Table, protection) of
        private ->
            fyris_file:list_generator(
              try tab2list(Table)
              catch error:badarg -> erlang:error(badarg, Args)
              end);
        _ ->
            fyris_file:generator(Table)
    end.

%% @doc A handle of a table for `qlc'.
-spec table(table()) -> qlc:query_handle().
table(Table) ->
    table(Table, []).

%% @doc The same, with the options of `ets:table/2'.
-spec table(table(), term()) -> qlc:query_handle().
table(Table, Options) ->
    try fyris_qlc:table(?CALL(resolve(Table), [Table, Options]), Options)
    catch throw:badarg -> ?BADARG([Table, Options])
    end.

%% @doc Prints what tables there are.
-spec i() -> ok.
i() -> fyris_browse:tables().

%% @doc Shows the objects of a table, page by page.
-spec i(table()) -> ok.
i(Table) -> i(Table, 40, 80).

%% @doc The same, with so many lines a page.
-spec i(table(), pos_integer()) -> ok.
i(Table, Height) -> i(Table, Height, 80).

%% @doc The same, with so many columns too.
-spec i(table(), pos_integer(), pos_integer()) -> ok.
i(Table, Height, Width) ->
    fyris_browse:table(?CALL(resolve(Table), [Table, Height, Width]), Height, Width).

%% ---------------------------------------------------------------------------
%% Beyond ets

%% @doc The table registered under a name; made, with these options, if there
%% is none. A table that is there must have the type and key position asked for.
%%
%% With `{owner, none}' among the options the table belongs to nobody and
%% outlives its maker.
-spec open(atom(), [option()]) -> table().
open(Name, Options) ->
    ?CALL(fyris_nif:open(Name, Options), [Name, Options]).

%% @doc The objects of an `ordered_set' whose keys lie between two, which both
%% count; the atom `\'_\'' instead of a key leaves that end open.
-spec range(table(), term(), term()) -> [tuple()].
range(Table, From, To) ->
    range(Table, From, To, []).

%% @doc The same, with options: `{from, excluded}', `{to, excluded}',
%% `reverse', `{limit, N}', `keys' (keys instead of objects).
%%
%% It costs what it returns. Each object that is there throughout comes once.
-spec range(table(), term(), term(), [RangeOption]) -> [term()] when
      RangeOption :: reverse | keys | {limit, pos_integer()} |
                     {from | to, excluded | included}.
range(Table, From, To, Options) ->
    ?CALL(range_of(resolve(Table), From, To, range_options(Options)),
          [Table, From, To, Options]).

range_of(Table, From, To, #{reverse := Back, keys := Keys} = Options) ->
    Place = fyris_nif:range(Table, bound(From, maps:get(from, Options)),
                            bound(To, maps:get(to, Options)), Back, Keys),
    range_slices(Table, Place, [], maps:get(limit, Options)).

range_slices(Table, Place, List, Limit) ->
    case fyris_nif:range_slice(Table, Place, List, Limit) of
        {true, Count, More} when Count < Limit ->
            range_slices(Table, Place, More, Limit - Count);
        {_, _, All} ->
            lists:reverse(All)
    end.

range_options(Options) when is_list(Options) ->
    Default = #{reverse => false, keys => false, limit => 1 bsl 50,
                from => included, to => included},
    lists:foldl(fun range_option/2, Default, Options);
range_options(_) ->
    bad_option().

range_option(reverse, Options) -> Options#{reverse := true};
range_option(keys, Options) -> Options#{keys := true};
range_option({limit, N}, Options) when is_integer(N), N > 0 ->
    Options#{limit := N};
range_option({End, How}, Options)
  when (End =:= from orelse End =:= to),
       (How =:= excluded orelse How =:= included) ->
    Options#{End := How};
range_option(_, _) ->
    bad_option().

-spec bad_option() -> no_return().
bad_option() ->
    error({'$fyris_error', badarg, none, <<"not an option of a range">>}).

bound('_', _) -> unbounded;
bound(Key, How) -> {How, Key}.

%% @doc The objects of an `ordered_set' whose keys begin alike: `{a, b, \'_\'}'
%% (tuples of that size), `[a, b | \'_\']' (lists), or a binary (binaries that
%% begin with its bytes).
-spec prefix(table(), term()) -> [tuple()].
prefix(Table, Prefix) ->
    prefix(Table, Prefix, []).

%% @doc The same, with `reverse', `keys' and `{limit, N}'.
-spec prefix(table(), term(), [reverse | keys | {limit, pos_integer()}]) ->
          [term()].
prefix(Table, Prefix, Options) ->
    ?CALL(prefix_of(resolve(Table), Prefix, range_options(Options)),
          [Table, Prefix, Options]).

prefix_of(Table, Prefix, #{reverse := Back, keys := Keys, limit := Limit}) ->
    Place = fyris_nif:prefix(Table, Prefix, Back, Keys),
    range_slices(Table, Place, [], Limit).

%% @doc The first object of an `ordered_set' whose key is at or above this one.
-spec seek(table(), term()) -> tuple() | '$end_of_table'.
seek(Table, Key) ->
    ?CALL(fyris_nif:seek(Table, Key, false), [Table, Key]).

%% @doc The same upwards (`up'), or the last object at or below (`down').
-spec seek(table(), term(), up | down) -> tuple() | '$end_of_table'.
seek(Table, Key, Way) when Way =:= up; Way =:= down ->
    ?CALL(fyris_nif:seek(Table, Key, Way =:= down), [Table, Key, Way]);
seek(Table, Key, Way) ->
    ?BADARG([Table, Key, Way]).

%% @doc The objects of many keys: a list for each key, in their order.
%% Faster than as many lookups in a table that is larger than the cache.
-spec lookup_many(table(), [term()]) -> [[tuple()]].
lookup_many(Table, Keys) ->
    ?CALL(lookup_slices(resolve(Table), Keys, []), [Table, Keys]).

lookup_slices(Table, Keys, Done) ->
    case fyris_nif:lookup_some(Table, Keys) of
        {[], Lists} -> lists:reverse(Done, lists:reverse(Lists));
        {Rest, Lists} -> lookup_slices(Table, Rest, Lists ++ Done)
    end.

%% @doc Deletes the objects of a range, both ends included; how many.
-spec delete_range(table(), term(), term()) -> non_neg_integer().
delete_range(Table, From, To) ->
    ?CALL(take_slices(resolve(Table), bound(From, included), bound(To, included), true,
                      fun(Keys, Count) -> length(Keys) + Count end, 0),
          [Table, From, To]).

%% @doc Takes the objects of a range out and returns them, in order. Of several
%% callers at once, each object goes to one. If the table goes away half-way, or
%% the right to write to it, those taken until then are returned, and the next
%% call says what is wrong.
-spec take_range(table(), term(), term()) -> [tuple()].
take_range(Table, From, To) ->
    ?CALL(lists:reverse(
            take_slices(resolve(Table), bound(From, included), bound(To, included),
                        false, fun lists:reverse/2, [])),
          [Table, From, To]).

take_slices(Table, From, To, Keys, Add, Sofar) ->
    try fyris_nif:take_some(Table, From, To, Keys) of
        [] -> Sofar;
        Taken -> take_slices(Table, From, To, Keys, Add, Add(Taken, Sofar))
    catch
        %% Objects that are out of the table are nowhere else.
        error:_ when is_list(Sofar), Sofar =/= [] -> Sofar
    end.

%% @doc Takes all objects out and returns them. None is lost and none comes
%% twice, whatever others do meanwhile. An end half-way as `take_range/3'.
-spec drain(table()) -> [tuple()].
drain(Table) ->
    ?CALL(fyris_nif:drain(Table), [Table]).

%% @doc What a match specification would do: how the objects are found
%% (`kind', `plan'), about how many would be looked at (`estimated'), and how
%% many there are (`size').
-spec explain(table(), match_spec()) -> #{atom() => term()}.
explain(Table, Spec) ->
    {Kind, Plan, Estimated, Size} =
        ?CALL(fyris_nif:explain(Table, Spec), [Table, Spec]),
    #{kind => Kind, plan => Plan, estimated => Estimated, size => Size}.

%% @doc Puts an object in the place of another one with the same key, if
%% exactly that is there; says whether it did. One atomic step.
-spec cas(table(), tuple(), tuple()) -> boolean().
cas(Table, Old, New) ->
    ?CALL(fyris_nif:cas(Table, Old, New), [Table, Old, New]).

%% @doc Inserts an object if its key is not there, else replaces what is there
%% by what a fun makes of it. Returns the new object. Atomic: when
%% another writer comes between, the fun is called again.
-spec upsert(table(), term(), tuple(), fun((tuple()) -> tuple())) -> tuple().
upsert(Table, Key, Default, Fun) ->
    ?CALL(upsert_loop(Table, Key, Default, Fun), [Table, Key, Default, Fun]).

upsert_loop(Table, Key, Default, Fun) ->
    {New, Done} =
        case fyris_nif:lookup(Table, Key) of
            [] ->
                {Default, fyris_nif:insert_new(Table, Default)};
            [Old] ->
                Made = Fun(Old),
                {Made, fyris_nif:cas(Table, Old, Made)};
            [_, _ | _] ->
                error({'$fyris_error', badarg, table_type, <<"a bag">>})
        end,
    case Done of
        true -> New;
        false -> upsert_loop(Table, Key, Default, Fun)
    end.

%% @doc A part of the object with a key. The path begins with the position of
%% an element; each further step is a key of a map, or a position in a tuple or
%% list. Nothing beside the path is copied.
-spec get_in(table(), term(), [term()]) -> {ok, term()} | error.
get_in(Table, Key, Path) ->
    ?CALL(fyris_nif:get_in(Table, Key, Path), [Table, Key, Path]).

%% ---------------------------------------------------------------------------

%% @doc What the shell prints of an error raised here.
-spec format_error(term(), erlang:stacktrace()) -> map().
format_error(_Reason, [{?MODULE, Function, Args, Info} | _]) ->
    fyris_error:explain(Function, Args,
                        proplists:get_value(error_info, Info, #{}));
format_error(_, _) ->
    #{}.
