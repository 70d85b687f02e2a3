%% Code of OTP that lives on ets, run on fyris: `digraph' with `digraph_utils', `pg' and `snmp_index'. Each is compiled
%% again from its own debug information, changed in nothing but names of modules, and driven beside the original by the
%% same random operations, every reply compared.
-module(fyris_real_test).

-compile(export_all).
-include("fyris_same.hrl").

-define(RUNS, 150).

real_test_() ->
    [on_fyris([digraph, digraph_utils], random_digraphs),
     on_fyris([pg], random_groups),
     on_fyris([snmp_index], random_indexes)].

on_fyris(Modules, Test) ->
    case lists:all(fun(M) -> abstract(M) =/= none end, Modules) of
        true -> {timeout, 120, fun() -> [load(M) || M <- Modules], ?MODULE:Test() end};
        false -> io:format(user, "skipped: ~p without debug information~n", [Modules]), []
    end.

%% ---------------------------------------------------------------------------
%% The same module, on fyris

abstract(Module) ->
    case code:which(Module) of
        Path when is_list(Path) ->
            case beam_lib:chunks(Path, [abstract_code]) of
                {ok, {_, [{_, {raw_abstract_v1, Forms}}]}} -> Forms;
                _ -> none
            end;
        _ -> none
    end.

load(Module) ->
    {ok, Name, Code} = compile:forms(renamed(abstract(Module)), [nowarn_unused_record]),
    %% Nothing is left of ets.
    {ok, {_, [{imports, Imports}]}} = beam_lib:chunks(Code, [imports]),
    ?assertEqual([], [Import || {ets, _, _} = Import <- Imports]),
    ?assert(lists:keymember(fyris, 1, Imports)),
    {module, Name} = code:load_binary(Name, "on_fyris", Code).

%% `digraph' is the name of a record too.
renamed({atom, _, digraph} = Atom) -> Atom;
renamed({remote, Line, {atom, _, digraph}, Function}) -> {remote, Line, {atom, Line, new_name(digraph)}, Function};
renamed({atom, Line, Name}) -> {atom, Line, new_name(Name)};
renamed({attribute, Line, module, Name}) -> {attribute, Line, module, new_name(Name)};
renamed(Form) when is_tuple(Form) -> list_to_tuple(renamed(tuple_to_list(Form)));
renamed(Forms) when is_list(Forms) -> [renamed(Form) || Form <- Forms];
renamed(Other) -> Other.

new_name(ets) -> fyris;
new_name(digraph) -> fyris_digraph;
new_name(digraph_utils) -> fyris_digraph_utils;
new_name(pg) -> fyris_pg;
new_name(snmp_index) -> fyris_snmp_index;
new_name(Name) -> Name.

%% ---------------------------------------------------------------------------
%% Side by side

both(Names, Make, Steps, Step) ->
    Seed = erlang:system_time(),
    [begin
         rand:seed(exsss, Seed + Run),
         Commands = [Make() || _ <- lists:seq(1, Steps)],
         [Real, Ours] = [fyris_same:in_process(fun() -> Step(Side, Commands) end)
                         || Side <- [Names, [new_name(Name) || Name <- Names]]],
         [?assertEqual({Seed + Run, Command, A}, {Seed + Run, Command, B})
          || {Command, A, B} <- lists:zip3(Commands, Real, Ours)]
     end || Run <- lists:seq(1, ?RUNS)].

try_it(Fun) ->
    try Fun() catch Class:Reason -> {Class, Reason} end.

one(List) -> lists:nth(rand:uniform(length(List)), List).

%% ---------------------------------------------------------------------------
%% digraph

random_digraphs() ->
    both([digraph, digraph_utils], fun graph_command/0, 120, fun digraph_replies/2).

digraph_replies([Graph, Utils], Commands) ->
    Kinds = [[], [acyclic], [cyclic, protected]],
    G = Graph:new(lists:nth(1 + erlang:phash2(Commands, 3), Kinds)),
    Replies = [comparable(F, try_it(fun() -> digraph_call(Graph, Utils, G, F, Args) end)) || {F, Args} <- Commands],
    true = Graph:delete(G),
    Replies.

digraph_call(_, Utils, G, {utils, F}, Args) -> apply(Utils, F, Args ++ [G]);
digraph_call(Graph, _, G, all, []) -> [{E, Graph:edge(G, E)} || E <- Graph:edges(G)];
digraph_call(Graph, Utils, G, condensation, []) ->
    C = Utils:condensation(G),
    {length(Graph:vertices(C)), length(Graph:edges(C)), Graph:delete(C)};
digraph_call(Graph, Utils, G, subgraph, [Vertices]) ->
    S = Utils:subgraph(G, [V || V <- Vertices, Graph:vertex(G, V) =/= false]),
    {lists:sort(Graph:vertices(S)), lists:sort(Graph:edges(S)), Graph:delete(S)};
digraph_call(Graph, _, G, F, Args) -> apply(Graph, F, [G | Args]).

%% Where the order of a hash table shows, it is not compared.
comparable({utils, topsort}, List) when is_list(List) -> lists:sort(List);
comparable({utils, F}, Lists) when is_list(Lists), F =:= components orelse F =:= strong_components
                                   orelse F =:= cyclic_strong_components ->
    lists:sort([lists:sort(List) || List <- Lists]);
comparable({utils, arborescence_root}, Root) -> Root;
comparable(get_path, Path) -> is_list(Path);
comparable(get_cycle, Cycle) -> is_list(Cycle);
comparable(add_edge, {error, {bad_edge, _}}) -> bad_edge;
comparable(add_edge, Edge) -> Edge;
comparable(info, Info) -> lists:keydelete(memory, 1, Info);
comparable(_, List) when is_list(List) -> lists:sort(List);
comparable(_, Reply) -> Reply.

graph_command() ->
    V = fun() -> one([a, b, c, d, 1, 2, {x, y}, <<"v">>]) end,
    case rand:uniform(14) of
        N when N =< 3 -> {add_vertex, [V(), one([[], label])]};
        N when N =< 7 -> {add_edge, [V(), V(), one([[], {l, 1}])]};
        8 -> {one([del_vertex, out_neighbours, in_neighbours, out_edges, in_edges, out_degree, in_degree, edges,
                   vertex, get_cycle, get_short_cycle]), [V()]};
        9 -> {del_edges, [[['$e' | rand:uniform(20)]]]};
        10 -> {one([get_path, get_short_path, del_path]), [V(), V()]};
        11 -> {one([vertices, edges, no_edges, no_vertices, info, all, condensation]), []};
        12 -> {{utils, one([topsort, components, strong_components, cyclic_strong_components, is_acyclic, is_tree,
                            arborescence_root, loop_vertices])}, []};
        13 -> {{utils, one([reachable, reaching, reachable_neighbours])}, [[V(), V()]]};
        14 -> {subgraph, [[V(), V(), V()]]}
    end.

%% ---------------------------------------------------------------------------
%% pg

random_groups() ->
    both([pg], fun group_command/0, 100, fun group_replies/2).

group_replies([Pg], Commands) ->
    {ok, Server} = Pg:start_link(groups_here),
    Members = [spawn_link(fun() -> receive stop -> ok end end) || _ <- lists:seq(1, 5)],
    Number = maps:from_list(lists:zip(Members, lists:seq(1, 5))),
    Replies = [numbers(Number, group_call(Pg, Members, Command)) || Command <- Commands],
    ok = gen_server:stop(Server),
    Replies.

group_call(Pg, Members, {F, Group, Ns}) when F =:= join; F =:= leave ->
    Pg:F(groups_here, Group, [lists:nth(N, Members) || N <- Ns]);
group_call(Pg, _, {which_groups, _, _}) ->
    lists:sort(Pg:which_groups(groups_here));
group_call(Pg, _, {F, Group, _}) ->
    %% Asked after the server has seen what was sent before.
    _ = sys:get_state(groups_here),
    Pg:F(groups_here, Group).

numbers(Number, Pids) when is_list(Pids) -> [maps:get(Pid, Number, Pid) || Pid <- Pids];
numbers(_, Reply) -> Reply.

group_command() ->
    {one([join, join, join, leave, get_members, get_local_members, which_groups]), one([g, {h, 1}, 3]),
     [rand:uniform(5) || _ <- lists:seq(1, rand:uniform(3))]}.

%% ---------------------------------------------------------------------------
%% snmp_index

random_indexes() ->
    both([snmp_index], fun index_command/0, 100, fun index_replies/2).

index_replies([Index], Commands) ->
    I = Index:new({integer, string}),
    Replies = [try_it(fun() -> index_call(Index, I, Command) end) || Command <- Commands],
    Index:delete(I),
    Replies.

index_call(Index, I, {insert, Key, Value}) -> Index:insert(I, Key, Value) =:= I;
index_call(Index, I, {delete, Key, _}) -> Index:delete(I, Key) =:= I;
index_call(Index, I, {get_last, _, _}) -> Index:get_last(I);
index_call(Index, I, {F, Key, _}) -> Index:F(I, Index:key_to_oid(I, Key)).

index_command() ->
    {one([insert, insert, insert, delete, get, get_next, get_last]),
     {rand:uniform(9), one(["", "a", "ab", "b", "zz"])}, rand:uniform(5)}.
