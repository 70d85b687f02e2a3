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
%% == Which table is where ==
%%
%% ```
%% Mnesia calls it           the table of Fyris               key at
%% Tab                       named Tab                        2
%% {Tab, index, {_, ordered}}  ordered_set, by the directory  1
%% {Tab, index, {_, bag}}      bag, by the directory          1
%% {Tab, retainer, Name}       set, by the directory          2
%% '''
%%
%% Names of tables of Fyris are not those of `ets', so a table is free to be
%% called as Mnesia calls it, and its operations look nothing up. The others
%% are found in the directory, a table called `fyris_mnesia'.
%%
%% == Who owns them ==
%%
%% Mnesia makes tables from processes that end. So all belong to the keeper,
%% a process under Mnesia's supervisor of backends: they end when Mnesia
%% stops, exactly as `ram_copies' do, and nothing stale is found at the next
%% start.
-module(fyris_mnesia).

-behaviour(mnesia_backend_type).
-behaviour(gen_server).

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
-export([start_link/0, init/1, handle_call/3, handle_cast/2]).

-define(DIRECTORY, ?MODULE).
%% Objects in a message when a table goes to another node.
-define(AT_ONCE, 500).

-type alias() :: atom().
-type tab() :: atom() | {atom(), index | retainer, term()}.

%% @doc Makes `fyris_copies' known to a running Mnesia, and with it to all
%% nodes that share its schema.
-spec register() -> ok | {error, term()}.
register() ->
    register(fyris_copies).

%% @doc The same under another name.
-spec register(alias()) -> ok | {error, term()}.
register(Alias) ->
    case mnesia:add_backend_type(Alias, ?MODULE) of
        {atomic, _} -> ok;
        {aborted, {backend_type_already_exists, Alias}} -> ok;
        {aborted, Reason} -> {error, Reason}
    end.

%% ---------------------------------------------------------------------------
%% What this backend is

%% @private
-spec init_backend() -> ok.
init_backend() ->
    keeper().

%% @private
-spec add_aliases([alias()]) -> ok.
add_aliases(_) -> ok.

%% @private
-spec remove_aliases([alias()]) -> ok.
remove_aliases(_) -> ok.

%% @private
-spec semantics(alias(), atom()) -> term().
semantics(_, storage) -> ram_copies;
semantics(_, types) -> [set, ordered_set, bag];
semantics(_, index_types) -> [ordered, bag];
semantics(_, _) -> undefined.

%% @private
-spec check_definition(alias(), tab(), [node()], [term()]) -> ok.
check_definition(_, _, _, _) -> ok.

%% @private Nothing is on disc.
-spec real_suffixes() -> [].
real_suffixes() -> [].

%% @private
-spec tmp_suffixes() -> [].
tmp_suffixes() -> [].

%% ---------------------------------------------------------------------------
%% Tables come and go

%% @private
-spec create_table(alias(), tab(), [term()]) -> ok | {error, term()}.
create_table(_, Tab, Definition) ->
    %% Another node may have registered the backend; then nothing started the
    %% keeper here yet.
    keeper(),
    gen_server:call(?MODULE, {create, Tab, options(Tab, Definition)},
                    infinity).

options({_, index, {_, ordered}}, _) -> [ordered_set, {keypos, 1}];
options({_, index, {_, bag}}, _) -> [bag, {keypos, 1}];
options({_, retainer, _}, _) -> [set, {keypos, 2}];
options(_, Definition) ->
    Storage = proplists:get_value(storage_properties, Definition, []),
    [proplists:get_value(type, Definition, set), {keypos, 2}
     | proplists:get_value(ets, Storage, [])].

%% @private A copy from another node begins empty.
-spec load_table(alias(), tab(), term(), [term()]) -> ok.
load_table(_, Tab, {net_load, _}, _) ->
    true = fyris:delete_all_objects(table(Tab)),
    ok;
load_table(_, _, _, _) ->
    ok.

%% @private
-spec close_table(alias(), tab()) -> ok.
close_table(_, _) -> ok.

%% @private
-spec sync_close_table(alias(), tab()) -> ok.
sync_close_table(_, _) -> ok.

%% @private
-spec delete_table(alias(), tab()) -> ok.
delete_table(_, Tab) ->
    gen_server:call(?MODULE, {delete, Tab}, infinity).

%% @private
-spec info(alias(), tab(), atom()) -> term().
info(_, Tab, Item) ->
    try fyris:info(table(Tab), Item)
    catch error:badarg -> undefined
    end.

%% @private
-spec fixtable(alias(), tab(), boolean()) -> true.
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
receive_data(Objects, _, Tab, _, none) ->
    true = fyris:insert(table(Tab), Objects),
    {more, none}.

%% @private
-spec receive_done(alias(), tab(), pid(), none) -> ok.
receive_done(_, _, _, _) -> ok.

%% ---------------------------------------------------------------------------
%% Objects

%% @private
-spec validate_key(alias(), tab(), atom(), arity(), atom(), term()) ->
          {atom(), arity(), atom()}.
validate_key(_, _, Name, Arity, Type, _) -> {Name, Arity, Type}.

%% @private
-spec validate_record(alias(), tab(), atom(), arity(), atom(), tuple()) ->
          {atom(), arity(), atom()}.
validate_record(_, _, Name, Arity, Type, _) -> {Name, Arity, Type}.

%% @private
-spec insert(alias(), tab(), tuple() | [tuple()]) -> ok.
insert(_, Tab, Objects) ->
    true = fyris:insert(table(Tab), Objects),
    ok.

%% @private
-spec lookup(alias(), tab(), term()) -> [tuple()].
lookup(_, Tab, Key) ->
    fyris:lookup(table(Tab), Key).

%% @private
-spec delete(alias(), tab(), term()) -> ok.
delete(_, Tab, Key) ->
    true = fyris:delete(table(Tab), Key),
    ok.

%% @private
-spec match_delete(alias(), tab(), tuple() | '_') -> ok.
match_delete(_, Tab, '_') ->
    true = fyris:delete_all_objects(table(Tab)),
    ok;
match_delete(_, Tab, Pattern) ->
    true = fyris:match_delete(table(Tab), Pattern),
    ok.

%% @private
-spec update_counter(alias(), tab(), term(), term()) -> integer().
update_counter(_, Tab, Key, Ops) ->
    fyris:update_counter(table(Tab), Key, Ops).

%% @private
-spec first(alias(), tab()) -> term().
first(_, Tab) -> fyris:first(table(Tab)).

%% @private
-spec last(alias(), tab()) -> term().
last(_, Tab) -> fyris:last(table(Tab)).

%% @private
-spec next(alias(), tab(), term()) -> term().
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
    fyris:select(table(Tab), Spec).

%% @private
-spec select(alias(), tab(), [tuple()], pos_integer()) ->
          {[term()], fyris:continuation()} | '$end_of_table'.
select(_, Tab, Spec, Limit) ->
    fyris:select(table(Tab), Spec, Limit).

%% @private
-spec repair_continuation(fyris:continuation(), [tuple()]) ->
          fyris:continuation().
repair_continuation(Continuation, Spec) ->
    fyris:repair_continuation(Continuation, Spec).

table(Tab) when is_atom(Tab) -> Tab;
table(Tab) -> fyris:lookup_element(?DIRECTORY, Tab, 2).

%% ---------------------------------------------------------------------------
%% The keeper

%% @private
-spec start_link() -> {ok, pid()} | {error, term()}.
start_link() ->
    gen_server:start_link({local, ?MODULE}, ?MODULE, [], []).

keeper() ->
    case whereis(?MODULE) of
        undefined -> start_keeper();
        _ -> ok
    end.

start_keeper() ->
    case mnesia_ext_sup:start_proc(?MODULE, ?MODULE, start_link, []) of
        {ok, _} -> ok;
        {error, {already_started, _}} -> ok
    end.

%% @private
-spec init([]) -> {ok, none}.
init([]) ->
    ?DIRECTORY = fyris:new(?DIRECTORY, [named_table, protected]),
    {ok, none}.

%% @private
-spec handle_call({create, tab(), list()} | {delete, tab()},
                  {pid(), term()}, none) ->
          {reply, ok | {error, term()}, none}.
handle_call({create, Tab, Options}, _, State) ->
    {reply, create(Tab, fyris:member(?DIRECTORY, Tab), Options), State};
handle_call({delete, Tab}, _, State) ->
    [true = fyris:delete(Table)
     || Tag <- [Tab | indexes(Tab)],
        {_, Table} <- fyris:take(?DIRECTORY, Tag)],
    {reply, ok, State}.

%% Mnesia thinks that the indexes of a table in memory go with it.
indexes(Tab) when is_atom(Tab) ->
    fyris:select(?DIRECTORY, [{{{Tab, index, '$1'}, '_'}, [],
                               [{{{const, Tab}, index, '$1'}}]}]);
indexes(_) ->
    [].

create(_, true, _) ->
    ok;
create(Tab, false, Options) ->
    {Name, More} = named(Tab),
    try fyris:new(Name, [public | More ++ Options]) of
        Table ->
            true = fyris:insert(?DIRECTORY, {Tab, Table}),
            ok
    catch
        error:Reason -> {error, {Reason, Tab, Options}}
    end.

named(Tab) when is_atom(Tab) -> {Tab, [named_table]};
named(_) -> {?MODULE, []}.

%% @private
-spec handle_cast(term(), none) -> {noreply, none}.
handle_cast(_, State) ->
    {noreply, State}.
