%% @doc Checkpoints of tables of Fyris, and with them backups: the work that Mnesia leaves to a backend.
%%
%% == Retainers ==
%%
%% The objects that a checkpoint retains of a table, as they were by key, are in a table of `ets', whatever the storage
%% of the table: when a transaction that the checkpoint includes changes a key after one that it does not include,
%% Mnesia deletes what it had retained, by `ets:delete/2' of the second element of the retainer's store. The first
%% element says how to read the store and its table. `{Tab, retainer, Name}', as Mnesia calls the retainer of a backend,
%% is no table of `ets', and the objects that it retained would stay. So the store is made to name the table of `ets'
%% itself.
%%
%% == Transactions under way ==
%%
%% A checkpoint includes the transactions that were being committed when it was activated, so it retains nothing of what
%% they change. But Mnesia does not wait for those of its own node: their changes of some tables are there when it
%% begins to copy, those of others may come after it has copied them, and a backup has half of a transaction. In `ets'
%% that is a matter of microseconds; here a process may wait for the log between two changes. So a process that copies a
%% table for a checkpoint waits for the commits under way.
%%
%% Invariant: a copy for a checkpoint begins when all that the checkpoint includes is in the table.
%% @hidden
-module(fyris_mnesia_checkpoint).

-export([settled/0]).
-export([new/0, delete/1, lookup/2, insert/2, first/1, next/2, fixtable/2, added/2]).

%% As Mnesia names it, or the table itself.
-type retainer() :: {atom(), retainer, term()} | ets:table().

%% Milliseconds between two looks at transactions.
-define(LOOK_EVERY, 1).

%% ---------------------------------------------------------------------------
%% Transactions under way

%% @doc Returns when a table may be copied, if this process copies it for a checkpoint; else at once. No
%% transaction waits here, and no commit waits for a process that copies.
-spec settled() -> ok.
settled() ->
    case fyris_mnesia_schema:catch_val(checkpoints) of
        [_ | _] = Names -> settled(is_copying(Names));
        _ -> ok
    end.

settled(true) -> await(committing());
settled(false) -> ok.

%% Returns whether this process copies for one of the checkpoints: Mnesia links it to the process of the checkpoint.
is_copying(Names) ->
    {links, Links} = process_info(self(), links),
    lists:any(fun(Name) -> lists:member(fyris_mnesia_schema:catch_val({checkpoint, Name}), Links) end, Names).

await([]) ->
    ok;
await(Transactions) ->
    timer:sleep(?LOOK_EVERY),
    Now = committing(),
    await([Transaction || Transaction <- Transactions, lists:member(Transaction, Now)]).

%% Transactions that Mnesia commits on this node: those that began here and ask for votes or have them, and those
%% from elsewhere with a process of their own. The rest are committed by the process that answers here.
committing() ->
    {info, Participants, Coordinators} = mnesia_tm:get_info(infinity),
    [Transaction || {Transaction, [Store | _]} <- Coordinators, is_pending(Store)]
        ++ [element(2, Participant) || Participant <- Participants, is_pid(element(3, Participant))].

%% Returns whether a transaction is being committed. Mnesia deletes the store when the transaction has ended.
is_pending(Store) ->
    try ets:member(Store, pending)
    catch error:badarg -> false
    end.

%% ---------------------------------------------------------------------------
%% Retainers

%% @doc Makes a table for a retainer.
-spec new() -> ets:table().
new() -> ets:new(?MODULE, [set, public, {keypos, 2}]).

%% @doc Deletes such a table.
-spec delete(ets:table()) -> true.
delete(Table) -> ets:delete(Table).

%% @doc Returns the objects retained of a key. Mnesia asks before it retains or deletes anything.
-spec lookup(retainer(), term()) -> [tuple()].
lookup(Retainer, Key) ->
    is_tuple(Retainer) andalso named(Retainer),
    ets:lookup(table(Retainer), Key).

%% @doc Retains objects of a key.
-spec insert(retainer(), tuple()) -> ok.
insert(Retainer, Retained) ->
    true = ets:insert(table(Retainer), Retained),
    ok.

%% @doc Returns the first key.
-spec first(retainer()) -> term().
first(Retainer) -> ets:first(table(Retainer)).

%% @doc Returns the key after another one.
-spec next(retainer(), term()) -> term().
next(Retainer, Key) -> ets:next(table(Retainer), Key).

%% @doc Fixes the retainer, or releases a fix.
-spec fixtable(retainer(), boolean()) -> true.
fixtable(Retainer, Fix) -> ets:safe_fixtable(table(Retainer), Fix).

table(Table) when is_tuple(Table) -> fyris_mnesia_keeper:table(Table);
table(Table) -> Table.

%% Makes the retainer's store name its table, if this is the process of the checkpoint: Mnesia looks the variable up for
%% each change, and only that process sets it.
named({Tab, retainer, Name} = Retainer) ->
    fyris_mnesia_schema:catch_val({checkpoint, Name}) =:= self() andalso
        set_store(Tab, Name,
                  fun({{ext, _, fyris_mnesia} = Storage, Of}) when Of =:= Retainer -> {Storage, table(Retainer)};
                     (Field) -> Field
                  end).

%% @doc Says where a copy is kept that is about to come from another node. Mnesia of the sender has its retainers made
%% when it has sent all objects, which it does when it is asked for them, after this. Of a copy that is being added,
%% Mnesia says where it is kept only when it has it all: so the retainers would be those of a table of `ets', and Mnesia
%% would read the copy there, too. When the addition fails, Mnesia takes it back.
-spec added(atom(), atom()) -> ok.
added(Alias, Tab) ->
    fyris_mnesia_schema:catch_val({Tab, storage_type}) =:= unknown
        andalso mnesia_lib:set({Tab, storage_type}, {ext, Alias, fyris_mnesia}),
    ok.

set_store(Tab, Name, Store) ->
    Variable = {Tab, {retainer, Name}},
    case fyris_mnesia_schema:catch_val(Variable) of
        none -> ok;
        Retainer -> mnesia_lib:set(Variable, changed(Store, Retainer))
    end.

%% Changes the fields of a record of Mnesia's. These records are not public; each field is told by its form.
changed(Change, Record) -> list_to_tuple([Change(Field) || Field <- tuple_to_list(Record)]).
