%% @doc The process that does all changes of one Mnesia table that has files.
%%
%% Mnesia logs a change before it asks for it here, and forgets its log when it has dumped it. When it starts it does
%% the changes of the log again. So this log needs to have a change when Mnesia forgets it, and may have it before.
%%
%% Invariants:
%%
%% * Only this process changes the table, so the order in the log is that of the table.
%% * A change is in the log when Mnesia forgets it (`fyris_mnesia_keeper:written/0'), or after a tenth of a second,
%%   whatever comes first; and on disc a second later. A counter is in the log when it is answered: Mnesia does not
%%   count again.
%% * The log is never ahead of the file of Mnesia's log. Else the table would go back, where Mnesia's file ends, to what
%%   it was then.
%% * A log that has grown larger than the dump is replaced by a new dump. It is written beside the changes, from the
%%   table as it changes: the log that began with the dump has whatever the dump missed.
%% * The log has every change that a dump shows, on disc, before the dump is put in its place. Else what is read again
%%   would be the table after no number of changes: late ones from the dump, with earlier ones of the log on top.
%%
%% There is one such process for a table at any time: it has a name. When Mnesia is killed and starts again on a node
%% that lives, the new one waits until the old one has written what it had, and its dumper has ended.
%%
%% A file that cannot be written ends Mnesia on this node, as Mnesia ends itself when it cannot write its own.
%% @hidden
-module(fyris_mnesia_writer).

-behaviour(gen_server).

-export([start_link/3, ready/1, change/2, write/1, sync/1, stop/1, await_end/1, apply_to/2]).
-export([ledger/0, pending/1]).
-export([init/1, handle_call/3, handle_cast/2, handle_info/2, handle_continue/2, terminate/2]).

%% Tests have dumps from a kilobyte on, and nothing written before a process asks for it.
-ifdef(FYRIS_SMALL).
-define(LEAST_DUMP, 1024).
-define(WRITE_AFTER, 1_000_000).
-else.
-define(LEAST_DUMP, 1 bsl 20).
-define(WRITE_AFTER, 100).
-endif.
%% Changes that wait to be written at most, while WRITE_AFTER milliseconds pass.
-define(TOGETHER, 1000).
%% Objects in a record of a dump.
-define(CHUNK, 500).
-define(SYNC_AFTER, 1000).

%% Of `salvage', what is whole in damaged files is taken.
-type source() :: files | salvage | empty | table.
-type change() :: fyris_mnesia_file:operation() | {update_counter, term(), term()}.

-record(state, {keeper :: pid(),
                tab :: atom(),
                table :: fyris:table(),
                log :: fyris_mnesia_file:log() | undefined,
                number = 0 :: non_neg_integer(),
                %% The files hold more than the table, and stay.
                damaged = [] :: [fyris_mnesia_file:damage()],
                dump_bytes = 0 :: non_neg_integer(),
                dumper = none :: pid() | none,
                %% Changes that were done but are not in the log, the last one first; their number; the callers that
                %% wait for them, with their answers.
                done = [] :: [fyris_mnesia_file:operation()],
                waiting = 0 :: non_neg_integer(),
                answers = [] :: [{gen_server:from(), term()}],
                unsynced = false :: boolean(),
                ledger :: ledger()}).

%% The work that all writers of a node have yet to do: changes to write, files to sync.
-type ledger() :: atomics:atomics_ref().
-define(CHANGES, 1).
-define(FILES, 2).

-export_type([ledger/0]).

%% @doc Makes a ledger.
-spec ledger() -> ledger().
ledger() -> atomics:new(2, []).

%% @doc Returns whether there is something to write, or else to sync.
-spec pending(ledger()) -> write | sync | none.
pending(Ledger) ->
    case {atomics:get(Ledger, ?CHANGES), atomics:get(Ledger, ?FILES)} of
        {0, 0} -> none;
        {0, _} -> sync;
        _ -> write
    end.

%% @doc Starts the process. It fills the table from its files, or begins with an empty table, or with what is in the
%% table now, and other files.
-spec start_link({atom(), fyris:table()}, source(), ledger()) -> {ok, pid()}.
start_link({Tab, _} = Table, Source, Ledger) ->
    ok = await_end(Tab),
    gen_server:start_link({local, name(Tab)}, ?MODULE, {self(), Table, Source, Ledger}, []).

%% Returns the name of a table's process. A table's name is an atom; so there are no more of these than tables.
name(Tab) -> list_to_atom(lists:concat([?MODULE, "_", Tab])).

%% @doc Waits until there is no such process for a table.
-spec await_end(atom()) -> ok.
await_end(Tab) ->
    Monitor = monitor(process, name(Tab)),
    receive
        {'DOWN', Monitor, process, _, _} -> ok
    end.

%% @doc Returns when the table and its files are there, or where the files are damaged.
-spec ready(pid()) -> ok | {damaged, [fyris_mnesia_file:damage()]}.
ready(Writer) ->
    gen_server:call(Writer, ready, infinity).

%% @doc Does a change; returns what it returns, or fails as it fails.
-spec change(pid(), change()) -> term().
change(Writer, Change) ->
    case gen_server:call(Writer, {change, Change}, infinity) of
        {ok, Result} -> Result;
        {error, Reason} -> error(Reason)
    end.

%% @doc Returns when all changes that were answered are in the log.
-spec write(pid()) -> ok.
write(Writer) ->
    gen_server:call(Writer, write, infinity).

%% @doc Returns when all changes that were answered are in the log, and the log is on disc.
-spec sync(pid()) -> ok.
sync(Writer) ->
    gen_server:call(Writer, sync, infinity).

%% @doc Writes what is to be written, and ends.
-spec stop(pid()) -> ok.
stop(Writer) ->
    gen_server:stop(Writer, normal, infinity).

%% ---------------------------------------------------------------------------

%% @private
init({Keeper, {Tab, Table}, Source, Ledger}) ->
    process_flag(trap_exit, true),
    {ok, #state{keeper = Keeper, tab = Tab, table = Table, ledger = Ledger}, {continue, Source}}.

%% @private
handle_continue(Source, State) ->
    next(guarded(State, fun() -> load_from(Source, State) end)).

%% @private
handle_call({change, Change}, From, State) ->
    next(change(Change, From, State));
handle_call(write, _, State) ->
    {reply, ok, written(State)};
handle_call(sync, _, State) ->
    {reply, ok, synced(State)};
handle_call(ready, _, #state{damaged = []} = State) ->
    {reply, ok, State};
handle_call(ready, _, #state{damaged = Damaged} = State) ->
    {reply, {damaged, Damaged}, State}.

%% @private
handle_cast(_, State) ->
    next(State).

%% @private
handle_info(timeout, State) ->
    next(written(State));
handle_info(write, State) ->
    next(written(State));
handle_info(sync, State) ->
    next(synced(State));
handle_info({read, Dumper}, State) ->
    Synced = synced(State),
    Dumper ! written,
    next(Synced);
handle_info({dumped, Dumper, Bytes}, #state{dumper = Dumper} = State) ->
    next(State#state{dumper = none, dump_bytes = Bytes});
handle_info({'EXIT', Dumper, Reason}, #state{dumper = Dumper} = State) ->
    fatal(State, Reason);
handle_info({'EXIT', _, normal}, State) ->
    next(State);
handle_info({'EXIT', _, Reason}, State) ->
    {stop, Reason, State};
handle_info(_, State) ->
    next(State).

%% @private
terminate(_, #state{log = undefined}) ->
    ok;
terminate(_, State) ->
    #state{log = Log, dumper = Dumper, damaged = Damaged} = synced(State),
    is_pid(Dumper) andalso await_dump(Dumper),
    fyris_mnesia_file:close(ended(Damaged, Log)).

%% With a whole record behind them, none of the others can be taken for one that was never finished.
ended([], Log) -> fyris_mnesia_file:append(Log, []);
ended(_, Log) -> Log.

%% There are no more changes.
await_dump(Dumper) ->
    receive
        {read, Dumper} -> Dumper ! written, await_dump(Dumper);
        {'EXIT', Dumper, _} -> ok
    end.

%% Processes that wait for the log are answered when no more messages wait.
next(#state{waiting = ?TOGETHER} = State) -> {noreply, written(State)};
next(#state{answers = []} = State) -> {noreply, State};
next(State) -> {noreply, State, 0}.

%% ---------------------------------------------------------------------------
%% Changes

change(Change, From, #state{table = Table} = State) ->
    try apply_to(Table, Change) of
        {Result, Operation} -> answer(Change, From, {ok, Result}, done(Operation, State))
    catch
        error:Reason ->
            gen_server:reply(From, {error, Reason}),
            State
    end.

answer({update_counter, _, _}, From, Answer, #state{answers = Answers} = State) ->
    State#state{answers = [{From, Answer} | Answers]};
answer(_, From, Answer, State) ->
    gen_server:reply(From, Answer),
    State.

done(Operation, #state{done = Done, waiting = Waiting, ledger = Ledger} = State) ->
    Waiting =:= 0 andalso erlang:send_after(?WRITE_AFTER, self(), write),
    atomics:add(Ledger, ?CHANGES, 1),
    State#state{done = [Operation | Done], waiting = Waiting + 1}.

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

written(#state{waiting = 0} = State) ->
    State;
written(#state{done = Done, waiting = Waiting, answers = Answers, ledger = Ledger} = State) ->
    Written = guarded(State, fun() -> append(lists:reverse(Done), State) end),
    atomics:sub(Ledger, ?CHANGES, Waiting),
    [gen_server:reply(From, Answer) || {From, Answer} <- lists:reverse(Answers)],
    dumped_if_large(Written#state{done = [], waiting = 0, answers = []}).

append(Operations, #state{log = Log} = State) ->
    ok = mnesia_log_written(),
    unsynced(State#state{log = fyris_mnesia_file:append(Log, Operations)}).

%% Makes Mnesia write its log out, by reading from it. There is none while Mnesia starts or stops or changes to another
%% one; before that it writes and syncs the one that it has.
mnesia_log_written() ->
    case disk_log:bchunk(latest_log, start, 1) of
        {error, no_such_log} -> ok;
        {error, Reason} -> error({latest_log, Reason});
        _ -> ok
    end.

unsynced(#state{unsynced = true} = State) ->
    State;
unsynced(#state{ledger = Ledger} = State) ->
    atomics:add(Ledger, ?FILES, 1),
    erlang:send_after(?SYNC_AFTER, self(), sync),
    State#state{unsynced = true}.

synced(State) ->
    case written(State) of
        #state{unsynced = true, log = Log, ledger = Ledger} = Written ->
            ok = guarded(State, fun() -> fyris_mnesia_file:sync(Log) end),
            atomics:sub(Ledger, ?FILES, 1),
            Written#state{unsynced = false};
        Written ->
            Written
    end.

%% ---------------------------------------------------------------------------
%% Dumps

dumped_if_large(#state{dumper = none, log = Log, dump_bytes = Dump, damaged = []} = State) ->
    case fyris_mnesia_file:bytes(Log) of
        Bytes when Bytes > ?LEAST_DUMP, Bytes > Dump -> guarded(State, fun() -> begin_dump(State) end);
        _ -> State
    end;
dumped_if_large(State) ->
    State.

begin_dump(#state{tab = Tab, table = Table, log = Log, number = Number} = State) ->
    ok = fyris_mnesia_file:sync(Log),
    ok = fyris_mnesia_file:close(Log),
    Next = fyris_mnesia_file:rotate(Tab, Number + 1),
    Writer = self(),
    Written = fun() -> await_written(Writer) end,
    Dumper = spawn_link(fun() -> Writer ! {dumped, self(), dump(Tab, Table, Number + 1, Written)} end),
    State#state{log = Next, number = Number + 1, dumper = Dumper}.

%% Waits until the writer has written its changes. The link ends the dumper with the writer.
await_written(Writer) ->
    Writer ! {read, self()},
    receive written -> ok end.

dump(Tab, Table, Number, Written) ->
    true = fyris:safe_fixtable(Table, true),
    Bytes = fyris_mnesia_file:write_dump(Tab, Number,
                                         fun() -> fyris:select(Table, [{'_', [], ['$_']}], ?CHUNK) end,
                                         fun fyris:select/1, Written),
    true = fyris:safe_fixtable(Table, false),
    Bytes.

%% ---------------------------------------------------------------------------
%% Beginning

load_from(empty, #state{tab = Tab, table = Table} = State) ->
    ok = fyris_mnesia_file:delete(Tab),
    true = fyris:delete_all_objects(Table),
    State#state{log = fyris_mnesia_file:create_log(Tab, 0)};
load_from(table, #state{tab = Tab} = State) ->
    afresh(fyris_mnesia_file:number(Tab) + 1, State);
load_from(Source, #state{tab = Tab, table = Table} = State) ->
    true = fyris:delete_all_objects(Table),
    Apply = fun(Operations, ok) -> lists:foreach(fun(Operation) -> apply_to(Table, Operation) end, Operations) end,
    {ok, Found} = fyris_mnesia_file:read(Tab, Apply, ok),
    go_on(Source, Found, State).

%% Goes on with the files that were found. If a dump was not finished, it is done now. Files that are damaged stay as they
%% are, with the changes behind that Mnesia finds in its own log.
go_on(files, #{damaged := [_ | _] = Damaged, log := Log, number := Number}, #state{tab = Tab} = State) ->
    State#state{log = at_end(Tab, Log, Number), number = Number, damaged = Damaged};
go_on(salvage, #{damaged := [_ | _] = Damaged}, #state{tab = Tab} = State) ->
    ok = fyris_mnesia_damage:salvaged(Tab, Damaged),
    afresh(fyris_mnesia_file:number(Tab) + 1, State);
go_on(_, #{log := Log, number := Number, dump := Dump, anew := Anew}, #state{tab = Tab} = State) ->
    ok = fyris_mnesia_damage:torn(Tab, Log),
    case Anew of
        true -> afresh(fyris_mnesia_file:number(Tab) + 1, State);
        false -> State#state{log = at_good(Tab, Log, Number), number = Number, dump_bytes = Dump}
    end.

at_end(Tab, {Format, _, Size}, Number) -> at_good(Tab, {Format, Size, Size}, Number);
at_end(Tab, none, Number) -> fyris_mnesia_file:create_log(Tab, Number).

at_good(Tab, {Format, Good, _}, _) when Good > 0 -> fyris_mnesia_file:open_log(Tab, Format, Good);
at_good(Tab, _, Number) -> fyris_mnesia_file:create_log(Tab, Number).

afresh(Number, #state{tab = Tab, table = Table} = State) ->
    Bytes = dump(Tab, Table, Number, fun() -> ok end),
    State#state{log = fyris_mnesia_file:create_log(Tab, Number), number = Number, dump_bytes = Bytes}.

%% ---------------------------------------------------------------------------

%% Runs a fun, and ends the node's Mnesia if it fails: no caller is answered that a change is kept when it is not.
guarded(State, Fun) ->
    try Fun()
    catch Class:Reason:Stack -> fatal(State, {Class, Reason, Stack})
    end.

%% Ends Mnesia. But when Mnesia was killed, and only this process is left, another Mnesia is not to be ended.
-spec fatal(#state{}, term()) -> no_return().
fatal(#state{keeper = Keeper, tab = Tab}, Reason) ->
    whereis(fyris_mnesia_keeper) =:= Keeper andalso mnesia_lib:fatal("Cannot keep table ~tp on disc: ~tp~n", [Tab, Reason]),
    exit(Reason).
