%% @doc Erlang Term Storage, and more: a drop-in replacement of `ets'.
%%
%% Every function of `ets' is here under its own name and answers as `ets' of OTP 29 does, on every release; what is
%% promised beyond that stands at each function. Tables made here are known here only: `ets' does not see them.
%%
%% == Tables ==
%%
%% A table holds tuples, its <em>objects</em>. One element of an object is its <em>key</em>. There are four types:
%% <dl>
%% <dt>`set'</dt><dd>One object for each key. Keys are compared by `=:='. No order.</dd>
%% <dt>`ordered_set'</dt><dd>One object for each key, in the order of terms. Keys are compared by `==': `1' and `1.0'
%% are the same.</dd>
%% <dt>`bag'</dt><dd>Many different objects for each key. Keys are compared by `=:='. No order of keys.</dd>
%% <dt>`duplicate_bag'</dt><dd>As `bag', but the same object can be there many times.</dd>
%% </dl>
%% A table belongs to a process and ends with it, unless it has an heir or no owner ({@link new/2}).
%%
%% == Errors ==
%%
%% A function that takes a table fails with `badarg' if the table does not exist, or no longer; if the caller has not
%% the right that it needs, to read or to write. What stands at the functions comes on top of that. A call that fails
%% has changed nothing, unless it is said otherwise. The shell prints which argument was wrong ({@link format_error/2}).
%%
%% Terms may be nested to any depth. A function that stores them fails with `system_limit' if an object is too large, and
%% if tables have 1,048,576 different atoms already: FROM_ETS.md lists all limits.
%%
%% == Consistency ==
%%
%% Each write of an object is atomic and isolated. Which calls are one step as a whole stands at the functions. Readers
%% never wait, unless an index with locks was chosen for the table (`{index, Name}' in {@link new/2}); but who begins to
%% read a snapshot waits for the writes under way. Calls
%% that read more than 512 objects ({@link select/2}, {@link match/2}, {@link select_count/2}, {@link tab2list/1},
%% {@link foldl/3}, {@link range/3}, {@link tab2file/3}), and all chunks of one traversal ({@link select/3}, {@link
%% table/2}), show the table as it was at one moment, as {@link snapshot/1} does, unless the table was made with
%% `{consistent, false}'. Traversals key by key ({@link next/2}) meet each object that is there throughout once, and
%% others may or may not be met; over a snapshot they show its moment.
%%
%% == Examples ==
%%
%% An expression stands behind `>', and the lines below it are a pattern of its value. They are run by the tests
%% (`fyris_doc_examples_test').
-module(fyris).

-export([all/0, new/2, delete/1, rename/2, whereis/1, info/1, info/2,
         memory/0, memory/1, give_away/3, setopts/2, safe_fixtable/2]).
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
-export([open/2, put/3, put_new/3, range/3, range/4, prefix/2, prefix/3, seek/2, seek/3,
         nth/2, rank/2, count_between/3,
         lookup_many/2, lookup_by/3, add_secondary/3, remove_secondary/2,
         delete_range/3, delete_range/4, take_range/3, take_range/4, drain/1, explain/2, compare_and_swap/3,
         take_many/2, select_take/2, select_replace_returning/2, upsert/4, get_in/3, put_in/4, update_in/4, update_in/5,
         delete_in/3]).
-export([snapshot/1, release/1, snapshots/0, collect/0]).
-export([transaction/1, transaction/2, within/2, abort/1, write_batch/1]).
-export([subscribe/2, subscribe/3, unsubscribe/1, set_active/2]).
-export([format_error/2]).

-export_type([subscription/0, watch_filter/0, subscribe_option/0, watch_event/0, watch_change/0]).
-export_type([table/0, tid/0, snapshot/0, transaction/0, batch_op/0, continuation/0, compiled_match_spec/0,
              option/0, secondary_value/0, heir_option/0, info_item/0, update_op/0, memory_kind/0,
              range_end/0, range_option/0, tab2file_option/0, generator/0]).
%% Further names that ets has for types.
-export_type([tab/0, match_spec/0, match_pattern/0, comp_match_spec/0,
              table_type/0, table_access/0]).

-include("fyris_call.hrl").

-opaque tid() :: reference().
%% The identity of a table.
-type table() :: atom() | tid().
%% The name of a named table, or a tid. Where a function reads, also a snapshot.
-type snapshot() :: tid().
%% A table as it was at one moment: {@link snapshot/1}.
-opaque transaction() :: reference().
%% A transaction under way: {@link transaction/1}.
-type batch_op() :: {insert | insert_new, table(), tuple() | [tuple()]} | {delete, table(), term()} |
                    {delete_object, table(), tuple()} | {take, table(), term()} |
                    {update_counter, table(), term(), update_op() | [update_op()]} |
                    {update_counter, table(), term(), update_op() | [update_op()], tuple()} |
                    {update_element, table(), term(), {pos_integer(), term()} | [{pos_integer(), term()}]} |
                    {check, table(), term(), tuple() | [tuple()] | absent | {unchanged, snapshot()}}.
%% An operation of {@link write_batch/1}.
-opaque subscription() :: reference().
%% What tells a process of changes: {@link subscribe/3}.
-type watch_filter() :: all | {key, term()} | {range, From :: term(), To :: term()} | {pattern, match_pattern()} |
                        match_spec().
%% The changes that a subscription is for.
-type subscribe_option() :: {from, snapshot} | {queue, pos_integer()} | {conflate, boolean()} |
                            {active, true | pos_integer()} | {to, pid()}.
%% An option of `subscribe/3'.
-type watch_event() :: {objects, table(), [tuple()]} | current | {changes, [watch_change()]} |
                       {cleared, table(), non_neg_integer()} | {deleted, table()} | {overflow, pos_integer()}.
%% What a subscription tells.
-type watch_change() :: {insert, table(), New :: tuple()} | {update, table(), Old :: tuple(), New :: tuple()} |
                        {delete, table(), Old :: tuple()}.
%% The change of one object.
-type option() :: table_type() | table_access() | named_table | {keypos, pos_integer()} | heir_option() |
                  {owner, none} | {index, atom() | {library, string() | binary()}} |
                  {write_concurrency, boolean() | auto} | {read_concurrency, boolean()} |
                  {decentralized_counters, boolean()} | {bucket_locks, 1..32768 | auto} | {reader_groups, 1..64} |
                  {consistent, boolean()} | {snapshot_ttl, pos_integer() | infinity} |
                  {secondary, Name :: atom(), secondary_value()} | compressed.
%% An option of `new/2' and `open/2'.
-type secondary_value() :: {element, pos_integer()} | {path, [term()]} | {body, [term()]} | {unique, secondary_value()}.
%% What a secondary index finds objects by.
-type heir_option() :: {heir, pid(), Data :: term()} | {heir, pid() | none}.
%% The process that gets a table when its owner ends.
-type info_item() :: id | name | named_table | type | keypos | protection | owner | heir | node | size | memory |
                     compressed | read_concurrency | write_concurrency | decentralized_counters | index |
                     index_info | snapshots | subscriptions | secondary |
                     consistent | snapshot_ttl | fixed | safe_fixed |
                     safe_fixed_monotonic_time | binary | stats.
%% An item of `info/2'.
-type memory_kind() :: total | objects | indexes.
%% A kind of `memory/0'.
-type update_op() :: {Position :: pos_integer(), Incr :: integer()} |
                     {Position :: pos_integer(), Incr :: integer(), Threshold :: integer(), Value :: integer()}.
%% An operation of `update_counter/3'.
-type range_end() :: {from | to, excluded | included}.
%% An option of `delete_range/4' and `take_range/4'.
-type range_option() :: reverse | keys | {limit, pos_integer()} | range_end().
%% An option of `range/4'.
-type tab2file_option() :: {extended_info, [object_count | md5sum]} | {sync, boolean()}.
%% An option of `tab2file/3'.
-type generator() :: fun((read | close) -> end_of_input | {Objects :: [tuple()], generator()} | term()).
%% A source of objects for `init_table/2'.
-opaque continuation() :: tuple() | '$end_of_table'.
%% The place at which a `select/3', or another call with a limit, goes on.
-opaque compiled_match_spec() :: reference().
%% The result of `match_spec_compile/1'.
-type tab() :: table().
-type match_spec() :: [{Head :: match_pattern(), Guards :: [term()], Body :: [term()]}].
%% Clauses, of which the first that matches an object counts.
-type match_pattern() :: tuple() | atom().
%% A tuple with variables, or ``'_' '', which matches every object.
-type comp_match_spec() :: compiled_match_spec().
-type table_type() :: set | ordered_set | bag | duplicate_bag.
-type table_access() :: public | protected | private.

%% ---------------------------------------------------------------------------
%% Tables

%% @doc Returns all tables of this node: names of named ones, tids of the others.
%%
%% Tables that are made or deleted during the call may be missing or not; all others are right.
%% ```
%% > T = fyris:new(numbers, [named_table]).
%% > lists:member(T, fyris:all()).
%% true
%% '''
-spec all() -> [table()].
all() ->
    fyris_nif:all().

%% @doc Makes a table that belongs to the caller, and returns its tid, or its name if it is a named table.
%%
%% The options; of several that exclude each other the last counts, but `set' and `protected' only stand for the
%% defaults and undo nothing:
%% <dl>
%% <dt>`set', `ordered_set', `bag', `duplicate_bag'</dt><dd>The type; `set' by default. See the top of the page.</dd>
%% <dt>`public', `protected', `private'</dt><dd>The protection: all processes may read and write; only the owner may
%% write (the default); only the owner may read and write.</dd>
%% <dt>`named_table'</dt><dd>The table is found by its name.</dd>
%% <dt>`{keypos, Position}'</dt><dd>The element of an object that is its key, 1 by default. Shorter tuples are
%% refused.</dd>
%% <dt>`{heir, Pid, Data}', `{heir, Pid}', `{heir, none}'</dt><dd>The local process that gets the table when its owner
%% ends, with the message ``{'ETS-TRANSFER', Table, Owner, Data}'' or without one. By default there is no heir, and the
%% table ends with its owner.</dd>
%% <dt>`{owner, none}'</dt><dd>The table has no owner, is `public' unless the options say otherwise, and stays until it
%% is deleted. Not in `ets'.</dd>
%% <dt>`{index, Name}'</dt><dd>The structure that holds the objects: `hash' (the default of sets and bags), `ordered'
%% (the default of an `ordered_set'), or one to compare with: `avl', `treap' and `btree' (trees under one lock, as the
%% `ordered_set' of `ets' is), `ca_avl' and `ca_treap' (contention adapting trees over AVL trees and treaps, as the
%% `ordered_set' of `ets' with `write_concurrency' is), `relaxed_avl' (an AVL tree whose readers take no lock and write
%% nothing, and whose writers lock the nodes that they change), `skip_list' (an optimistic skip list: readers never
%% wait, writers only for those of neighbouring keys); for sets and bags `split_ordered' (a split-ordered list: readers
%% never wait, writers only for writers of the same key, growth moves nothing), `michael_hash' (the same in 1024
%% buckets, for small tables such as those of names) and `linear_hash' (linear hashing with an array of bucket locks, as
%% in `ets'); and Judy arrays under one lock, the table types of Fritchie's study of 2003: `judysl' and `judyesl' for an
%% `ordered_set', which {@link nth/2}, {@link rank/2} and {@link count_between/3} need, and `judyeh' for sets and bags,
%% over hash values. Not in `ets'.</dd>
%% <dt>`{index, {library, Path}}'</dt><dd>The index of a shared library of C or C++, which exports what `fyris_index.h'
%% declares; Path is a string or a binary. Loading it runs its code in the emulator, as a NIF's: the file is to be trusted
%% as one. It stays loaded. A library that answers wrongly fails its table: every later operation on the table but
%% {@link delete/1} fails with `badarg', and the error's text names the library and what it did. Not in `ets'.</dd>
%% <dt>`{write_concurrency, true | false | auto}', `{read_concurrency, boolean()}', `{decentralized_counters,
%% boolean()}', `compressed'</dt><dd>Shown by {@link info/1} as `ets' shows them. `hash' and `ordered' need
%% none of them: readers never wait, and writers wait for writers of the same few objects only. For an index with locks
%% they mean what they mean in `ets': `linear_hash' has one lock without `write_concurrency', 64 bucket locks for
%% `true', and for `auto' as many as contention asks for; it, `avl', `treap', `btree' and the Judy arrays have locks with reader groups
%% for `read_concurrency', and the base nodes of `ca_avl' and `ca_treap' then have locks that readers share, which they
%% take alone otherwise. `decentralized_counters', where it is given, chooses how `linear_hash' counts its objects.</dd>
%% <dt>`{bucket_locks, N | auto}'</dt><dd>The number of bucket locks of `linear_hash', a power of two from 1 to 32768,
%% whatever `write_concurrency' is; a table with fewer objects has 1024 at most, or as many as objects. Refused on other
%% indexes. Not in `ets'.</dd>
%% <dt>`{reader_groups, N}'</dt><dd>The number of reader groups of each lock that has them, 1 to 64; by default one for
%% each processor. Refused on indexes without such locks. Not in `ets'.</dd>
%% <dt>`{consistent, boolean()}'</dt><dd>With `false' calls that read many objects, in chunks or by a fun, read the table
%% as it is at each step, as `ets' does; by default they read a snapshot. `first' and `next' always read the table as it
%% is. Not in `ets'.</dd>
%% <dt>`{snapshot_ttl, Milliseconds | infinity}'</dt><dd>The age at which the snapshot of a continuation ends. Going on
%% with it fails with `badarg' then, and the text of the error says so. By default `infinity': it ends with the
%% traversal, or when the continuation is garbage. Not in `ets'.</dd>
%% <dt>`{secondary, Name, Value}'</dt><dd>A secondary index: {@link lookup_by/3} finds objects by Value, and so do
%% queries that name its element, such as {@link select/2}. Value is `{element, Position}'; `{path, [Position, Step,
%% ...]}', what {@link get_in/3} finds; or `{body, Expressions}', the value of the last expression, all of them as in
%% the body of a match specification, without `self' and `node'. An object where the path leads nowhere, or for which an
%% expression fails, is not in it. Each insert puts an entry of value and key into an ordered set, a write that leaves
%% the value as it is does not. Up to 64 of them, of different names. A file of {@link tab2file/2} has none of them.
%%
%% With `{unique, Value}' a value is one object's, in a `set' or `ordered_set': what would give it to a second one fails
%% with the error `{not_unique, Name, Value}', and changes nothing. A list, a batch and a transaction are looked at as a
%% whole; a transaction returns `{aborted, {{not_unique, Name, Value}, Stack}}'. {@link select_replace/2} replaces
%% objects up to the first that is refused. Not in `ets'.</dd>
%% </dl>
%%
%% Fails with `badarg' if the name is no atom; if the options are no proper list, or one of them is unknown or
%% malformed; if there is a named table of this name; if the index does not exist or cannot carry the type; if a library cannot be
%% loaded, or is no index.
%% ```
%% > T = fyris:new(numbers, [ordered_set, public, {keypos, 2}]).
%% > fyris:insert(T, {one, 1}).
%% true
%% > fyris:lookup(T, 1).
%% [{one,1}]
%% '''
-spec new(atom(), [option()]) -> table().
new(Name, Options) ->
    ?CALL(fyris_nif:new(Name, Options), [Name, Options]).

%% @doc Deletes a table and returns `true'.
%%
%% Its name and tid stop working at once, for all processes; the memory is given back in the background, so the call is
%% O(1).
%% ```
%% > T = fyris:new(numbers, []).
%% > fyris:delete(T).
%% true
%% > fyris:info(T).
%% undefined
%% '''
-spec delete(table()) -> true.
delete(Table) ->
    ?CALL(fyris_nif:delete(Table), [Table]).

%% @doc Gives a table another name; returns the new name of a named table, else the tid.
%%
%% Linearizable: a reader that uses the old name sees nothing that is written under the new one. The name of a table
%% that is not a named one is only shown by {@link info/2}.
%%
%% Fails with `badarg' if the name is no atom; if another named table has it.
%% ```
%% > fyris:new(numbers, [named_table]).
%% numbers
%% > fyris:rename(numbers, figures).
%% figures
%% > fyris:whereis(numbers).
%% undefined
%% '''
-spec rename(table(), atom()) -> table().
rename(Table, Name) ->
    ?CALL(fyris_nif:rename(Table, Name), [Table, Name]).

%% @doc Returns the tid of a named table, or `undefined'.
%%
%% Calls that are given a tid go on with the same table whatever becomes of its name, and look nothing up.
%%
%% Fails with `badarg' if the name is no atom.
%% ```
%% > fyris:new(numbers, [named_table]).
%% > is_reference(fyris:whereis(numbers)).
%% true
%% > fyris:whereis(no_such_table).
%% undefined
%% '''
-spec whereis(atom()) -> tid() | undefined.
whereis(Name) ->
    ?CALL(fyris_nif:whereis(Name), [Name]).

%% Returns the tid of a named table: an operation of several calls goes on with the table that it began with, under
%% whatever name.
resolve(Name) when is_atom(Name) ->
    case fyris_nif:whereis(Name) of
        undefined -> error({'$fyris_error', badarg, id, <<>>});
        Tid -> Tid
    end;
resolve(Tid) -> Tid.

%% @doc Returns what there is to know of a table, as a list of pairs, or `undefined' if there is no such table.
%%
%% The items are those of {@link info/2} as far as `ets:info/1' has them; for a table on an index that is not the
%% type's own also `index' and `index_info' (without the lengths of buckets). Needs no right to read.
%%
%% Fails with `badarg' if the argument is neither an atom nor a tid.
%% ```
%% > T = fyris:new(numbers, [bag]).
%% > proplists:get_value(type, fyris:info(T)).
%% bag
%% '''
-spec info(table()) -> [{info_item(), term()}] | undefined.
info(Table) ->
    case ?CALL(fyris_nif:info(Table), [Table]) of
        undefined -> undefined;
        Items -> lists:keyreplace(node, 1, Items, {node, node()})
    end.

%% @doc Returns one item, or `undefined' if there is no such table.
%%
%% <dl>
%% <dt>`id', `name', `named_table'</dt><dd>The tid; the name; whether the table is found by it.</dd>
%% <dt>`type', `keypos', `protection', `compressed', `read_concurrency', `write_concurrency',
%% `decentralized_counters'</dt><dd>As in {@link new/2}.</dd>
%% <dt>`index'</dt><dd>The name of the structure that holds the objects, or `{library, Path}'. Not in `ets'.</dd>
%% <dt>`index_info'</dt><dd>What that structure reports, a list of pairs: kinds of locks, conflicts, splits and
%% joins, depth, the lengths of buckets with their deviation. For a structure with buckets it looks at all of them, on
%% a dirty scheduler. Not in `ets'.</dd>
%% <dt>`owner', `heir', `node'</dt><dd>Processes, or `none'; the node.</dd>
%% <dt>`size', `memory'</dt><dd>How many objects; how many words. With writers at work, `size' counts every write that
%% has returned.</dd>
%% <dt>`fixed'</dt><dd>Whether a process has fixed the table.</dd>
%% <dt>`safe_fixed_monotonic_time', `safe_fixed'</dt><dd>`false', or the time of the first fix, and for each process the
%% number of fixes that it holds: `{Time, [{Pid, Count}]}'.</dd>
%% <dt>`snapshots'</dt><dd>A map: how many snapshots of the table are `alive', the age of the `oldest' in milliseconds or
%% `none', whether the table is `versioned', the number of versions of objects that are `retained', and their `bytes'. Not
%% in `ets'.</dd>
%% <dt>`subscriptions'</dt><dd>How many subscriptions the table has ({@link subscribe/3}). Not in `ets'.</dd>
%% <dt>`secondary'</dt><dd>The secondary indexes, `{Name, Value}' of each ({@link new/2}). Not in `ets'.</dd>
%% <dt>`consistent', `snapshot_ttl'</dt><dd>As in {@link new/2}. Not in `ets'.</dd>
%% <dt>`binary', `stats'</dt><dd>For tests of `ets' itself: the large binaries, and nothing.</dd>
%% </dl>
%% Needs no right to read.
%%
%% Fails with `badarg' if the first argument is neither an atom nor a tid; if the table exists and the item does not.
%% ```
%% > T = fyris:new(numbers, []).
%% > fyris:insert(T, [{1, one}, {2, two}]).
%% > fyris:info(T, size).
%% 2
%% '''
-spec info(table(), info_item()) -> term() | undefined.
info(Table, Item) ->
    case {?CALL(fyris_nif:info(Table, Item), [Table, Item]), Item} of
        {undefined, _} -> undefined;
        {_, node} -> node();
        {{Time, By}, safe_fixed_monotonic_time} ->
            {erlang:convert_time_unit(Time, nanosecond, native), By};
        {Value, _} -> Value
    end.

%% @doc Returns the number of bytes that tables take: all, and by kind.
%%
%% <dl>
%% <dt>`total'</dt><dd>All of it: what `info(Table, memory)' of each table says in words.</dd>
%% <dt>`objects'</dt><dd>Objects with their keys, as far as they do not lie in the index itself.</dd>
%% <dt>`indexes'</dt><dd>Indexes, with the objects that lie in them, and what each table needs besides.</dd>
%% </dl>
%% Large binaries that objects refer to are in `erlang:memory(binary)', nothing of it in `erlang:memory(total)'. What
%% was deleted and waits for the last reader, and what the allocator keeps for the next objects, is not counted.
%% O(number of tables), on a dirty scheduler; each table is counted at a moment of its own.
%% ```
%% > fyris:insert(fyris:new(numbers, []), {1, one}).
%% true
%% > [{total, Total}, {objects, Objects}, {indexes, Indexes}] = fyris:memory().
%% > Objects + Indexes =:= Total.
%% true
%% '''
-spec memory() -> [{memory_kind(), non_neg_integer()}].
memory() ->
    {Objects, Indexes} = fyris_nif:memory(),
    [{total, Objects + Indexes}, {objects, Objects}, {indexes, Indexes}].

%% @doc Returns the number of bytes of a kind, or of several as {@link memory/0} does.
%%
%% Fails with `badarg' if there is no such kind.
%% ```
%% > is_integer(fyris:memory(total)).
%% true
%% > [{objects, _}] = fyris:memory([objects]).
%% '''
-spec memory(Kind) -> non_neg_integer() when Kind :: memory_kind();
            (Kinds) -> [{memory_kind(), non_neg_integer()}] when Kinds :: [memory_kind()].
memory(Kind) when is_atom(Kind) ->
    case lists:keyfind(Kind, 1, memory()) of
        {Kind, Bytes} -> Bytes;
        false -> ?BADARG([Kind])
    end;
memory(Kinds) ->
    Memory = memory(),
    try [{_, _} = lists:keyfind(Kind, 1, Memory) || Kind <- Kinds]
    catch error:_ -> ?BADARG([Kinds])
    end.

%% @doc Makes another process the owner, which gets the message ``{'ETS-TRANSFER', Table, From, Data}''. Returns `true'.
%%
%% The heir stays as it was. For the owner only.
%%
%% Fails with `badarg' if the caller is not the owner; if `Pid' is no process of this node that is alive, or is the
%% owner already.
%% ```
%% > T = fyris:new(numbers, []).
%% > Other = spawn(fun() -> receive Message -> exit(Message) end end).
%% > Monitor = monitor(process, Other).
%% > fyris:give_away(T, Other, gift).
%% true
%% > receive {'DOWN', Monitor, _, _, Reason} -> Reason end.
%% {'ETS-TRANSFER',_,_,gift}
%% '''
-spec give_away(table(), pid(), term()) -> true.
give_away(Table, Pid, Data) ->
    ?CALL(fyris_nif:give_away(Table, Pid, Data), [Table, Pid, Data]).

%% @doc Changes the heir or the protection of a table. Returns `true'.
%%
%% Takes an option or a list of options: those of {@link new/2} for the heir, or `{protection, Protection}'. For the
%% owner only. Another protection holds for every call that begins when this one has returned.
%%
%% Fails with `badarg' if the caller is not the owner; if an option is unknown or malformed, or is there twice.
%% ```
%% > T = fyris:new(numbers, []).
%% > fyris:setopts(T, [{protection, private}, {heir, none}]).
%% true
%% > fyris:info(T, protection).
%% private
%% '''
-spec setopts(table(), Option | [Option]) -> true when
      Option :: heir_option() | {protection, table_access()}.
setopts(Table, Options) ->
    ?CALL(fyris_nif:setopts(Table, Options), [Table, Options]).

%% @doc Fixes a table for the calling process, or gives a fix back. Returns `true'.
%%
%% While a table is fixed, {@link next/2} and {@link prev/2} go on from keys that have been deleted. A process may fix a
%% table several times, and gives each fix back; what it holds when it ends is given back. Giving back a fix that the
%% process has not does nothing. A traversal within one call needs no fix, nor does one of an `ordered_set'.
%%
%% Fails with `badarg' if the second argument is no boolean.
%% ```
%% > T = fyris:new(numbers, []).
%% > fyris:safe_fixtable(T, true).
%% true
%% > fyris:insert(T, {1, one}).
%% > fyris:delete(T, 1).
%% > fyris:next(T, 1).
%% '$end_of_table'
%% '''
-spec safe_fixtable(table(), boolean()) -> true.
safe_fixtable(Table, Fix) ->
    ?CALL(fyris_nif:safe_fixtable(Table, Fix), [Table, Fix]).

%% ---------------------------------------------------------------------------
%% Writing

%% @doc Inserts an object, or all objects of a list in one step. Returns `true'.
%%
%% A `set' or `ordered_set' replaces the object with the same key, the key included (`1' by `1.0' in an `ordered_set').
%% A `bag' ignores an object that it has. Objects of one key in a list keep their order in the bags.
%%
%% Atomic and isolated, also as a whole list: other processes see all objects of it or none. O(1) an object on average,
%% O(log n) in an `ordered_set'. A writer of a key of the list does not wait for it; another list with one of its keys
%% does.
%%
%% Fails with `badarg', and inserts nothing, if the argument is neither a tuple nor a proper list of tuples; if a tuple
%% is shorter than the key position.
%% ```
%% > T = fyris:new(numbers, []).
%% > fyris:insert(T, {1, one}).
%% true
%% > fyris:insert(T, [{1, uno}, {2, due}]).
%% true
%% > lists:sort(fyris:tab2list(T)).
%% [{1,uno},{2,due}]
%% '''
-spec insert(table(), tuple() | [tuple()]) -> true.
insert(Table, Objects) ->
    ?CALL(fyris_nif:insert(Table, Objects), [Table, Objects]).

%% @doc Inserts the pair of a key and a value in the place of one with this key: `{Key, Value}', or `{Value, Key}' in a
%% table with `{keypos, 2}'. Returns `true'.
%%
%% Linearizable. O(1) on average, O(log n) in an `ordered_set'. Fails with `badarg' for the bags, in which a key has any
%% number of objects, and if the key is behind the second element.
%% ```
%% > T = fyris:new(numbers, []).
%% > fyris:put(T, 1, one).
%% true
%% > fyris:lookup(T, 1).
%% [{1,one}]
%% '''
-spec put(table(), Key :: term(), Value :: term()) -> true.
put(Table, Key, Value) ->
    ?CALL(fyris_nif:put(Table, Key, Value), [Table, Key, Value]).

%% @doc Inserts the pair of a key and a value as {@link put/3} does, if no object has the key. Returns whether it did.
%%
%% Atomic: of several callers one inserts its pair. Fails as {@link put/3}.
%% ```
%% > T = fyris:new(numbers, []).
%% > fyris:put_new(T, 1, one).
%% true
%% > fyris:put_new(T, 1, uno).
%% false
%% '''
-spec put_new(table(), Key :: term(), Value :: term()) -> boolean().
put_new(Table, Key, Value) ->
    ?CALL(fyris_nif:put_new(Table, Key, Value), [Table, Key, Value]).

%% @doc Inserts an object, or all objects of a list in one step, if none of their keys is there. Returns whether it did.
%%
%% If one of the keys is there nothing is changed. Keys that are in the list twice do not stand in each other's way.
%% Atomic and isolated as {@link insert/2}, and fails as it does.
%% ```
%% > T = fyris:new(numbers, []).
%% > fyris:insert_new(T, {1, one}).
%% true
%% > fyris:insert_new(T, [{1, uno}, {2, due}]).
%% false
%% > fyris:member(T, 2).
%% false
%% '''
-spec insert_new(table(), tuple() | [tuple()]) -> boolean().
insert_new(Table, Objects) ->
    ?CALL(fyris_nif:insert_new(Table, Objects), [Table, Objects]).

%% @doc Deletes all objects with a key. Returns `true', also if there is none.
%%
%% Atomic and isolated. O(1) on average, O(log n) in an `ordered_set'.
%% ```
%% > T = fyris:new(numbers, [bag]).
%% > fyris:insert(T, [{1, one}, {1, uno}]).
%% > fyris:delete(T, 1).
%% true
%% > fyris:lookup(T, 1).
%% []
%% '''
-spec delete(table(), term()) -> true.
delete(Table, Key) ->
    ?CALL(fyris_nif:delete(Table, Key), [Table, Key]).

%% @doc Deletes the objects that match an object exactly (`=:='). Returns `true', also if there is none.
%%
%% Of a `duplicate_bag' all copies. Atomic and isolated. In the bags O(log^2 n) for n objects of the key, on average.
%%
%% Fails with `badarg' if the argument is no tuple, or is shorter than the key position.
%% ```
%% > T = fyris:new(numbers, [bag]).
%% > fyris:insert(T, [{1, one}, {1, uno}]).
%% > fyris:delete_object(T, {1, one}).
%% true
%% > fyris:lookup(T, 1).
%% [{1,uno}]
%% '''
-spec delete_object(table(), tuple()) -> true.
delete_object(Table, Object) ->
    ?CALL(fyris_nif:delete_object(Table, Object), [Table, Object]).

%% @doc Deletes all objects. Returns `true'.
%%
%% Atomic and isolated, and O(1): the table gets an empty content, and the memory of the old one is given back in the
%% background.
%% ```
%% > T = fyris:new(numbers, []).
%% > fyris:insert(T, [{1, one}, {2, two}]).
%% > fyris:delete_all_objects(T).
%% true
%% > fyris:info(T, size).
%% 0
%% '''
-spec delete_all_objects(table()) -> true.
delete_all_objects(Table) ->
    ?CALL(fyris_nif:delete_all_objects(Table), [Table]).

%% @doc Deletes the objects with a key and returns them.
%%
%% Atomic and isolated: of several callers at once each object goes to one. O(1) on average, O(log n) in an
%% `ordered_set'.
%% ```
%% > T = fyris:new(numbers, []).
%% > fyris:insert(T, {1, one}).
%% > fyris:take(T, 1).
%% [{1,one}]
%% > fyris:take(T, 1).
%% []
%% '''
-spec take(table(), term()) -> [tuple()].
take(Table, Key) ->
    ?CALL(fyris_nif:take(Table, Key), [Table, Key]).

%% @doc Adds to integers of an object, and returns what they are then.
%%
%% `Incr' adds to the element after the key. `{Position, Incr}' adds to that element. `{Position, Incr, Threshold,
%% Value}' sets it to `Value' if the sum goes beyond `Threshold': above it if `Incr' is not negative, else below it. A
%% list of these is done in order, and gives a list. Integers may be of any size.
%%
%% Atomic and isolated, also as a list. For a `set' or an `ordered_set'.
%%
%% Fails with `badarg', and changes nothing, if no object has the key; if an element is no integer, is the key, or is
%% not there; if the table is a bag. Fails with `system_limit' if an integer grows too large.
%% ```
%% > T = fyris:new(numbers, []).
%% > fyris:insert(T, {hits, 0, 9}).
%% > fyris:update_counter(T, hits, 1).
%% 1
%% > fyris:update_counter(T, hits, [{2, 1}, {3, 1, 9, 0}]).
%% [2,0]
%% '''
-spec update_counter(table(), term(), Incr :: integer() | update_op()) -> integer();
                    (table(), term(), [update_op()]) -> [integer()].
update_counter(Table, Key, Ops) ->
    ?CALL(fyris_nif:update_counter(Table, Key, Ops), [Table, Key, Ops]).

%% @doc Adds to integers of an object, and returns what they are then; if no object has the key, inserts `Default'
%% first.
%%
%% The key of `Default' is replaced by `Key'. Otherwise as {@link update_counter/3}.
%%
%% Fails with `badarg' also if `Default' is no tuple, or is shorter than the key position.
%% ```
%% > T = fyris:new(numbers, []).
%% > fyris:update_counter(T, hits, 1, {hits, 0}).
%% 1
%% > fyris:update_counter(T, hits, 1, {hits, 0}).
%% 2
%% '''
-spec update_counter(table(), term(), Incr :: integer() | update_op(), Default :: tuple()) -> integer();
                    (table(), term(), [update_op()], Default :: tuple()) -> [integer()].
update_counter(Table, Key, Ops, Default) ->
    ?CALL(fyris_nif:update_counter(Table, Key, Ops, Default),
          [Table, Key, Ops, Default]).

%% @doc Replaces elements of the object with a key. Returns whether there is one.
%%
%% Takes `{Position, Value}' or a list of these; of a position that is there twice the last value counts. Atomic and
%% isolated. For a `set' or an `ordered_set'.
%%
%% Fails with `badarg', and changes nothing, if a position is that of the key or is not there; if the table is a bag.
%% ```
%% > T = fyris:new(numbers, []).
%% > fyris:insert(T, {1, one, first}).
%% > fyris:update_element(T, 1, [{2, uno}, {3, primo}]).
%% true
%% > fyris:lookup(T, 1).
%% [{1,uno,primo}]
%% > fyris:update_element(T, 2, {2, due}).
%% false
%% '''
-spec update_element(table(), term(), ElementSpec | [ElementSpec]) -> boolean() when
      ElementSpec :: {pos_integer(), term()}.
update_element(Table, Key, Elements) ->
    ?CALL(fyris_nif:update_element(Table, Key, Elements),
          [Table, Key, Elements]).

%% @doc Replaces elements of the object with a key; if there is none, of `Default', which is inserted. Returns `true'.
%%
%% The key of `Default' is replaced by `Key'. Otherwise as {@link update_element/3}.
%%
%% Fails with `badarg' also if `Default' is no tuple, or is shorter than the key position.
%% ```
%% > T = fyris:new(numbers, []).
%% > fyris:update_element(T, 1, {2, one}, {1, none, first}).
%% true
%% > fyris:lookup(T, 1).
%% [{1,one,first}]
%% '''
-spec update_element(table(), term(), ElementSpec | [ElementSpec], Default :: tuple()) -> true when
      ElementSpec :: {pos_integer(), term()}.
update_element(Table, Key, Elements, Default) ->
    ?CALL(fyris_nif:update_element(Table, Key, Elements, Default),
          [Table, Key, Elements, Default]).

%% @doc Replaces the content of a table by what a generator gives. Returns `true'.
%%
%% The table is emptied. `Generator(read)' gives `{Objects, Next}', where `Next' is the next generator, or
%% `end_of_input'. Each list is inserted as one step, the whole is not one.
%%
%% Fails with `badarg' if the generator is no fun of one argument. Exits with the answer of the generator if it is
%% another one; if a list cannot be inserted, calls `Next(close)' and exits with `{Reason, Stacktrace}'.
%% ```
%% > T = fyris:new(numbers, []).
%% > End = fun(read) -> end_of_input; (close) -> ok end.
%% > fyris:init_table(T, fun(read) -> {[{1, one}], End}; (close) -> ok end).
%% true
%% > fyris:tab2list(T).
%% [{1,one}]
%% '''
-spec init_table(table(), generator()) -> true.
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
            try insert(Table, unnested(Objects))
            catch error:Reason:Stack ->
                    ignore_errors(fun() -> Next(close) end),
                    exit({Reason, Stack})
            end,
            generate(Table, Next);
        Other ->
            exit(Other)
    end.

%% What a generator gives may be lists of objects, as in ets.
unnested(Objects) ->
    case lists:any(fun is_list/1, Objects) of
        true -> lists:flatmap(fun(Object) -> if is_list(Object) -> Object; true -> [Object] end end, Objects);
        false -> Objects
    end.

%% ---------------------------------------------------------------------------
%% Reading

%% @doc Returns the objects with a key: none or one, and in the bags any number, in the order in which they were
%% inserted.
%%
%% Keys are compared by `=:=', in an `ordered_set' by `=='. Linearizable; the objects of a bag are those of one moment.
%% O(1) on average, O(log n) in an `ordered_set', and the size of the objects, which are built anew.
%% ```
%% > T = fyris:new(numbers, []).
%% > fyris:insert(T, {1, one}).
%% > fyris:lookup(T, 1).
%% [{1,one}]
%% > fyris:lookup(T, 1.0).
%% []
%% '''
-spec lookup(table(), term()) -> [tuple()].
lookup(Table, Key) ->
    ?CALL(fyris_nif:lookup(Table, Key), [Table, Key]).

%% @doc Returns an element of the object with a key; in the bags a list of that element of each object.
%%
%% Other elements are not built. Linearizable, as {@link lookup/2}.
%%
%% Fails with `badarg' if no object has the key; if one that has it is shorter than the position.
%% ```
%% > T = fyris:new(numbers, []).
%% > fyris:insert(T, {1, one, first}).
%% > fyris:lookup_element(T, 1, 3).
%% first
%% > fyris:lookup_element(T, 2, 3).
%% ** exception error: bad argument
%% '''
-spec lookup_element(table(), term(), pos_integer()) -> term() | [term()].
lookup_element(Table, Key, Position) ->
    ?CALL(fyris_nif:lookup_element(Table, Key, Position),
          [Table, Key, Position]).

%% @doc Returns an element of the object with a key, or `Default' if no object has the key.
%%
%% Otherwise as {@link lookup_element/3}; a position that is not there still fails with `badarg'.
%% ```
%% > T = fyris:new(numbers, []).
%% > fyris:lookup_element(T, 1, 2, none).
%% none
%% '''
-spec lookup_element(table(), term(), pos_integer(), Default :: term()) -> term() | [term()].
lookup_element(Table, Key, Position, Default) ->
    ?CALL(fyris_nif:lookup_element(Table, Key, Position, Default),
          [Table, Key, Position, Default]).

%% @doc Returns whether there is an object with a key.
%%
%% Linearizable. O(1) on average, O(log n) in an `ordered_set'.
%% ```
%% > T = fyris:new(numbers, []).
%% > fyris:insert(T, {1, one}).
%% > fyris:member(T, 1).
%% true
%% '''
-spec member(table(), term()) -> boolean().
member(Table, Key) ->
    ?CALL(fyris_nif:member(Table, Key), [Table, Key]).

%% @doc Returns all objects; those of an `ordered_set' in the order of keys.
%%
%% In other types from the last key that {@link next/2} comes to back to the first, the objects of a key in the order in
%% which they were inserted; {@link select/2} and {@link match/2} have the same order. Of more than 512 objects all are
%% as they were at one moment of the call; of fewer each that is there throughout comes once, others may come.
%% ```
%% > T = fyris:new(numbers, [ordered_set]).
%% > fyris:insert(T, [{2, two}, {1, one}]).
%% > fyris:tab2list(T).
%% [{1,one},{2,two}]
%% '''
-spec tab2list(table()) -> [tuple()].
tab2list(Table) ->
    ?CALL(objects(resolve(Table)), [Table]).

objects(Table) ->
    %% From the back, since the list is built from its end.
    slices(Table, fyris_nif:cursor(Table, true), []).

slices(Table, Cursor, Tail) ->
    case fyris_nif:slice(Table, Cursor, Tail) of
        [more | List] -> slices(Table, Cursor, List);
        List -> List
    end.

%% @doc Folds a fun over all objects; in an `ordered_set' in ascending order of keys. Returns the last accumulator.
%%
%% In other types in the order of {@link next/2}, the objects of a key in the order in which they were inserted. The
%% table is fixed meanwhile. Of more than 512 objects all are as they were at one moment of the call, whatever the fun or
%% another process writes; fewer are read at once before the first call of the fun. Those of a table with
%% `{consistent, false}' are as they are when the fold comes to them, some hundred at a time, in an `ordered_set' one by
%% one.
%% ```
%% > T = fyris:new(numbers, []).
%% > fyris:insert(T, [{1, one}, {2, two}]).
%% > fyris:foldl(fun({Number, _}, Sum) -> Number + Sum end, 0, T).
%% 3
%% '''
-spec foldl(fun((tuple(), Acc) -> Acc), Acc, table()) -> Acc.
foldl(Fun, Acc, Table) ->
    ?CALL(fixed(resolve(Table), fun(T) -> fold(foldl, Fun, Acc, T) end),
          [Fun, Acc, Table]).

%% @doc Folds a fun over all objects; in an `ordered_set' in descending order of keys. Returns the last accumulator.
%%
%% In other types from key to key as {@link foldl/3}, but of the objects of a key the newest first. Otherwise as
%% {@link foldl/3}.
%% ```
%% > T = fyris:new(numbers, [ordered_set]).
%% > fyris:insert(T, [{1, one}, {2, two}]).
%% > fyris:foldr(fun({_, Word}, Words) -> [Word | Words] end, [], T).
%% [one,two]
%% '''
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

%% Calls a fun and ignores its errors.
ignore_errors(Fun) ->
    try Fun(), ok
    catch _:_ -> ok
    end.

fold(Direction, Fun, Acc, Table) ->
    Back = Direction =:= foldr,
    case is_live_in_order(Table) of
        true when Back -> fold_live(Direction, Fun, Acc, fyris_nif:last_lookup(Table), fun(Key) -> fyris_nif:prev_lookup(Table, Key) end);
        true -> fold_live(Direction, Fun, Acc, fyris_nif:first_lookup(Table), fun(Key) -> fyris_nif:next_lookup(Table, Key) end);
        false -> fold_slices(Direction, Fun, Acc, Table, fyris_nif:cursor(Table, Back))
    end.

is_live_in_order(Table) ->
    fyris_nif:info(Table, consistent) =:= false andalso fyris_nif:info(Table, type) =:= ordered_set.

fold_slices(Direction, Fun, Acc, Table, Cursor) ->
    case fyris_nif:slice(Table, Cursor, []) of
        [more | Slice] ->
            Next = fold_slice(Direction, Fun, Acc, Slice),
            fold_slices(Direction, Fun, Next, Table, Cursor);
        [] ->
            Acc;
        Slice ->
            Last = fold_slice(Direction, Fun, Acc, Slice),
            %% A fun that deletes the table finds that out, as in ets.
            fyris_nif:info(Table, type) =/= undefined orelse error(badarg),
            Last
    end.

%% Folds over the objects of a slice. Without an object the fun is not looked at.
fold_slice(_, _, Acc, []) -> Acc;
fold_slice(Direction, Fun, Acc, Slice) -> lists:Direction(Fun, Acc, Slice).

%% From object to object, as ets does: the fun finds ahead what it has written.
fold_live(_, _, Acc, '$end_of_table', _) -> Acc;
fold_live(Direction, Fun, Acc, {Key, Objects}, Step) ->
    fold_live(Direction, Fun, lists:Direction(Fun, Acc, Objects), Step(Key), Step).

%% ---------------------------------------------------------------------------
%% From key to key

%% @doc Returns the first key, or ``'$end_of_table' '' if the table is empty.
%%
%% The lowest key of an `ordered_set'; in other types any key.
%% ```
%% > T = fyris:new(numbers, [ordered_set]).
%% > fyris:first(T).
%% '$end_of_table'
%% > fyris:insert(T, [{2, two}, {1, one}]).
%% > fyris:first(T).
%% 1
%% '''
-spec first(table()) -> term() | '$end_of_table'.
first(Table) ->
    ?CALL(fyris_nif:first(Table), [Table]).

%% @doc Returns the last key, or ``'$end_of_table' '' if the table is empty.
%%
%% The highest key of an `ordered_set'; in other types the same as {@link first/1}.
%% ```
%% > T = fyris:new(numbers, [ordered_set]).
%% > fyris:insert(T, [{2, two}, {1, one}]).
%% > fyris:last(T).
%% 2
%% '''
-spec last(table()) -> term() | '$end_of_table'.
last(Table) ->
    ?CALL(fyris_nif:last(Table), [Table]).

%% @doc Returns the key after another one, or ``'$end_of_table' ''.
%%
%% In an `ordered_set' the lowest key above it, whether it is there or not; O(log n).
%%
%% Fails with `badarg' in other types if the key is not there and the table is not fixed ({@link safe_fixtable/2}); in
%% every type for ``'$end_of_table' '', unless that is a key.
%% ```
%% > T = fyris:new(numbers, [ordered_set]).
%% > fyris:insert(T, [{2, two}, {1, one}]).
%% > fyris:next(T, 1).
%% 2
%% > fyris:next(T, 2).
%% '$end_of_table'
%% '''
-spec next(table(), term()) -> term() | '$end_of_table'.
next(Table, Key) ->
    ?CALL(fyris_nif:next(Table, Key), [Table, Key]).

%% @doc Returns the key before another one, or ``'$end_of_table' ''.
%%
%% In an `ordered_set' the highest key below it, whether it is there or not; in other types the same as {@link next/2},
%% and it fails as that does.
%% ```
%% > T = fyris:new(numbers, [ordered_set]).
%% > fyris:insert(T, [{2, two}, {1, one}]).
%% > fyris:prev(T, 1.5).
%% 1
%% '''
-spec prev(table(), term()) -> term() | '$end_of_table'.
prev(Table, Key) ->
    ?CALL(fyris_nif:prev(Table, Key), [Table, Key]).

%% @doc Returns the first key and its objects, or ``'$end_of_table' '': {@link first/1} and {@link lookup/2} in one
%% call.
%% ```
%% > T = fyris:new(numbers, [ordered_set]).
%% > fyris:insert(T, [{2, two}, {1, one}]).
%% > fyris:first_lookup(T).
%% {1,[{1,one}]}
%% '''
-spec first_lookup(table()) -> {term(), [tuple()]} | '$end_of_table'.
first_lookup(Table) ->
    ?CALL(fyris_nif:first_lookup(Table), [Table]).

%% @doc Returns the last key and its objects, or ``'$end_of_table' '': {@link last/1} and {@link lookup/2} in one call.
%% ```
%% > T = fyris:new(numbers, [ordered_set]).
%% > fyris:insert(T, [{2, two}, {1, one}]).
%% > fyris:last_lookup(T).
%% {2,[{2,two}]}
%% '''
-spec last_lookup(table()) -> {term(), [tuple()]} | '$end_of_table'.
last_lookup(Table) ->
    ?CALL(fyris_nif:last_lookup(Table), [Table]).

%% @doc Returns the key after another one and its objects, or ``'$end_of_table' '': {@link next/2} and {@link lookup/2}
%% in one call.
%%
%% Fails as {@link next/2}.
%% ```
%% > T = fyris:new(numbers, [ordered_set]).
%% > fyris:insert(T, [{2, two}, {1, one}]).
%% > fyris:next_lookup(T, 1).
%% {2,[{2,two}]}
%% '''
-spec next_lookup(table(), term()) -> {term(), [tuple()]} | '$end_of_table'.
next_lookup(Table, Key) ->
    ?CALL(fyris_nif:next_lookup(Table, Key), [Table, Key]).

%% @doc Returns the key before another one and its objects, or ``'$end_of_table' '': {@link prev/2} and {@link lookup/2}
%% in one call.
%%
%% Fails as {@link prev/2}.
%% ```
%% > T = fyris:new(numbers, [ordered_set]).
%% > fyris:insert(T, [{2, two}, {1, one}]).
%% > fyris:prev_lookup(T, 2).
%% {1,[{1,one}]}
%% '''
-spec prev_lookup(table(), term()) -> {term(), [tuple()]} | '$end_of_table'.
prev_lookup(Table, Key) ->
    ?CALL(fyris_nif:prev_lookup(Table, Key), [Table, Key]).

%% @doc Returns the objects in a slot, from 0, or ``'$end_of_table' '' one past the last slot.
%%
%% Slot N of an `ordered_set' is its N-th object; in other types it is a bucket. One after another they have the objects
%% in the order of {@link foldl/3}. For traversals by number of a table that does not change meanwhile.
%%
%% Fails with `badarg' if the slot is no integer, or is further beyond.
%% ```
%% > T = fyris:new(numbers, [ordered_set]).
%% > fyris:insert(T, [{2, two}, {1, one}]).
%% > fyris:slot(T, 0).
%% [{1,one}]
%% > fyris:slot(T, 2).
%% '$end_of_table'
%% '''
-spec slot(table(), non_neg_integer()) -> [tuple()] | '$end_of_table'.
slot(Table, Slot) ->
    ?CALL(fyris_nif:slot(Table, Slot), [Table, Slot]).

%% ---------------------------------------------------------------------------
%% Match specifications

%% @doc Returns what a match specification makes of the objects, in a list; in an `ordered_set' in the order of keys, in
%% other types in the order of {@link tab2list/1}; but keys that it names come one after another, in an order of their
%% own.
%%
%% For each object the first clause counts whose head and guards match. A guard that fails is no match; a body that
%% fails gives ``'EXIT' ''. Keys that the heads and guards name, and ranges of them in an `ordered_set', are looked up,
%% else one value of an element that has a secondary index ({@link new/2}), and nothing else is visited
%% ({@link explain/2} shows it). If it visits more than 512 objects, all are as they were at one moment of the call; of
%% fewer each that is there throughout is visited once, others may be.
%%
%% Fails with `badarg' if the match specification is malformed.
%% ```
%% > T = fyris:new(numbers, [ordered_set]).
%% > fyris:insert(T, [{1, one}, {2, two}, {3, three}]).
%% > fyris:select(T, [{{'$1', '$2'}, [{'>', '$1', 1}], ['$2']}]).
%% [two,three]
%% '''
-spec select(table(), match_spec()) -> [term()].
select(Table, Spec) ->
    ?CALL(query(fyris_nif:query(Table, Spec, select)), [Table, Spec]).

%% @doc Returns the first results of {@link select/2}, at most `Limit' of them, and a continuation for {@link select/1};
%% or ``'$end_of_table' '' if there is none.
%%
%% The continuation is ``'$end_of_table' '' if it is known that there are no more; else a tuple of the size that one of
%% `ets' has, whose first element is the tid of the table. It belongs to the table, not to its
%% name. All chunks show the table as it was at one moment of this call (if few more objects than `Limit' are all, they are
%% read at once, as by {@link select/2}), unless it was made with `{consistent, false}'; then each shows what is there when
%% it is read. In an `ordered_set' there are `Limit' results as long as that many are left. In other types the chunks go on
%% from key to key as {@link next/2} does, and in each chunk the results are in the order of {@link select/2}.
%%
%% Fails with `badarg' if the match specification is malformed; if the limit is no positive integer.
%% ```
%% > T = fyris:new(numbers, [ordered_set]).
%% > fyris:insert(T, [{1, one}, {2, two}, {3, three}]).
%% > {[one, two], Continuation} = fyris:select(T, [{{'_', '$1'}, [], ['$1']}], 2).
%% > fyris:select(Continuation).
%% {[three],_}
%% '''
-spec select(table(), match_spec(), pos_integer()) ->
          {[term()], continuation()} | '$end_of_table'.
select(Table, Spec, Limit) ->
    ?CALL(chunk(fyris_nif:chunk(Table, Spec, select, Limit)),
          [Table, Spec, Limit]).

%% @doc Returns the next results, and the next continuation, or ``'$end_of_table' ''.
%%
%% ``'$end_of_table' '' is a continuation too, and gives itself.
%%
%% Fails with `badarg' if the argument is no continuation, or one that was written in the external term format and read;
%% if its table is gone.
%% ```
%% > T = fyris:new(numbers, [ordered_set]).
%% > fyris:insert(T, [{1, one}, {2, two}]).
%% > {[one], Continuation} = fyris:select(T, [{{'_', '$1'}, [], ['$1']}], 1).
%% > {[two], Last} = fyris:select(Continuation).
%% > fyris:select(Last).
%% '$end_of_table'
%% '''
-spec select(continuation()) -> {[term()], continuation()} | '$end_of_table'.
select(Continuation) ->
    ?CALL(continue(Continuation), [Continuation]).

%% @doc Returns what {@link select/2} does, in an `ordered_set' in descending order of keys.
%%
%% In other types the order is that of {@link select/2}. Fails as that does.
%% ```
%% > T = fyris:new(numbers, [ordered_set]).
%% > fyris:insert(T, [{1, one}, {2, two}]).
%% > fyris:select_reverse(T, [{{'_', '$1'}, [], ['$1']}]).
%% [two,one]
%% '''
-spec select_reverse(table(), match_spec()) -> [term()].
select_reverse(Table, Spec) ->
    ?CALL(query(fyris_nif:query(Table, Spec, select_reverse)), [Table, Spec]).

%% @doc Returns the first results of {@link select_reverse/2}, at most `Limit' of them, and a continuation for
%% {@link select_reverse/1}; or ``'$end_of_table' '' if there is none.
%%
%% Otherwise as {@link select/3}.
%% ```
%% > T = fyris:new(numbers, [ordered_set]).
%% > fyris:insert(T, [{1, one}, {2, two}]).
%% > fyris:select_reverse(T, [{{'_', '$1'}, [], ['$1']}], 1).
%% {[two],_}
%% '''
-spec select_reverse(table(), match_spec(), pos_integer()) ->
          {[term()], continuation()} | '$end_of_table'.
select_reverse(Table, Spec, Limit) ->
    ?CALL(chunk(fyris_nif:chunk(Table, Spec, select_reverse, Limit)),
          [Table, Spec, Limit]).

%% @doc Returns the next results, and the next continuation, or ``'$end_of_table' ''.
%%
%% As {@link select/1}.
%% ```
%% > T = fyris:new(numbers, [ordered_set]).
%% > fyris:insert(T, [{1, one}, {2, two}]).
%% > {[two], Continuation} = fyris:select_reverse(T, [{{'_', '$1'}, [], ['$1']}], 1).
%% > fyris:select_reverse(Continuation).
%% {[one],_}
%% '''
-spec select_reverse(continuation()) -> {[term()], continuation()} | '$end_of_table'.
select_reverse(Continuation) ->
    ?CALL(continue(Continuation), [Continuation]).

%% @doc Returns a list for each object that matches a pattern: what the variables of the pattern stand for, in the order
%% of their numbers.
%%
%% Variables are the atoms ``'$0' '', ``'$1' '' and so on; ``'_' '' matches anything. Order, visits and consistency are
%% those of {@link select/2}.
%%
%% Fails with `badarg' if a variable is the key of a map in the pattern.
%% ```
%% > T = fyris:new(numbers, [ordered_set]).
%% > fyris:insert(T, [{1, one}, {2, two}]).
%% > fyris:match(T, {'$1', '$0'}).
%% [[one,1],[two,2]]
%% '''
-spec match(table(), match_pattern()) -> [[term()]].
match(Table, Pattern) ->
    ?CALL(query(fyris_nif:query(Table, Pattern, match)), [Table, Pattern]).

%% @doc Returns the first results of {@link match/2}, at most `Limit' of them, and a continuation for {@link match/1};
%% or ``'$end_of_table' '' if there is none.
%%
%% Otherwise as {@link select/3}.
%% ```
%% > T = fyris:new(numbers, [ordered_set]).
%% > fyris:insert(T, [{1, one}, {2, two}]).
%% > fyris:match(T, {'$1', '_'}, 1).
%% {[[1]],_}
%% '''
-spec match(table(), match_pattern(), pos_integer()) ->
          {[[term()]], continuation()} | '$end_of_table'.
match(Table, Pattern, Limit) ->
    ?CALL(chunk(fyris_nif:chunk(Table, Pattern, match, Limit)),
          [Table, Pattern, Limit]).

%% @doc Returns the next results, and the next continuation, or ``'$end_of_table' ''.
%%
%% As {@link select/1}.
%% ```
%% > T = fyris:new(numbers, [ordered_set]).
%% > fyris:insert(T, [{1, one}, {2, two}]).
%% > {[[1]], Continuation} = fyris:match(T, {'$1', '_'}, 1).
%% > fyris:match(Continuation).
%% {[[2]],_}
%% '''
-spec match(continuation()) -> {[[term()]], continuation()} | '$end_of_table'.
match(Continuation) ->
    ?CALL(continue(Continuation), [Continuation]).

%% @doc Returns the objects that match a pattern.
%%
%% Patterns are those of {@link match/2}; order, visits and consistency are those of {@link select/2}.
%%
%% Fails with `badarg' if a variable is the key of a map in the pattern.
%% ```
%% > T = fyris:new(numbers, [ordered_set]).
%% > fyris:insert(T, [{1, odd}, {2, even}, {3, odd}]).
%% > fyris:match_object(T, {'_', odd}).
%% [{1,odd},{3,odd}]
%% '''
-spec match_object(table(), match_pattern()) -> [tuple()].
match_object(Table, Pattern) ->
    ?CALL(query(fyris_nif:query(Table, Pattern, match_object)), [Table, Pattern]).

%% @doc Returns the first results of {@link match_object/2}, at most `Limit' of them, and a continuation for
%% {@link match_object/1}; or ``'$end_of_table' '' if there is none.
%%
%% Otherwise as {@link select/3}.
%% ```
%% > T = fyris:new(numbers, [ordered_set]).
%% > fyris:insert(T, [{1, odd}, {2, even}, {3, odd}]).
%% > fyris:match_object(T, {'_', odd}, 1).
%% {[{1,odd}],_}
%% '''
-spec match_object(table(), match_pattern(), pos_integer()) ->
          {[tuple()], continuation()} | '$end_of_table'.
match_object(Table, Pattern, Limit) ->
    ?CALL(chunk(fyris_nif:chunk(Table, Pattern, match_object, Limit)),
          [Table, Pattern, Limit]).

%% @doc Returns the next results, and the next continuation, or ``'$end_of_table' ''.
%%
%% As {@link select/1}.
%% ```
%% > T = fyris:new(numbers, [ordered_set]).
%% > fyris:insert(T, [{1, odd}, {2, even}, {3, odd}]).
%% > {[_], Continuation} = fyris:match_object(T, {'_', odd}, 1).
%% > fyris:match_object(Continuation).
%% {[{3,odd}],_}
%% '''
-spec match_object(continuation()) -> {[tuple()], continuation()} | '$end_of_table'.
match_object(Continuation) ->
    ?CALL(continue(Continuation), [Continuation]).

%% @doc Returns the number of objects of which a match specification makes `true'.
%%
%% Visits and consistency are those of {@link select/2}; no objects are built.
%%
%% Fails with `badarg' if the match specification is malformed.
%% ```
%% > T = fyris:new(numbers, []).
%% > fyris:insert(T, [{1, odd}, {2, even}, {3, odd}]).
%% > fyris:select_count(T, [{{'_', odd}, [], [true]}]).
%% 2
%% '''
-spec select_count(table(), match_spec()) -> non_neg_integer().
select_count(Table, Spec) ->
    ?CALL(query(fyris_nif:query(Table, Spec, select_count)), [Table, Spec]).

%% @doc Deletes the objects of which a match specification makes `true', and returns their number.
%%
%% Each object is deleted atomically, if it still matches; the call as a whole is one step only where every object is
%% meant: with ``[{'_', [], [true]}]'', as {@link delete_all_objects/1}.
%%
%% Fails with `badarg' if the match specification is malformed.
%% ```
%% > T = fyris:new(numbers, []).
%% > fyris:insert(T, [{1, odd}, {2, even}, {3, odd}]).
%% > fyris:select_delete(T, [{{'_', odd}, [], [true]}]).
%% 2
%% > fyris:tab2list(T).
%% [{2,even}]
%% '''
-spec select_delete(table(), match_spec()) -> non_neg_integer().
select_delete(Table, Spec) ->
    ?CALL(query(fyris_nif:query(Table, Spec, select_delete)), [Table, Spec]).

%% @doc Replaces each object that matches by what a match specification makes of it, and returns their number.
%%
%% Each object is replaced atomically: a specification with the object itself as its head compares and swaps, as does
%% {@link compare_and_swap/3}. The call as a whole is not one step.
%%
%% Fails with `badarg', and changes nothing, if the match specification is malformed; if it does not keep the key as it
%% is (by the same variable, the same literal, or ``{element, KeyPos, '$_'}''); if the table is a `bag'.
%% ```
%% > T = fyris:new(numbers, [ordered_set]).
%% > fyris:insert(T, [{1, 10}, {2, 20}]).
%% > fyris:select_replace(T, [{{'$1', '$2'}, [{'>', '$2', 10}], [{{'$1', {'+', '$2', 1}}}]}]).
%% 1
%% > fyris:tab2list(T).
%% [{1,10},{2,21}]
%% '''
-spec select_replace(table(), match_spec()) -> non_neg_integer().
select_replace(Table, Spec) ->
    ?CALL(query(fyris_nif:query(Table, Spec, select_replace)), [Table, Spec]).

%% @doc Deletes the objects that match, and returns what a match specification makes of them: in an `ordered_set' in the
%% order of their keys.
%%
%% Each object is deleted atomically, if it still matches, and goes to one of several callers; the call as a whole is not
%% one step. If the table goes away half-way this is as in {@link take_range/3}.
%%
%% Fails with `badarg' if the match specification is malformed.
%% ```
%% > T = fyris:new(numbers, [ordered_set]).
%% > fyris:insert(T, [{1, due}, {2, later}, {3, due}]).
%% > fyris:select_take(T, [{{'$1', due}, [], ['$1']}]).
%% [1,3]
%% > fyris:tab2list(T).
%% [{2,later}]
%% '''
-spec select_take(table(), match_spec()) -> [term()].
select_take(Table, Spec) ->
    ?CALL(lists:reverse(query(fyris_nif:query(Table, Spec, select_take))), [Table, Spec]).

%% @doc Replaces as {@link select_replace/2} does, and returns the new objects: in an `ordered_set' in the order of their
%% keys.
%%
%% Fails as {@link select_replace/2}.
%% ```
%% > T = fyris:new(jobs, [ordered_set]).
%% > fyris:insert(T, [{1, due}, {2, later}, {3, due}]).
%% > fyris:select_replace_returning(T, [{{'$1', due}, [], [{{'$1', claimed}}]}]).
%% [{1,claimed},{3,claimed}]
%% '''
-spec select_replace_returning(table(), match_spec()) -> [tuple()].
select_replace_returning(Table, Spec) ->
    ?CALL(lists:reverse(query(fyris_nif:query(Table, Spec, select_replace_returning))), [Table, Spec]).

%% @doc Deletes the objects that match a pattern. Returns `true'.
%%
%% Each object is deleted atomically; the pattern ``'_' '' empties the table in one step, as
%% {@link delete_all_objects/1}. If the pattern names the key and begins with a value behind it, as
%% ``{Key, {Pid, '_'}}'', few of the objects of the key are looked at: O(log^2 n) of n.
%%
%% Fails with `badarg' if a variable is the key of a map in the pattern.
%% ```
%% > T = fyris:new(numbers, []).
%% > fyris:insert(T, [{1, odd}, {2, even}, {3, odd}]).
%% > fyris:match_delete(T, {'_', odd}).
%% true
%% > fyris:tab2list(T).
%% [{2,even}]
%% '''
-spec match_delete(table(), match_pattern()) -> true.
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

%% Returns the list so far; a count so far is kept by the query itself.
list_of(List) when is_list(List) -> List;
list_of(_) -> [].

chunk([more | Place]) ->
    chunk(fyris_nif:chunk_step(Place));
chunk(Answer) -> Answer.

continue('$end_of_table') ->
    '$end_of_table';
continue(Continuation) ->
    {Place, _} = continuation(Continuation),
    chunk(fyris_nif:chunk_next(Place)).

%% Returns the place of the next chunk, which works on this node while it is referred to, and its saved form. As those
%% of `ets', continuations of hash tables have six elements, those of an `ordered_set' eight.
continuation({_, Saved, _, Place, [], 0}) -> {Place, Saved};
continuation({_, Saved, [], _, Place, [], 0, 0}) -> {Place, Saved};
continuation(_) -> error({'$fyris_error', badarg, continuation, <<"not a continuation">>}).

%% @doc Returns a continuation that works again, of one that was written in the external term format and read.
%%
%% One that works is returned as it is. The match specification, or pattern, must be that of the first call.
%%
%% Fails with `badarg' if the first argument is no continuation; if it does not work any more and the second argument is
%% malformed.
%% ```
%% > T = fyris:new(numbers, [ordered_set]).
%% > fyris:insert(T, [{1, one}, {2, two}]).
%% > Spec = [{{'_', '$1'}, [], ['$1']}].
%% > {[one], Continuation} = fyris:select(T, Spec, 1).
%% > Read = binary_to_term(term_to_binary(Continuation)).
%% > fyris:select(fyris:repair_continuation(Read, Spec)).
%% {[two],_}
%% '''
-spec repair_continuation(continuation(), match_spec()) -> continuation().
repair_continuation('$end_of_table', _) ->
    '$end_of_table';
repair_continuation(Continuation, Spec) ->
    ?CALL(repair(Continuation, Spec), [Continuation, Spec]).

repair(Continuation, Spec) ->
    {Place, Saved} = continuation(Continuation),
    case fyris_nif:is_place(Place) of
        true -> Continuation;
        false -> setelement(place_of(Continuation), Continuation, fyris_nif:repair(Saved, Spec, select))
    end.

place_of({_, _, _, _, _, _}) -> 4;
place_of({_, _, _, _, _, _, _, _}) -> 5.

%% @doc Checks and compiles a match specification, for {@link match_spec_run/2}.
%%
%% The result works on this node as long as it runs, and not when it has been sent elsewhere or written down.
%%
%% Fails with `badarg' if the match specification is malformed.
%% ```
%% > Compiled = fyris:match_spec_compile([{{'$1', odd}, [], ['$1']}]).
%% > fyris:match_spec_run([{1, odd}, {2, even}], Compiled).
%% [1]
%% '''
-spec match_spec_compile(match_spec()) -> compiled_match_spec().
match_spec_compile(Spec) ->
    ?CALL(fyris_nif:match_spec_compile(Spec), [Spec]).

%% @doc Returns what a compiled match specification makes of the terms of a list, in their order, without those that it
%% does not match.
%%
%% Fails with `badarg' if the first argument is no proper list; if the second is no compiled match specification.
%% ```
%% > Compiled = fyris:match_spec_compile([{{'$1', odd}, [], ['$1']}]).
%% > fyris:match_spec_run([{1, odd}, {2, even}, {3, odd}], Compiled).
%% [1,3]
%% '''
-spec match_spec_run([term()], compiled_match_spec()) -> [term()].
match_spec_run(List, Compiled) ->
    ?CALL(lists:reverse(run_spec(List, Compiled, [])), [List, Compiled]).

%% @doc Returns what {@link match_spec_run/2} does, in reverse order and in front of `Tail'.
%% ```
%% > Compiled = fyris:match_spec_compile([{{'$1', odd}, [], ['$1']}]).
%% > fyris:match_spec_run_r([{1, odd}, {2, even}, {3, odd}], Compiled, [0]).
%% [3,1,0]
%% '''
-spec match_spec_run_r([term()], compiled_match_spec(), list()) -> [term()].
match_spec_run_r(List, Compiled, Tail) ->
    ?CALL(run_spec(List, Compiled, Tail), [List, Compiled, Tail]).

run_spec(List, Compiled, Values) ->
    case fyris_nif:run_spec(List, Compiled, Values) of
        {[], All} -> All;
        {Rest, More} -> run_spec(Rest, Compiled, More)
    end.

%% @doc Returns whether a term is a compiled match specification that works on this node.
%% ```
%% > fyris:is_compiled_ms(fyris:match_spec_compile([{'_', [], [true]}])).
%% true
%% > fyris:is_compiled_ms(make_ref()).
%% false
%% '''
-spec is_compiled_ms(term()) -> boolean().
is_compiled_ms(Term) ->
    fyris_nif:is_compiled_ms(Term).

%% @doc Returns what a match specification makes of one term: `{ok, Result}', `{ok, false}' if it does not match, or
%% `{error, Texts}' if it is malformed.
%% ```
%% > fyris:test_ms({1, odd}, [{{'$1', odd}, [], ['$1']}]).
%% {ok,1}
%% > fyris:test_ms({2, even}, [{{'$1', odd}, [], ['$1']}]).
%% {ok,false}
%% '''
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

%% @doc Returns the match specification that a literal fun stands for.
%%
%% In a module the fun is replaced when the module is compiled, by the parse transform of Fyris:
%% `-compile({parse_transform, fyris_ms}).' In the shell the call works by itself.
%%
%% Fails with `{badarg, {fyris, fun2ms, _}}' at run time if the module was compiled without the parse transform; if the
%% argument is no fun.
%% ```
%% > fyris:fun2ms(fun({Number, odd}) when Number > 1 -> Number end).
%% [{{'$1',odd},[{'>','$1',1}],['$1']}]
%% '''
-spec fun2ms(fun()) -> match_spec().
fun2ms(Fun) ->
    fyris_ms:from_shell(Fun).

%% ---------------------------------------------------------------------------
%% Files, dets, qlc, people

%% @doc Writes a table to a file, which {@link file2tab/1} and `ets:file2tab/1' read. As `tab2file(Table, File, [])'.
%% ```
%% > T = fyris:new(numbers, []).
%% > File = lists:concat(["/tmp/fyris_doc_", os:getpid(), ".tab"]).
%% > fyris:tab2file(T, File).
%% ok
%% > file:delete(File).
%% ok
%% '''
-spec tab2file(table(), file:name()) -> ok | {error, term()}.
tab2file(Table, File) ->
    tab2file(Table, File, []).

%% @doc Writes a table to a file, with options.
%%
%% <dl>
%% <dt>`{extended_info, [object_count | md5sum]}'</dt><dd>Writes the number of objects, or a checksum, for `{verify,
%% true}' of {@link file2tab/2}.</dd>
%% <dt>`{sync, boolean()}'</dt><dd>Whether the file is on disc when the call returns; `false' by default.</dd>
%% </dl>
%% The dump is written beside the file and then renamed: whoever is killed meanwhile leaves the old one whole (and a file
%% `.fyris-*.tmp'). Links are followed, and permissions stay.
%%
%% The file has the table as it was at one moment of the call. A process with the right to read may write it. Returns
%% `{error, badtab}' if there is no such table or it may not be read, `{error, {unknown_option, Option}}', `{error,
%% {malformed_option, Rest}}', or what writing the file gives.
%% ```
%% > T = fyris:new(numbers, []).
%% > File = lists:concat(["/tmp/fyris_doc_", os:getpid(), ".tab"]).
%% > fyris:tab2file(T, File, [{extended_info, [md5sum]}]).
%% ok
%% > {ok, _} = fyris:file2tab(File, [{verify, true}]).
%% > fyris:tab2file(T, File, [fast]).
%% {error,{unknown_option,fast}}
%% > file:delete(File).
%% ok
%% '''
-spec tab2file(table(), file:name(), [tab2file_option()]) -> ok | {error, term()}.
tab2file(Table, File, Options) ->
    fyris_file:write(Table, File, Options).

%% @doc Makes a table of a file that {@link tab2file/2} or `ets:tab2file/2' wrote. As `file2tab(File, [])'.
%% ```
%% > T = fyris:new(numbers, []).
%% > fyris:insert(T, {1, one}).
%% > File = lists:concat(["/tmp/fyris_doc_", os:getpid(), ".tab"]).
%% > ok = fyris:tab2file(T, File).
%% > {ok, Read} = fyris:file2tab(File).
%% > fyris:tab2list(Read).
%% [{1,one}]
%% > file:delete(File).
%% ok
%% '''
-spec file2tab(file:name()) -> {ok, table()} | {error, term()}.
file2tab(File) ->
    file2tab(File, []).

%% @doc Makes a table of a file that {@link tab2file/2} or `ets:tab2file/2' wrote, and returns `{ok, Table}'.
%%
%% The table has the name and the settings of the one that was written, and belongs to the caller.
%% <dl>
%% <dt>`{verify, boolean()}'</dt><dd>Whether the number of objects and the checksum, as far as the file has them, are
%% compared; `false' by default: then what is damaged or cut off is left out, as in `ets', and a warning is logged that has
%% the file, how many objects were read and how many the file promises.</dd>
%% <dt>`{max_inflated, Bytes}'</dt><dd>How many bytes of memory all compressed terms of the file together may take,
%% beyond 32 for each byte of the file: what they inflate to, and 32 for each element in them. 64 MiB unless it is
%% given. Neither `ets' nor `fyris' writes compressed terms, but a file can hold them, and a few KB of them can stand
%% for gigabytes. Where they need more, with or without `verify', the answer is `{error, {compressed_terms_too_large,
%% [{max_inflated, Bytes}, {bound, Whole}]}}' with the option and what it came to for this file, and there is no table.
%% A single term inflates to no more than 256 MiB. Not in `ets'.</dd>
%% </dl>
%% Otherwise returns `{error, Reason}': `badfile', `cannot_create_table' (a named table of the name is there),
%% `invalid_object_count', `checksum_error', `native_record' (an object holds one, and this release, before OTP 29, has
%% no such terms), or `{read_error, Reason}'.
%% ```
%% > fyris:file2tab("/no/such/file", [{verify, true}]).
%% {error,{read_error,_}}
%% '''
-spec file2tab(file:name(), [{verify, boolean()} | {max_inflated, non_neg_integer()}]) ->
          {ok, table()} | {error, term()}.
file2tab(File, Options) ->
    fyris_file:read(File, Options).

%% @doc Returns what a file says of its table: name, type, protection, key position, size and more.
%%
%% A compressed description is bounded as in {@link file2tab/1}, and the reasons of `{error, Reason}' are those.
%% ```
%% > T = fyris:new(numbers, [bag]).
%% > File = lists:concat(["/tmp/fyris_doc_", os:getpid(), ".tab"]).
%% > ok = fyris:tab2file(T, File).
%% > {ok, Info} = fyris:tabfile_info(File).
%% > proplists:get_value(type, Info).
%% bag
%% > file:delete(File).
%% ok
%% '''
-spec tabfile_info(file:name()) -> {ok, [{atom(), term()}]} | {error, term()}.
tabfile_info(File) ->
    fyris_file:info(File).

%% @doc Replaces the content of a table by that of a dets table. Returns `true'.
%%
%% As {@link init_table/2}.
%%
%% Fails with `badarg' if the dets table is not open.
%% ```
%% > File = lists:concat(["/tmp/fyris_doc_", os:getpid(), ".dets"]).
%% > {ok, Dets} = dets:open_file(File, []).
%% > dets:insert(Dets, {1, one}).
%% > T = fyris:new(numbers, []).
%% > fyris:from_dets(T, Dets).
%% true
%% > fyris:tab2list(T).
%% [{1,one}]
%% > dets:close(Dets), file:delete(File).
%% ok
%% '''
-spec from_dets(table(), dets:tab_name()) -> true.
from_dets(Table, Dets) ->
    case lists:member(Dets, dets:all()) andalso info(Table) =/= undefined of
        true -> init_table(Table, fyris_file:dets_generator(Dets));
        false -> ?BADARG([Table, Dets])
    end.

%% @doc Replaces the content of a dets table by that of a table, and returns the dets table.
%%
%% Each object that is there throughout is put in once, others may be.
%%
%% Fails with `badarg' if the dets table is not open.
%% ```
%% > File = lists:concat(["/tmp/fyris_doc_", os:getpid(), ".dets"]).
%% > {ok, Dets} = dets:open_file(File, []).
%% > T = fyris:new(numbers, []).
%% > fyris:insert(T, {1, one}).
%% > fyris:to_dets(T, Dets) =:= Dets.
%% true
%% > dets:lookup(Dets, 1).
%% [{1,one}]
%% > dets:close(Dets), file:delete(File).
%% ok
%% '''
-spec to_dets(table(), Dets) -> Dets when Dets :: dets:tab_name().
to_dets(Table, Dets) ->
    case lists:member(Dets, dets:all()) andalso info(Table) =/= undefined of
        true ->
            ok = dets:init_table(Dets, dets_source(Table, [Table, Dets])),
            Dets;
        false ->
            ?BADARG([Table, Dets])
    end.

%% Returns the generator for a dets table. The process of the dets table reads the objects; those of a private table are
%% read here, by the owner, before.
dets_source(Table, Args) ->
    case info(Table, protection) of
        private ->
            fyris_file:list_generator(
              try tab2list(Table)
              catch error:badarg -> ?BADARG(Args)
              end);
        _ ->
            fyris_file:generator(Table)
    end.

%% @doc Returns a handle of a table for `qlc'. As `table(Table, [])'.
%% ```
%% > T = fyris:new(numbers, [ordered_set]).
%% > fyris:insert(T, [{1, odd}, {2, even}, {3, odd}]).
%% > qlc:eval(qlc:append([1, 3], qlc:keysort(1, fyris:table(T)))).
%% [1,3,{1,odd},{2,even},{3,odd}]
%% '''
-spec table(table()) -> qlc:query_handle().
table(Table) ->
    table(Table, []).

%% @doc Returns a handle of a table for `qlc', with an option or a list of options.
%%
%% <dl>
%% <dt>`{traverse, first_next | last_prev | select | {select, match_spec()}}'</dt><dd>How objects are found: key by key,
%% from either end, or by {@link select/3} (the default), with what the query asks for or with this match
%% specification.</dd>
%% <dt>`{n_objects, pos_integer() | default}'</dt><dd>How many objects a step of a `select' returns; 100 by
%% default.</dd>
%% </dl>
%% Queries that name a key look it up. The table is fixed while it is traversed.
%%
%% Fails with `badarg' if an option is unknown, malformed or given twice.
%% ```
%% > T = fyris:new(numbers, [ordered_set]).
%% > fyris:insert(T, [{1, odd}, {2, even}, {3, odd}]).
%% > Odd = [{{'$1', odd}, [], ['$1']}].
%% > qlc:eval(fyris:table(T, {traverse, {select, Odd}})).
%% [1,3]
%% '''
-spec table(table(), Option | [Option]) -> qlc:query_handle() when
      Option :: {traverse, first_next | last_prev | select | {select, match_spec()}} |
                {n_objects, pos_integer() | default}.
table(Table, Options) ->
    Tid = ?CALL(resolve(Table), [Table, Options]),
    try fyris_qlc:table(Tid, Options)
    catch error:badarg -> ?BADARG([Table, Options])
    end.

%% @doc Prints a line for each table: id, name, type, size, memory in words and owner; and one with the number of tables
%% and the memory of all ({@link memory/0}), in bytes.
%% ```
%% > fyris:i().
%% ok
%% '''
-spec i() -> ok.
i() -> fyris_browse:tables().

%% @doc Prints the objects of a table, page by page, and asks before each next page. As `i(Table, 40, 80)'.
%% ```
%% > fyris:i(fyris:new(numbers, [])).
%% ok
%% '''
-spec i(table()) -> ok.
i(Table) -> i(Table, 40, 80).

%% @doc Prints the objects of a table, with `Height' lines a page. As `i(Table, Height, 80)'.
%% ```
%% > fyris:i(fyris:new(numbers, []), 20).
%% ok
%% '''
-spec i(table(), pos_integer()) -> ok.
i(Table, Height) -> i(Table, Height, 80).

%% @doc Prints the objects of a table, with `Height' lines a page, each cut after `Width' characters.
%% ```
%% > fyris:i(fyris:new(numbers, []), 20, 60).
%% ok
%% '''
-spec i(table(), pos_integer(), pos_integer()) -> ok.
i(Table, Height, Width) ->
    fyris_browse:table(?CALL(resolve(Table), [Table, Height, Width]), Height, Width).

%% ---------------------------------------------------------------------------
%% Beyond ets

%% @doc Returns the table of a name; makes it, with these options, if there is none.
%%
%% Of several callers at once one makes the table. With `{owner, none}' among the options it has no owner and
%% outlives its maker. The options are those of {@link new/2}; `named_table' goes without saying. Of a table that is there
%% only type and key position are compared.
%%
%% Fails with `badarg' as {@link new/2}; if the table that is there has another type or key position than the options
%% say (`set' and 1 if they say nothing).
%% ```
%% > fyris:open(numbers, [ordered_set]).
%% numbers
%% > fyris:open(numbers, [ordered_set]).
%% numbers
%% > fyris:open(numbers, [bag]).
%% ** exception error: bad argument
%% '''
-spec open(atom(), [option()]) -> table().
open(Name, Options) ->
    ?CALL(fyris_nif:open(Name, Options), [Name, Options]).

%% @doc Returns the objects of an `ordered_set' whose keys lie between two, both included. As `range(Table, From, To,
%% [])'.
%% ```
%% > T = fyris:new(numbers, [ordered_set]).
%% > fyris:insert(T, [{1, one}, {2, two}, {3, three}]).
%% > fyris:range(T, 2, '_').
%% [{2,two},{3,three}]
%% '''
-spec range(table(), term(), term()) -> [tuple()].
range(Table, From, To) ->
    range(Table, From, To, []).

%% @doc Returns the objects of an `ordered_set' whose keys lie between two, in the order of keys.
%%
%% The atom ``'_' '' instead of a key leaves that end open.
%% <dl>
%% <dt>`{from, excluded}', `{to, excluded}'</dt><dd>The key at that end does not count.</dd>
%% <dt>`reverse'</dt><dd>In descending order. `From' is the lower key all the same.</dd>
%% <dt>`{limit, N}'</dt><dd>The first N, which is below 2^59.</dd>
%% <dt>`keys'</dt><dd>Keys instead of objects.</dd>
%% </dl>
%% O(log n) and what is returned. Of more than some hundred objects all are as they were at one moment of the call.
%%
%% Fails with `badarg' if the table is no `ordered_set'; if an option is unknown or malformed.
%% ```
%% > T = fyris:new(numbers, [ordered_set]).
%% > fyris:insert(T, [{1, one}, {2, two}, {3, three}]).
%% > fyris:range(T, 1, 3, [{to, excluded}, reverse, keys]).
%% [2,1]
%% '''
-spec range(table(), term(), term(), [range_option()]) -> [tuple()] | [term()].
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

%% The largest limit: as many objects as no table has, and a small integer.
-define(MOST, (1 bsl 59 - 1)).

-define(FORMS, "reverse, keys, {limit,N} (N from 1 below 2^59)").
-define(ENDS, "{from,excluded}, {to,excluded}, {from,included}, {to,included}").

range_options(Options) ->
    Ends = #{from => included, to => included},
    read_options(Options, Ends#{reverse => false, keys => false, limit => ?MOST}, ?FORMS ", " ?ENDS).

range_ends(Options) ->
    read_options(Options, #{from => included, to => included}, ?ENDS).

prefix_options(Options) ->
    read_options(Options, #{reverse => false, keys => false, limit => ?MOST}, ?FORMS).

%% The options of the names in `Sofar'.
read_options([Option | Rest], Sofar, Known) ->
    case Option of
        Flag when (Flag =:= reverse orelse Flag =:= keys), is_map_key(Flag, Sofar) ->
            read_options(Rest, Sofar#{Flag := true}, Known);
        {limit, N} when is_map_key(limit, Sofar), is_integer(N), N > 0, N =< ?MOST ->
            read_options(Rest, Sofar#{limit := N}, Known);
        {End, How} when is_map_key(End, Sofar), (How =:= excluded orelse How =:= included),
                        (End =:= from orelse End =:= to) ->
            read_options(Rest, Sofar#{End := How}, Known);
        _ -> bad_option(Option, Known)
    end;
read_options([], Options, _) ->
    Options;
read_options(Rest, _, Known) ->
    bad_option(Rest, Known).

-spec bad_option(term(), string()) -> no_return().
bad_option(Option, Known) ->
    Text = io_lib:format("bad option ~0tP: options are a proper list of ~s", [Option, 20, Known]),
    error({'$fyris_error', badarg, option, unicode:characters_to_binary(Text)}).

bound('_', _) -> unbounded;
bound(Key, How) -> {How, Key}.

%% @doc Returns the objects of an `ordered_set' whose keys begin alike. As `prefix(Table, Prefix, [])'.
%% ```
%% > T = fyris:new(people, [ordered_set]).
%% > fyris:insert(T, [{{smith, ann}, 1}, {{smith, joe}, 2}, {{young, neil}, 3}]).
%% > fyris:prefix(T, {smith, '_'}).
%% [{{smith,ann},1},{{smith,joe},2}]
%% '''
-spec prefix(table(), term()) -> [tuple()].
prefix(Table, Prefix) ->
    prefix(Table, Prefix, []).

%% @doc Returns the objects of an `ordered_set' whose keys begin alike, in the order of keys.
%%
%% The prefix is ``{a, b, '_'}'' (tuples of three that begin with these), ``[a, b | '_']'' (lists), or a binary
%% (binaries that begin with its bytes). The options are those of {@link range/4}, but for the ends. O(log n) and what
%% is returned.
%%
%% Fails with `badarg' if the table is no `ordered_set'; if the prefix is none of these; if an option is unknown or
%% malformed.
%% ```
%% > T = fyris:new(words, [ordered_set]).
%% > fyris:insert(T, [{<<"one">>, 1}, {<<"two">>, 2}, {<<"twelve">>, 12}]).
%% > fyris:prefix(T, <<"tw">>, [keys]).
%% [<<"twelve">>,<<"two">>]
%% '''
-spec prefix(table(), term(), [reverse | keys | {limit, pos_integer()}]) ->
          [tuple()] | [term()].
prefix(Table, Prefix, Options) ->
    ?CALL(prefix_of(resolve(Table), Prefix, prefix_options(Options)),
          [Table, Prefix, Options]).

prefix_of(Table, Prefix, #{reverse := Back, keys := Keys, limit := Limit}) ->
    Place = fyris_nif:prefix(Table, Prefix, Back, Keys),
    range_slices(Table, Place, [], Limit).

%% @doc Returns the object of an `ordered_set' with the lowest key at or above a key, or ``'$end_of_table' ''. As
%% `seek(Table, Key, up)'.
%% ```
%% > T = fyris:new(numbers, [ordered_set]).
%% > fyris:insert(T, [{1, one}, {3, three}]).
%% > fyris:seek(T, 2).
%% {3,three}
%% '''
-spec seek(table(), term()) -> tuple() | '$end_of_table'.
seek(Table, Key) ->
    ?CALL(fyris_nif:seek(Table, Key, false), [Table, Key]).

%% @doc Returns the object of an `ordered_set' with the lowest key at or above a key (`up'), or with the highest at or
%% below it (`down'), or ``'$end_of_table' ''.
%%
%% O(log n). A key that is inserted during the call may be missed.
%%
%% Fails with `badarg' if the table is no `ordered_set'; if the third argument is another one.
%% ```
%% > T = fyris:new(numbers, [ordered_set]).
%% > fyris:insert(T, [{1, one}, {3, three}]).
%% > fyris:seek(T, 2, down).
%% {1,one}
%% > fyris:seek(T, 0, down).
%% '$end_of_table'
%% '''
-spec seek(table(), term(), up | down) -> tuple() | '$end_of_table'.
seek(Table, Key, Way) when Way =:= up; Way =:= down ->
    ?CALL(fyris_nif:seek(Table, Key, Way =:= down), [Table, Key, Way]);
seek(Table, Key, Way) ->
    ?BADARG([Table, Key, Way]).

%% @doc Returns the N-th key of an `ordered_set' in term order, from 0, or ``'$end_of_table' '' if there are no more than N.
%%
%% For tables on the indexes `judysl' and `judyesl' ({@link new/2}), which know how many keys are before a key; they
%% differ in how they cut keys into words, and `{index, judyesl}' serves for any. Takes a
%% step for each byte of the key that tells keys apart, whatever the number of objects, where {@link slot/2} on other
%% indexes takes N. Atomic. A key of a list that is being inserted may be counted before the list is seen, as in
%% {@link info/2}.
%%
%% Fails with `badarg' if N is no integer from 0 on; if the index does not count keys: the error's text names it.
%% ```
%% > T = fyris:new(scores, [ordered_set, {index, judyesl}]).
%% > fyris:insert(T, [{70, ann}, {20, bo}, {50, cy}]).
%% > fyris:nth(T, 1).
%% 50
%% > fyris:nth(T, 3).
%% '$end_of_table'
%% '''
-spec nth(table(), non_neg_integer()) -> term() | '$end_of_table'.
nth(Table, N) ->
    ?CALL(fyris_nif:nth(Table, N), [Table, N]).

%% @doc Returns the number of keys of an `ordered_set' that are below a key, which may be any term and need not be there.
%%
%% For the same indexes as {@link nth/2}, at the same cost; atomic in the same way. `nth(T, rank(T, Key))' is the first key
%% at or above Key. The atom ``'_' '' is the open end, as in {@link range/4}: all keys are below it.
%%
%% Fails with `badarg' if the index does not count keys.
%% ```
%% > T = fyris:new(scores, [ordered_set, {index, judyesl}]).
%% > fyris:insert(T, [{70, ann}, {20, bo}, {50, cy}]).
%% > fyris:rank(T, 60).
%% 2
%% '''
-spec rank(table(), term()) -> non_neg_integer().
rank(Table, '_') ->
    ?CALL(fyris_nif:count_between(Table, unbounded, unbounded), [Table, '_']);
rank(Table, Key) ->
    ?CALL(fyris_nif:rank(Table, Key), [Table, Key]).

%% @doc Returns the number of keys of an `ordered_set' from one key to another, which both count and need not be there; 0
%% if the first is above the second. The atom ``'_' '' leaves an end open.
%%
%% For the same indexes as {@link nth/2}, at twice the cost; both ends are looked up at one moment.
%%
%% Fails with `badarg' if the index does not count keys.
%% ```
%% > T = fyris:new(scores, [ordered_set, {index, judyesl}]).
%% > fyris:insert(T, [{70, ann}, {20, bo}, {50, cy}]).
%% > fyris:count_between(T, 50, 100).
%% 2
%% '''
-spec count_between(table(), term(), term()) -> non_neg_integer().
count_between(Table, From, To) ->
    ?CALL(fyris_nif:count_between(Table, bound(From, included), bound(To, included)), [Table, From, To]).

%% @doc Returns the objects of many keys: a list for each key, in the order of the keys.
%%
%% Faster than as many lookups in a table that is larger than the cache: the memory of several keys is asked for at the
%% same time. Each key is looked up at a moment of its own.
%%
%% Fails with `badarg' if the keys are no proper list.
%% ```
%% > T = fyris:new(numbers, []).
%% > fyris:insert(T, [{1, one}, {2, two}]).
%% > fyris:lookup_many(T, [2, 3, 1]).
%% [[{2,two}],[],[{1,one}]]
%% '''
-spec lookup_many(table(), [term()]) -> [[tuple()]].
lookup_many(Table, Keys) ->
    ?CALL(lookup_slices(resolve(Table), Keys, []), [Table, Keys]).

lookup_slices(Table, Keys, Done) ->
    case fyris_nif:lookup_some(Table, Keys) of
        {[], Lists} -> lists:reverse(Done, lists:reverse(Lists));
        {Rest, Lists} -> lookup_slices(Table, Rest, Lists ++ Done)
    end.

%% @doc Deletes the objects with all of these keys and returns them, in the order of the keys, in one atomic and isolated
%% step: a {@link write_batch/1} of {@link take/2}.
%%
%% Fails with `badarg', and takes nothing, if the keys are no proper list.
%% ```
%% > T = fyris:new(numbers, []).
%% > fyris:insert(T, [{1, one}, {2, two}, {3, three}]).
%% > fyris:take_many(T, [3, 7, 1]).
%% [[{3,three}],[],[{1,one}]]
%% > fyris:tab2list(T).
%% [{2,two}]
%% '''
-spec take_many(table(), [term()]) -> [[tuple()]].
take_many(Table, Keys) ->
    case ?CALL(take_all(resolve(Table), Keys), [Table, Keys]) of
        {conflict, _, _} = Conflict -> exit({aborted, Conflict});
        {ok, Taken} -> Taken
    end.

take_all(Table, Keys) ->
    %% Also of no keys the table is to be there.
    fyris_nif:info(Table, type) =:= undefined andalso error({'$fyris_error', badarg, id, <<>>}),
    Takes = try [{take, Table, Key} || Key <- Keys]
            catch error:{bad_generator, _} ->
                    error({'$fyris_error', badarg, argument, <<"not a proper list">>})
            end,
    fyris_nif:write_batch(fyris_transaction:current(), Takes).

%% @doc Returns the objects that have a value by a secondary index, in the order of their keys; of one key, in a bag, in
%% the order of their insertion.
%%
%% The index is an option `{secondary, Name, Value}' of {@link new/2}. Values are compared by `=:='. O(log n) and the
%% objects that are found, and of objects that were changed while a snapshot lives also these. If it visits more than
%% 512 objects, all are as they were at one moment of the call; of fewer each that is there throughout is found once.
%% Works on snapshots and in transactions.
%%
%% Fails with `badarg' if the table has no secondary index of this name.
%% ```
%% > T = fyris:new(people, [{secondary, by_city, {element, 3}}, {secondary, by_year, {path, [2, born]}}]).
%% > fyris:insert(T, [{ada, #{born => 1815}, london}, {emmy, #{born => 1882}, erlangen}, {alan, #{}, london}]).
%% > fyris:lookup_by(T, by_city, london).
%% [{ada,#{born := 1815},london},{alan,_,london}]
%% > fyris:lookup_by(T, by_year, 1882).
%% [{emmy,_,erlangen}]
%% '''
-spec lookup_by(table(), Name :: atom(), Value :: term()) -> [tuple()].
lookup_by(Table, Name, Value) ->
    ?CALL(lists:reverse(query(fyris_nif:query_by(Table, Name, Value))), [Table, Name, Value]).

%% @doc Adds a secondary index to a table, which may be in use: what an option `{secondary, Name, Value}' of
%% {@link new/2} would have made. All objects are in it when this returns.
%%
%% Copies the objects, on a dirty scheduler: O(n log n). Others read and write meanwhile; at the end writers wait while
%% the last of their changes are taken over. Transactions under way that have the table are done again. Snapshots from
%% before do not have the index.
%%
%% Fails with `badarg' if the value is not one of {@link new/2}, or the table has a secondary index of this name; with
%% `{not_unique, Name, Value}' if it is to be unique and two objects have the same value.
%% ```
%% > T = fyris:new(people, []).
%% > fyris:insert(T, [{ada, london}, {emmy, erlangen}]).
%% > fyris:add_secondary(T, by_city, {element, 2}).
%% true
%% > fyris:lookup_by(T, by_city, erlangen).
%% [{emmy,erlangen}]
%% '''
-spec add_secondary(table(), Name :: atom(), secondary_value()) -> true.
add_secondary(Table, Name, Value) ->
    ?CALL(fyris_nif:add_secondary(Table, Name, Value), [Table, Name, Value]).

%% @doc Removes a secondary index. Costs what {@link add_secondary/3} does.
%%
%% Fails with `badarg' if the table has no secondary index of this name.
%% ```
%% > T = fyris:new(people, [{secondary, by_city, {element, 2}}]).
%% > fyris:remove_secondary(T, by_city).
%% true
%% > fyris:info(T, secondary).
%% []
%% '''
-spec remove_secondary(table(), Name :: atom()) -> true.
remove_secondary(Table, Name) ->
    ?CALL(fyris_nif:remove_secondary(Table, Name), [Table, Name]).

%% @doc Deletes the objects of an `ordered_set' whose keys lie between two, both included, and returns their number.
%%
%% The atom ``'_' '' leaves an end open. Each object is deleted atomically, the range as a whole is not. The call goes
%% from key to key upwards, once: objects that are inserted meanwhile may be deleted or stay, and writers of ever higher
%% keys cannot keep it from its end. O(log n) and what is deleted.
%%
%% Fails with `badarg' if the table is no `ordered_set'. If the table goes away half-way, objects that were deleted
%% before stay deleted.
%% ```
%% > T = fyris:new(numbers, [ordered_set]).
%% > fyris:insert(T, [{1, one}, {2, two}, {3, three}]).
%% > fyris:delete_range(T, 2, '_').
%% 2
%% '''
-spec delete_range(table(), term(), term()) -> non_neg_integer().
delete_range(Table, From, To) ->
    delete_range(Table, From, To, []).

%% @doc Deletes as {@link delete_range/3} does; the key at an end for which the options say `{from, excluded}' or `{to,
%% excluded}' stays.
%%
%% Fails with `badarg', and deletes nothing, also if an option is unknown or malformed.
%% ```
%% > T = fyris:new(numbers, [ordered_set]).
%% > fyris:insert(T, [{1, one}, {2, two}, {3, three}]).
%% > fyris:delete_range(T, '_', 3, [{to, excluded}]).
%% 2
%% '''
-spec delete_range(table(), term(), term(), [range_end()]) -> non_neg_integer().
delete_range(Table, From, To, Options) ->
    ?CALL(begin
              T = resolve(Table),
              delete_slices(T, place_of_range(T, From, To, Options, true), 0)
          end, [Table, From, To, Options]).

place_of_range(Table, From, To, Options, Keys) ->
    #{from := Low, to := High} = range_ends(Options),
    fyris_nif:range(Table, bound(From, Low), bound(To, High), false, Keys).

delete_slices(Table, Place, Count) ->
    case fyris_nif:take_slice(Table, Place, []) of
        {true, More, _} -> delete_slices(Table, Place, Count + More);
        {false, More, _} -> Count + More
    end.

%% @doc Deletes the objects of an `ordered_set' whose keys lie between two, both included, and returns them, in the
%% order of keys.
%%
%% Otherwise as {@link delete_range/3}. Of several callers at once each object goes to one. If the table goes away
%% half-way, or the right to write to it, the objects that were taken until then are returned, and the next call fails.
%% ```
%% > T = fyris:new(queue, [ordered_set]).
%% > fyris:insert(T, [{1, first}, {2, second}, {9, later}]).
%% > fyris:take_range(T, '_', 5).
%% [{1,first},{2,second}]
%% > fyris:tab2list(T).
%% [{9,later}]
%% '''
-spec take_range(table(), term(), term()) -> [tuple()].
take_range(Table, From, To) ->
    take_range(Table, From, To, []).

%% @doc Takes as {@link take_range/3} does; the key at an end for which the options say `{from, excluded}' or `{to,
%% excluded}' stays.
%%
%% Fails with `badarg', and takes nothing, also if an option is unknown or malformed.
%% ```
%% > T = fyris:new(queue, [ordered_set]).
%% > fyris:insert(T, [{1, first}, {2, second}, {9, later}]).
%% > fyris:take_range(T, 1, '_', [{from, excluded}]).
%% [{2,second},{9,later}]
%% '''
-spec take_range(table(), term(), term(), [range_end()]) -> [tuple()].
take_range(Table, From, To, Options) ->
    ?CALL(begin
              T = resolve(Table),
              lists:reverse(take_slices(T, place_of_range(T, From, To, Options, false), []))
          end, [Table, From, To, Options]).

take_slices(Table, Place, Sofar) ->
    try fyris_nif:take_slice(Table, Place, Sofar) of
        {true, _, More} -> take_slices(Table, Place, More);
        {false, _, All} -> All
    catch
        %% Objects that are out of the table are nowhere else.
        error:_ when Sofar =/= [] -> Sofar
    end.

%% @doc Deletes all objects and returns them.
%%
%% Each object that is there when the call begins is returned, or was deleted or taken by another process; one that is
%% inserted meanwhile is returned or stays, and writers of ever higher keys cannot keep the call from its end. If the
%% table goes away half-way this is as in {@link take_range/3}. Runs on a dirty scheduler.
%% ```
%% > T = fyris:new(numbers, [ordered_set]).
%% > fyris:insert(T, [{1, one}, {2, two}]).
%% > fyris:drain(T).
%% [{1,one},{2,two}]
%% > fyris:info(T, size).
%% 0
%% '''
-spec drain(table()) -> [tuple()].
drain(Table) ->
    ?CALL(fyris_nif:drain(Table), [Table]).

%% @doc Returns what {@link select/2} would do with a match specification: how the objects are found (`kind', `plan'),
%% about how many would be visited (`estimated'), and how many there are (`size'); if it finds them by a secondary
%% index, also the name of that (`secondary').
%%
%% The kinds are `point' (one key is looked up), `points' (several, or none if nothing can match), `prefix' (the keys
%% that begin alike), `range' and `full_scan'. Visits no more than 256 objects to say so.
%%
%% Fails with `badarg' if the match specification is malformed.
%% ```
%% > T = fyris:new(numbers, [ordered_set]).
%% > fyris:insert(T, [{1, one}, {2, two}, {3, three}]).
%% > fyris:explain(T, [{{'$1', '_'}, [{'>', '$1', 1}], ['$1']}]).
%% #{kind := range, estimated := _, size := 3}
%% '''
-spec explain(table(), match_spec()) -> #{atom() => term()}.
explain(Table, Spec) ->
    {Kind, Plan, Estimated, Size, Secondary} =
        ?CALL(fyris_nif:explain(Table, Spec), [Table, Spec]),
    maps:from_list([{kind, Kind}, {plan, Plan}, {estimated, Estimated}, {size, Size}] ++
                       [{secondary, Name} || Name <- Secondary]).

%% @doc Takes a snapshot of a table, or of all tables of a list at one moment.
%%
%% A snapshot serves wherever a table is read, and shows what the table held at that moment, with all writes that had
%% returned before. No writer waits for who reads it; it stays as it is if the table is written to, emptied or deleted.
%% What would write fails with `badarg'.
%%
%% It lasts until it is released, until no process has a reference to it, or until the process ends that took it. As long
%% as it lives, what changes for the first time since is kept for it: {@link info/2} tells of it (`snapshots').
%%
%% Fails with `badarg' if one of the tables does not exist, may not be read, or is a snapshot.
%% ```
%% > T = fyris:new(numbers, []).
%% > fyris:insert(T, {1, one}).
%% > S = fyris:snapshot(T).
%% > fyris:insert(T, {1, uno}).
%% > {fyris:lookup(S, 1), fyris:lookup(T, 1)}.
%% {[{1,one}],[{1,uno}]}
%% > [S1, S2] = fyris:snapshot([T, fyris:new(others, [ordered_set])]).
%% > {fyris:tab2list(S1), fyris:tab2list(S2)}.
%% {[{1,uno}],[]}
%% '''
-spec snapshot(table()) -> snapshot(); ([table()]) -> [snapshot()].
snapshot(Tables) when is_list(Tables) ->
    ?CALL(fyris_nif:snapshot(Tables), [Tables]);
snapshot(Table) ->
    [Snapshot] = ?CALL(fyris_nif:snapshot([Table]), [Table]),
    Snapshot.

%% @doc Ends a snapshot, or several. Who reads it afterwards fails with `badarg'.
%%
%% Releasing it again does nothing. What only this snapshot saw is freed in the background.
%%
%% Fails with `badarg' for what is no snapshot; those before it in the list are released then.
%% ```
%% > S = fyris:snapshot(fyris:new(numbers, [])).
%% > fyris:release(S).
%% true
%% '''
-spec release(snapshot() | [snapshot()]) -> true.
release(Snapshots) when is_list(Snapshots) ->
    ?CALL(lists:foreach(fun fyris_nif:release/1, Snapshots), [Snapshots]),
    true;
release(Snapshot) ->
    ?CALL(fyris_nif:release(Snapshot), [Snapshot]).

%% @doc Returns of each snapshot that is alive the table, the process that took it, and its age in milliseconds.
%% ```
%% > S = fyris:snapshot(fyris:new(numbers, [named_table])).
%% > [{numbers, Pid, Age}] = [Told || {numbers, _, _} = Told <- fyris:snapshots()].
%% > {Pid =:= self(), Age >= 0, fyris:release(S)}.
%% {true,true,true}
%% '''
-spec snapshots() -> [{table(), pid(), non_neg_integer()}].
snapshots() ->
    fyris_nif:snapshots().

%% @doc Returns when what released snapshots alone saw is freed. On a dirty scheduler.
%% ```
%% > fyris:collect().
%% true
%% '''
-spec collect() -> true.
collect() ->
    fyris_nif:collect().

%% @doc Runs a fun in a transaction, as {@link transaction/2} without options.
%% ```
%% > T = fyris:new(hits, []).
%% > fyris:transaction(fun(Tx) -> fyris:update_counter(fyris:within(Tx, T), home, 1, {home, 0}) end).
%% {atomic,1}
%% '''
-spec transaction(fun((transaction()) -> Result)) -> {atomic, Result} | {aborted, term()}.
transaction(Fun) ->
    transaction(Fun, []).

%% @doc Runs a fun in a transaction: what it reads and writes in tables of {@link within/2} happens at one moment, or
%% not at all.
%%
%% The fun runs in the calling process. Within the transaction it sees its own writes, by whatever function it reads,
%% and else the tables as they were at one moment; others see nothing of it before it has returned. Then all is
%% committed, if nothing that it has read has changed meanwhile, keys that were not there and ranges included. If
%% something has, all begins again: so the fun should do nothing else that cannot be done twice. Strictly serializable,
%% among transactions and with all other calls.
%%
%% Options, a number or `infinity' being `{retries, Number}':
%% <dl>
%% <dt>`{retries, N}'</dt><dd>how often it begins again, 1,000 times unless this says otherwise, or `infinity'.</dd>
%% <dt>`{hold, Milliseconds}'</dt><dd>after some conflicts the transaction <em>goes first</em>, one at a time: writes of
%% keys that it has read or written, and into ranges that it has read, wait for it, so long at most (100); all other
%% writes, and reads, do not. If it has not ended then, its next read fails, and so does its end if others were faster
%% once more: the reason is `{{hold_expired, Milliseconds}, Stack}'. That is also so if the fun itself writes such a key
%% past the transaction. With 0 nobody waits for it.</dd>
%% </dl>
%%
%% Returns what `mnesia:transaction/1' does: `{atomic, Result}', or, if nothing has happened, `{aborted, Reason}':
%% <dl>
%% <dt>`Reason'</dt><dd>after {@link abort/1} and `exit/1';</dd>
%% <dt>`{throw, Term}'</dt><dd>after `throw/1';</dd>
%% <dt>`{Reason, Stack}'</dt><dd>after an error, also one of the commit: `{not_unique, Name, Value}' for a value of a
%% unique secondary index that another object has ({@link new/2});</dd>
%% <dt>`{conflict, Table, Key}'</dt><dd>after the last attempt; the key, or both, `undefined' where they are not
%% known.</dd>
%% </dl>
%% If the process is killed in the fun, nothing has happened. A transaction in the fun joins the one around it: aborted
%% it takes back its own writes, and the other one goes on.
%%
%% Calls on tables that do not come from {@link within/2} act at once, and stay if the transaction is aborted. What
%% works on a table and not on its objects ({@link delete/1}, {@link delete_all_objects/1}, {@link rename/2}, {@link
%% setopts/2}, {@link give_away/3}, {@link snapshot/1}, and {@link slot/2} of a table without an order of keys) fails
%% with `badarg' for a table within a transaction.
%%
%% Fails with `badarg' for what is no fun of one argument, and for options that there are not. A commit of more than
%% 500 keys runs on a dirty scheduler.
%% ```
%% > T = fyris:new(accounts, []).
%% > fyris:insert(T, [{ada, 100}, {bob, 0}]).
%% > Move = fun(A) -> [_, Left] = [fyris:update_counter(A, Who, By) || {Who, By} <- [{bob, 70}, {ada, -70}]], Left end.
%% > Pay = fun(Tx) -> case Move(fyris:within(Tx, T)) of Left when Left < 0 -> fyris:abort(too_little); Left -> Left end end.
%% > {fyris:transaction(Pay), fyris:transaction(Pay), fyris:lookup(T, ada)}.
%% {{atomic,30},{aborted,too_little},[{ada,30}]}
%% '''
-spec transaction(fun((transaction()) -> Result), Retries | [{retries, Retries} | {hold, non_neg_integer()}]) ->
    {atomic, Result} | {aborted, term()} when Retries :: non_neg_integer() | infinity.
transaction(Fun, Options) ->
    case is_function(Fun, 1) andalso fyris_transaction:options(Options) of
        {Retries, Hold} -> fyris_transaction:run(Fun, Retries, Hold);
        false -> ?BADARG([Fun, Options])
    end.

%% @doc Returns a table, or all tables of a list, as a transaction reads and writes them: what comes back serves
%% wherever a table does, as long as the transaction lasts.
%%
%% All tables of a transaction are seen as they were at one moment, which comes later when another table comes in. If
%% what was read has changed by then, the transaction begins again.
%%
%% Fails with `badarg' if a table does not exist or may not be read, is a snapshot, or belongs to another transaction;
%% if the transaction has ended.
%% ```
%% > T = fyris:new(numbers, [ordered_set]).
%% > fyris:transaction(fun(Tx) -> W = fyris:within(Tx, T), fyris:insert(W, {1, one}), {fyris:first(W), fyris:first(T)} end).
%% {atomic,{1,'$end_of_table'}}
%% '''
-spec within(transaction(), table()) -> table(); (transaction(), [table()]) -> [table()].
within(Transaction, Tables) when is_list(Tables) ->
    [within(Transaction, Table) || Table <- Tables];
within(Transaction, Table) ->
    case ?CALL(fyris_nif:transaction_table(Transaction, Table), [Transaction, Table]) of
        {conflict, _, _} = Conflict -> exit({aborted, Conflict});
        Within -> Within
    end.

%% @doc Ends the fun of a transaction: nothing has happened, and {@link transaction/2} returns `{aborted, Reason}'.
%% ```
%% > fyris:transaction(fun(_) -> fyris:abort(changed_my_mind) end).
%% {aborted,changed_my_mind}
%% '''
-spec abort(term()) -> no_return().
abort(Reason) ->
    exit({aborted, Reason}).

%% @doc Writes to several keys of several tables in one atomic and isolated step, if all checks hold.
%%
%% Operations are done in their order, and answer as the functions of their names do: `{ok, Answers}' has one of each.
%% Checks see what the tables held before the batch: `{check, Table, Key, Expected}' asks for just this object, these
%% objects in any order, none (`absent'), or what a snapshot of the table has (`{unchanged, Snapshot}'); they answer
%% `true'. If one does not hold nothing is done, and `{error, {check, Operation}}' names the first.
%%
%% A transaction without a fun: as {@link transaction/2}, also within one, but tried until nobody is in the way.
%%
%% Inserts into one table take about what {@link insert/2} of a list takes, all else what a transaction does. A batch of
%% more than 500 keys runs on a dirty scheduler.
%%
%% Fails with `badarg', and nothing is done, for what is no operation, and where the function of its name would; the
%% text of the error says which operation it was, from 0.
%% ```
%% > T = fyris:new(stock, []).
%% > fyris:insert(T, {apples, 3}).
%% > Sell = [{check, T, apples, {apples, 3}}, {update_counter, T, apples, -1}, {insert, T, {sold, 1}}].
%% > fyris:write_batch(Sell).
%% {ok,[true,2,true]}
%% > fyris:write_batch(Sell).
%% {error,{check,{check,_,apples,{apples,3}}}}
%% '''
-spec write_batch([batch_op()]) -> {ok, [term()]} | {error, {check, batch_op()}}.
write_batch(Operations) ->
    case ?CALL(fyris_nif:write_batch(fyris_transaction:current(), Operations), [Operations]) of
        {conflict, _, _} = Conflict -> exit({aborted, Conflict});
        Done -> Done
    end.

%% @doc Subscribes to what changes in a table, or in several. As `subscribe(Tables, What, [])'.
%% ```
%% > T = fyris:new(numbers, []).
%% > S = fyris:subscribe(T, {key, 1}).
%% > fyris:insert(T, [{1, one}, {2, two}]).
%% > receive {fyris, S, 1, Event} -> Event end.
%% {changes,[{insert,_,{1,one}}]}
%% '''
-spec subscribe(table() | [table()], watch_filter()) -> subscription().
subscribe(Tables, What) ->
    ?CALL(fyris_watch:subscribe(as_list(Tables), What, []), [Tables, What]).

%% @doc Subscribes to what changes in a table, or in several: the calling process gets messages.
%%
%% `What' are the changes to be told of:
%% <dl>
%% <dt>`all'</dt><dd>All.</dd>
%% <dt>`{key, Key}'</dt><dd>Those of a key. Who writes other keys pays one look-up, however many subscribe to
%% keys.</dd>
%% <dt>`{range, From, To}'</dt><dd>Those of the keys of an `ordered_set' between two, as in {@link range/3}.</dd>
%% <dt>`{pattern, Pattern}', a match specification</dt><dd>Those of objects that match, or of which the specification
%% makes `true', before the change or after it. `self()' and `node()' in it are those of no process.</dd>
%% </dl>
%% Each message is `{fyris, Subscription, Seq, Event}'. `Seq' counts from 1; what was lost counts as well. `Event' is
%% one of these, where a table is its name, or its tid if it has none:
%% <dl>
%% <dt>`{changes, Changes}'</dt><dd>What one call, or one transaction, has changed: a list of `{insert, Table, New}',
%% `{update, Table, Old, New}' and `{delete, Table, Old}' of objects. In the bags nothing is updated: objects come and
%% go. What puts the same object in again changes nothing.</dd>
%% <dt>`{cleared, Table, N}'</dt><dd>All objects, N of them, were deleted at once: {@link delete_all_objects/1}.</dd>
%% <dt>`{deleted, Table}'</dt><dd>The table was deleted, and is told of no more. With the last table the subscription
%% ends.</dd>
%% <dt>`{overflow, Lost}'</dt><dd>So many changes, at most, did not fit into the queue, and are told nowhere: what the
%% process knows of the tables may be wrong from here on.</dd>
%% <dt>`{objects, Table, Objects}', `current'</dt><dd>Only with `{from, snapshot}': objects that were there, some of
%% them, and that all of them have been told.</dd>
%% </dl>
%% The options are:
%% <dl>
%% <dt>`{from, snapshot}'</dt><dd>First the objects are told that are there now, at one moment of all tables, and then
%% all changes since: none is missing, and none comes twice.</dd>
%% <dt>`{queue, N}'</dt><dd>The number of changes that wait to be sent, at most; 65,536 by default. One step of changes
%% always has room.</dd>
%% <dt>`{conflate, true}'</dt><dd>Of changes of a key that wait only one is told: what was there before the first, and
%% what is there after the last, in its place. What a transaction changes is then not told together. For a `set' or an
%% `ordered_set'.</dd>
%% <dt>`{active, N}'</dt><dd>N messages come, and then `{fyris, Subscription, passive}' and nothing more until {@link
%% set_active/2}; what comes meanwhile waits in the queue. By default, `{active, true}', each is sent at once, and
%% waits in the mailbox of the process.</dd>
%% <dt>`{to, Pid}'</dt><dd>This process of the node gets the messages, and not the calling one.</dd>
%% </dl>
%% Messages are sent by a thread of the library, after the change can be seen, and never by who writes, who never
%% waits for it. They come in the order of the changes of each key, and of calls that do not overlap. Writers of a
%% watched table pay for copies of the objects that somebody wants to know of.
%%
%% A subscription lasts until {@link unsubscribe/1}, until its process ends, or until its tables are deleted; whatever
%% becomes of the rights to these. <em>Keep what this returns</em>, in the state of a `gen_server' for example: when no
%% process has a reference to it any more (a message in a mailbox is one) the subscription ends, without a message.
%%
%% Fails with `badarg', and nothing is done, if a table does not exist, may not be read, is a snapshot or within a
%% transaction, or is given twice; for an empty list; for a range of what is no `ordered_set'; to conflate a bag;
%% if what is asked for or an option is unknown or malformed; if the process of `to' is not alive.
%% ```
%% > T = fyris:new(numbers, [ordered_set]).
%% > fyris:insert(T, [{1, one}, {2, two}]).
%% > S = fyris:subscribe(T, {range, 2, '_'}, [{from, snapshot}]).
%% > fyris:insert(T, {2, due}).
%% > [receive {fyris, S, Seq, Event} -> Event end || Seq <- [1, 2, 3]].
%% [{objects,_,[{2,two}]},current,{changes,[{update,_,{2,two},{2,due}}]}]
%% '''
-spec subscribe(table() | [table()], watch_filter(), [subscribe_option()]) -> subscription().
subscribe(Tables, What, Options) ->
    ?CALL(fyris_watch:subscribe(as_list(Tables), What, Options), [Tables, What, Options]).

as_list(Tables) when is_list(Tables) -> Tables;
as_list(Table) -> [Table].

%% @doc Ends a subscription. Returns `true', also if it has ended already.
%%
%% When it returns no message of the subscription comes any more. Those that are in the mailbox stay there.
%%
%% Fails with `badarg' for what is no subscription.
%% ```
%% > S = fyris:subscribe(fyris:new(numbers, []), all).
%% > fyris:unsubscribe(S).
%% true
%% '''
-spec unsubscribe(subscription()) -> true.
unsubscribe(Subscription) ->
    ?CALL(fyris_nif:unsubscribe(Subscription), [Subscription]).

%% @doc Says how many messages of a subscription come from now on, whatever was left of those asked for before: all of
%% them (`true'), or so many and then `{fyris, Subscription, passive}'. Returns `true', also if it has ended.
%%
%% Fails with `badarg' for what is no subscription, and for what is neither `true' nor an integer from 1 below 2^59.
%% ```
%% > T = fyris:new(numbers, []).
%% > S = fyris:subscribe(T, all, [{active, 1}]).
%% > [fyris:insert(T, {N}) || N <- [1, 2]].
%% > receive {fyris, S, 1, _} -> receive {fyris, S, Now} -> Now end end.
%% passive
%% > fyris:set_active(S, true).
%% true
%% > receive {fyris, S, 2, _} -> two end.
%% two
%% '''
-spec set_active(subscription(), true | pos_integer()) -> true.
set_active(Subscription, Active) ->
    ?CALL(fyris_nif:set_active(Subscription, Active), [Subscription, Active]).

%% @doc Replaces an object by another one with the same key, if exactly that object is there. Returns whether it did.
%%
%% Compared by `=:='. Atomic and isolated. For a `set' or an `ordered_set'.
%%
%% Fails with `badarg' if the objects have different keys, or are no tuples, or shorter than the key position; if the
%% table is a bag.
%% ```
%% > T = fyris:new(numbers, []).
%% > fyris:insert(T, {1, one}).
%% > fyris:compare_and_swap(T, {1, one}, {1, uno}).
%% true
%% > fyris:compare_and_swap(T, {1, one}, {1, eins}).
%% false
%% '''
-spec compare_and_swap(table(), tuple(), tuple()) -> boolean().
compare_and_swap(Table, Old, New) ->
    ?CALL(fyris_nif:compare_and_swap(Table, Old, New), [Table, Old, New]).

%% @doc Inserts `Default', which has the key `Key', if no object has it, else replaces that one by what a fun makes of
%% it. Returns the new object.
%%
%% Atomic: when another process writes to the key between, the fun is called again, with what is there then. The fun
%% runs in the calling process, and must keep the key. For a `set' or an `ordered_set'.
%%
%% Fails with `badarg' if what is to be put in, `Default' or what the fun returns, is no tuple, or is shorter than the
%% key position, or has another key; if the table is a bag. Fails as the fun does.
%% ```
%% > T = fyris:new(numbers, []).
%% > Add = fun({Key, Count}) -> {Key, Count + 1} end.
%% > fyris:upsert(T, hits, {hits, 1}, Add).
%% {hits,1}
%% > fyris:upsert(T, hits, {hits, 1}, Add).
%% {hits,2}
%% '''
-spec upsert(table(), term(), tuple(), fun((tuple()) -> tuple())) -> tuple().
upsert(Table, Key, Default, Fun) ->
    ?CALL(upsert_loop(Table, Key, Default, Fun), [Table, Key, Default, Fun]).

upsert_loop(Table, Key, Default, Fun) ->
    {New, Done} =
        case fyris_nif:lookup(Table, Key) of
            [] ->
                check_default(Table, Key, Default),
                {Default, fyris_nif:insert_new(Table, Default)};
            [Old] ->
                Made = Fun(Old),
                {Made, fyris_nif:compare_and_swap(Table, Old, Made)};
            [_, _ | _] ->
                no_upsert()
        end,
    case Done of
        true -> New;
        false -> upsert_loop(Table, Key, Default, Fun)
    end.

%% A default with another key would be put in, and not be found by the next turn. What is no object of the table is left
%% to `insert_new'.
check_default(Table, Key, Default) ->
    {Type, Position} = {fyris_nif:info(Table, type), fyris_nif:info(Table, keypos)},
    (Type =:= bag orelse Type =:= duplicate_bag) andalso no_upsert(),
    is_tuple(Default) andalso is_integer(Position) andalso tuple_size(Default) >= Position
        andalso not is_key(Type, Key, element(Position, Default))
        andalso error({'$fyris_error', badarg, argument, <<"the default object has another key">>}),
    ok.

is_key(ordered_set, Key, Other) -> Key == Other;
is_key(_, Key, Other) -> Key =:= Other.

-spec no_upsert() -> no_return().
no_upsert() ->
    error({'$fyris_error', badarg, table_type, <<"upsert does not work on a bag">>}).

%% @doc Returns a part of the object with a key, `{ok, Part}', or `error' if there is no object or the path leads
%% nowhere.
%%
%% The path begins with the position of an element; each further step is a key of a map, or a position in a tuple or
%% list. Nothing beside the path is built. In the bags the newest object of the key is meant. Linearizable.
%%
%% Fails with `badarg' if the path does not begin with an integer, or is no proper list.
%% ```
%% > T = fyris:new(people, []).
%% > fyris:insert(T, {joe, #{languages => [erlang, prolog]}}).
%% > fyris:get_in(T, joe, [2, languages, 1]).
%% {ok,erlang}
%% > fyris:get_in(T, joe, [2, age]).
%% error
%% '''
-spec get_in(table(), term(), [term()]) -> {ok, term()} | error.
get_in(Table, Key, [Position | _] = Path) when is_integer(Position) ->
    ?CALL(fyris_nif:get_in(Table, Key, Path), [Table, Key, Path]);
get_in(Table, Key, Path) ->
    ?BADARG([Table, Key, Path]).

%% @doc Puts a value where a path leads to in the object with a key. Returns whether there is an object.
%%
%% Paths are those of {@link get_in/3}; a map need not have the last key of the path. The element in which the path ends
%% is built, changed and stored anew, the others are copied as they are. Atomic and isolated. For a `set' or an
%% `ordered_set'.
%%
%% Fails with `badarg', and changes nothing, if the object does not have what the path leads to (but for that last key
%% of a map); if the path leads to the key of the object, or is no proper list; if the table is a bag.
%% ```
%% > T = fyris:new(people, []).
%% > fyris:insert(T, {joe, #{languages => [c, prolog]}}).
%% > fyris:put_in(T, joe, [2, languages, 1], erlang).
%% true
%% > fyris:put_in(T, joe, [2, born], 1950).
%% true
%% > fyris:lookup(T, joe).
%% [{joe,#{born := 1950,languages := [erlang,prolog]}}]
%% '''
-spec put_in(table(), term(), [term()], term()) -> boolean().
put_in(Table, Key, Path, Value) ->
    ?CALL(fyris_nif:put_in(Table, Key, Path, Value), [Table, Key, Path, Value]).

%% @doc Puts what a fun makes of a part of the object with a key in its place. Returns `{ok, New}', or `error' if there
%% is no object or the path leads nowhere.
%%
%% Atomic: when another process changes the part between, the fun is called again, with what is there then. The fun runs
%% in the calling process. Otherwise as {@link put_in/4}.
%%
%% Fails as {@link put_in/4}, but not where the path leads nowhere, and as the fun does.
%% ```
%% > T = fyris:new(people, []).
%% > fyris:insert(T, {joe, #{languages => [prolog]}}).
%% > fyris:update_in(T, joe, [2, languages], fun(Old) -> [erlang | Old] end).
%% {ok,[erlang,prolog]}
%% > fyris:update_in(T, joe, [2, born], fun(Year) -> Year + 1 end).
%% error
%% '''
-spec update_in(table(), term(), [term()], fun((term()) -> term())) -> {ok, term()} | error.
update_in(Table, Key, [Position | _] = Path, Fun) when is_integer(Position) ->
    ?CALL(update_part(Table, Key, Path, Fun, error), [Table, Key, Path, Fun]);
update_in(Table, Key, Path, Fun) ->
    ?BADARG([Table, Key, Path, Fun]).

%% @doc As {@link update_in/4}; puts `Init' into a map that does not have the last key of the path.
%% ```
%% > T = fyris:new(words, []).
%% > fyris:insert(T, {counts, #{}}).
%% > [fyris:update_in(T, counts, [2, W], fun(N) -> N + 1 end, 1) || W <- [to, be, to]].
%% [{ok,1},{ok,1},{ok,2}]
%% '''
-spec update_in(table(), term(), [term()], fun((term()) -> term()), Init :: term()) -> {ok, term()} | error.
update_in(Table, Key, [Position | _] = Path, Fun, Init) when is_integer(Position) ->
    ?CALL(update_part(Table, Key, Path, Fun, {ok, Init}), [Table, Key, Path, Fun, Init]);
update_in(Table, Key, Path, Fun, Init) ->
    ?BADARG([Table, Key, Path, Fun, Init]).

update_part(Table, Key, Path, Fun, Init) ->
    case fyris_nif:get_in(Table, Key, Path) of
        {ok, Old} = Found -> swap_part(Table, Key, Path, Fun, Init, Found, Fun(Old));
        error when Init =:= error -> error;
        error -> swap_part(Table, Key, Path, Fun, Init, error, element(2, Init))
    end.

swap_part(Table, Key, Path, Fun, Init, Found, New) ->
    case fyris_nif:swap_in(Table, Key, Path, Found, New) of
        true -> {ok, New};
        false ->
            case Found =:= error andalso not fyris_nif:member(Table, Key) of
                true -> error;
                false -> update_part(Table, Key, Path, Fun, Init)
            end
    end.

%% @doc Takes a part of the object with a key away: a key of a map with its value, or an element of a list. Returns
%% `{ok, Part}', or `error' if there is no object or the path leads nowhere.
%%
%% Otherwise as {@link put_in/4}. Fails as that, but not where the path leads nowhere; with `badarg' also for an element
%% of a tuple.
%% ```
%% > T = fyris:new(people, []).
%% > fyris:insert(T, {joe, #{languages => [erlang, prolog]}}).
%% > fyris:delete_in(T, joe, [2, languages, 2]).
%% {ok,prolog}
%% > fyris:delete_in(T, joe, [2, born]).
%% error
%% > fyris:lookup(T, joe).
%% [{joe,#{languages := [erlang]}}]
%% '''
-spec delete_in(table(), term(), [term()]) -> {ok, term()} | error.
delete_in(Table, Key, [Position | _] = Path) when is_integer(Position) ->
    ?CALL(fyris_nif:delete_in(Table, Key, Path), [Table, Key, Path]);
delete_in(Table, Key, Path) ->
    ?BADARG([Table, Key, Path]).

%% ---------------------------------------------------------------------------

%% @doc Returns what the shell prints of an error that was raised here: a map from the numbers of arguments to texts.
%%
%% For `erl_error', which calls it: see "Error information" in the reference of Erlang/OTP.
%% ```
%% > {error, Stack} = try fyris:lookup(no_such_table, 1) catch error:badarg:S -> {error, S} end.
%% > fyris:format_error(badarg, Stack).
%% #{1 := <<"the table identifier does not refer to an existing table">>}
%% '''
-spec format_error(term(), erlang:stacktrace()) -> map().
format_error(_Reason, [{?MODULE, Function, Args, Info} | _]) ->
    fyris_error:explain(Function, Args,
                        proplists:get_value(error_info, Info, #{}));
format_error(_, _) ->
    #{}.
