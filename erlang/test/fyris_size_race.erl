%% Can a table keep a wrong size for ever? `info(T, size)' meets `insert' and `delete_all_objects' on a table with
%% decentralized counters; when all is done, the size is compared with what is there. Run it as `make size-race': it
%% says how often each side was wrong. (The half about Fyris is a test too: `fyris_histories_test'.)
-module(fyris_size_race).

-export([main/1, wrong/2]).

main([Rounds]) ->
    [io:format("~p: ~b of ~s rounds ended with a wrong size~n", [M, wrong(M, list_to_integer(Rounds)), Rounds])
     || M <- [ets, fyris]],
    halt(0).

%% In how many of so many rounds the size was wrong when all had ended.
wrong(M, Rounds) ->
    length([1 || _ <- lists:seq(1, Rounds), Options <- options(), is_wrong(M, Options)]).

options() ->
    [[Type, public, {write_concurrency, true}, {decentralized_counters, true}] || Type <- [set, ordered_set]].

is_wrong(M, Options) ->
    T = M:new(t, Options),
    Insert = fun(From) -> fun() -> [M:insert(T, {I}) || I <- lists:seq(From, From + 300)] end end,
    Clear = fun() -> [M:delete_all_objects(T) || _ <- lists:seq(1, 50)] end,
    Ask = fun() -> [true = is_integer(M:info(T, size)) || _ <- lists:seq(1, 300)] end,
    Workers = [spawn_monitor(F) || F <- [Insert(1), Insert(200), Clear, Ask, Ask]],
    [receive {'DOWN', Ref, process, Pid, normal} -> ok end || {Pid, Ref} <- Workers],
    Wrong = length(M:tab2list(T)) =/= M:info(T, size),
    M:delete(T),
    Wrong.
