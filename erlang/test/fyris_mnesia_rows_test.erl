%% Rows that Fyris does not store: refused before anything is done, and never half there. On the nodes, `fyris' is
%% compiled so that it stores no term with the atom `refused' in it, like what a release may really have to refuse.
-module(fyris_mnesia_rows_test).

-compile(export_all).
-include("fyris_same.hrl").

-import(fyris_mnesia_nodes_test, [start/2, on/4, names/1]).
-import(fyris_mnesia_disc_test, [two/1, mnesia/3, name/1, peer/1, made/3, filled/2, full/2]).

rows_test_() ->
    fyris_mnesia_disc_test:told(?MODULE, [writes_are_refused_whole, refused_without_a_copy, reads_find_nothing, conversions_look_first,
                                          copies_are_whole_or_none, texts_are_refused_whole, told_what_is_left_out]).

writes_are_refused_whole(Dir) ->
    [A, B] = Nodes = two(Dir),
    [made(A, Tab, [{fyris_copies, names(Nodes)}, {type, Type}, {attributes, [k, v]}, {index, [v]}])
     || {Tab, Type} <- [{s, set}, {o, ordered_set}, {b, bag}]],
    refusing(Nodes),
    [begin
         ok = mnesia(A, dirty_write, [{Tab, 1, old}]),
         Bad = {Tab, 1, {very, refused}},
         ?assertEqual({aborted, {bad_type, Tab, Bad}}, on(peer(A), ?MODULE, write_two, [{Tab, 2, new}, Bad])),
         ?assertEqual({aborted, {bad_type, Tab, Bad}}, on(peer(A), ?MODULE, dirty, [Bad])),
         [?assertEqual({[{Tab, 1, old}], [], [{Tab, 1, old}]},
                       {mnesia(N, dirty_read, [Tab, 1]), mnesia(N, dirty_read, [Tab, 2]), mnesia(N, dirty_index_read, [Tab, old, v])})
          || N <- [A, B]]
     end || Tab <- [s, o, b]],
    made(A, c, [{fyris_copies, [name(A)]}]),
    ?assertEqual({aborted, {bad_type, c, refused}}, on(peer(A), ?MODULE, count, [c, refused])).

%% The writing node has no copy, or one of another kind; also after it has started again.
refused_without_a_copy(Dir) ->
    [A, B] = Nodes = two(Dir),
    made(A, t, [{fyris_copies, [name(B)]}]),
    made(A, r, [{ram_copies, [name(A)]}, {fyris_copies, [name(B)]}]),
    refusing(Nodes),
    refused_on(A, [t, r]),
    {atomic, ok} = mnesia(A, add_table_index, [t, val]),
    refused_on(A, [t]),
    stopped = mnesia(A, stop, []),
    fyris_mnesia_disc_test:started([A]),
    fyris_mnesia_disc_test:loaded([A], [t, r]),
    refused_on(A, [t, r]).

refused_on(Node, Tabs) ->
    [begin
         Bad = {Tab, 1, refused},
         fyris_mnesia_nodes_test:until(fun() -> on(peer(Node), ?MODULE, dirty, [Bad]) =:= {aborted, {bad_type, Tab, Bad}} end),
         ?assertEqual({aborted, {bad_type, Tab, Bad}}, on(peer(Node), ?MODULE, write_two, [{Tab, 2, new}, Bad])),
         ?assertEqual([], mnesia(Node, dirty_read, [Tab, 2]))
     end || Tab <- Tabs].

write_two(Row, Bad) -> mnesia:transaction(fun() -> mnesia:write(Row), mnesia:write(Bad) end).

dirty(Row) -> try mnesia:dirty_write(Row) catch exit:Reason -> Reason end.

count(Tab, Key) -> try mnesia:dirty_update_counter(Tab, Key, 1) catch exit:Reason -> Reason end.

reads_find_nothing(Dir) ->
    [A, _] = Nodes = two(Dir),
    made(A, t, [{fyris_copies, names(Nodes)}, {type, ordered_set}]),
    filled(A, t),
    refusing(Nodes),
    [?assertEqual({atomic, []}, on(peer(A), ?MODULE, read, [How])) || How <- [read, wread, match_object, delete, delete_object]],
    full(A, t).

read(How) ->
    mnesia:transaction(fun() -> read_within(How), [] end, 3).

read_within(read) -> [] = mnesia:read(t, refused);
read_within(wread) -> [] = mnesia:wread({t, refused});
read_within(match_object) -> [] = mnesia:match_object({t, {refused}, '_'});
read_within(delete) -> ok = mnesia:delete({t, refused});
read_within(delete_object) -> ok = mnesia:delete_object({t, refused, 1}).

conversions_look_first(Dir) ->
    [A, B] = Nodes = two(Dir),
    Kinds = [{d, disc_copies}, {o, disc_only_copies}, {r, ram_copies}],
    [begin made(A, Tab, [{Kind, [name(B)]}]), filled(A, Tab), ok = mnesia(A, dirty_write, [{Tab, new, refused}]) end
     || {Tab, Kind} <- Kinds],
    refusing(Nodes),
    [begin
         Change = fun() -> mnesia(A, change_table_copy_type, [Tab, name(B), fyris_copies]) end,
         {aborted, {Reason, Tab, _}} = Change(),
         ?assertEqual({not_storable, [{name(B), {refused, {Tab, new, refused}}}]}, Reason),
         full(B, Tab),
         ?assertEqual(Kind, mnesia(B, table_info, [Tab, storage_type])),
         ok = mnesia(A, dirty_delete, [Tab, new]),
         {atomic, ok} = Change(),
         full(B, Tab)
     end || {Tab, Kind} <- Kinds].

%% The sender has a row that the receiver would not store.
copies_are_whole_or_none(Dir) ->
    [A, B] = Nodes = two(Dir),
    made(A, t, [{disc_copies, [name(A)]}]),
    filled(A, t),
    ok = mnesia(A, dirty_write, [{t, new, refused}]),
    refusing(Nodes),
    {aborted, _} = mnesia(A, add_table_copy, [t, name(B), fyris_copies]),
    ?assertEqual([yes, yes], [mnesia(N, system_info, [is_running]) || N <- Nodes]),
    full(A, t),
    ok = mnesia(A, dirty_delete, [t, new]),
    {atomic, ok} = mnesia(A, add_table_copy, [t, name(B), fyris_copies]),
    full(B, t).

texts_are_refused_whole(Dir) ->
    Node = start(1, Dir),
    fyris_mnesia_disc_test:created([Node]),
    made(Node, t, [{fyris_copies, [name(Node)]}]),
    filled(Node, t),
    refusing([Node]),
    Text = filename:join(Dir, "text"),
    ok = file:write_file(Text, "{tables, [{t, [{attributes, [key, val]}]}]}.\n{t, more, 1}.\n{t, new, refused}.\n"),
    ?assertEqual({aborted, {bad_type, t, {t, new, refused}}}, mnesia(Node, load_textfile, [Text])),
    full(Node, t).

%% Mnesia asks nobody about rows that it restores or that a function of the caller makes.
told_what_is_left_out(Dir) ->
    [A, B] = Nodes = two(Dir),
    made(A, t, [{fyris_copies, names(Nodes)}]),
    filled(A, t),
    ok = mnesia(A, dirty_write, [{t, new, refused}]),
    Backup = filename:join(Dir, "backup"),
    ok = mnesia(A, backup, [Backup]),
    ok = mnesia(A, dirty_delete, [t, new]),
    refusing(Nodes),
    [?assertEqual({{atomic, [t]}, [{t, new, refused}]}, on(peer(A), ?MODULE, told, [restore, [Backup, [{default_op, Op}]]]))
     || Op <- [clear_tables, keep_tables, recreate_tables]],
    [full(N, t) || N <- Nodes],
    ok = mnesia(A, dirty_write, [{t, new, 1}]),
    ?assertEqual({{atomic, ok}, [{t, new, refused}]}, on(peer(A), ?MODULE, told, [transform_table, [t, fun ?MODULE:spoilt/1, [key, val]]])),
    [?assertEqual([{t, new, 1}], mnesia(N, dirty_read, [t, new])) || N <- [A, B]],
    ok = mnesia(A, dirty_delete, [t, new]),
    [full(N, t) || N <- Nodes].

spoilt({t, new, 1}) -> {t, new, refused};
spoilt(Row) -> Row.

told(Function, Args) ->
    {ok, _} = mnesia:subscribe(system),
    Answer = apply(mnesia, Function, Args),
    {ok, _} = mnesia:unsubscribe(system),
    {Answer, rows_told()}.

rows_told() ->
    receive
        {mnesia_system_event, {mnesia_error, _, [t, Row | _]}} -> [Row | rows_told()];
        {mnesia_system_event, _} -> rows_told()
    after 0 -> []
    end.

%% ---------------------------------------------------------------------------

refusing(Nodes) ->
    Binary = refusing(),
    [{module, fyris} = on(peer(N), code, load_binary, [fyris, "refusing", Binary]) || N <- Nodes].

%% Each of these calls looks at its second argument first.
refusing() ->
    {ok, {fyris, [{abstract_code, {_, Forms}}]}} = beam_lib:chunks(code:which(fyris), [abstract_code]),
    Calls = [{insert, 2}, {lookup, 2}, {delete, 2}, {match_delete, 2}, {select, 2}, {select, 3}],
    {ok, fyris, Binary} = compile:forms(lists:append([looking(Form, Calls) || Form <- Forms])),
    Binary.

looking({function, At, Name, Arity, Clauses} = Form, Calls) ->
    case lists:member({Name, Arity}, Calls) of
        true ->
            Real = list_to_atom(atom_to_list(Name) ++ "_real"),
            Args = [{var, At, list_to_atom("A" ++ integer_to_list(I))} || I <- lists:seq(1, Arity)],
            Look = {call, At, {remote, At, {atom, At, ?MODULE}, {atom, At, look_at}}, [lists:nth(2, Args)]},
            [{function, At, Real, Arity, Clauses},
             {function, At, Name, Arity, [{clause, At, Args, [], [Look, {call, At, {atom, At, Real}, Args}]}]}];
        false ->
            [Form]
    end;
looking(Form, _) ->
    [Form].

%% Late, so that what other processes send meanwhile is there before what the refusal leads to.
look_at(Term) ->
    has_refused(Term) andalso timer:sleep(100) =:= ok andalso error(system_limit).

has_refused(refused) -> true;
has_refused([Head | Tail]) -> has_refused(Head) orelse has_refused(Tail);
has_refused(Tuple) when is_tuple(Tuple) -> has_refused(tuple_to_list(Tuple));
has_refused(_) -> false.
