%% Snapshots as Erlang sees them. That they are right is for the tests of the store.
-module(fyris_snapshots_test).

-compile(export_all).
-include_lib("eunit/include/eunit.hrl").

types() -> [set, ordered_set, bag, duplicate_bag].

filled(Type) ->
    T = fyris:new(t, [Type, public]),
    fyris:insert(T, [{N, N * N, <<"a value of some length">>} || N <- lists:seq(1, 1000)]),
    T.

%% All that reads a table reads a snapshot.
everything_reads_a_snapshot_test_() ->
    [{atom_to_list(Type), fun() -> reads(Type) end} || Type <- types()].

reads(Type) ->
    T = filled(Type),
    All = lists:sort(fyris:tab2list(T)),
    S = fyris:snapshot(T),
    [fyris:delete(T, N) || N <- lists:seq(1, 1000, 3)],
    [fyris:insert(T, {N, other}) || N <- lists:seq(2, 1000, 3)],
    fyris:insert(T, [{N, new} || N <- lists:seq(1001, 1500)]),
    Same = fun(List) -> ?assertEqual(All, lists:sort(List)) end,
    Same(fyris:tab2list(S)),
    Same(fyris:foldl(fun(Object, Acc) -> [Object | Acc] end, [], S)),
    Same(fyris:foldr(fun(Object, Acc) -> [Object | Acc] end, [], S)),
    Same(fyris:match_object(S, '_')),
    Same(fyris:select(S, [{'_', [], ['$_']}])),
    Same(chunks(fyris:select(S, [{'_', [], ['$_']}], 7))),
    Same(lists:append([fyris:lookup(S, K) || K <- keys(S, fyris:first(S), [])])),
    Same(lists:append(fyris:lookup_many(S, lists:seq(1, 1500)))),
    Same(qlc:e(fyris:table(S))),
    ?assertEqual(1000, fyris:info(S, size)),
    ?assertEqual(998, fyris:select_count(S, [{{'$1', '_', '_'}, [{'>', '$1', 2}], [true]}])),
    ?assert(fyris:member(S, 1) andalso not fyris:member(S, 1001)),
    ?assertEqual({ok, 49}, fyris:get_in(S, 7, [2])),
    ?assertEqual(All, lists:sort(from_file(S))),
    fyris:delete(T),
    Same(fyris:tab2list(S)),
    fyris:release(S).

chunks('$end_of_table') -> [];
chunks({Objects, Continuation}) -> Objects ++ chunks(fyris:select(Continuation)).

keys(_, '$end_of_table', Keys) -> Keys;
keys(S, Key, Keys) -> keys(S, fyris:next(S, Key), [Key | Keys]).

from_file(S) ->
    File = filename:join("/tmp", "fyris_snapshot_" ++ os:getpid()),
    ok = fyris:tab2file(S, File),
    {ok, T} = fyris:file2tab(File),
    file:delete(File),
    Objects = fyris:tab2list(T),
    fyris:delete(T),
    Objects.

ranges_of_a_snapshot_test() ->
    T = filled(ordered_set),
    S = fyris:snapshot(T),
    fyris:delete_all_objects(T),
    ?assertEqual([5, 6, 7], [N || {N, _, _} <- fyris:range(S, 5, 7)]),
    ?assertEqual(1000, fyris:last(S)),
    ?assertMatch({6, _, _}, fyris:seek(S, 5.5)).

a_snapshot_is_not_written_to_test() ->
    T = filled(set),
    S = fyris:snapshot(T),
    Writes = [fun() -> fyris:insert(S, {1}) end, fun() -> fyris:insert(S, [{1}, {2}]) end,
              fun() -> fyris:delete(S, 1) end, fun() -> fyris:delete(S) end, fun() -> fyris:delete_all_objects(S) end,
              fun() -> fyris:update_counter(S, 1, 1) end, fun() -> fyris:take(S, 1) end,
              fun() -> fyris:select_delete(S, [{'_', [], [true]}]) end, fun() -> fyris:rename(S, other) end,
              fun() -> fyris:setopts(S, {heir, none}) end, fun() -> fyris:drain(S) end,
              fun() -> fyris:give_away(S, spawn(fun() -> timer:sleep(1000) end), x) end,
              fun() -> fyris:snapshot(S) end],
    [?assertError(badarg, Write()) || Write <- Writes],
    ?assertEqual(1000, fyris:info(T, size)),
    true = fyris:release(S),
    true = fyris:release(S),
    ?assertError(badarg, fyris:lookup(S, 1)),
    ?assertError(badarg, fyris:release(T)),
    ?assertError(badarg, fyris:snapshot([T, nonsense])),
    ?assertError(badarg, fyris:snapshot([T | nonsense])),
    ?assertEqual([], fyris:snapshot([])).

%% It ends with its process, with the last reference, and not before.
lives_test() ->
    T = filled(set),
    Self = self(),
    Taker = spawn_link(fun() ->
        Self ! {snapshot, fyris:snapshot(T)},
        receive stop -> ok end
    end),
    S = receive {snapshot, Snapshot} -> Snapshot end,
    fyris:insert(T, {1, changed}),
    erlang:suspend_process(Taker),
    ?assertMatch([{1, 1, _}], fyris:lookup(S, 1)),
    ?assertMatch([{_, Taker, _}], [Told || {_, Pid, _} = Told <- fyris:snapshots(), Pid =:= Taker]),
    erlang:resume_process(Taker),
    unlink(Taker),
    exit(Taker, kill),
    until(fun() -> alive(T) =:= 0 end),
    ?assertError(badarg, fyris:lookup(S, 1)),
    fyris_same:in_process(fun() -> fyris:snapshot(T), ok end),
    until(fun() -> alive(T) =:= 0 end),
    take_and_forget(T, 1000),
    until(fun() -> erlang:garbage_collect(), alive(T) =:= 0 end),
    fyris:collect(),
    ?assertMatch(#{retained := 0, oldest := none}, fyris:info(T, snapshots)).

take_and_forget(_, 0) -> ok;
take_and_forget(T, N) ->
    fyris:snapshot(T),
    fyris:insert(T, {N, N}),
    take_and_forget(T, N - 1).

until(Done) ->
    case Done() of
        true -> ok;
        false -> timer:sleep(5), until(Done)
    end.

alive(T) -> maps:get(alive, fyris:info(T, snapshots)).

rights_test() ->
    T = fyris:new(t, [private]),
    fyris_same:in_process(fun() -> ?assertError(badarg, fyris:snapshot(T)) end),
    S = fyris:snapshot(T),
    fyris_same:in_process(fun() -> ?assertEqual([], fyris:tab2list(S)) end),
    fyris:release(S).

%% Transfers between two tables by list inserts are seen whole.
sums_test() ->
    T = fyris:new(t, [public]),
    fyris:insert(T, [{N, 100} || N <- lists:seq(1, 10)]),
    Self = self(),
    Writer = spawn_link(fun() -> transfer(T, Self) end),
    [begin
         S = fyris:snapshot(T),
         ?assertEqual(1000, lists:sum([Money || {_, Money} <- fyris:tab2list(S)])),
         fyris:release(S)
     end || _ <- lists:seq(1, 500)],
    Writer ! stop,
    receive stopped -> ok end.

transfer(T, Parent) ->
    [A, B] = [rand:uniform(10), rand:uniform(10)],
    [{_, X}, {_, Y}] = [hd(fyris:lookup(T, N)) || N <- [A, B]],
    [fyris:insert(T, [{A, X - 1}, {B, Y + 1}]) || A =/= B],
    receive
        stop -> Parent ! stopped
    after 0 -> transfer(T, Parent)
    end.

%% A writer goes round the keys in their order and puts the number of the round in each: at one moment those up to some
%% key are of one round, and those behind of the round before.
calls_show_one_moment_test_() ->
    [{timeout, 60, {atom_to_list(Type), fun() -> moments(Type) end}} || Type <- [set, ordered_set]].

moments(Type) ->
    T = fyris:new(t, [Type, public]),
    round(T, 0),
    Writer = spawn_link(fun() -> rounds(T, 1) end),
    File = from_dir("moment"),
    Calls = [fun() -> fyris:tab2list(T) end,
             fun() -> fyris:select(T, [{'_', [], ['$_']}]) end,
             fun() -> fyris:match_object(T, '_') end,
             fun() -> fyris:foldl(fun(Object, Acc) -> [Object | Acc] end, [], T) end,
             fun() -> fyris:foldr(fun(Object, Acc) -> [Object | Acc] end, [], T) end,
             fun() -> chunks(fyris:select(T, [{'_', [], ['$_']}], 7)) end,
             fun() -> chunks(fyris:select_reverse(T, [{'_', [], ['$_']}], 700)) end,
             fun() -> chunks(fyris:match_object(T, '_', 4999)) end,
             fun() -> qlc:e(fyris:table(T)) end,
             fun() -> [Object || Type =:= ordered_set, Object <- fyris:range(T, '_', '_')] end,
             fun() ->
                 ok = fyris:tab2file(T, File),
                 {ok, Loaded} = fyris:file2tab(File),
                 Objects = fyris:tab2list(Loaded),
                 fyris:delete(Loaded),
                 Objects
             end],
    [moment(lists:sort(Call())) || _ <- lists:seq(1, 10), Call <- Calls],
    %% Continuations are garbage now.
    erlang:garbage_collect(),
    ?assertEqual(0, alive(T)),
    unlink(Writer),
    exit(Writer, kill),
    file:delete(File),
    fyris:delete(T).

%% What a fold or the next chunk does beside the fun's own writes.
a_live_table_is_read_as_it_is_test() ->
    Insert = fun(T) -> fun({K, _}, Acc) -> [fyris:insert(T, {K + 1, new}) || K < 1200], [K | Acc] end end,
    [begin
         T = fyris:new(t, [ordered_set | Options]),
         fyris:insert(T, [{K, old} || K <- lists:seq(1, 1000)]),
         {_, Continuation} = fyris:select(T, [{{'$1', '_'}, [], ['$1']}], 400),
         fyris:delete(T, 401),
         ?assertEqual(Next, hd(element(1, fyris:select(Continuation)))),
         ?assertEqual(Last, hd(fyris:foldl(Insert(T), [], T))),
         ?assertEqual(Consistent, fyris:info(T, consistent)),
         fyris:delete(T)
     end || {Options, Consistent, Next, Last} <- [{[], true, 401, 1000}, {[{consistent, false}], false, 402, 1200}]].

a_fold_ends_with_its_table_test() ->
    [begin
         T = fyris:new(t, [Type]),
         fyris:insert(T, [{K, old} || K <- lists:seq(1, N)]),
         Visit = fun(_, done) -> done; (_, none) -> fyris:delete(T), done end,
         ?assertError(badarg, fyris:foldl(Visit, none, T))
     end || Type <- [set, ordered_set], N <- [1, 500, 2000]].

a_continuation_has_an_age_test() ->
    T = fyris:new(t, [{snapshot_ttl, 30}]),
    fyris:insert(T, [{K, old} || K <- lists:seq(1, 1000)]),
    {_, Continuation} = fyris:match(T, '$1', 10),
    ?assertMatch({_, _}, fyris:match(Continuation)),
    ?assertEqual(1, alive(T)),
    timer:sleep(60),
    ?assertEqual({0, 30}, {alive(T), fyris:info(T, snapshot_ttl)}),
    try fyris:match(Continuation), error(unexpected)
    catch error:badarg:Stack ->
        #{general := Text} = fyris:format_error(badarg, Stack),
        ?assertMatch({match, _}, re:run(Text, "snapshot_ttl"))
    end,
    %% Single calls take as long as they take.
    fyris:insert(T, [{K, old} || K <- lists:seq(1, 20000)]),
    Slow = fun(_, Sum) -> Sum rem 5000 =:= 0 andalso timer:sleep(15), Sum + 1 end,
    ?assertEqual([20000, 20000, 20000], [length(fyris:tab2list(T)), length(fyris:match_object(T, '_')), fyris:foldl(Slow, 0, T)]),
    %% Of an hour that has not passed.
    U = fyris:new(t, [{snapshot_ttl, 3600000}]),
    fyris:insert(U, [{K, old} || K <- lists:seq(1, 1000)]),
    ?assertEqual(1000, length(chunks(fyris:match_object(U, '_', 10)))),
    [?assertError(badarg, fyris:new(t, [Bad])) || Bad <- [{snapshot_ttl, 0}, {snapshot_ttl, none}, {consistent, maybe_so}, {consistant, true}]],
    fyris:delete(U),
    fyris:delete(T).

from_dir(Name) ->
    lists:concat(["/tmp/fyris_", Name, "_", os:getpid(), ".tab"]).

moment([]) -> ok;
moment(Objects) ->
    Rounds = [Round || {_, Round} <- Objects],
    ?assertEqual(5000, length(Rounds)),
    ?assertEqual(Rounds, lists:reverse(lists:sort(Rounds))),
    ?assert(hd(Rounds) - lists:last(Rounds) =< 1).

rounds(T, N) ->
    round(T, N),
    rounds(T, N + 1).

round(T, N) ->
    [fyris:insert(T, {K, N}) || K <- lists:seq(1, 5000)].
