%% Subscriptions: what processes are told of changes. That nothing is missing is for the tests of the store, too.
-module(fyris_watch_test).

-compile(export_all).
-include_lib("eunit/include/eunit.hrl").

types() -> [set, ordered_set, bag, duplicate_bag].

each_type(Test) -> [{timeout, 60, {atom_to_list(Type), fun() -> Test(Type) end}} || Type <- types()].

table(Type) -> fyris:new(t, [Type, public]).

%% The next message.
next(S) ->
    receive {fyris, S, Seq, Event} -> {Seq, Event}
    after 10_000 -> error({no_message, process_info(self(), messages)})
    end.

event(S) -> element(2, next(S)).

%% Whether no message of it comes.
is_quiet(S) ->
    receive
        {fyris, S, _, Event} -> Event;
        {fyris, S, Event} -> Event
    after 50 -> true
    end.

%% How many there are besides those of messages that earlier tests have left.
resources_now() ->
    receive {fyris, _, _, _} -> resources_now()
    after 0 -> fyris_counts:extra(0)
    end.

until(Done) ->
    case Done() of
        true -> ok;
        false -> timer:sleep(5), until(Done)
    end.

events_test_() -> each_type(fun events/1).

events(Type) ->
    T = table(Type),
    IsBag = Type =:= bag orelse Type =:= duplicate_bag,
    S = fyris:subscribe(T, all),
    fyris:insert(T, {1, a}),
    ?assertEqual({1, {changes, [{insert, T, {1, a}}]}}, next(S)),
    fyris:insert(T, {1, b}),
    ?assertEqual({2, {changes, [case IsBag of
                                    true -> {insert, T, {1, b}};
                                    false -> {update, T, {1, a}, {1, b}}
                                end]}}, next(S)),
    fyris:delete(T, 1),
    ?assertEqual({3, {changes, [{delete, T, {1, a}} || IsBag] ++ [{delete, T, {1, b}}]}}, next(S)),
    %% Nothing changes.
    fyris:delete(T, 1),
    fyris:insert(T, []),
    fyris:insert(T, [{1, a}, {2, a}, {2, b}]),
    Inserted = [{1, a}, {2, b}] ++ [{2, a} || IsBag],
    {4, {changes, Changes}} = next(S),
    ?assertEqual(lists:sort(Inserted), lists:sort([Object || {insert, Table, Object} <- Changes, Table =:= T])),
    ?assertEqual(length(Inserted), length(Changes)),
    fyris:delete_object(T, {2, b}),
    ?assertEqual({5, {changes, [{delete, T, {2, b}}]}}, next(S)),
    N = fyris:info(T, size),
    fyris:delete_all_objects(T),
    ?assertEqual({6, {cleared, T, N}}, next(S)),
    fyris:delete(T),
    ?assertEqual({7, {deleted, T}}, next(S)),
    ?assert(is_quiet(S)),
    ?assertEqual({true, true}, {fyris:set_active(S, 1), fyris:unsubscribe(S)}).

the_same_again_is_no_change_test() ->
    [begin
         T = table(Type),
         S = fyris:subscribe(T, all),
         [fyris:insert(T, {1, "a", #{b => [2.5]}}) || _ <- [1, 2]],
         ?assertMatch({1, {changes, [{insert, T, _}]}}, next(S)),
         ?assert(is_quiet(S)),
         fyris:delete(T)
     end || Type <- [set, ordered_set, bag]].

%% All that writes tells.
verbs_test() ->
    T = table(ordered_set),
    S = fyris:subscribe(T, all),
    Changes = fun(Write) -> Write(), {changes, Changes} = event(S), Changes end,
    ?assertEqual([{insert, T, {1, 0}}], Changes(fun() -> fyris:insert_new(T, {1, 0}) end)),
    ?assertEqual([{update, T, {1, 0}, {1, 5}}], Changes(fun() -> fyris:update_counter(T, 1, 5) end)),
    ?assertEqual([{insert, T, {2, 1}}], Changes(fun() -> fyris:update_counter(T, 2, 1, {2, 0}) end)),
    ?assertEqual([{update, T, {2, 1}, {2, x}}], Changes(fun() -> fyris:update_element(T, 2, {2, x}) end)),
    ?assertEqual([{update, T, {2, x}, {2, y}}], Changes(fun() -> fyris:compare_and_swap(T, {2, x}, {2, y}) end)),
    ?assertEqual([{update, T, {2, y}, {2, z}}], Changes(fun() -> fyris:upsert(T, 2, {2, a}, fun(_) -> {2, z} end) end)),
    ?assertEqual([{delete, T, {2, z}}], Changes(fun() -> fyris:take(T, 2) end)),
    ?assertEqual([{delete, T, {1, 5}}], Changes(fun() -> fyris:select_delete(T, [{{1, '_'}, [], [true]}]) end)),
    fyris:insert(T, [{N, N} || N <- [1, 2, 3]]),
    ?assertEqual([{insert, T, {N, N}} || N <- [1, 2, 3]], element(2, event(S))),
    fyris:delete_range(T, 2, '_'),
    ?assertEqual([[{delete, T, {N, N}}] || N <- [2, 3]], [element(2, event(S)) || _ <- [2, 3]]),
    fyris:delete(T).

filters_test_() -> each_type(fun filters/1).

filters(Type) ->
    T = table(Type),
    Wanted = [{all, [1, 2, 3, 4, 5]}, {{key, 3}, [3]}, {{key, 9}, []}, {{pattern, {'_', odd}}, [1, 3, 5]},
              {[{{'$1', '_'}, [{'>', '$1', 3}], [true]}], [4, 5]}, {[{{'_', even}, [], ['$_']}], []}]
        ++ [{{range, From, To}, Keys}
            || Type =:= ordered_set,
               {From, To, Keys} <- [{2, 4, [2, 3, 4]}, {'_', 2, [1, 2]}, {4, '_', [4, 5]}, {4, 2, []},
                                    {'_', '_', [1, 2, 3, 4, 5]}]],
    Subscriptions = [{fyris:subscribe(T, What), Keys} || {What, Keys} <- Wanted],
    [fyris:insert(T, {N, lists:nth(1 + N rem 2, [even, odd])}) || N <- [1, 2, 3, 4, 5]],
    [begin
         ?assertEqual({Keys, [{insert, N} || N <- Keys]},
                      {Keys, [begin
                                  {Seq, {changes, [{insert, T, {N, _}}]}} = next(S),
                                  {insert, N}
                              end || Seq <- lists:seq(1, length(Keys))]}),
         ?assert(is_quiet(S))
     end || {S, Keys} <- Subscriptions],
    %% Whether an object matches no more is a change of it.
    Type =:= set andalso begin
        {S, _} = lists:nth(4, Subscriptions),
        fyris:insert(T, {1, even}),
        ?assertEqual({4, {changes, [{update, T, {1, odd}, {1, even}}]}}, next(S)),
        fyris:insert(T, {1, other}),
        ?assert(is_quiet(S))
    end,
    fyris:delete(T),
    [?assertMatch({_, {deleted, T}}, lists:last([next(S)])) || Type =/= set, {S, _} <- Subscriptions].

%% Keys are the same as the table says.
keys_test() ->
    [T, U] = [table(Type) || Type <- [set, ordered_set]],
    S = fyris:subscribe([T, U], {key, 1}),
    [fyris:insert(Table, {1.0, x}) || Table <- [T, U]],
    ?assertEqual({1, {changes, [{insert, U, {1.0, x}}]}}, next(S)),
    ?assert(is_quiet(S)),
    Odd = {#{self() => [make_ref()]}, <<1:3>>, fun() -> T end, 1 bsl 100, "text"},
    R = fyris:subscribe(T, {key, Odd}),
    fyris:insert(T, {Odd, Odd}),
    ?assertEqual({1, {changes, [{insert, T, {Odd, Odd}}]}}, next(R)),
    [fyris:delete(Table) || Table <- [T, U]].

names_test() ->
    T = fyris:new(fyris_watch_test_one, [named_table]),
    S = fyris:subscribe(T, all),
    fyris:insert(T, {1}),
    ?assertEqual({changes, [{insert, fyris_watch_test_one, {1}}]}, event(S)),
    fyris:rename(T, fyris_watch_test_two),
    fyris:insert(fyris_watch_test_two, {2}),
    ?assertEqual({changes, [{insert, fyris_watch_test_two, {2}}]}, event(S)),
    fyris:delete(fyris_watch_test_two),
    ?assertEqual({deleted, fyris_watch_test_two}, event(S)).

%% A transaction, and a batch, over two tables are one message each; one that is aborted is none.
transactions_test() ->
    [T, U] = Tables = [table(Type) || Type <- [set, ordered_set]],
    fyris:insert(T, [{1, old}, {2, old}]),
    S = fyris:subscribe(Tables, all),
    OfU = fyris:subscribe(U, {key, 7}),
    Move = fun(Tx) ->
        [A, B] = fyris:within(Tx, Tables),
        [fyris:insert(B, Object) || Object <- fyris:take(A, 1)],
        fyris:insert(A, {2, new}),
        fyris:insert(A, {3, gone}),
        fyris:delete(A, 3),
        fyris:insert(B, {7, seven})
    end,
    {aborted, no} = fyris:transaction(fun(Tx) -> Move(Tx), fyris:abort(no) end),
    {atomic, true} = fyris:transaction(Move),
    {1, {changes, Changes}} = next(S),
    %% In the order of writing, over both tables.
    ?assertEqual([{delete, T, {1, old}}, {insert, U, {1, old}}, {update, T, {2, old}, {2, new}},
                  {insert, U, {7, seven}}], Changes),
    ?assertEqual({1, {changes, [{insert, U, {7, seven}}]}}, next(OfU)),
    {ok, _} = fyris:write_batch([{delete, U, 7}, {insert, T, {7, back}}]),
    ?assertEqual({2, {changes, [{delete, U, {7, seven}}, {insert, T, {7, back}}]}}, next(S)),
    ?assert(is_quiet(S)),
    [fyris:delete(Table) || Table <- Tables].

%% Beside two writers: what was there and what has changed since is what is there.
from_snapshot_test_() ->
    [{timeout, 120, {lists:concat([Type, " ", Round]), fun() -> from_snapshot(Type) end}}
     || Type <- [set, ordered_set], Round <- [1, 2, 3]].

from_snapshot(Type) ->
    T = table(Type),
    fyris:insert(T, [{N, 0} || N <- lists:seq(1, 2000)]),
    Writers = [spawn_monitor(fun() -> rand:seed(exsss), write(T, 5000) end) || _ <- [1, 2]],
    timer:sleep(rand:uniform(10)),
    S = fyris:subscribe(T, all, [{from, snapshot}]),
    [receive {'DOWN', Monitor, _, _, normal} -> ok end || {_, Monitor} <- Writers],
    fyris:insert(T, {last, last}),
    ?assertEqual(lists:sort(fyris:tab2list(T)), lists:sort(maps:values(replay(S, T, 1, #{}, objects)))),
    fyris:unsubscribe(S),
    fyris:delete(T).

write(_, 0) -> ok;
write(T, N) ->
    Key = rand:uniform(3000),
    case rand:uniform(4) of
        1 -> fyris:delete(T, Key);
        2 -> fyris:update_counter(T, Key, 1, {Key, 0});
        3 -> fyris:insert(T, [{Key, N}, {Key + 1, N}]);
        4 -> fyris:insert(T, {Key, N})
    end,
    write(T, N - 1).

%% What a table holds by what a subscription tells, up to the key `last'. Every change is one of what was there.
replay(S, T, Seq, Known, Stage) ->
    case next(S) of
        {Seq, {objects, T, Objects}} ->
            objects = Stage,
            New = maps:from_list([{element(1, Object), Object} || Object <- Objects]),
            ?assertEqual(maps:size(New) + maps:size(Known), maps:size(maps:merge(Known, New))),
            replay(S, T, Seq + 1, maps:merge(Known, New), objects);
        {Seq, current} ->
            objects = Stage,
            replay(S, T, Seq + 1, Known, changes);
        {Seq, {changes, Changes}} ->
            changes = Stage,
            Now = lists:foldl(fun(Change, All) -> change(T, Change, All) end, Known, Changes),
            case is_map_key(last, Now) of
                true -> Now;
                false -> replay(S, T, Seq + 1, Now, changes)
            end
    end.

change(T, {insert, T, Object}, Known) ->
    false = is_map_key(element(1, Object), Known),
    Known#{element(1, Object) => Object};
change(T, {update, T, Old, New}, Known) ->
    #{element(1, Old) := Old} = Known,
    Known#{element(1, Old) := New};
change(T, {delete, T, Object}, Known) ->
    {Object, Rest} = maps:take(element(1, Object), Known),
    Rest.

%% Of several tables and with a filter.
some_from_snapshot_test() ->
    [T, U] = Tables = [table(Type) || Type <- [duplicate_bag, ordered_set]],
    [fyris:insert(Table, [{N, N} || N <- lists:seq(1, 1000)]) || Table <- Tables],
    fyris:insert(T, {10, 10}),
    Told = fun(What, From) ->
        S = fyris:subscribe(From, What, [{from, snapshot}]),
        Found = objects(S, []),
        fyris:unsubscribe(S),
        lists:sort(Found)
    end,
    ?assertEqual(2001, length(Told(all, Tables))),
    ?assertEqual(lists:sort([{T, {10, 10}}, {T, {10, 10}}, {U, {10, 10}}]), Told({key, 10}, Tables)),
    ?assertEqual([{U, {N, N}} || N <- [999, 1000]], Told({range, 999, '_'}, U)),
    ?assertEqual([{U, {7, 7}}], Told({pattern, {'$1', 7}}, U)),
    ?assertEqual([], Told({key, none}, Tables)),
    [fyris:delete(Table) || Table <- Tables].

objects(S, Found) ->
    case event(S) of
        {objects, T, Objects} -> objects(S, [{T, Object} || Object <- Objects] ++ Found);
        current -> Found
    end.

demand_test() ->
    T = table(set),
    S = fyris:subscribe(T, all, [{active, 3}]),
    [fyris:insert(T, {N}) || N <- lists:seq(1, 10)],
    Some = fun(Seqs) ->
        [{changes, [{insert, T, {Seq}}]} = receive {fyris, S, Seq, Event} -> Event end || Seq <- Seqs],
        receive {fyris, S, passive} -> ok after 5000 -> error(active) end,
        ?assert(is_quiet(S))
    end,
    Some([1, 2, 3]),
    fyris:set_active(S, 2),
    Some([4, 5]),
    fyris:set_active(S, 1),
    Some([6]),
    fyris:set_active(S, true),
    [?assertMatch({Seq, _}, next(S)) || Seq <- [7, 8, 9, 10]],
    ?assert(is_quiet(S)),
    %% What is asked for counts from then on.
    [fyris:set_active(S, N) || N <- [5, 1]],
    [fyris:insert(T, {N}) || N <- [11, 12]],
    Some([11]),
    fyris:delete(T),
    fyris:set_active(S, 9),
    ?assertMatch({12, {changes, _}}, next(S)),
    ?assertEqual({13, {deleted, T}}, next(S)),
    ?assert(is_quiet(S)).

overflow_test() ->
    T = table(ordered_set),
    S = fyris:subscribe(T, all, [{queue, 2}, {active, 1}]),
    fyris:insert(T, {0}),
    ?assertMatch({1, {changes, [{insert, T, {0}}]}}, next(S)),
    receive {fyris, S, passive} -> ok end,
    [fyris:insert(T, {N}) || N <- lists:seq(1, 10)],
    fyris:set_active(S, true),
    ?assertEqual([{2, {changes, [{insert, T, {1}}]}}, {3, {changes, [{insert, T, {2}}]}}, {4, {overflow, 8}}],
                 [next(S) || _ <- [1, 2, 3]]),
    fyris:insert(T, {11}),
    ?assertEqual({12, {changes, [{insert, T, {11}}]}}, next(S)),
    %% One step always has room.
    fyris:insert(T, [{N} || N <- lists:seq(21, 30)]),
    {13, {changes, Changes}} = next(S),
    ?assertEqual(10, length(Changes)),
    fyris:delete(T).

%% Of a key that changes while nobody listens the first object that was there is told, and the last one.
conflated_test() ->
    T = table(set),
    S = fyris:subscribe(T, all, [{conflate, true}, {active, 1}]),
    fyris:insert(T, {a, 0}),
    ?assertEqual({1, {changes, [{insert, T, {a, 0}}]}}, next(S)),
    receive {fyris, S, passive} -> ok end,
    [fyris:insert(T, {Key, N}) || N <- lists:seq(1, 100), Key <- [a, b, c]],
    fyris:delete(T, c),
    fyris:set_active(S, true),
    ?assertEqual([{changes, [{update, T, {a, 0}, {a, 100}}]}, {changes, [{insert, T, {b, 100}}]}], [event(S), event(S)]),
    ?assert(is_quiet(S)),
    fyris:delete(T).

%% A subscription does not outlive its process, nor the last reference to it. What is watched of a table that is gone
%% would be a resource that is left.
ends_test_() -> {timeout, 120, fun ends/0}.

ends() ->
    Before = resources_now(),
    %% What waits in its mailbox goes with it.
    fyris_same:in_process(fun subscribers/0),
    ?assertEqual(Before, fyris_counts:extra(Before)),
    %% The thread ends with the last subscription.
    until(fun() -> not lists:member("fyris-watching", threads()) end).

subscribers() ->
    T = table(set),
    fyris:insert(T, [{N, N} || N <- lists:seq(1, 1000)]),
    Subscribers = [spawn_monitor(fun() -> subscriber(T, N) end) || N <- lists:seq(1, 200)],
    [fyris:insert(T, {N, N + 1}) || N <- lists:seq(1, 1000)],
    [exit(Pid, kill) || {Pid, _} <- Subscribers],
    [receive {'DOWN', Monitor, _, _, _} -> ok end || {_, Monitor} <- Subscribers],
    until(fun() -> fyris:info(T, subscriptions) =:= 0 end),
    [fyris:insert(T, {N, N + 2}) || N <- lists:seq(1, 1000)],
    forgotten(T, 100),
    [fyris:insert(T, {N, N + 3}) || N <- lists:seq(1, 10)],
    fyris:delete(T).

subscriber(T, N) ->
    S = fyris:subscribe(T, all, [{from, snapshot} || N rem 2 =:= 0] ++ [{active, N} || N rem 3 =:= 0]),
    receive {fyris, S, never} -> ok end.

forgotten(_, 0) -> ok;
forgotten(T, N) ->
    fyris:subscribe(T, all),
    forgotten(T, N - 1).

threads() ->
    [string:trim(Name) || File <- filelib:wildcard("/proc/self/task/*/comm"), {ok, Name} <- [read(File)]].

%% Files of threads that have ended meanwhile cannot be read.
read(File) ->
    case file:open(File, [read, raw]) of
        {ok, Io} ->
            Line = file:read(Io, 100),
            file:close(Io),
            Line;
        Error -> Error
    end.

a_reference_that_is_forgotten_ends_it_test() ->
    T = table(set),
    Self = self(),
    %% No message waits, and nobody has the reference.
    Pid = spawn_link(fun() ->
        forgotten(T, 1),
        erlang:garbage_collect(),
        Self ! forgotten,
        receive {fyris, _, _, {changes, _} = Changes} -> Self ! {told, Changes} end
    end),
    receive forgotten -> ok end,
    fyris:insert(T, {1}),
    ?assert(receive {told, Changes} -> Changes after 50 -> true end),
    unlink(Pid),
    exit(Pid, kill),
    fyris:delete(T).

%% Beside a writer: after `unsubscribe' has returned nothing comes.
unsubscribe_test_() -> {timeout, 60, fun unsubscribe/0}.

unsubscribe() ->
    T = table(set),
    Writer = spawn_link(fun() -> hammer(T, 0) end),
    [begin
         S = fyris:subscribe(T, all, [{from, snapshot} || N rem 2 =:= 0]),
         next(S),
         true = fyris:unsubscribe(S),
         waiting(S),
         erlang:yield(),
         ?assertEqual({N, []}, {N, waiting(S)})
     end || N <- lists:seq(1, 500)],
    stop(Writer),
    fyris:delete(T).

waiting(S) ->
    receive {fyris, S, _, Event} -> [Event | waiting(S)]
    after 0 -> []
    end.

hammer(T, N) ->
    fyris:insert(T, {N rem 100, N}),
    receive {stop, From} -> From ! stopped
    after 0 -> hammer(T, N + 1)
    end.

stop(Writer) ->
    Writer ! {stop, self()},
    receive stopped -> ok end.

%% Each of many subscribers is told of its key and of nothing else.
many_test_() -> {timeout, 120, fun many/0}.

many() ->
    T = table(set),
    N = 1000,
    Self = self(),
    Pids = [spawn_link(fun() -> of_key(T, Key, Self) end) || Key <- lists:seq(1, N)],
    [receive {ready, Pid} -> ok end || Pid <- Pids],
    Rounds = lists:seq(1, 10),
    Write = fun(From) -> [fyris:insert(T, {Key, Round}) || Round <- Rounds, Key <- lists:seq(From, N, 2)] end,
    [spawn_link(fun() -> Write(From) end) || From <- [1, 2]],
    [receive {done, Pid, Told} -> ?assertEqual(Rounds, Told) after 60_000 -> error(timeout) end || Pid <- Pids],
    fyris:delete(T).

of_key(T, Key, Parent) ->
    S = fyris:subscribe(T, {key, Key}, [{active, 4}]),
    Parent ! {ready, self()},
    Parent ! {done, self(), [round(S, T, Key) || _ <- lists:seq(1, 10)]}.

round(S, T, Key) ->
    receive
        {fyris, S, passive} -> fyris:set_active(S, 4), round(S, T, Key);
        {fyris, S, Round, {changes, [{insert, T, {Key, Round}}]}} when Round =:= 1 -> Round;
        {fyris, S, Round, {changes, [{update, T, {Key, _}, {Key, Round}}]}} -> Round;
        {fyris, S, _, _} = Other -> error(Other)
    end.

%% One that writes what it watches is told of it, and ends by itself.
a_writer_watches_itself_test() ->
    T = table(set),
    fyris:insert(T, {n, 0}),
    S = fyris:subscribe(T, {key, n}, [{active, 7}, {from, snapshot}]),
    ?assertEqual(500, count_up(S, T)),
    ?assertEqual([{n, 500}], fyris:lookup(T, n)),
    ?assert(is_quiet(S)),
    fyris:delete(T).

count_up(S, T) ->
    receive
        {fyris, S, _, {objects, T, [{n, 0}]}} -> fyris:update_counter(T, n, 1), count_up(S, T);
        {fyris, S, _, current} -> count_up(S, T);
        {fyris, S, passive} -> fyris:set_active(S, 7), count_up(S, T);
        {fyris, S, _, {changes, [{update, T, _, {n, 500}}]}} -> 500;
        {fyris, S, _, {changes, [{update, T, {n, N}, {n, M}}]}} when M =:= N + 1 ->
            fyris:update_counter(T, n, 1),
            count_up(S, T)
    end.

%% All kinds of terms come as they are looked up; a reference to a resource keeps it until it was told.
terms_test() ->
    T = table(set),
    S = fyris:subscribe(T, all),
    Captured = [self(), make_ref()],
    Values = [self(), make_ref(), fun() -> Captured end, fun lists:map/2, hd(erlang:ports()), 1 bsl 200, -1.5, <<5:7>>,
              binary:copy(<<"large">>, 10_000), #{a => #{}}, maps:from_list([{N, N} || N <- lists:seq(1, 100)]),
              [a | b], "text", <<"text">>, {}, [], 'an atom', deep(100_000)],
    [begin
         fyris:insert(T, {1, Value}),
         {changes, [Change]} = event(S),
         ?assert(element(tuple_size(Change), Change) =:= {1, Value}),
         ?assert([element(tuple_size(Change), Change)] =:= fyris:lookup(T, 1))
     end || Value <- Values],
    fyris:delete(T).

deep(Levels) -> lists:foldl(fun(_, Inner) -> {Inner} end, [], lists:seq(1, Levels)).

resources_test_() -> {timeout, 60, fun resources/0}.

resources() ->
    Before = resources_now(),
    [fyris_same:in_process(Told) || Told <- [fun resources_of_changes/0, fun resources_of_a_snapshot/0]],
    ?assertEqual(Before, fyris_counts:extra(Before)).

resources_of_changes() ->
    T = table(set),
    S = fyris:subscribe(T, all, [{active, 1}]),
    Put = fun(N) ->
        Counter = atomics:new(1, []),
        atomics:put(Counter, 1, N),
        fyris:insert(T, {N, {at, Counter}}),
        fyris:insert(T, {N, gone}),
        fyris:delete(T, N)
    end,
    fyris_same:in_process(fun() -> lists:foreach(Put, lists:seq(1, 100)) end),
    erlang:garbage_collect(),
    Taken = [begin
                 Event = event(S),
                 receive {fyris, S, passive} -> fyris:set_active(S, 1) end,
                 Event
             end || _ <- lists:seq(1, 300)],
    Come = [Counter || {changes, [{insert, _, {_, {at, Counter}}}]} <- Taken],
    Gone = [Counter || {changes, [{update, _, {_, {at, Counter}}, _}]} <- Taken],
    [?assertEqual(lists:seq(1, 100), [atomics:get(Counter, 1) || Counter <- Told]) || Told <- [Come, Gone]],
    fyris:delete(T).

%% What the objects of one key refer to stays until all of them have been told.
resources_of_a_snapshot() ->
    T = table(bag),
    Numbers = lists:seq(1, 1000),
    Put = fun(N) ->
        Counter = atomics:new(1, []),
        atomics:put(Counter, 1, N),
        fyris:insert(T, {key, N, Counter})
    end,
    fyris_same:in_process(fun() -> lists:foreach(Put, Numbers) end),
    S = fyris:subscribe(T, {key, key}, [{from, snapshot}, {active, 1}, {queue, 1}]),
    {objects, T, First} = event(S),
    %% The deletion, which has them, does not fit into the queue.
    fyris:insert(T, {key, 0, none}),
    fyris:delete(T, key),
    fyris:collect(),
    fyris:set_active(S, true),
    Objects = First ++ [Object || {_, Object} <- objects(S, [])],
    ?assertEqual(Numbers, lists:sort([N || {key, N, Counter} <- Objects, atomics:get(Counter, 1) =:= N])),
    fyris:delete(T).

%% Another process gets the messages, and the subscription ends with it.
to_another_process_test() ->
    T = table(set),
    Self = self(),
    Pid = spawn(fun() -> receive Message -> Self ! {forwarded, Message} end, receive stop -> ok end end),
    S = fyris:subscribe(T, all, [{to, Pid}]),
    fyris:insert(T, {1}),
    receive {forwarded, Message} -> ?assertEqual({fyris, S, 1, {changes, [{insert, T, {1}}]}}, Message) end,
    exit(Pid, kill),
    until(fun() -> not is_process_alive(Pid) end),
    ?assertEqual(#{3 => <<"not a live local process">>}, told(fun() -> fyris:subscribe(T, all, [{to, Pid}]) end)),
    ?assertEqual(true, fyris:unsubscribe(S)),
    fyris:delete(T).

%% The rights are those of the moment of subscribing; a table whose owner ends is told of.
rights_test() ->
    Self = self(),
    Owner = spawn_link(fun() ->
        Tables = [fyris:new(t, [Access]) || Access <- [private, protected]],
        Self ! {tables, Tables},
        receive stop -> ok end
    end),
    [Private, Protected] = receive {tables, Tables} -> Tables end,
    ?assertMatch(#{1 := <<"no read access: table t (#", _/binary>>},
                 told(fun() -> fyris:subscribe(Private, all) end)),
    ?assertError(badarg, fyris:subscribe([Protected, Private], all)),
    S = fyris:subscribe(Protected, all),
    Owner ! stop,
    ?assertEqual({1, {deleted, Protected}}, next(S)).

refused_test() ->
    T = table(set),
    Before = resources_now(),
    Refused = fun(Place, Word, Call) ->
        #{Place := Text} = told(Call),
        ?assertMatch({_, {match, _}}, {Text, re:run(Text, Word)})
    end,
    [Refused(3, "options are a proper list of {from,snapshot}", fun() -> fyris:subscribe(T, all, Options) end)
     || Options <- [foo, [foo], [{from, now}], [{queue, 0}], [{queue, many}], [{active, false}], [{active, 0}],
                    [{active, -1}], [{to, self}], [{conflate, yes}], [{active, 1} | foo],
                    [{queue, 1 bsl 60}], [{form, snapshot}], [from_snapshot]]],
    [Refused(2, "filters are all, {key,Key}", fun() -> fyris:subscribe(T, What) end)
     || What <- [foo, {key}, {keys, [1]}, {range, 1}, [], {pattern, a, b}, #{}]],
    Refused(2, ".", fun() -> fyris:subscribe(T, [{'_', [{no_guard}], [true]}]) end),
    Refused(2, ".", fun() -> fyris:subscribe(T, [foo]) end),
    Refused(1, "a range does not work on a set: it needs an ordered_set", fun() -> fyris:subscribe(T, {range, 1, 2}) end),
    Refused(1, "conflate does not work on a bag$", fun() -> fyris:subscribe(table(bag), all, [{conflate, true}]) end),
    Refused(1, "given twice", fun() -> fyris:subscribe([T, T], all) end),
    Refused(1, "no table", fun() -> fyris:subscribe([], all) end),
    Refused(1, "not refer to an existing table", fun() -> fyris:subscribe(no_such_table, all) end),
    Refused(1, "not a valid table", fun() -> fyris:subscribe(make_ref(), all) end),
    Refused(1, "proper list", fun() -> fyris:subscribe([T | T], all) end),
    Snapshot = fyris:snapshot(T),
    ?assertError(badarg, fyris:subscribe(Snapshot, all)),
    fyris:release(Snapshot),
    {aborted, {badarg, _}} = fyris:transaction(fun(Tx) -> fyris:subscribe(fyris:within(Tx, T), all) end),
    [Refused(1, "not a subscription", fun() -> fyris:unsubscribe(What) end) || What <- [T, foo, make_ref()]],
    Refused(1, "not a subscription", fun() -> fyris:set_active(T, true) end),
    S = fyris:subscribe(T, all),
    [Refused(2, "not true or a positive integer", fun() -> fyris:set_active(S, What) end)
     || What <- [false, 0, -1, "1"]],
    fyris:unsubscribe(S),
    fyris:delete(T),
    ?assertEqual(Before, fyris_counts:extra(Before)).

%% What the shell would print of the error.
told(Fun) ->
    try Fun() of
        Value -> {no_error, Value}
    catch
        error:Reason:Stack -> fyris:format_error(Reason, Stack)
    end.
