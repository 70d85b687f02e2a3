%% @doc What Mnesia's schema may say of a table of Fyris, and what Mnesia leaves to do when the schema changes.
%%
%% Mnesia's support of backends has gaps. Where Fyris can do the rest, it does; where it cannot, the definition is
%% refused, by a reason that says why, at `create_table', `add_table_copy' or whatever would lead there.
%% @hidden
-module(fyris_mnesia_schema).

-export([check/4, is_changing/0, loaded/4, left/1, catch_val/1]).

-type tab() :: fyris_mnesia_keeper:tab().
-type reason() :: {memory_only, [node()]}
                | {no_directory, [node()]}
                | {snmp_stays, [node()]}
                | {active_checkpoints, [term()]}.

%% ---------------------------------------------------------------------------
%% What is refused

%% @doc Checks a definition with copies on `Nodes'. It is refused
%%
%% ```
%% {memory_only, Nodes}   when copies on nodes without a directory would be in memory only and another one is on a
%%                        disc: Mnesia might load the empty copy and copy it to the disc
%% {no_directory, Nodes}  when copies on such nodes would change to or from this storage: Mnesia does that by way of a
%%                        file, and without it the objects would be lost
%% {active_checkpoints,    when a copy would change to this storage while there are checkpoints of the table: Mnesia would lose
%%  Names}                 what they retain
%% {snmp_stays, Nodes}    when a copy with an SNMP table would change to or from this storage: Mnesia would lose it
%% '''
%%
%% A definition without copies here comes back without mention of this storage: Mnesia takes an empty list for a copy on a disc, and
%% a table in memory only, which once had a copy here, would wait for that one when all its nodes start.
-spec check(atom(), tab(), [node()], [term()]) -> ok | {ok, [term()]} | {error, reason()}.
check(Alias, Tab, Nodes, Properties) ->
    case memory_only(Nodes, Properties) of
        ok -> mentioned(Alias, Nodes, Properties, changed(Alias, Tab, Properties));
        Reason -> {error, Reason}
    end.

mentioned(Alias, [], Properties, ok) -> {ok, lists:delete({Alias, []}, Properties)};
mentioned(_, _, _, Checked) -> Checked.

changed(Alias, Tab, Properties) ->
    Changes = [Change || {_, From, To} = Change <- changes(Tab, Properties), From =:= Alias orelse To =:= Alias],
    case {[Node || {Node, _, To} <- Changes, To =:= Alias], catch_val({Tab, commit_work})} of
        {[_ | _], [{checkpoints, Names} | _]} -> {error, {active_checkpoints, Names}};
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
        {[_ | _] = Without, _} -> {error, {no_directory, Without}};
        {[], [_ | _]} -> {error, {snmp_stays, Nodes}};
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
%% What is left to do

%% @doc Whether this process is Mnesia's dumper with a change of the schema in hand. Then it fills tables that it makes anew, and
%% forgets its log without a word to their backend; it has opened the schema, and keeps account of what it has opened.
-spec is_changing() -> boolean().
is_changing() ->
    get({mnesia_dumper, schema}) =/= undefined.

%% @doc After a table was filled. Mnesia makes the SNMP table itself when the objects come from another node, but not
%% when they come from a file; and it forgets that of a table that came from `disc_only_copies' had indexes there.
-spec loaded(atom(), tab(), term(), [term()]) -> ok.
loaded(_, Tab, _, _) when is_tuple(Tab) ->
    ok;
loaded(_, _, {net_load, _}, _) ->
    ok;
loaded(_, Tab, {dumper, change_table_copy_type}, _) ->
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

%% @doc Before a copy is deleted: either the whole copy, or what it was in this storage, since it goes on in another
%% one. Then Mnesia still has its indexes in the list of what to do with each write; it would find no table there,
%% give up the write in the midst, and report that it was done. And it puts the objects into a new table of kind
%% `disc_copies' without a file, so that they would be gone at the next start.
-spec left(tab()) -> ok.
left(Tab) when is_atom(Tab) ->
    case catch_val({Tab, storage_type}) of
        disc_copies -> write_dcd(Tab);
        _ -> ok
    end,
    forget_indexes(Tab);
left(_) ->
    ok.

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

%% The file that Mnesia reads when it loads a table of kind disc_copies.
write_dcd(Tab) ->
    case fyris:info(Tab, name) of
        undefined -> ok;
        _ ->
            Path = mnesia_lib:tab2tmp(Tab),
            _ = file:delete(Path),
            Log = mnesia_log:open_log({Tab, ets2dcd}, mnesia_log:dcd_log_header(), Path, false),
            write_objects(Log, fyris:select(Tab, [{'_', [], ['$_']}], 500)),
            mnesia_log:close_log(Log),
            ok = file:rename(Path, mnesia_lib:tab2dcd(Tab)),
            _ = file:delete(mnesia_lib:tab2dcl(Tab)),
            ok
    end.

write_objects(_, '$end_of_table') ->
    ok;
write_objects(Log, {Objects, More}) ->
    ok = disk_log:log_terms(Log, Objects),
    write_objects(Log, fyris:select(More)).

%% @doc A variable of Mnesia, or `none'.
-spec catch_val(term()) -> term().
catch_val(Name) ->
    try mnesia_lib:val(Name)
    catch exit:_ -> none
    end.
