%% The order of objects, which all that traverses a table shares, in `ets' as in `fyris'.
-module(fyris_order_test).

-compile(export_all).
-include("fyris_same.hrl").

-define(ALL_OBJECTS, [{'$1', [], ['$1']}]).

%% Objects of the tables: few enough for one step of anything, and too many.
sizes() -> [0, 1, 7, 100, 3000].

every_traversal_has_one_order_test_() ->
    [{lists:concat([M, " ", Type, " of ", N]), fun() -> one_order(M, Type, table(M, Type, N)) end}
     || M <- [ets, fyris], Type <- ?ALL, N <- sizes()].

%% Binaries are records of their own, small integers are not; and tables that have shrunk.
a_table_that_shrank_has_one_order_test_() ->
    [{lists:concat([M, " ", Type]),
      fun() ->
              T = M:new(t, [Type]),
              M:insert(T, [{integer_to_binary(I rem 5000), I} || I <- lists:seq(1, 9000)]),
              [M:delete(T, integer_to_binary(I)) || I <- lists:seq(1, 4700)],
              one_order(M, Type, T)
      end} || M <- [ets, fyris], Type <- ?ALL].

%% More objects under a key than a step reads: a step of one object passes over those of the steps before.
a_large_key_has_one_order_test_() ->
    [{lists:concat([M, " ", Type]), {timeout, 60,
      fun() ->
              T = M:new(t, [Type]),
              M:insert(T, [{2, I} || I <- lists:seq(1, 10)]),
              [M:insert(T, {1, I}) || I <- lists:seq(1, 2500)],
              [M:insert(T, {3, I}) || I <- lists:seq(1, 1500)],
              M:delete_object(T, {1, 1250}),
              one_order(M, Type, T)
      end}} || M <- [ets, fyris], Type <- ?BAGS].

table(M, Type, N) ->
    T = M:new(t, [Type]),
    [M:insert(T, {key(Type, I, N), I}) || I <- lists:seq(1, N)],
    T.

key(Type, I, N) when Type =:= bag; Type =:= duplicate_bag -> (I * 7919) rem ((N + 2) div 3);
key(_, I, _) -> I * 7919.

one_order(M, ordered_set, T) ->
    Up = walk(M, T, first, next),
    Down = lists:reverse(Up),
    Up =:= lists:keysort(1, Up) orelse error(not_sorted),
    all_are(Up, up(M, T) ++ whole(M, T) ++ slots(M, ordered_set, T) ++ chunks(M, T, forward())),
    all_are(Down, [{prev, walk(M, T, last, prev)},
                   {foldr, fold(M, foldr, T)},
                   {reverse, M:select_reverse(T, ?ALL_OBJECTS)}
                   | lookups(M, T, last_lookup, prev_lookup) ++ chunks(M, T, [select_reverse])]);
one_order(M, Type, T) ->
    Up = walk(M, T, first, next),
    Scan = newest_first(Up),
    List = lists:reverse(Scan),
    all_are(Up, [{prev, walk(M, T, last, prev)} | up(M, T) ++ slots(M, Type, T)]),
    all_are(Scan, [{foldr, fold(M, foldr, T)}]),
    all_are(List, [{reverse, M:select_reverse(T, ?ALL_OBJECTS)} | whole(M, T)]),
    %% A chunk is a list as that of the whole table; each goes on where the one before ended.
    Limited = [{What, lists:append([lists:reverse(Chunk) || Chunk <- Chunks])}
               || {What, Chunks} <- chunk_lists(M, Type, T, [select_reverse | forward()])],
    all_are(Scan, Limited),
    [?assertEqual(M:lookup(T, K), M:select(T, [{{K, '_'}, [], ['$_']}])) || {K, _} <- lists:sublist(Up, 20)].

up(M, T) -> [{foldl, fold(M, foldl, T)} | lookups(M, T, first_lookup, next_lookup)].

whole(M, T) ->
    [{tab2list, M:tab2list(T)},
     {select, M:select(T, ?ALL_OBJECTS)},
     {guarded, M:select(T, [{{'$1', '$2'}, [{'>', '$2', 0}], [{{'$1', '$2'}}]}])},
     {match_object, M:match_object(T, '_')},
     {match, [list_to_tuple(Pair) || Pair <- M:match(T, {'$1', '$2'})]}].

forward() -> [select, match_object, match].

all_are(Want, Lists) -> [?assertEqual({What, Want}, {What, List}) || {What, List} <- Lists].

fold(M, Fold, T) -> lists:reverse(M:Fold(fun(Object, Sofar) -> [Object | Sofar] end, [], T)).

walk(M, T, First, Next) -> lists:append(walk_on(M, T, Next, M:First(T))).

walk_on(_, _, _, '$end_of_table') -> [];
walk_on(M, T, Next, Key) -> [M:lookup(T, Key) | walk_on(M, T, Next, M:Next(T, Key))].

%% OTP 27 has these.
lookups(M, T, First, Next) ->
    case erlang:function_exported(M, First, 1) of
        true -> [{First, lists:append(lookups_on(M, T, Next, M:First(T)))}];
        false -> []
    end.

lookups_on(_, _, _, '$end_of_table') -> [];
lookups_on(M, T, Next, {Key, Objects}) -> [Objects | lookups_on(M, T, Next, M:Next(T, Key))].

%% The buckets of `ets' have another order.
slots(ets, Type, _) when Type =/= ordered_set -> [];
slots(M, _, T) -> [{slot, lists:append(slots_from(M, T, 0))}].

slots_from(M, T, I) ->
    case M:slot(T, I) of
        '$end_of_table' -> [];
        Objects -> [Objects | slots_from(M, T, I + 1)]
    end.

chunks(M, T, Functions) ->
    [{What, lists:append(Chunks)} || {What, Chunks} <- chunk_lists(M, ordered_set, T, Functions)].

chunk_lists(M, Type, T, Functions) ->
    [{{Function, Limit}, chunks_of(M, Function, M:Function(T, wanted(Function), Limit))}
     || Function <- Functions, Limit <- limits(M, Type)].

%% In a hash table of `ets' what a chunk leaves over of a bucket comes in the next one in another order.
limits(ets, Type) when Type =/= ordered_set -> [10_000];
limits(_, _) -> [1, 2, 10, 999, 10_000].

wanted(match) -> {'$1', '$2'};
wanted(match_object) -> '_';
wanted(_) -> ?ALL_OBJECTS.

chunks_of(_, _, '$end_of_table') -> [];
chunks_of(M, Function, {Results, Continuation}) ->
    Chunk = case Function of
                match -> [list_to_tuple(Pair) || Pair <- Results];
                _ -> Results
            end,
    [Chunk | chunks_of(M, Function, M:Function(Continuation))].

%% The keys in their order, of each key the last object first.
newest_first([]) -> [];
newest_first([{Key, _} | _] = Objects) ->
    {OfKey, Others} = lists:splitwith(fun({K, _}) -> K =:= Key end, Objects),
    lists:reverse(OfKey) ++ newest_first(Others).
