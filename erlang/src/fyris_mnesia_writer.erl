%% @doc The process that keeps the files of one Mnesia table in step with it.
%%
%% Mnesia logs a change before it asks for it here, and forgets its log when it has dumped it. When it starts it does
%% the changes of the log again. So this log needs to have a change when Mnesia forgets it, and may have it before.
%%
%% Invariants:
%%
%% * Processes that change the table (`fyris_mnesia_change') say before what they are about to touch, and behind that they
%%   have. What is there is read when it is written; so each record of a key is what the table had, later than the record
%%   before. A change by this process has a record of its own.
%% * A record has all changes that anyone can have seen when it was asked for: those under way, whose processes wait for
%%   nothing, or were killed in the midst, are waited for.
%% * A change is in the log when Mnesia forgets it (`fyris_mnesia_keeper:written/0'), or after a tenth of a second,
%%   whatever comes first; and on disc a second later. A counter is in the log when it is answered: Mnesia does not
%%   count again.
%% * The log is never ahead of the file of Mnesia's log, which is written when the table was read. Else the table would
%%   go back, where Mnesia's file ends, to what it was then.
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

-export([start_link/3, ready/1, change/2, begins/2, ended/2, write/1, sync/1, stop/1, await_end/1]).
-export([ledger/0, pending/1, have_written/2, by/1]).
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
%% Of so many changes of a node, who makes the last one waits for the log: so no more wait to be logged than are logged.
-define(WAIT_EVERY, 1024).
%% Objects in a record of a dump.
-define(CHUNK, 500).
-define(SYNC_AFTER, 1000).

%% Of `salvage', what is whole in damaged files is taken.
-type source() :: files | salvage | empty | table.

-record(state, {keeper :: pid(),
                tab :: atom(),
                table :: fyris:table(),
                log :: fyris_mnesia_file:log() | undefined,
                number = 0 :: non_neg_integer(),
                %% The files hold more than the table, and stay.
                damaged = [] :: [fyris_mnesia_file:damage()],
                dump_bytes = 0 :: non_neg_integer(),
                dumper = none :: pid() | none,
                by :: fyris_mnesia_change:by(),
                %% Changes that are not in the log, under way and ended; their number; the callers that wait for them,
                %% with their answers.
                begun = #{} :: #{pid() => fyris_mnesia_change:touched()},
                %% Own changes since which messages of before may be in the queue.
                own = 0 :: non_neg_integer(),
                ended = [] :: [fyris_mnesia_change:touched()],
                waiting = 0 :: non_neg_integer(),
                answers = [] :: [{gen_server:from(), term()}],
                unsynced = false :: boolean(),
                ledger :: ledger()}).

%% The work of all writers of a node: the changes that have begun, how many of those were in the logs when it was last
%% asked for, and the files to sync.
-type ledger() :: atomics:atomics_ref().
-define(BEGUN, 1).
-define(WRITTEN, 2).
-define(FILES, 3).

-export_type([ledger/0]).

%% @doc Makes a ledger.
-spec ledger() -> ledger().
ledger() -> atomics:new(3, []).

%% @doc Returns whether there is something to write, or else to sync, and how many changes have begun.
-spec pending(ledger()) -> {write | sync | none, non_neg_integer()}.
pending(Ledger) ->
    Begun = atomics:get(Ledger, ?BEGUN),
    case {atomics:get(Ledger, ?WRITTEN) >= Begun, atomics:get(Ledger, ?FILES)} of
        {true, 0} -> {none, Begun};
        {true, _} -> {sync, Begun};
        {false, _} -> {write, Begun}
    end.

%% @doc Says that all writers have written since so many changes had begun.
-spec have_written(ledger(), non_neg_integer()) -> ok.
have_written(Ledger, Begun) -> atomics:put(Ledger, ?WRITTEN, Begun).

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
-spec change(pid(), fyris_mnesia_change:change()) -> term().
change(Writer, Change) ->
    case gen_server:call(Writer, {change, Change}, infinity) of
        {ok, Result} -> Result;
        {error, Reason} -> error(Reason)
    end.

%% @doc Says what a change is about to touch, and returns its number. It is counted when the writer has been told and the
%% table is as it was: so it is counted or nobody can see it, also when the process is killed.
-spec begins(pid(), fyris_mnesia_change:touched()) -> pos_integer().
begins(Writer, Touched) ->
    Ledger = persistent_term:get(fyris_mnesia_keeper),
    Writer ! {begins, self(), Touched},
    atomics:add_get(Ledger, ?BEGUN, 1).

%% @doc Says that the change has ended.
-spec ended(pid(), pos_integer()) -> ok.
ended(Writer, Number) ->
    Writer ! {ended, self()},
    Number rem ?WAIT_EVERY =:= 0 andalso write(Writer),
    ok.

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
    %% In a queue off the heap, messages of several processes need not have the order in which they were sent.
    process_flag(message_queue_data, on_heap),
    {ok, #state{keeper = Keeper, tab = Tab, table = Table, by = by(Table), ledger = Ledger}, {continue, Source}}.

%% @doc Returns by what the writer of a table is told of changes.
-spec by(fyris:table()) -> fyris_mnesia_change:by().
by(Table) ->
    case fyris:info(Table, type) of
        bag -> object;
        _ -> key
    end.

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
handle_info({begins, Pid, Touched}, #state{begun = Begun, own = 0} = State) ->
    next(waiting(State#state{begun = Begun#{Pid => Touched}}));
handle_info({begins, Pid, Touched}, #state{begun = Begun} = State) ->
    next(waiting(State#state{begun = Begun#{Pid => fyris_mnesia_change:whole(Touched)}}));
handle_info(own, #state{own = Own} = State) ->
    next(State#state{own = Own - 1});
handle_info({ended, Pid}, #state{begun = Begun, ended = Ended} = State) ->
    {Touched, Others} = maps:take(Pid, Begun),
    next(State#state{begun = Others, ended = [Touched | Ended]});
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
    fyris_mnesia_file:close(finished(Damaged, Log)).

%% With a whole record behind them, none of the others can be taken for one that was never finished.
finished([], Log) -> fyris_mnesia_file:append(Log, []);
finished(_, Log) -> Log.

%% There are no more changes.
await_dump(Dumper) ->
    receive
        {read, Dumper} -> Dumper ! written, await_dump(Dumper);
        {'EXIT', Dumper, _} -> ok
    end.

%% Processes that wait for the log are answered when no more messages wait.
next(#state{waiting = Waiting} = State) when Waiting >= ?TOGETHER -> {noreply, written(State)};
next(#state{answers = []} = State) -> {noreply, State};
next(State) -> {noreply, State, 0}.

%% ---------------------------------------------------------------------------
%% Changes

%% Changes by this process. A count is in the next record, like changes of others; any other has a record of its own. What
%% others touched before it, and told in messages that were not read yet, it may have deleted, and it may be there again:
%% so of all that is told in messages of before, whole keys are read.
change({update_counter, Key, _} = Change, From, State) ->
    counted(State),
    tried(Change, From, State,
          fun(Result) ->
                  #state{ended = Ended, answers = Answers} = State,
                  waiting(State#state{ended = [{Key, all} | Ended], answers = [{From, {ok, Result}} | Answers]})
          end);
change(Change, From, State) ->
    counted(State),
    Written = written(State),
    tried(Change, From, Written,
          fun(Result) ->
                  self() ! own,
                  Appended = guarded(Written, fun() -> append([Change], Written) end),
                  gen_server:reply(From, {ok, Result}),
                  dumped_if_large(Appended#state{own = Appended#state.own + 1})
          end).

tried(Change, From, #state{table = Table} = State, Then) ->
    try fyris_mnesia_change:apply_to(Table, Change) of
        Result -> Then(Result)
    catch
        error:Reason ->
            gen_server:reply(From, {error, Reason}),
            State
    end.

counted(#state{ledger = Ledger}) -> atomics:add(Ledger, ?BEGUN, 1).

waiting(#state{waiting = Waiting} = State) ->
    Waiting =:= 0 andalso erlang:send_after(?WRITE_AFTER, self(), write),
    State#state{waiting = Waiting + 1}.

written(#state{waiting = 0} = State) ->
    State;
written(State) ->
    #state{table = Table, by = By, ended = Touched, answers = Answers} = Ended = all_ended(State),
    Written = guarded(Ended, fun() -> append(fyris_mnesia_change:operations(Table, By, Touched), Ended) end),
    [gen_server:reply(From, Answer) || {From, Answer} <- lists:reverse(Answers)],
    dumped_if_large(Written#state{ended = [], waiting = 0, answers = []}).

%% Waits for the changes under way. The messages that come meanwhile may tell of changes that are before these in the
%% table: of what was waited for, all of a key is read.
all_ended(#state{begun = Begun, ended = Ended} = State) ->
    ok = await(maps:keys(Begun)),
    State#state{begun = #{}, ended = [fyris_mnesia_change:whole(Touched) || Touched <- maps:values(Begun)] ++ Ended}.

await([]) ->
    ok;
await([Pid | Pids]) ->
    Monitor = monitor(process, Pid),
    receive
        {ended, Pid} -> demonitor(Monitor, [flush]);
        {'DOWN', Monitor, process, _, _} -> killed
    end,
    await(Pids).

append([], State) ->
    State;
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
    Apply = fun(Operations, ok) -> lists:foreach(fun(Operation) -> fyris_mnesia_change:apply_to(Table, Operation) end, Operations) end,
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
