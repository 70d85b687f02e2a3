%% @doc Checks of Mnesia's schema for tables of Fyris, and the work that Mnesia leaves to do when the schema changes.
%%
%% Mnesia's support of backends has gaps. Where Fyris can do the rest, it does; where it cannot, the definition is
%% refused, by a reason that says why, at `create_table', `add_table_copy' or whatever would lead there.
%% @hidden
-module(fyris_mnesia_schema).

-export([check/4, ready/2, is_changing/0, loaded/4, left/1, has_objects/1, started/0, is_dump_wanted/0, catch_val/1]).

%% Bytes of a log of `disk_log' that is empty.
-define(LOG_HEAD, 8).

-type tab() :: fyris_mnesia_keeper:tab().
-type reason() :: {memory_only, [node()]}
                | {not_ready, [{node(), term()}]}
                | {not_storable, [{node(), term()}]}
                | {no_directory, [node()]}
                | {snmp_stays, [node()]}
                | {active_checkpoints, [term()]}.

%% ---------------------------------------------------------------------------
%% Refusals

%% @doc Checks a definition with copies on `Nodes'. It is refused
%%
%% ```
%% {memory_only, Nodes}   when copies on nodes without a directory would be in memory only and another one is on a
%%                        disc: Mnesia might load the empty copy and copy it to the disc
%% {not_ready, Reasons}    when nodes that would get a copy cannot make it, by the reason of each: Mnesia would ask them
%%                        when it has changed its schema, go on without a word, and the objects would be lost
%% {not_storable, Rows}    when a copy would change to this storage and has a row that it cannot store
%% {no_directory, Nodes}  when copies on such nodes would change to or from this storage: Mnesia does that by way of a
%%                        file, and without it the objects would be lost
%% {active_checkpoints,    when a copy would change to this storage while there are checkpoints of the table: Mnesia
%%  Names}                 would lose what they retain
%% {snmp_stays, Nodes}    when a copy with an SNMP table would change to or from this storage: Mnesia would lose it
%% '''
%%
%% A definition without copies here comes back without mention of this storage: Mnesia takes an empty list for a copy on
%% a disc, and a table in memory only, which once had a copy here, would wait for that one when all its nodes start.
-spec check(atom(), tab(), [node()], [term()]) -> ok | {ok, [term()]} | {error, reason()}.
check(Alias, Tab, Nodes, Properties) ->
    Refused = refused([fun() -> memory_only(Nodes, Properties) end,
                       fun() -> changed(Alias, Tab, Properties) end,
                       fun() -> all_ready(Tab, new(Alias, Tab, Nodes), Properties) end,
                       fun() -> all_storable(Alias, Tab, Properties) end]),
    ok = fyris_mnesia_rows:checked_on(mnesia_lib:val({current, db_nodes}) -- Nodes, Tab),
    case Refused of
        ok when Nodes =:= [] -> {ok, lists:delete({Alias, []}, Properties)};
        ok -> ok;
        Reason -> {error, Reason}
    end.

refused([]) -> ok;
refused([Check | Checks]) ->
    case Check() of
        ok -> refused(Checks);
        Reason -> Reason
    end.

%% Nodes that run Mnesia and have no copy of a table in this storage yet.
new(Alias, Tab, Nodes) ->
    Running = mnesia_lib:val({current, db_nodes}),
    Have = case catch_val({Tab, external_copies}) of
               none -> [];
               Copies -> proplists:get_value({Alias, fyris_mnesia}, Copies, [])
           end,
    [Node || Node <- Nodes -- Have, lists:member(Node, Running)].

%% Another node may have registered the backend, or this one joined since: so what is needed there is started here,
%% before anything is changed.
all_ready(Tab, Nodes, Properties) ->
    Replies = [{Node, rpc:call(Node, ?MODULE, ready, [Tab, Properties])} || Node <- Nodes],
    case [Reply || {_, Answer} = Reply <- Replies, Answer =/= ok] of
        [] -> ok;
        Reasons -> {not_ready, Reasons}
    end.

%% @doc Returns whether this node can make a table, or the reason why not.
-spec ready(atom(), [term()]) -> ok | {error, term()}.
ready(Tab, Properties) ->
    case fyris_mnesia_keeper:ensure() of
        ok -> fyris_mnesia_keeper:can_create(Tab, fyris_mnesia:options(Tab, Properties));
        NotReady -> NotReady
    end.

%% Mnesia changes the schema first, and copies the rows as far as that goes.
all_storable(Alias, Tab, Properties) ->
    Replies = [{Node, rpc:call(Node, fyris_mnesia_rows, refused_in, [Tab, From])}
               || {Node, From, To} <- changes(Tab, Properties), To =:= Alias, not is_external(From)],
    case [Reply || {_, Answer} = Reply <- Replies, Answer =/= none] of
        [] -> ok;
        Refused -> {not_storable, Refused}
    end.

is_external(Storage) -> not lists:member(Storage, [ram_copies, disc_copies, disc_only_copies]).

changed(Alias, Tab, Properties) ->
    Changes = [Change || {_, From, To} = Change <- changes(Tab, Properties), From =:= Alias orelse To =:= Alias],
    case {[Node || {Node, _, To} <- Changes, To =:= Alias], catch_val({Tab, commit_work})} of
        {[_ | _], [{checkpoints, Names} | _]} -> {active_checkpoints, Names};
        _ -> converted([Node || {Node, _, _} <- Changes], Properties)
    end.

memory_only(Nodes, Properties) ->
    Holders = [Node || {Storage, _} = Copies <- copies(Properties), Storage =/= ram_copies, Node <- element(2, Copies)],
    case lists:partition(fun without_directory/1, Nodes) of
        {[], _} -> ok;
        {Without, _} ->
            case [Node || Node <- Holders, not lists:member(Node, Without)] of
                [] -> ok;
                _ -> {memory_only, Without}
            end
    end.

without_directory(Node) ->
    lists:member(Node, mnesia_lib:val({schema, ram_copies})).

copies(Properties) ->
    [{Storage, proplists:get_value(Storage, Properties, [])} || Storage <- mnesia_schema:backend_types()].

converted([], _) ->
    ok;
converted(Nodes, Properties) ->
    case {lists:filter(fun without_directory/1, Nodes), proplists:get_value(snmp, Properties, [])} of
        {[_ | _] = Without, _} -> {no_directory, Without};
        {[], [_ | _]} -> {snmp_stays, Nodes};
        {[], []} -> ok
    end.

%% Copies that have a storage and would have another one.
changes(Tab, Properties) ->
    try mnesia_schema:cs2list(mnesia_lib:val({Tab, cstruct})) of
        Before ->
            [{Node, From, To} || {From, Nodes} <- copies(Before), Node <- Nodes,
                                 {To, Others} <- copies(Properties), To =/= From, lists:member(Node, Others)]
    catch
        exit:_ -> []
    end.

%% ---------------------------------------------------------------------------
%% Work that is left to do

%% @doc Returns whether this process is Mnesia's dumper with a change of the schema in hand. Then it fills tables that
%% it makes anew, and forgets its log without a word to their backend; it has opened the schema, and keeps account of
%% what it has opened.
-spec is_changing() -> boolean().
is_changing() ->
    get({mnesia_dumper, schema}) =/= undefined.

%% @doc Returns whether this process asks for the kind of storage because a caller wants tables dumped, which Mnesia
%% does for tables in memory. If so, all tables of the storage are on disc on all nodes.
-spec is_dump_wanted() -> boolean().
is_dump_wanted() ->
    get(mnesia_activity_state) =/= undefined andalso asks_for_dump()
        andalso not lists:any(fun has_copies_in_memory/1, locked())
        andalso lists:all(fun(OnDisc) -> OnDisc =:= true end,
                  element(1, rpc:multicall(mnesia_lib:val({current, db_nodes}), fyris_mnesia_keeper, on_disc, []))).

%% Returns the tables that this transaction has locked; some of them are to be dumped.
locked() ->
    {_, _, Activity} = get(mnesia_activity_state),
    [Tab || {{locks, Tab, _}, _} <- ets:tab2list(element(2, Activity))].

%% Returns whether a table has copies in memory beside others of Fyris: Mnesia would dump those, and take the dump for
%% good beside a copy that is on disc.
has_copies_in_memory(schema) ->
    false;
has_copies_in_memory(Tab) ->
    lists:any(fun({_, Nodes}) -> Nodes =/= [] end, catch_val({Tab, external_copies}))
        andalso catch_val({Tab, ram_copies}) =/= [].

%% Returns whether the caller is a dump of tables. No argument tells, but the stack does.
asks_for_dump() ->
    {current_stacktrace, Calls} = process_info(self(), current_stacktrace),
    lists:any(fun({mnesia_schema, Function, _, _}) ->
                      string:find(atom_to_list(Function), "make_dump_tables") =/= nomatch;
                 (_) -> false
              end, Calls).

%% @doc Completes a table that was filled, or is about to be filled from another node. Mnesia makes the SNMP table
%% itself when the objects come from another node, but not when they come from a file. And it keeps the indexes that a
%% copy of kind `disc_only_copies' had on this node in the list of what to do with each write, also after that copy was
%% deleted: it would write to them, fail in the midst, and report that all was done.
-spec loaded(atom(), tab(), term(), [term()]) -> ok.
loaded(_, Tab, _, _) when is_tuple(Tab) ->
    ok;
loaded(_, Tab, {net_load, _}, _) ->
    forget_indexes(Tab);
loaded(_, Tab, {dumper, change_table_copy_type}, _) ->
    sync_schema(Tab),
    forget_indexes(Tab);
loaded(Alias, Tab, Reason, Definition) when Reason =/= startup, Reason =/= restore ->
    case proplists:get_value(snmp, Definition, []) of
        [] -> ok;
        Structure ->
            Rows = mnesia_snmp_hook:create_table(Structure, Tab, {ext, Alias, fyris_mnesia}),
            mnesia_lib:set({Tab, {index, snmp}}, Rows),
            ok
    end;
loaded(_, _, _, _) ->
    ok.

%% A change of storage goes by way of a file in which Mnesia logs all objects before it decides, and which it deletes
%% when the other copy is there. Until it forgets its own log, it does the change again when it starts. Invariants:
%%
%% * While that file has objects, it has all of them, and they are the table. When it has none, the other copy is whole,
%%   or there were none.
%% * A copy that goes on as `disc_copies' has its file before Mnesia deletes the one with the objects.
%% * The schema on disc says what the table is now before Mnesia forgets the change. Mnesia may forget it while its
%%   schema is in the cache of `dets' only, for seconds; then the table would be what it was before, and those files are
%%   deleted.

%% @doc Returns whether Mnesia changes the storage of a table, and the objects are in the file by way of which it does
%% that. A file that it made when it did the change again has its head only.
-spec has_objects(atom()) -> boolean().
has_objects(Tab) ->
    filelib:file_size(mnesia_lib:tab2logtmp(Tab)) > ?LOG_HEAD.

%% @doc Prepares the deletion of a copy: either of the whole copy, or of its form in this storage, since it goes on in
%% another one. In that case Mnesia still has its indexes in the list of what to do with each write; it would find no
%% table there, give up the write in the midst, and report that it was done. And it puts the objects into a new table of
%% kind `disc_copies' without a file, so that they would be gone at the next start.
-spec left(tab()) -> ok.
left(Tab) when is_atom(Tab) ->
    case catch_val({Tab, storage_type}) of
        disc_copies -> sync_schema(Tab), goes_to_disc_copies(Tab);
        disc_only_copies -> sync_schema(Tab), keep_objects(Tab) andalso delete_dat(Tab);
        ram_copies -> sync_schema(Tab);
        _ -> ok
    end,
    forget_indexes(Tab);
left(_) ->
    ok.

%% Writes a table's schema to disc. Mnesia has changed it in memory, and writes the same next.
sync_schema(Tab) ->
    mnesia_monitor:use_dir() andalso mnesia_monitor:get_env(dump_log_update_in_place) andalso
        begin
            ok = dets:insert(schema, ets:lookup(schema, Tab)),
            ok = dets:sync(schema)
        end.

goes_to_disc_copies(Tab) ->
    (keep_objects(Tab) orelse not is_starting()) andalso write_dcd(Tab),
    is_starting() andalso put(?MODULE, [Tab | left_at_start()]),
    ok.

%% Keeps the file with the objects under another name, until Mnesia has closed the table and forgotten the change, so
%% that Mnesia finds the objects if it does the change again; returns whether it will. Mnesia deletes that file before
%% `dets' has written the objects, and if it does the change again, Mnesia of OTP 27 replaces the copy in a DCD file by
%% the content of that file, even if there is none.
keep_objects(Tab) ->
    {Objects, Kept} = {mnesia_lib:tab2logtmp(Tab), kept(Tab)},
    case {has_objects(Tab), is_starting() andalso filelib:is_regular(Kept)} of
        {true, _} ->
            ok = linked(Objects, Kept),
            is_starting() orelse spawn(fun() -> mnesia:dump_log() =:= dumped andalso file:delete(Kept) end),
            true;
        {false, true} ->
            ok = linked(Kept, Objects),
            true;
        {false, false} ->
            _ = file:delete(Kept),
            false
    end.

linked(From, To) ->
    _ = file:delete(To),
    file:make_link(From, To).

%% Deletes the file of `dets'. All objects are elsewhere; a file that `dets' had begun to write when the node was killed
%% it may not be able to open.
delete_dat(Tab) ->
    dets:info(Tab) =:= undefined andalso file:delete(mnesia_lib:tab2dat(Tab)).

kept(Tab) -> mnesia_lib:dir(lists:concat([Tab, ".FYC"])).

%% Returns whether Mnesia is starting: then it does what its log says in this process, before any table is loaded.
is_starting() -> whereis(mnesia_tm) =:= self().

left_at_start() ->
    case get(?MODULE) of
        undefined -> [];
        Tabs -> Tabs
    end.

%% @doc Completes the start, after Mnesia has done what its log says. It has filled tables of kind `disc_copies' in
%% memory that changed their storage, and would end when it makes them again to load them from their files.
-spec started() -> ok.
started() ->
    [unmake(Tab) || Tab <- lists:usort(left_at_start())],
    erase(?MODULE),
    ok.

unmake(Tab) ->
    [ets:delete(Index) || {index, _, Indexes} <- catch_val({Tab, commit_work}), {_, {ram, Index}} <- Indexes],
    forget_indexes(Tab),
    ets:info(Tab, name) =:= Tab andalso ets:delete(Tab).

forget_indexes(Tab) ->
    case catch_val({Tab, commit_work}) of
        [_ | _] = Work ->
            [close_index(Index) || {index, _, Indexes} <- Work, Index <- Indexes],
            mnesia_lib:set({Tab, commit_work}, lists:keydelete(index, 1, Work));
        _ ->
            ok
    end,
    ok.

close_index({{Position, _}, {dets, {Tab, index, _} = Name}}) ->
    _ = mnesia_monitor:unsafe_close_dets(Name),
    _ = file:delete(mnesia_index:tab2filename(Tab, Position)),
    ok;
close_index(_) ->
    ok.

%% Writes the file that Mnesia reads when it loads a table of kind disc_copies.
write_dcd(Tab) ->
    Path = mnesia_lib:tab2tmp(Tab),
    _ = file:delete(Path),
    Log = mnesia_log:open_log({Tab, ets2dcd}, mnesia_log:dcd_log_header(), Path, false),
    has_objects(Tab) andalso copy_objects(mnesia_lib:tab2logtmp(Tab), Log),
    mnesia_log:close_log(Log),
    ok = file:rename(Path, mnesia_lib:tab2dcd(Tab)),
    _ = file:delete(mnesia_lib:tab2dcl(Tab)),
    ok.

%% Copies the objects of a file, which is repaired first: Mnesia may have been killed while it had the file open.
copy_objects(Path, Log) ->
    Objects = make_ref(),
    case disk_log:open([{name, Objects}, {file, Path}, {repair, true}, {linkto, self()}]) of
        {ok, Objects} -> ok;
        {repaired, Objects, _, _} -> ok
    end,
    copy_chunk(disk_log:chunk(Objects, start), Objects, Log),
    ok = disk_log:close(Objects).

copy_chunk(eof, _, _) ->
    ok;
copy_chunk({More, Objects}, From, Log) ->
    ok = disk_log:log_terms(Log, Objects),
    copy_chunk(disk_log:chunk(From, More), From, Log).

%% @doc Returns a variable of Mnesia, or `none'.
-spec catch_val(term()) -> term().
catch_val(Name) ->
    try mnesia_lib:val(Name)
    catch exit:_ -> none
    end.
