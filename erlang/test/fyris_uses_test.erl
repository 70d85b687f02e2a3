%% The modules of USES.md, compiled from the page, do what it says.
-module(fyris_uses_test).

-compile(export_all).
-include("fyris_same.hrl").

%% Loads the modules of the page.
load() ->
    {ok, Page} = file:read_file(filename:join([filename:dirname(code:which(?MODULE)), "..", "..", "USES.md"])),
    {match, Blocks} = re:run(Page, "```erlang\n(.*?)```", [dotall, global, {capture, [1], list}]),
    [begin
         {ok, Module, Code} = compile:forms(forms(Block), [warnings_as_errors]),
         {module, Module} = code:load_binary(Module, "USES.md", Code),
         Module
     end || [Block] <- Blocks].

forms(Text) ->
    {ok, Tokens, _} = erl_scan:string(Text),
    [begin {ok, Form} = erl_parse:parse_form(F), Form end || F <- fyris_exports_test:forms(Tokens)].

the_page_has_four_modules_test() ->
    ?assertEqual([uses_registry, uses_cache, uses_counters, uses_totals], load()).

registry_test() ->
    load(),
    Server = uses_registry:start(),
    Self = self(),
    {Pid, Monitor} = spawn_monitor(fun() ->
                                           Self ! {first, uses_registry:register(Server, joe)},
                                           receive stop -> ok end
                                   end),
    receive {first, true} -> ok end,
    ?assertEqual(false, uses_registry:register(Server, joe)),
    ?assertEqual([Pid, undefined], [uses_registry:whereis(Name) || Name <- [joe, ann]]),
    %% What another has stays.
    uses_registry:unregister(joe, self()),
    ?assertEqual(Pid, uses_registry:whereis(joe)),
    Pid ! stop,
    receive {'DOWN', Monitor, _, _, _} -> ok end,
    until(fun() -> uses_registry:whereis(joe) =:= undefined end),
    ?assert(uses_registry:register(Server, joe)),
    unlink(Server),
    exit(Server, kill),
    [fyris:delete(T) || T <- [names, names_of]].

cache_test() ->
    load(),
    Cache = {Entries, Times} = uses_cache:new(),
    ?assertEqual([1, 1], [uses_cache:fetch(Cache, a, fun() -> N end) || N <- [1, 2]]),
    ?assertEqual(3, uses_cache:fetch(Cache, b, fun() -> 3 end)),
    ?assertEqual(0, uses_cache:expire(Cache, erlang:convert_time_unit(3600, second, native))),
    timer:sleep(2),
    ?assertEqual(2, uses_cache:expire(Cache, 0)),
    ?assertEqual([0, 0], [fyris:info(T, size) || T <- [Entries, Times]]),
    [fyris:delete(T) || T <- [Entries, Times]].

counters_test() ->
    load(),
    T = uses_counters:new(),
    Workers = [spawn_monitor(fun() -> [uses_counters:add(T, web, hits) || _ <- lists:seq(1, 1000)] end)
               || _ <- lists:seq(1, 4)],
    Taken = [Count || _ <- lists:seq(1, 20), {{web, hits}, Count} <- uses_counters:take_all(T)],
    [receive {'DOWN', Monitor, _, _, normal} -> ok end || {_, Monitor} <- Workers],
    ?assertEqual(4000, lists:sum(Taken) + proplists:get_value(hits, uses_counters:of_group(T, web), 0)),
    uses_counters:add(T, db, reads),
    ?assertEqual([{reads, 1}], uses_counters:of_group(T, db)),
    fyris:delete(T).

totals_test() ->
    load(),
    Orders = fyris:new(orders, [public]),
    fyris:insert(Orders, [{Id, new} || Id <- lists:seq(1, 1000)]),
    {Pid, Totals} = uses_totals:start(Orders),
    Monitor = monitor(process, Pid),
    Workers = [spawn_monitor(fun() -> [order(Orders, rand:uniform(1500)) || _ <- lists:seq(1, 3000)] end) || _ <- [1, 2]],
    [receive {'DOWN', Worker, _, _, normal} -> ok end || {_, Worker} <- Workers],
    States = [new, paid, sent],
    Are = fun() -> [fyris:select_count(Orders, [{{'_', State}, [], [true]}]) || State <- States] end,
    until(fun() -> [uses_totals:of_state(Totals, State) || State <- States] =:= Are() end),
    fyris:delete_all_objects(Orders),
    fyris:insert(Orders, {1, sent}),
    until(fun() -> [uses_totals:of_state(Totals, State) || State <- States] =:= [0, 0, 1] end),
    fyris:delete(Orders),
    receive {'DOWN', Monitor, _, _, Reason} -> ?assertEqual(normal, Reason) end,
    fyris:delete(Totals).

order(Orders, Id) ->
    case rand:uniform(4) of
        1 -> fyris:delete(Orders, Id);
        N -> fyris:insert(Orders, {Id, lists:nth(N - 1, [new, paid, sent])})
    end.

until(Done) ->
    case Done() of
        true -> ok;
        false -> timer:sleep(1), until(Done)
    end.
