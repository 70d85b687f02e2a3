%% Several processes at once: what each key went through, checked key by key.
-module(fyris_histories_test).

-compile(export_all).
-include("fyris_same.hrl").

-define(TYPES, [set, ordered_set]).

%% Each writer knows how often it added to each key.
no_count_is_lost_test_() ->
    {timeout, 60, fun() -> [no_count_is_lost(Type) || Type <- ?TYPES] end}.

no_count_is_lost(Type) ->
    T = fyris:new(t, [Type, public]),
    Keys = [1, 2, 1.0, <<"three">>, {4, four}],
    [fyris:insert(T, {K, 0, a}) || K <- [1, 2, <<"three">>, {4, four}]],
    Add = fun(_) ->
                  K = any(Keys),
                  Kind = rand:uniform(3),
                  Result = fyris_same:try_it(fun() -> add(Kind, T, K) end),
                  %% A key that is not there in a set, and is 1 in an ordered_set.
                  case Result of
                      {value, _} -> [{K, 1}];
                      _ -> []
                  end
          end,
    Added = together(4, fun() -> lists:flatmap(Add, lists:seq(1, 5000)) end),
    Counts = lists:foldl(fun({K, N}, M) -> maps:update_with(key(Type, K), fun(V) -> V + N end, N, M) end,
                         #{}, lists:append(Added)),
    ?assertEqual(Counts, maps:from_list([{K, N} || {K, N, _} <- fyris:tab2list(T), N > 0])),
    fyris:delete(T).

key(ordered_set, 1.0) -> 1;
key(_, K) -> K.

add(1, T, K) -> fyris:update_counter(T, K, 1);
add(2, T, K) -> fyris:update_counter(T, K, {2, 1});
add(3, T, K) ->
    true = fyris:update_element(T, K, {3, b}),
    fyris:update_counter(T, K, [{2, 1}]),
    1.

%% A list comes whole or not at all, for who reads all of it at one moment.
lists_come_whole_test_() ->
    {timeout, 60, fun() -> [lists_come_whole(Type) || Type <- ?TYPES] end}.

lists_come_whole(Type) ->
    T = fyris:new(t, [Type, public]),
    Keys = lists:seq(1, 40),
    fyris:insert(T, [{K, 0} || K <- Keys]),
    Write = fun(N) -> fyris:insert(T, [{K, N} || K <- Keys]) end,
    %% Of a key read after another, the value is that of the same list or a later one, since values only grow.
    Read = fun(_) ->
                   [A, B] = [any(Keys), any(Keys)],
                   [[{_, V}], [{_, W}]] = [fyris:lookup(T, A), fyris:lookup(T, B)],
                   true = V =< W
           end,
    Writer = fun() -> lists:foreach(Write, lists:seq(1, 2000)) end,
    Reader = fun() -> lists:foreach(Read, lists:seq(1, 20000)) end,
    together([Writer, Reader, Reader]),
    fyris:delete(T).

%% Either both objects of a list or neither, and one of several that insert the same new keys.
one_inserts_all_that_is_new_test_() ->
    {timeout, 60, fun() -> [one_inserts_all(Type) || Type <- ?TYPES] end}.

one_inserts_all(Type) ->
    T = fyris:new(t, [Type, public]),
    Insert = fun(Me) ->
                     [N || N <- lists:seq(1, 2000),
                           fyris:insert_new(T, [{{N, x}, Me}, {{N, y}, Me}])]
             end,
    Won = together([fun() -> {Me, Insert(Me)} end || Me <- [1, 2, 3]]),
    ?assertEqual(lists:seq(1, 2000), lists:sort(lists:append([Ns || {_, Ns} <- Won]))),
    [?assertEqual([[{{N, K}, Me}] || K <- [x, y]], [fyris:lookup(T, {N, K}) || K <- [x, y]])
     || {Me, Ns} <- Won, N <- Ns],
    fyris:delete(T).

%% ets (OTP 25 and 29) can keep a wrong size for ever when info(T, size) meets insert and delete_all_objects on a table
%% with decentralized counters.
size_is_exact_after_any_race_test_() ->
    {timeout, 60,
     fun() ->
             ?assertEqual(0, fyris_size_race:wrong(fyris, 40)),
             [size_starts_again(Type) || Type <- ?TYPES]
     end}.

%% Nothing is left of what was counted before the table was emptied.
size_starts_again(Type) ->
    T = fyris:new(t, [Type, public, {write_concurrency, true}, {decentralized_counters, true}]),
    [begin
         together([fun() -> [fyris:insert(T, {I}) || I <- lists:seq(1, 300)] end,
                   fun() -> fyris:delete_all_objects(T) end]),
         fyris:delete_all_objects(T),
         ?assertEqual(0, fyris:info(T, size))
     end || _ <- lists:seq(1, 20)],
    fyris:delete(T).

together(N, F) -> together(lists:duplicate(N, F)).

together(Fs) ->
    Workers = [spawn_monitor(fun() -> exit({ok, F()}) end) || F <- Fs],
    [receive
         {'DOWN', Ref, process, Pid, {ok, Result}} -> Result;
         {'DOWN', Ref, process, Pid, Reason} -> error(Reason)
     end || {Pid, Ref} <- Workers].

any(List) -> lists:nth(rand:uniform(length(List)), List).
