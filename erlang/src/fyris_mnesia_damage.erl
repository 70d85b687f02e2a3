%% @doc What is said and kept when the files of a table are torn or damaged, and how a table is not loaded then.
%%
%% A table whose files are damaged is not loaded from them, since it would lack what was acknowledged. It is loaded from
%% another node that has it, as soon as there is one. `mnesia:force_load_table/1' takes what is whole.
%% @hidden
-module(fyris_mnesia_damage).

-export([torn/2, salvaged/2, replaced/2, not_loaded/2, load_without/2, is_forced/1]).

%% @doc Keeps what is about to be cut from the end of a log, and says so.
-spec torn(atom(), none | {term(), non_neg_integer(), non_neg_integer()}) -> ok.
torn(Tab, {_, Good, Size}) when Good < Size ->
    {Aside, Bytes} = fyris_mnesia_file:cut(Tab, Good),
    mnesia_lib:warning("Fyris: the log of table ~tp ended in the midst of a change; its last ~p bytes are in ~ts~n",
                       [Tab, Bytes, Aside]);
torn(_, _) ->
    ok.

%% @doc Keeps damaged files of which the table takes what is whole, and says so.
-spec salvaged(atom(), [fyris_mnesia_file:damage()]) -> ok.
salvaged(Tab, Damaged) ->
    mnesia_lib:error("Fyris: table ~tp is loaded without what is damaged: ~ts; the files are kept: ~tp~n",
                     [Tab, places(Damaged), kept(Tab, Damaged)]).

%% @doc Keeps damaged files that a copy from another node takes the place of, and says so.
-spec replaced(atom(), [fyris_mnesia_file:damage()]) -> ok.
replaced(_, []) ->
    ok;
replaced(Tab, Damaged) ->
    mnesia_lib:important("Fyris: table ~tp came from another node; its damaged files are kept: ~tp~n",
                         [Tab, kept(Tab, Damaged)]).

kept(Tab, Damaged) ->
    [fyris_mnesia_file:set_aside(Tab, Part) || Part <- lists:usort([Part || {Part, _, _} <- Damaged])].

places(Damaged) ->
    lists:join(", ", [io_lib:format("~ts at byte ~p", [Path, At]) || {_, Path, At} <- Damaged]).

%% @doc Returns whether the operator wants a table loaded from what there is.
-spec is_forced(atom()) -> boolean().
is_forced(Tab) ->
    fyris_mnesia_schema:catch_val({Tab, load_by_force}) =:= true.

%% @doc Ends the process that was to load a table from its files, without the table. Mnesia ends on the node when a table
%% cannot be loaded from a disc; but it goes on when one could not be loaded from another node, and loads it when it
%% hears of a node that has it. So its controller is told that. The message is a record of Mnesia's, the same in OTP 25
%% to 29.
-spec not_loaded(atom(), [fyris_mnesia_file:damage()]) -> no_return().
not_loaded(Tab, Damaged) ->
    mnesia_lib:error("Fyris: table ~tp is damaged: ~ts. It is not loaded from there, but from another node that has it; "
                     "mnesia:force_load_table(~tp) loads what is whole~n", [Tab, places(Damaged), Tab]),
    Controller = whereis(mnesia_controller),
    Controller ! {loader_done, self(), false, Tab, false, false, false, undefined, {not_loaded, damaged}},
    spawn(fun() -> given_up(Tab, monitor(process, Controller)) end),
    unlink(Controller),
    exit(normal).

%% Two nodes that are about to load a table from their discs at one time do not both do it: the second one leaves it to
%% the first, and goes on when that has loaded it, or is down (`late_load_filter' and `drop_loaders' in
%% mnesia_controller.erl of OTP 25 to 29). That this node does not load it is no message of Mnesia's, so each other one
%% is made to do what it would do if this node were down; once more each second, for as long as Mnesia runs here and the
%% table is not here, so that nobody waits for ever who has left it to this node that late.
given_up(Tab, Controller) ->
    mnesia:transaction(fun() -> tell_all(Tab) end),
    receive {'DOWN', Controller, process, _, _} -> ok
    after 1_000 -> fyris_mnesia_schema:catch_val({Tab, where_to_read}) =:= nowhere andalso given_up(Tab, Controller)
    end.

%% Which node leaves a table to which is settled under this lock. Nobody is told while this node is to load it again:
%% then it has the table, or gives it up once more.
tell_all(Tab) ->
    Nodes = mnesia_lib:val({current, db_nodes}),
    mnesia:lock({global, mnesia_late_disc_load, Nodes}, write),
    {ok, _, Wanted} = gen_server:call(mnesia_controller, disc_load_intents, infinity),
    lists:member(Tab, Wanted) orelse
        [rpc:call(Node, ?MODULE, load_without, [Tab, node()]) || Node <- Nodes -- [node()]].

%% @doc Leaves the loading of a table no longer to another node; if that was the last one, the table is loaded here.
-spec load_without(atom(), node()) -> ok.
load_without(Tab, Node) ->
    _ = sys:replace_state(mnesia_controller, fun(State) -> drop_loader(Tab, Node, State) end),
    ok.

%% The tables that are left to others are the one tree of the controller's state that has records `late_load', of which
%% the nodes are the last element.
drop_loader(Tab, Node, State) ->
    list_to_tuple([drop_from(Tab, Node, Part) || Part <- tuple_to_list(State)]).

drop_from(Tab, Node, {Size, Root} = Tree) when is_integer(Size), tuple_size(Root) =:= 4 ->
    case gb_trees:lookup(Tab, Tree) of
        {value, Late} when element(1, Late) =:= late_load ->
            Loaders = element(tuple_size(Late), Late),
            Loaders =:= [Node] andalso
                gen_server:cast(mnesia_controller, {disc_load, Tab, {element(3, Late), last_loader_down, Node}}),
            gb_trees:update(Tab, setelement(tuple_size(Late), Late, Loaders -- [Node]), Tree);
        _ ->
            Tree
    end;
drop_from(_, _, Part) ->
    Part.
