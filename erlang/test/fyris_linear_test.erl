%% Random operations of several processes on few keys, each with the times between which it took effect: for every key
%% there must be an order of its operations, within those times, in which each reply is right. On `ets' too, which
%% proves the checker; and a reply that is changed by hand must be found.
-module(fyris_linear_test).

-compile(export_all).
-include("fyris_same.hrl").

-define(WORKERS, 3).
-define(OPERATIONS, 400).
-define(KEYS, 4).

histories_are_linearizable_test_() ->
    {timeout, 120,
     fun() ->
             [?assertEqual({M, Type, Run, []}, {M, Type, Run, wrong(Type, history(M, Type))})
              || M <- [ets, fyris], Type <- ?ALL, Run <- lists:seq(1, 12)]
     end}.

a_wrong_reply_is_found_test() ->
    [{Key, Operations} | _] = history(ets, set),
    {value, {From, To, lookup, _} = One} = lists:keysearch(lookup, 3, Operations),
    Wrong = [{From, To, lookup, [{Key, never_put}]} | lists:delete(One, Operations)],
    ?assertEqual([Key], wrong(set, [{Key, Wrong}])).

%% The keys whose operations have no order that explains them.
wrong(Type, History) ->
    [Key || {Key, Operations} <- History, not explained(Type, Key, Operations)].

%% Of each key, its operations: `{Before, After, Operation, Reply}'.
history(M, Type) ->
    T = M:new(t, [Type, public, {write_concurrency, true}]),
    Worker = fun(Me) -> fun() -> [operation(M, T, Type, Me, N) || N <- lists:seq(1, ?OPERATIONS)] end end,
    Done = lists:append(fyris_histories_test:together([Worker(W) || W <- lists:seq(1, ?WORKERS)])),
    M:delete(T),
    maps:to_list(maps:groups_from_list(fun({Key, _}) -> Key end, fun({_, Operation}) -> Operation end, Done)).

operation(M, T, Type, Me, N) ->
    Key = rand:uniform(?KEYS),
    Operation = fyris_oracle_terms:one(operations(Type, Key, {Key, Me * 1000 + N})),
    Before = erlang:monotonic_time(),
    Reply = do(M, T, Key, Operation),
    {Key, {Before, erlang:monotonic_time(), Operation, Reply}}.

operations(Type, Key, Object) ->
    [{insert, Object}, {insert_new, Object}, lookup, lookup, delete, take, {delete_object, {Key, 1001}}
     | case Type of
           set -> [{add, 1}, {put, element(2, Object)}];
           ordered_set -> [{add, 1}, {put, element(2, Object)}];
           _ -> []
       end].

do(M, T, Key, lookup) -> M:lookup(T, Key);
do(M, T, Key, delete) -> M:delete(T, Key);
do(M, T, Key, take) -> M:take(T, Key);
do(M, T, _, {insert, Object}) -> M:insert(T, Object);
do(M, T, _, {insert_new, Object}) -> M:insert_new(T, Object);
do(M, T, _, {delete_object, Object}) -> M:delete_object(T, Object);
do(M, T, Key, {add, By}) -> try M:update_counter(T, Key, By) catch error:badarg -> badarg end;
do(M, T, Key, {put, Value}) -> M:update_element(T, Key, {2, Value}).

%% What one process alone would see: the reply and the objects then.
alone(_, _, Objects, lookup) -> {Objects, Objects};
alone(_, _, _, delete) -> {true, []};
alone(_, _, Objects, take) -> {Objects, []};
alone(Type, _, Objects, {insert, Object}) -> {true, inserted(Type, Objects, Object)};
alone(_, _, [], {insert_new, Object}) -> {true, [Object]};
alone(_, _, Objects, {insert_new, _}) -> {false, Objects};
alone(_, _, Objects, {delete_object, Object}) -> {true, [O || O <- Objects, O =/= Object]};
alone(_, _, [], {add, _}) -> {badarg, []};
alone(_, _, [{Key, N}], {add, By}) -> {N + By, [{Key, N + By}]};
alone(_, _, [], {put, _}) -> {false, []};
alone(_, _, [{Key, _}], {put, Value}) -> {true, [{Key, Value}]}.

inserted(duplicate_bag, Objects, Object) -> Objects ++ [Object];
inserted(bag, Objects, Object) -> case lists:member(Object, Objects) of
                                      true -> Objects;
                                      false -> Objects ++ [Object]
                                  end;
inserted(_, _, Object) -> [Object].

%% A search, by operations in the order they began: one may come next if it began before any other had ended. What was
%% tried once, the same operations left and the same objects, is not tried again.
explained(Type, Key, Operations) ->
    Seen = ets:new(seen, []),
    Found = search(Type, Key, lists:sort(Operations), [], Seen),
    ets:delete(Seen),
    Found.

search(_, _, [], _, _) -> true;
search(Type, Key, Left, Objects, Seen) ->
    ets:insert_new(Seen, {{erlang:phash2(Left, 1 bsl 32), length(Left), Objects}}) andalso
        begin
            FirstEnd = lists:min([To || {_, To, _, _} <- lists:sublist(Left, 2 * ?WORKERS)]),
            Next = [O || {From, _, _, _} = O <- lists:sublist(Left, 2 * ?WORKERS), From =< FirstEnd],
            lists:any(fun({_, _, Operation, Reply} = This) ->
                              case alone(Type, Key, Objects, Operation) of
                                  {Reply, Then} -> search(Type, Key, lists:delete(This, Left), Then, Seen);
                                  _ -> false
                              end
                      end, Next)
        end.
