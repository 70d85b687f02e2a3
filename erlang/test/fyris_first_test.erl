%% Transactions that go first, after others were faster too often: the option `hold'.
-module(fyris_first_test).

-include_lib("eunit/include/eunit.hrl").

-define(LOST, 8).

table(Type) ->
    T = fyris:new(t, [Type, public]),
    fyris:insert(T, [{N, 0} || N <- lists:seq(1, 100)]),
    T.

%% Runs a fun in a transaction that others have been faster than eight times: `Read' is what it does each time.
first(T, Options, Read, Fun) ->
    put(lost, 0),
    fyris:transaction(fun(Tx) ->
        W = fyris:within(Tx, T),
        Read(W),
        case put(lost, get(lost) + 1) of
            Lost when Lost < ?LOST ->
                fyris:insert(T, {1, Lost, faster}),
                fyris:insert(W, {0, 0});
            _ ->
                Fun(W)
        end
    end, Options).

in_time(Timeout, F) -> {timeout, Timeout, F}.

%% Each call that changes a key that was read, and one that changes another key.
calls() ->
    Two = fun(K) -> [{K, 1}, {K + 1000, 1}] end,
    [fun(T, K) -> fyris:insert(T, {K, 1}) end,
     fun(T, K) -> fyris:insert(T, Two(K)) end,
     fun(T, K) -> fyris:put(T, K, 1) end,
     fun(T, K) -> fyris:delete(T, K) end,
     fun(T, K) -> fyris:delete_object(T, {K, 0}) end,
     fun(T, K) -> fyris:take(T, K) end,
     fun(T, K) -> fyris:update_counter(T, K, 1) end,
     fun(T, K) -> fyris:update_counter(T, K, {2, 1}, {K, 0}) end,
     fun(T, K) -> fyris:update_element(T, K, {2, x}) end,
     fun(T, K) -> fyris:update_element(T, K, {2, x}, {K, 0}) end,
     fun(T, K) -> fyris:select_delete(T, [{{K, '_'}, [], [true]}]) end,
     fun(T, K) -> fyris:match_delete(T, {K, '_'}) end,
     fun(T, K) -> fyris:select_replace(T, [{{K, '$1'}, [], [{{K, {{'$1', 1}}}}]}]) end,
     fun(T, K) -> fyris:compare_and_swap(T, {K, 0}, {K, 1}) end,
     fun(T, K) -> fyris:write_batch([{insert, T, {K, 1}}, {delete, T, K + 1000}]) end,
     fun(T, K) -> fyris:transaction(fun(Tx) -> fyris:insert(fyris:within(Tx, T), {K, 1}) end) end].

writers_wait_test_() ->
    [{atom_to_list(Type), in_time(60, fun() -> [writer_waits(Type, Call) || Call <- calls()] end)}
     || Type <- [set, ordered_set]].

writer_waits(Type, Call) ->
    {T, Me} = {table(Type), self()},
    Result = first(T, [{hold, 20000}], fun(W) -> fyris:lookup(W, 1), fyris:lookup(W, 5) end, fun(W) ->
        spawn_link(fun() -> Call(T, 5), Me ! done end),
        spawn_link(fun() -> Call(T, 6), Me ! other end),
        receive other -> ok after 5000 -> error(another_key_waits) end,
        receive done -> error(nobody_waits) after 10 -> ok end,
        ?assertEqual([{5, 0}], fyris:lookup(T, 5)),
        fyris:insert(W, {0, 0}),
        ok
    end),
    ?assertEqual({atomic, ok}, Result),
    receive done -> ok after 5000 -> error(still_waiting) end,
    fyris:delete(T).

%% With one scheduler the waiting writer does not keep the transaction from going on.
one_scheduler_test_() ->
    in_time(60, fun() ->
        Before = erlang:system_flag(schedulers_online, 1),
        try [writer_waits(set, Call) || Call <- calls()]
        after erlang:system_flag(schedulers_online, Before)
        end
    end).

%% It does not wait for longer than was asked for, and not for ever for itself.
expired_test() ->
    {T, Me} = {table(set), self()},
    Read = fun(W) -> fyris:lookup(W, 1) end,
    Wait = fun(W) ->
        spawn_link(fun() -> fyris:insert(T, {1, late}), Me ! done end),
        receive done -> ok after 5000 -> error(still_waiting) end,
        fyris:insert(W, {0, 0})
    end,
    ?assertMatch({aborted, {{hold_expired, 30}, _}}, first(T, [{hold, 30}], Read, Wait)),
    ?assertEqual([], fyris:lookup(T, 0)),
    Self = fun(W) -> fyris:insert(T, {1, own}), fyris:insert(W, {0, 0}) end,
    ?assertMatch({aborted, {{hold_expired, 30}, _}}, first(T, [{hold, 30}], Read, Self)),
    ?assertEqual([{1, own}], fyris:lookup(T, 1)),
    Caught = fun(W) ->
        timer:sleep(40),
        fyris:insert(T, {7, late}),
        ?assertError({hold_expired, 30}, fyris:lookup(W, 7)),
        ok
    end,
    ?assertMatch({aborted, {{hold_expired, 30}, _}}, first(T, [{hold, 30}], Read, Caught)).

%% With a hold of nothing nobody waits, and it is tried as often as was asked for.
no_hold_test() ->
    T = table(set),
    Lose = fun(W) ->
        fyris:insert(T, {1, make_ref()}),
        fyris:insert(W, {0, 0}),
        fyris:update_counter(T, 2, 1)
    end,
    ?assertMatch({aborted, {conflict, _, 1}},
                 first(T, [{hold, 0}, {retries, 20}], fun(W) -> fyris:lookup(W, 1) end, Lose)),
    ?assertEqual([{2, 21 - ?LOST}], fyris:lookup(T, 2)).

%% A process that is killed while it goes first keeps nobody.
killed_test() ->
    {T, Me} = {table(ordered_set), self()},
    Pid = spawn(fun() ->
        first(T, [{hold, 20000}], fun(W) -> fyris:tab2list(W) end, fun(_) ->
            Me ! holds,
            timer:sleep(infinity)
        end)
    end),
    receive holds -> ok end,
    spawn_link(fun() -> fyris:insert(T, {5, 1}), Me ! done end),
    receive done -> error(nobody_waits) after 20 -> ok end,
    exit(Pid, kill),
    receive done -> ok after 5000 -> error(still_waiting) end.

%% Long transactions end beside short writers.
starvation_test_() ->
    [{atom_to_list(Type), in_time(60, fun() -> starvation(Type) end)} || Type <- [set, ordered_set]].

starvation(Type) ->
    T = table(Type),
    Writers = [spawn_link(fun() -> write(T, N) end) || N <- lists:seq(1, 4)],
    Sum = fun(Tx) ->
        W = fyris:within(Tx, T),
        Read = lists:sum([fyris:lookup_element(W, 1 + N rem 100, 2) || N <- lists:seq(1, 2000)]),
        fyris:insert(W, {sum, Read}),
        Read
    end,
    [?assertMatch({atomic, N} when is_integer(N), fyris:transaction(Sum, [{hold, 5000}])) || _ <- lists:seq(1, 10)],
    [begin unlink(W), exit(W, kill) end || W <- Writers].

write(T, N) ->
    fyris:update_counter(T, 1 + N rem 100, 1),
    write(T, N + 7).

options_test() ->
    F = fun(_) -> ok end,
    [?assertError(badarg, fyris:transaction(F, Wrong))
     || Wrong <- [[{hold, -1}], [{hold, infinity}], [{holds, 1}], [hold], {hold, 1}, [{retries, -1}], [{retries, 1} | x],
                  -1, many, [{hold, 1 bsl 70}]]],
    [?assertEqual({atomic, ok}, fyris:transaction(F, Right))
     || Right <- [0, infinity, [], [{hold, 0}], [{hold, 5}, {retries, infinity}]]].
