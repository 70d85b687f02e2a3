%% @doc Mnesia on tables of Fyris: `{fyris_copies, Nodes}' where Mnesia has
%% `{ram_copies, Nodes}'.
%%
%% == Use ==
%%
%% `fyris_mnesia:register()' once, while Mnesia runs; on disc the schema keeps
%% it. Or from the start: `mnesia:create_schema(Nodes, [{backend_types,
%% [{fyris_copies, fyris_mnesia}]}])'. Then `mnesia:create_table(T,
%% [{fyris_copies, Nodes}])' makes a set, an ordered_set or a bag; indexes,
%% transactions, dirty operations, checkpoints and replication are Mnesia's.
%%
%% == What is on disc ==
%%
%% On a node whose schema is on disc, a table is in memory and in files in Mnesia's directory: a log and a dump
%% (`fyris_mnesia_file'). Mnesia's order of loading, waiting and recovery are those of `disc_only_copies', and
%% reads are those of a table in memory. Mnesia takes every table of a backend for durable when it chooses which
%% copy to load first, whatever the backend says of itself, so it has to be.
%% On a node without a directory, tables are in memory only; then no other copy of the table may be on a disc.
%%
%% Tables belong to the keeper (`fyris_mnesia_keeper'). Who asks for a change makes it (`fyris_mnesia_change'), and of those
%% with files a process each keeps the files in step (`fyris_mnesia_writer').
-module(fyris_mnesia).

-behaviour(mnesia_backend_type).

-export([register/0, register/1]).
-export([init_backend/0, add_aliases/1, remove_aliases/1, semantics/2,
         check_definition/4, real_suffixes/0, tmp_suffixes/0]).
-export([create_table/3, load_table/4, close_table/2, sync_close_table/2,
         delete_table/2, info/3, fixtable/3, is_index_consistent/2,
         index_is_consistent/3]).
-export([sender_init/4, receiver_first_message/4, receive_data/5,
         receive_done/4]).
-export([validate_key/6, validate_record/6, insert/3, lookup/3, delete/3,
         match_delete/3, update_counter/4, first/2, last/2, next/3, prev/3,
         slot/3, select/1, select/3, select/4, repair_continuation/2]).
-export([options/2]).
%% Functions that Mnesia of OTP 29 calls besides its behaviour.
-export([select_reverse/3, select_reverse/4]).

%% Objects in a message when a table goes to another node.
-define(AT_ONCE, 500).

%% In the dictionary of a process: the table in which it begins a counter.
-define(COUNTER, fyris_mnesia_counter).
%% The table that it fills with the objects of another copy; Mnesia deletes them elsewhere next.
-define(FILLED, fyris_mnesia_filled).
%% The table that it closed last.
-define(CLOSED, fyris_mnesia_closed).

%% The objects that a checkpoint retains of a table (`fyris_mnesia_checkpoint').
-define(IS_RETAINER(Tab), not is_atom(Tab) andalso (is_reference(Tab) orelse element(2, Tab) =:= retainer)).

-type alias() :: atom().
-type tab() :: fyris_mnesia_keeper:tab() | ets:table().

%% @doc Registers `fyris_copies' with a running Mnesia, and with all nodes that share its schema. As
%% `register(fyris_copies)'.
-spec register() -> ok | {error, term()}.
register() ->
    register(fyris_copies).

%% @doc Registers this backend under a name, with a running Mnesia and all nodes that share its schema.
%%
%% Returns `ok', also if it is registered already, or `{error, Reason}' with the reason for which Mnesia aborts:
%% `{node_not_running, Node}' if it does not run.
%% ```
%% > mnesia:start().
%% ok
%% > fyris_mnesia:register().
%% ok
%% > mnesia:create_table(numbers, [{fyris_copies, [node()]}]).
%% {atomic, ok}
%% '''
-spec register(alias()) -> ok | {error, term()}.
register(Alias) ->
    case mnesia:add_backend_type(Alias, ?MODULE) of
        {atomic, _} -> ok;
        {aborted, {backend_type_already_exists, Alias}} -> ok;
        {aborted, Reason} -> {error, Reason}
    end.

%% ---------------------------------------------------------------------------
%% Properties of this backend

%% @private
-spec init_backend() -> ok | {error, term()}.
init_backend() ->
    ok = fyris_mnesia_rows:checked_here(),
    fyris_mnesia_keeper:ensure().

%% @private
-spec add_aliases([alias()]) -> ok.
add_aliases(_) -> ok.

%% @private
-spec remove_aliases([alias()]) -> ok.
remove_aliases(_) -> ok.

%% @private Mnesia asks for the storage before it dumps or forgets each change of its log: only here can a backend learn
%% that. And it asks when a caller wants tables dumped, which is for tables in memory; then they are on disc already.
%% The process that keeps account of who has which table asks too, forgets nothing, and must not wait: all that loads
%% tables waits for it, and Mnesia loses a node from its account when loading takes long.
-spec semantics(alias(), atom()) -> term().
semantics(_, storage) ->
    whereis(mnesia_controller) =:= self() orelse (ok = fyris_mnesia_keeper:written()),
    case fyris_mnesia_schema:is_dump_wanted() of
        true -> ram_copies;
        false -> disc_only_copies
    end;
semantics(_, types) -> [set, ordered_set, bag];
semantics(_, index_types) -> [bag, ordered];
semantics(_, _) -> undefined.

%% @private
-spec check_definition(alias(), tab(), [node()], [term()]) -> ok | {ok, [term()]} | {error, term()}.
check_definition(Alias, Tab, Nodes, Properties) ->
    fyris_mnesia_schema:check(Alias, Tab, Nodes, Properties).

%% @private
-spec real_suffixes() -> [string()].
real_suffixes() -> fyris_mnesia_file:suffixes().

%% @private Mnesia deletes such files when it has done what its log says, and before it loads tables. The file by way of
%% which it changes the storage of a table is not among those that it deletes itself.
-spec tmp_suffixes() -> [string()].
tmp_suffixes() ->
    ok = fyris_mnesia_schema:started(),
    _ = erase(?FILLED),
    [".LOGTMP", ".FYC"].

%% ---------------------------------------------------------------------------
%% Tables come and go

%% @private Mnesia makes a table that is restored twice, first without its definition.
-spec create_table(alias(), tab(), [term()]) -> ok | {error, term()}.
create_table(_, Tab, []) when is_atom(Tab) ->
    ok;
create_table(_, Tab, Definition) ->
    fyris_mnesia_keeper:create(Tab, options(Tab, Definition)).

%% @private Returns the options of a table of Fyris for one of Mnesia's.
-spec options(tab(), [term()]) -> [term()].
options({_, index, {_, ordered}}, _) -> [ordered_set, {keypos, 1}];
options({_, retainer, _}, _) -> [];
options({_, index, {_, bag}}, _) -> [bag, {keypos, 1}];
options(_, Definition) ->
    Storage = proplists:get_value(storage_properties, Definition, []),
    [proplists:get_value(type, Definition, set), {keypos, 2}
     | proplists:get_value(ets, Storage, [])].

%% @private When Mnesia recovers or starts from a fallback it loads tables that it did not create before.
-spec load_table(alias(), tab(), term(), [term()]) -> ok.
load_table(Alias, Tab, Reason, Definition) ->
    ok = create_table(Alias, Tab, Definition),
    Source = source(Tab, Reason),
    case fyris_mnesia_keeper:load(Tab, Source) of
        ok ->
            Source =:= node andalso fyris_mnesia_checkpoint:added(Alias, Tab),
            Reason =:= {dumper, change_table_copy_type} andalso put(?FILLED, Tab),
            fyris_mnesia_schema:loaded(Alias, Tab, Reason, Definition);
        {damaged, Damaged} ->
            damaged(Tab, Reason, Damaged)
    end.

%% Before it loads tables, Mnesia does again what its log has; that is kept behind what is damaged.
damaged(_, startup, _) -> ok;
damaged(_, {dumper, _}, _) -> ok;
damaged(Tab, _, Damaged) -> fyris_mnesia_damage:not_loaded(Tab, Damaged).

source(_, {net_load, _}) -> node;
source(Tab, {dumper, change_table_copy_type}) when is_atom(Tab) -> converted(fyris_mnesia_schema:has_objects(Tab));
source(_, {dumper, _}) -> nothing;
source(_, restore) -> nothing;
source(Tab, _) -> wanted(fyris_mnesia_damage:is_forced(Tab)).

wanted(true) -> salvage;
wanted(false) -> files.

%% Mnesia puts the objects in, or has done so and does it again without them.
converted(true) -> nothing;
converted(false) -> files.

%% @private Mnesia forgets its log after it has closed the tables in which it did the changes again.
-spec close_table(alias(), tab()) -> ok.
close_table(_, Tab) ->
    put(?CLOSED, Tab),
    fyris_mnesia_keeper:written(Tab).

%% @private
-spec sync_close_table(alias(), tab()) -> ok.
sync_close_table(_, Tab) ->
    put(?CLOSED, Tab),
    fyris_mnesia_keeper:written(Tab).

%% @private Mnesia closes a table that it deletes, but not one that it is about to make because a copy comes from
%% another storage. If it does that again when it starts, the copy may be whole, and the objects nowhere else.
-spec delete_table(alias(), tab()) -> ok.
delete_table(_, Tab) ->
    case is_tuple(Tab) orelse erase(?CLOSED) =:= Tab of
        true -> ok = fyris_mnesia_schema:left(Tab), fyris_mnesia_keeper:delete(Tab);
        false -> delete_before_change(Tab, fyris_mnesia_schema:has_objects(Tab))
    end.

delete_before_change(Tab, true) -> fyris_mnesia_keeper:delete(Tab);
delete_before_change(_, false) -> ok.

%% @private
-spec info(alias(), tab(), atom()) -> term().
info(_, Tab, Item) ->
    try fyris:info(table(Tab), Item)
    catch error:badarg -> undefined
    end.

%% @private
-spec fixtable(alias(), tab(), boolean()) -> true.
fixtable(_, Tab, Fix) when ?IS_RETAINER(Tab) ->
    fyris_mnesia_checkpoint:fixtable(Tab, Fix);
fixtable(_, Tab, Fix) ->
    fyris:safe_fixtable(table(Tab), Fix).

%% @private An index ends with its table; so what is there at the time of the
%% question was not built yet.
-spec is_index_consistent(alias(), tab()) -> false.
is_index_consistent(_, _) -> false.

%% @private
-spec index_is_consistent(alias(), tab(), boolean()) -> ok.
index_is_consistent(_, _, _) -> ok.

%% ---------------------------------------------------------------------------
%% From node to node

%% @private What is sent are lists of objects, which a node that keeps the
%% table as `ram_copies' understands too.
-spec sender_init(alias(), tab(), term(), pid()) ->
          {standard, fun(() -> term()), fun((term()) -> term())}.
sender_init(_, Tab, _, _) ->
    {standard,
     fun() -> fyris:select(table(Tab), [{'_', [], ['$_']}], ?AT_ONCE) end,
     fun fyris:select/1}.

%% @private
-spec receiver_first_message(pid(), {first, Size}, alias(), tab()) ->
          {Size, none} when Size :: non_neg_integer().
receiver_first_message(_, {first, Size}, _, _) ->
    {Size, none}.

%% @private
-spec receive_data([tuple()], alias(), tab(), pid(), none) -> {more, none}.
receive_data(Objects, _, Tab, Sender, none) ->
    try true = fyris:insert(table(Tab), Objects)
    catch error:_ -> broken_off(Tab, Objects, Sender)
    end,
    {more, none}.

%% Without all rows there is no copy: loading ends as if the sender had, which leaves this node as it was. The rest of what
%% it has sent is thrown away: if that was all, its end would be found first.
broken_off(Tab, Objects, Sender) ->
    ok = fyris_mnesia_rows:report(Tab, Objects),
    ok = forget(Sender),
    self() ! {copier_done, node(Sender)}.

forget(Sender) ->
    receive {Sender, _} -> forget(Sender)
    after 0 -> ok
    end.

%% @private
-spec receive_done(alias(), tab(), pid(), none) -> ok.
receive_done(_, Tab, _, none) ->
    fyris_mnesia_keeper:loaded(Tab).

%% ---------------------------------------------------------------------------
%% Objects

%% @private
-spec validate_key(alias(), tab(), atom(), arity(), atom(), term()) ->
          {atom(), arity(), atom()}.
validate_key(_, Tab, Name, Arity, Type, Key) ->
    ok = fyris_mnesia_rows:checked(Tab, Key),
    {Name, Arity, Type}.

%% @private
-spec validate_record(alias(), tab(), atom(), arity(), atom(), tuple()) ->
          {atom(), arity(), atom()}.
validate_record(_, Tab, Name, Arity, Type, Record) ->
    ok = fyris_mnesia_rows:checked(Tab, Record),
    {Name, Arity, Type}.

%% @private
-spec insert(alias(), tab(), tuple() | [tuple()]) -> ok.
insert(_, Tab, Objects) when ?IS_RETAINER(Tab) ->
    fyris_mnesia_checkpoint:insert(Tab, Objects);
insert(_, Tab, Objects) ->
    Begins = erase(?COUNTER) =:= Tab,
    try change(Tab, {insert, Objects})
    catch error:Reason:Stack -> not_inserted(Tab, Objects, fyris_mnesia_schema:is_changing(), {Reason, Stack})
    end,
    Begins andalso fyris_mnesia_keeper:written(Tab),
    ok.

%% Mnesia says nothing when this fails. While it changes a schema, it would leave out all that comes after, too.
not_inserted(Tab, Objects, Changing, {Reason, Stack}) ->
    ok = fyris_mnesia_rows:report(Tab, lists:flatten([Objects])),
    Changing orelse erlang:raise(error, Reason, Stack).

%% @private
-spec lookup(alias(), tab(), term()) -> [tuple()].
lookup(_, Tab, Key) when ?IS_RETAINER(Tab) ->
    fyris_mnesia_checkpoint:lookup(Tab, Key);
lookup(_, Tab, Key) ->
    fyris_mnesia_rows:found(fun() -> fyris:lookup(table(Tab), Key) end, Key, []).

%% @private
-spec delete(alias(), tab(), term()) -> ok.
delete(_, Tab, Key) ->
    fyris_mnesia_rows:found(fun() -> change(Tab, {delete, Key}) end, Key, ok).

%% @private
-spec match_delete(alias(), tab(), tuple() | '_') -> ok.
match_delete(_, Tab, Pattern) ->
    fyris_mnesia_rows:found(fun() -> change(Tab, {match_delete, Pattern}) end, Pattern, ok).

%% @private When there is no counter yet, or it would be less than 0, Mnesia inserts one next. That has to be in the log
%% when Mnesia answers, like any count: Mnesia does not count again when it recovers.
-spec update_counter(alias(), tab(), term(), term()) -> integer().
update_counter(_, Tab, Key, Ops) ->
    try change(Tab, {update_counter, Key, Ops}) of
        Value when is_integer(Value), Value < 0 -> put(?COUNTER, Tab), Value;
        Value -> Value
    catch
        error:Reason -> put(?COUNTER, Tab), error(Reason)
    end.

change(Tab, Change) ->
    Result = fyris_mnesia_change:do(Tab, Change),
    (get(?FILLED) =:= Tab orelse fyris_mnesia_schema:is_changing()) andalso fyris_mnesia_keeper:logged(Tab),
    Result.

%% @private
-spec first(alias(), tab()) -> term().
first(_, Tab) when ?IS_RETAINER(Tab) -> fyris_mnesia_checkpoint:first(Tab);
first(_, Tab) ->
    ok = fyris_mnesia_checkpoint:settled(),
    fyris:first(table(Tab)).

%% @private
-spec last(alias(), tab()) -> term().
last(_, Tab) -> fyris:last(table(Tab)).

%% @private
-spec next(alias(), tab(), term()) -> term().
next(_, Tab, Key) when ?IS_RETAINER(Tab) -> fyris_mnesia_checkpoint:next(Tab, Key);
next(_, Tab, Key) -> fyris:next(table(Tab), Key).

%% @private
-spec prev(alias(), tab(), term()) -> term().
prev(_, Tab, Key) -> fyris:prev(table(Tab), Key).

%% @private
-spec slot(alias(), tab(), non_neg_integer()) -> [tuple()] | '$end_of_table'.
slot(_, Tab, Slot) -> fyris:slot(table(Tab), Slot).

%% @private
-spec select(fyris:continuation()) ->
          {[term()], fyris:continuation()} | '$end_of_table'.
select(Continuation) ->
    fyris:select(Continuation).

%% @private
-spec select(alias(), tab(), [tuple()]) -> [term()].
select(_, Tab, Spec) ->
    fyris_mnesia_rows:found(fun() -> fyris:select(table(Tab), Spec) end, Spec, []).

%% @private
-spec select(alias(), tab(), [tuple()], pos_integer()) ->
          {[term()], fyris:continuation()} | '$end_of_table'.
select(_, Tab, Spec, Limit) ->
    fyris_mnesia_rows:found(fun() -> fyris:select(table(Tab), Spec, Limit) end, Spec, '$end_of_table').

%% @private
-spec select_reverse(alias(), tab(), [tuple()]) -> [term()].
select_reverse(_, Tab, Spec) ->
    fyris_mnesia_rows:found(fun() -> fyris:select_reverse(table(Tab), Spec) end, Spec, []).

%% @private
-spec select_reverse(alias(), tab(), [tuple()], pos_integer()) ->
          {[term()], fyris:continuation()} | '$end_of_table'.
select_reverse(_, Tab, Spec, Limit) ->
    fyris_mnesia_rows:found(fun() -> fyris:select_reverse(table(Tab), Spec, Limit) end, Spec, '$end_of_table').

%% @private
-spec repair_continuation(fyris:continuation(), [tuple()]) ->
          fyris:continuation().
repair_continuation(Continuation, Spec) ->
    fyris:repair_continuation(Continuation, Spec).

table(Tab) -> fyris_mnesia_keeper:table(Tab).
