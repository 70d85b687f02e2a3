%% @doc Owner of Mnesia's tables in Fyris, and the directory of them.
%%
%% Mnesia makes tables from processes that end. So all belong to the keeper, a process under Mnesia's supervisor of
%% backends: they end when Mnesia stops on the node.
%%
%% The directory is a table of Fyris called `fyris_mnesia', with an entry for each table:
%%
%% ```
%% Mnesia calls it             the table of Fyris               key at
%% Tab                         named Tab                        2
%% {Tab, index, {_, ordered}}  ordered_set, by the directory    1
%% {Tab, index, {_, bag}}      bag, by the directory            1
%% {Tab, retainer, Name}       none: one of `ets'               2
%% '''
%%
%% Where Mnesia has a directory on disc, `Tab' has files there and a writer (`fyris_mnesia_writer'); indexes and
%% retainers have not, since they are made from their table. A table goes through these phases:
%%
%% ```
%% created   there is a table; its files were not read
%% loading   it is filled from another node; its files, if there are any, are those from before
%% live      its writer keeps the files in step (or there are no files)
%% damaged   its files lack what was acknowledged; it is not read, and they stay
%% '''
%%
%% Invariant: files are deleted or replaced only when the table is dropped, made anew, or completely loaded from
%% another node. If loading breaks off, the node still has what it had before.
%% @hidden
-module(fyris_mnesia_keeper).

-behaviour(gen_server).

-export([ensure/0, can_create/2, create/2, load/2, loaded/1, delete/1, table/1, writer/1]).
-export([logged/1, written/0, written/1, on_disc/0]).
-export([start_link/0, init/1, handle_call/3, handle_cast/2, handle_info/2, terminate/2]).

-define(DIRECTORY, fyris_mnesia).

%% Milliseconds in which one process does not ask twice that the files be synced; that they be written it asks each one.
-define(SYNC_EVERY, 20).

-type tab() :: atom() | {atom(), index | retainer, term()}.
%% The process that keeps the files, and by what it is told of changes.
-type writer() :: {pid(), fyris_mnesia_change:by()} | none.
-type phase() :: created | loading | live | damaged.
%% The source of the content; of `salvage', what is whole in the files, if they are damaged.
-type source() :: files | salvage | nothing | node.

-record(entry, {tab :: tab(), table :: fyris:table() | ets:table(), writer = none :: writer(), phase = created :: phase(),
                damaged = [] :: [fyris_mnesia_file:damage()]}).

-export_type([tab/0, source/0]).

%% @doc Starts the keeper if it does not run. Another node may have registered the backend, and Mnesia starts from a
%% fallback before it starts its backends: so each function here that makes something calls this. When Mnesia was killed
%% and starts again, the keeper before may still be at its end.
-spec ensure() -> ok | {error, term()}.
ensure() ->
    case whereis(?MODULE) of
        undefined -> start();
        Keeper -> start_unless(is_supervised(Keeper), Keeper)
    end.

start_unless(true, _) -> ok;
start_unless(false, Keeper) -> await_end(Keeper), start().

is_supervised(Keeper) ->
    case process_info(Keeper, links) of
        {links, Links} -> lists:member(whereis(mnesia_ext_sup), Links);
        undefined -> false
    end.

await_end(Keeper) ->
    Monitor = monitor(process, Keeper),
    receive
        {'DOWN', Monitor, process, _, _} -> ok
    end.

start() ->
    case mnesia_ext_sup:start_proc(?MODULE, ?MODULE, start_link, []) of
        {ok, _} -> ok;
        {error, {already_started, _}} -> ok;
        {error, Reason} -> {error, Reason}
    end.

%% @doc Returns whether a table can be made that is not there yet: its name may be that of a table of someone else.
-spec can_create(atom(), [term()]) -> ok | {error, term()}.
can_create(Tab, Options) ->
    case fyris:member(?DIRECTORY, Tab) of
        true -> ok;
        false -> ok = fyris_mnesia_writer:await_end(Tab), can_create(fyris:whereis(Tab), Tab, Options)
    end.

can_create(undefined, _, Options) -> tried(Options);
can_create(_, Tab, _) -> {error, {already_exists, Tab}}.

tried(Options) ->
    try fyris:delete(fyris:new(?MODULE, Options)) of
        true -> ok
    catch
        error:Reason -> {error, {Reason, Options}}
    end.

%% @doc Makes a table if it is not there.
-spec create(tab(), [term()]) -> ok | {error, term()}.
create(Tab, Options) ->
    ok = ensure(),
    call({create, Tab, Options}).

%% @doc Fills a table, or says where its files are damaged. A table that is filled already stays as it is when its own
%% files would be the source.
-spec load(tab(), source()) -> ok | {damaged, [fyris_mnesia_file:damage()]}.
load(Tab, Source) when is_tuple(Tab) ->
    Source =:= node andalso (true = fyris:delete_all_objects(table(Tab))),
    ok;
load(Tab, Source) ->
    case entry(Tab) of
        #entry{phase = live} when Source =:= files; Source =:= salvage ->
            ok;
        #entry{table = Table, writer = Writer} ->
            stop(Writer),
            true = fyris:delete_all_objects(Table),
            fill(Tab, Source)
    end.

fill(Tab, node) -> call({loading, Tab});
fill(Tab, nothing) -> live(Tab, empty);
fill(Tab, Files) -> live(Tab, Files).

%% @doc Says that the content of a table has arrived from another node.
-spec loaded(atom()) -> ok.
loaded(Tab) ->
    #entry{damaged = Damaged} = entry(Tab),
    ok = fyris_mnesia_damage:replaced(Tab, Damaged),
    live(Tab, table).

live(Tab, Source) ->
    case ready(call({start, Tab, Source})) of
        ok ->
            call({filled, Tab, live, []});
        {damaged, Damaged} = Answer ->
            ok = call({filled, Tab, damaged, Damaged}),
            Answer
    end.

ready(none) -> ok;
ready({Writer, _}) -> fyris_mnesia_writer:ready(Writer).

%% @doc Deletes a table, its indexes and its files, but not files of a table that is being loaded from another node:
%% Mnesia calls this also when that breaks off.
-spec delete(tab()) -> ok.
delete(Tab) ->
    ok = ensure(),
    Entry = entry(Tab),
    is_record(Entry, entry) andalso stop(Entry#entry.writer),
    is_atom(Tab) andalso fyris_mnesia_writer:await_end(Tab),
    is_atom(Tab) andalso not is_loading(Entry) andalso mnesia_monitor:use_dir() andalso fyris_mnesia_file:delete(Tab),
    call({delete, Tab}).

is_loading(#entry{phase = Phase}) -> Phase =:= loading;
is_loading(none) -> false.

%% @doc Returns the table of Fyris that Mnesia calls `Tab'. Names of tables of Fyris are not those of `ets', so a table
%% is called as Mnesia calls it, and its operations look nothing up.
-spec table(tab()) -> fyris:table() | ets:table().
table(Tab) when is_atom(Tab) -> Tab;
table(Tab) -> fyris:lookup_element(?DIRECTORY, Tab, #entry.table).

%% @doc Returns who is to be told of changes of a table, or `none'.
-spec writer(tab()) -> writer().
writer(Tab) when is_atom(Tab) -> fyris:lookup_element(?DIRECTORY, Tab, #entry.writer);
writer(_) -> none.

%% @doc Returns when all changes of a table that were answered are in its log.
-spec logged(tab()) -> ok.
logged(Tab) ->
    case writer(Tab) of
        {Writer, _} -> fyris_mnesia_writer:write(Writer);
        none -> ok
    end.

%% @doc Returns when all changes that were answered are in the logs of their tables, and on disc; but a process that
%% asks again and again, as Mnesia does for each change that it is about to forget, waits for the logs and the disc only
%% now and then: those changes went to Mnesia's log before it began to forget, and to the table next.
-spec written() -> ok.
written() ->
    case whereis(?MODULE) of
        undefined -> ok;
        _ -> written_on(persistent_term:get(?MODULE))
    end.

written_on(Ledger) ->
    {Pending, Begun} = fyris_mnesia_writer:pending(Ledger),
    case due(Pending, erlang:monotonic_time(millisecond), get(?MODULE)) of
        {Do, Times} ->
            All = not is_any_beginning(),
            [try Do(Writer) catch exit:_ -> ok end || Writer <- writers()],
            put(?MODULE, Times),
            All andalso fyris_mnesia_writer:have_written(Ledger, Begun),
            ok;
        nothing ->
            ok
    end.

%% Returns what to do next after a process last wrote and synced, and these times afterwards.
due(none, _, _) -> nothing;
due(_, Now, undefined) -> {fun fyris_mnesia_writer:sync/1, {Now, Now}};
due(_, Now, {_, Synced}) when Now - Synced >= ?SYNC_EVERY -> {fun fyris_mnesia_writer:sync/1, {Now, Now}};
due(write, Now, {Wrote, Synced}) when Now > Wrote -> {fun fyris_mnesia_writer:write/1, {Now, Synced}};
due(_, _, _) -> nothing.

%% @doc Returns when all changes of one table that were answered are in its log, and on disc.
-spec written(tab()) -> ok.
written(Tab) ->
    ok = ensure(),
    case entry(Tab) of
        #entry{writer = {Writer, _}} -> fyris_mnesia_writer:sync(Writer);
        _ -> ok
    end.

%% @doc Does the same as {@link written/0}; returns whether there is no table in memory only on this node.
-spec on_disc() -> boolean().
on_disc() ->
    ok = written(),
    mnesia_monitor:use_dir() orelse whereis(?MODULE) =:= undefined orelse in_memory_only() =:= [].

entry(Tab) ->
    case fyris:lookup(?DIRECTORY, Tab) of
        [Entry] -> Entry;
        [] -> none
    end.

stop(none) -> ok;
stop({Writer, _}) -> fyris_mnesia_writer:stop(Writer).

call(Request) ->
    gen_server:call(?MODULE, Request, infinity).

%% ---------------------------------------------------------------------------
%% The process

%% @private
-spec start_link() -> {ok, pid()} | {error, term()}.
start_link() ->
    gen_server:start_link({local, ?MODULE}, ?MODULE, [], []).

%% @private When the keeper was killed, its tables are gone, and Mnesia would take them for empty: so it must end, too.
%% It does when its supervisor has tried in vain a few times.
init([]) ->
    process_flag(trap_exit, true),
    case in_use() of
        [] ->
            ?DIRECTORY = fyris:new(?DIRECTORY, [named_table, protected, {keypos, #entry.tab}]),
            ok = fyris_mnesia_rows:made(),
            persistent_term:put(?MODULE, fyris_mnesia_writer:ledger()),
            {ok, none};
        Tabs ->
            {stop, {tables_gone, Tabs}}
    end.

in_use() ->
    try
        [Tab || Tab <- mnesia_lib:val({schema, local_tables}),
                {ext, _, fyris_mnesia} <- [mnesia_lib:val({Tab, storage_type})],
                mnesia_lib:val({Tab, where_to_read}) =:= node()]
    catch
        exit:_ -> []
    end.

%% @private
handle_call({create, Tab, Options}, _, State) ->
    {reply, create(Tab, fyris:member(?DIRECTORY, Tab), Options), State};
handle_call({loading, Tab}, _, State) ->
    true = fyris:update_element(?DIRECTORY, Tab, [{#entry.writer, none}, {#entry.phase, loading}]),
    {reply, ok, State};
handle_call({start, Tab, Source}, _, State) ->
    Writer = case mnesia_monitor:use_dir() of
                 true -> start_writer(Tab, Source);
                 false -> none
             end,
    true = fyris:update_element(?DIRECTORY, Tab, {#entry.writer, Writer}),
    {reply, Writer, watching(Writer, State)};
handle_call({filled, Tab, Phase, Damaged}, _, State) ->
    true = fyris:update_element(?DIRECTORY, Tab, [{#entry.phase, Phase}, {#entry.damaged, Damaged}]),
    {reply, ok, State};
handle_call({delete, Tab}, _, State) ->
    [true = delete_table(Tag, Table)
     || Tag <- [Tab | indexes(Tab)],
        #entry{table = Table} <- fyris:take(?DIRECTORY, Tag)],
    {reply, ok, State}.

create(_, true, _) ->
    ok;
create(Tab, false, Options) ->
    try new(Tab, Options) of
        Table ->
            true = fyris:insert(?DIRECTORY, #entry{tab = Tab, table = Table}),
            ok
    catch
        error:Reason -> {error, {Reason, Tab, Options}}
    end.

new(Tab, Options) when is_atom(Tab) ->
    ok = fyris_mnesia_writer:await_end(Tab),
    fyris:new(Tab, [public, named_table | Options]);
new({_, retainer, _}, _) -> fyris_mnesia_checkpoint:new();
new(_, Options) -> fyris:new(?MODULE, [public | Options]).

delete_table({_, retainer, _}, Table) -> fyris_mnesia_checkpoint:delete(Table);
delete_table(_, Table) -> fyris:delete(Table).

start_writer(Tab, Source) ->
    {ok, Writer} = fyris_mnesia_writer:start_link({Tab, table(Tab)}, Source, persistent_term:get(?MODULE)),
    %% When this process is killed, the writer still has what it has not logged.
    true = fyris:setopts(table(Tab), {heir, Writer, writer}),
    {Writer, fyris_mnesia_writer:by(table(Tab))}.

%% Returns the indexes of a table. Mnesia thinks that the indexes of a table in memory go with it.
indexes(Tab) when is_atom(Tab) ->
    fyris:select(?DIRECTORY, [{#entry{tab = {Tab, index, '$1'}, table = '_', writer = '_', phase = '_', damaged = '_'}, [],
                               [{{{const, Tab}, index, '$1'}}]}]);
indexes(_) ->
    [].

%% Subscribes to changes of the schema: a node without a directory may get one later, and the schema tells.
watching(none, none) ->
    {ok, _} = mnesia_subscr:subscribe(self(), {table, schema}),
    watching;
watching(_, State) ->
    State.

%% @private
handle_cast(_, State) ->
    {noreply, State}.

%% @private
handle_info({mnesia_table_event, {write, {schema, schema, _}, _}}, State) ->
    mnesia_monitor:use_dir() andalso [to_disc(Tab) || Tab <- in_memory_only()],
    {noreply, State};
handle_info({'EXIT', _, Reason}, State) when Reason =/= normal, Reason =/= shutdown ->
    {stop, Reason, State};
handle_info(_, State) ->
    {noreply, State}.

in_memory_only() ->
    fyris:select(?DIRECTORY, [{#entry{tab = '$1', table = '_', writer = none, phase = live, damaged = '_'}, [{is_atom, '$1'}], ['$1']}]).

to_disc(Tab) ->
    true = fyris:update_element(?DIRECTORY, Tab, {#entry.writer, start_writer(Tab, table)}).

%% @private
terminate(_, _) ->
    persistent_term:erase(?MODULE),
    [fyris_mnesia_writer:stop(Writer) || Writer <- writers()],
    ok.

%% Writers that read their files, or write the first dump, would be long in saying that they have written.
is_any_beginning() ->
    0 < fyris:select_count(?DIRECTORY, [{#entry{tab = '_', table = '_', writer = {'_', '_'}, phase = '$1', damaged = '_'},
                                         [{'=/=', '$1', live}, {'=/=', '$1', damaged}], [true]}]).

writers() ->
    fyris:select(?DIRECTORY, [{#entry{tab = '_', table = '_', writer = {'$1', '_'}, phase = live, damaged = '_'}, [], ['$1']}]).
