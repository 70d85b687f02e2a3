%% @doc Rows that Fyris may refuse to store, and what is done about them before anything is changed.
%%
%% Mnesia asks a backend whether a record may be written when it is given one, and no more after that: what fails in the
%% midst of a commit, of a change of the schema or of loading is lost without a word. So a row is tried before: it is
%% put into a table of its own, by the scheduler, which costs what one insertion costs.
%% @hidden
-module(fyris_mnesia_rows).

-export([made/0, storable/1, found/3, refused_in/2, checked/2, checked_on/2, checked_here/0, check_here/1, report/2]).

-define(TRIED, fyris_mnesia_tried).
-define(AT_ONCE, 500).
%% Milliseconds between two looks whether Mnesia has started.
-define(LOOK_EVERY, 100).

%% @doc Makes the table in which rows are tried, for the process that owns Mnesia's tables.
-spec made() -> ok.
made() ->
    ?TRIED = fyris:new(?TRIED, [named_table, public]),
    ok.

%% @doc Returns whether Fyris stores a term.
-spec storable(term()) -> boolean().
storable(Term) ->
    is_small(Term) orelse tried(?TRIED, Term) orelse (fyris:whereis(?TRIED) =:= undefined andalso tried_alone(Term)).

%% Of what most keys are, there is nothing to refuse.
is_small(Term) -> is_integer(Term) orelse is_float(Term) orelse is_pid(Term) orelse is_binary(Term).

tried(Table, Term) ->
    try fyris:insert(Table, {erlang:system_info(scheduler_id), Term})
    catch error:_ -> false
    end.

%% Mnesia may ask on a node that has no copy.
tried_alone(Term) ->
    Table = fyris:new(?MODULE, []),
    Answer = tried(Table, Term),
    true = fyris:delete(Table),
    Answer.

%% @doc Returns what a fun reads, or `Nothing' if it fails because what it seeks cannot be stored, and so is nowhere.
-spec found(fun(() -> Read), term(), Nothing) -> Read | Nothing.
found(Read, Sought, Nothing) ->
    try Read()
    catch
        error:Reason:Stack ->
            case storable(Sought) of
                true -> erlang:raise(error, Reason, Stack);
                false -> Nothing
            end
    end.

%% @doc Ends an activity of Mnesia that would write a record, or a counter of a key, that cannot be stored.
-spec checked(atom(), term()) -> ok.
checked(Tab, Term) ->
    storable(Term) orelse mnesia:abort({bad_type, Tab, Term}),
    ok.

%% @doc Has records of a table checked on nodes without a copy of Fyris, as soon as a change of the schema that is under
%% way has ended: there Mnesia asks nobody.
-spec checked_on([node()], atom()) -> ok.
checked_on(Nodes, Tab) ->
    [rpc:cast(Node, ?MODULE, check_here, [[Tab]]) || Node <- Nodes],
    ok.

%% @doc Does the same for all tables of this node, which is starting.
-spec checked_here() -> ok.
checked_here() ->
    spawn(fun() -> when_started(mnesia:system_info(is_running)) end),
    ok.

when_started(starting) -> timer:sleep(?LOOK_EVERY), when_started(mnesia:system_info(is_running));
when_started(yes) -> check_here(mnesia:system_info(tables));
when_started(_) -> ok.

%% @private
check_here(Tabs) ->
    mnesia:transaction(fun() -> mnesia:lock({table, schema}, read), lists:foreach(fun check/1, Tabs) end).

check(Tab) ->
    Copies = fyris_mnesia_schema:catch_val({Tab, external_copies}),
    case {is_list(Copies) andalso [Alias || {{Alias, fyris_mnesia}, [_ | _]} <- Copies],
          fyris_mnesia_schema:catch_val({Tab, record_validation})} of
        {[Alias | _], {Name, Arity, Type}} ->
            mnesia_lib:set({Tab, record_validation}, {Name, Arity, Type, Alias, fyris_mnesia});
        _ ->
            ok
    end.

%% @doc Returns a row of a table on this node, in whatever storage, that cannot be stored, or `none'.
-spec refused_in(atom(), term()) -> none | {refused, tuple()}.
refused_in(Tab, Storage) ->
    first_refused(mnesia_lib:db_select_init(Storage, Tab, [{'_', [], ['$_']}], ?AT_ONCE), Storage).

first_refused('$end_of_table', _) ->
    none;
first_refused({Rows, More}, Storage) ->
    case lists:search(fun(Row) -> not storable(Row) end, Rows) of
        {value, Row} -> {refused, Row};
        false -> first_refused(mnesia_lib:db_select_cont(Storage, More, [{'_', [], ['$_']}]), Storage)
    end.

%% @doc Says that rows are not in a table where they should be.
-spec report(atom(), [tuple()]) -> ok.
report(Tab, Rows) ->
    [mnesia_lib:error("Fyris: table ~tp cannot store ~0tP~n", [Tab, Row, 20]) || Row <- Rows, not storable(Row)],
    ok.
