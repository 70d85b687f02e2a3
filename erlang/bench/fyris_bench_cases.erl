%% The cases, in groups: one pass of a group makes a table with one backend and times one phase after the other.
-module(fyris_bench_cases).

-export([groups/2, target/3]).
-export([timed/3, loop/1, each/3, alone_timed/1, shuffled/2, slices/2]).

-define(HOT, 1024).

%% [{Name, fun() -> Run end}], where Run is a fun(Backend) -> [{Phase, Nanoseconds}]. A group makes its objects when it
%% is prepared: those of all groups together would not fit into memory.
groups(N, Workers) ->
    [{lists:concat([Type, " {", Kind, "}"]), fun() -> keyed(Type, Kind, [], N, Workers) end}
     || Type <- [set, ordered_set], Kind <- ["integer", "20-byte binary"]]
        ++ [{lists:concat(["queries of a key, ", Type]), fun() -> queries(Type, N div 10) end}
            || Type <- [set, ordered_set]]
        ++ [Group || Workers =:= 1, Group <- alone(N)]
        ++ [{lists:concat(["indexes, ", Type, " on ", Index]), fun() -> keyed(Type, "integer", Options, N, Workers) end}
            || {Type, Index, Options} <- indexes(Workers)]
        ++ fyris_bench_objects:groups(N, Workers).

%% The classic indexes, with options as those of `ets` beside them: none for one process (see fyris_bench), and for
%% several those with which writers disturb each other least.
indexes(Workers) ->
    [{set, linear_hash, [{index, linear_hash}, {write_concurrency, Workers > 1}]},
     {set, split_ordered, [{index, split_ordered}]},
     {set, judyeh, [{index, judyeh}]}]
        ++ [{ordered_set, Index, [{index, Index}]}
            || Index <- [avl, treap, btree, ca_avl, ca_treap, relaxed_avl, skip_list,
                          judysl, judyesl]].

%% What one process does.
alone(N) ->
    [{lists:concat([Type, " {integer, integer}"]), fun() -> whole(Type, N) end} || Type <- [set, ordered_set]]
        ++ [{"large objects", fun() -> large(N) end}, {"set of 1,024 objects, hot", fun() -> hot(N) end},
            {"memory", fun() -> memory(N) end}].

%% The figures to reach: fyris / ets.
target(_, "indexes, " ++ _, _) -> 1.0;
target(_, "objects, " ++ _ = Group, Phase) -> fyris_bench_objects:target(Group, Phase);
target(_, "set {integer}", Phase) ->
    case Phase of
        hit -> 0.45;
        insert -> 0.7;
        next -> 1.0;
        _ -> 0.6
    end;
target(_, "set {20-byte binary}", next) -> 1.0;
target(_, "set {20-byte binary}", _) -> 0.75;
target(_, "ordered_set {integer}", Phase) ->
    case Phase of
        _ when Phase =:= hit; Phase =:= 'lookup 50 %' -> 0.35;
        _ when Phase =:= next; Phase =:= next_lookup -> 0.8;
        _ when Phase =:= update_counter; Phase =:= update_element -> 0.6;
        _ -> 0.45
    end;
target(_, "ordered_set {20-byte binary}", Phase) when Phase =:= next; Phase =:= next_lookup -> 0.8;
target(2, "ordered_set {20-byte binary}", Phase) when Phase =:= 'mix 80/10/10'; Phase =:= 'mix 50/25/25' -> 0.35;
target(_, "ordered_set {20-byte binary}", _) -> 0.5;
target(_, _, Phase) ->
    proplists:get_value(Phase, [{'select with a guard', 0.4}, {select_count, 0.25}, {match, 0.4}, {tab2list, 0.8},
                                {foldl, 0.9}, {'insert of lists of 1000', 0.7}, {'lookup, 1 MB binary', 1.2},
                                {'lookup, map of 30 keys', 1.2}, {'get_in of one field', 0.5}, {lookup, 2.2},
                                {'bytes, {integer, integer}', 0.75}, {'bytes, {20-byte binary, integer}', 0.8}],
                        1.0).

%% ---------------------------------------------------------------------------
%% One key at a time, by as many workers as there are schedulers

keyed(Type, Kind, Ours, N, Workers) ->
    Keys = [key(Kind, 2 * I) || I <- lists:seq(1, N)],
    Objects = [{K, 1} || K <- shuffled(42, Keys)],
    %% In another order than they were inserted in, or what is next is most often near in memory, in every table.
    Present = shuffled(43, Keys),
    Half = lists:sublist(shuffled(44, [key(Kind, I) || I <- lists:seq(1, 2 * N)]), N),
    Filling = [{insert, Objects, fun(M) -> fun M:insert/2 end},
               {hit, Present, fun(M) -> fun M:lookup/2 end},
               {'lookup 50 %', Half, fun(M) -> fun M:lookup/2 end},
               {update_counter, Present, fun counter/1},
               {update_element, Present, fun element/1},
               {delete, Present, fun(M) -> fun M:delete/2 end}],
    Mixes = [{'mix 80/10/10', mix(Half, 10), fun mixed/1},
             {'mix 50/25/25', mix(Half, 25), fun mixed/1}],
    [Filled, Mixed] = [[{Phase, slices(List, Workers), Make} || {Phase, List, Make} <- Phases]
                       || Phases <- [Filling, Mixes]],
    Loops = [{Phase, loop(Slices)} || {Phase, Slices, _} <- Filled ++ Mixed],
    Timed = fun(M, T, Phases) ->
                    [{Phase, each(timed(Slices, Make(M), T), proplists:get_value(Phase, Loops), N)}
                     || {Phase, Slices, Make} <- Phases]
            end,
    fun({M, Options}) ->
            T = M:new(bench, [Type, public | Options] ++ [Option || M =:= fyris, Option <- Ours]),
            First = Timed(M, T, Filled),
            M:insert(T, Objects),
            Walks = [{Phase, alone_timed(fun() -> Walk(M, T, M:first(T)) end) / N}
                     || Workers =:= 1, {Phase, Walk} <- walks(Type)],
            Then = Timed(M, T, Mixed),
            M:delete(T),
            First ++ Walks ++ Then
    end.

counter(ets) -> fun(T, K) -> ets:update_counter(T, K, 1) end;
counter(fyris) -> fun(T, K) -> fyris:update_counter(T, K, 1) end.

element(ets) -> fun(T, K) -> ets:update_element(T, K, {2, 7}) end;
element(fyris) -> fun(T, K) -> fyris:update_element(T, K, {2, 7}) end.

each(Time, Loop, N) -> max(Time - Loop, 0) / N.

%% The same loop around nothing.
loop(Slices) ->
    lists:min([timed(Slices, fun(_, _) -> true end, none) || _ <- [1, 2, 3]]).

walks(set) -> [{next, fun walk/3}];
walks(ordered_set) -> [{next, fun walk/3}, {next_lookup, fun walk_lookup/3}].

walk(M, T, First) -> fun() -> walk_on(M, T, First) end.

walk_on(_, _, '$end_of_table') -> ok;
walk_on(ets, T, Key) -> walk_on(ets, T, ets:next(T, Key));
walk_on(fyris, T, Key) -> walk_on(fyris, T, fyris:next(T, Key)).

%% Before OTP 27, ets needs two calls.
walk_lookup(ets, T, First) -> fun() -> ets_lookups(T, First) end;
walk_lookup(fyris, T, First) -> fun() -> fyris_lookups(T, fyris:next_lookup(T, First)) end.

ets_lookups(_, '$end_of_table') -> ok;
ets_lookups(T, Key) ->
    [_] = ets:lookup(T, Key),
    ets_lookups(T, ets:next(T, Key)).

fyris_lookups(_, '$end_of_table') -> ok;
fyris_lookups(T, {Key, [_]}) -> fyris_lookups(T, fyris:next_lookup(T, Key)).

mix(Keys, Percent) ->
    rand:seed(exsss, 7),
    [case rand:uniform(100) of
         R when R =< Percent -> {insert, {K, 1}};
         R when R =< 2 * Percent -> {delete, K};
         _ -> {lookup, K}
     end || K <- Keys].

mixed(ets) ->
    fun(T, {lookup, K}) -> ets:lookup(T, K);
       (T, {insert, O}) -> ets:insert(T, O);
       (T, {delete, K}) -> ets:delete(T, K)
    end;
mixed(fyris) ->
    fun(T, {lookup, K}) -> fyris:lookup(T, K);
       (T, {insert, O}) -> fyris:insert(T, O);
       (T, {delete, K}) -> fyris:delete(T, K)
    end.

%% ---------------------------------------------------------------------------
%% Whole tables and long lists

whole(Type, N) ->
    Objects = [{I, I rem 1000} || I <- lists:seq(1, N)],
    Thousands = thousands(Objects),
    Guard = [{{'$1', '$2'}, [{'<', '$2', 10}], ['$1']}],
    Count = [{{'$1', '$2'}, [{'<', '$2', 10}], [true]}],
    Phases = [{'insert of lists of 1000', fun(M, T) -> lists:foreach(fun(List) -> M:insert(T, List) end, Thousands) end},
              {'select with a guard', fun(M, T) -> M:select(T, Guard) end},
              {select_count, fun(M, T) -> M:select_count(T, Count) end},
              {match, fun(M, T) -> M:match(T, {'$1', 7}) end},
              {tab2list, fun(M, T) -> M:tab2list(T) end},
              {foldl, fun(M, T) -> M:foldl(fun({_, V}, A) -> V + A end, 0, T) end}],
    fun({M, Options}) ->
            T = M:new(bench, [Type, public | Options]),
            Times = [{Phase, alone_timed(fun() -> fun() -> Do(M, T) end end) / N} || {Phase, Do} <- Phases],
            M:delete(T),
            Times
    end.

thousands([]) -> [];
thousands(List) ->
    {Some, Rest} = lists:split(min(1000, length(List)), List),
    [Some | thousands(Rest)].

%% ---------------------------------------------------------------------------
%% Large objects, few objects, memory

large(N) ->
    Keys = [1 + I rem 100 || I <- lists:seq(1, N)],
    Few = lists:sublist(Keys, max(N div 10, 1)),
    Map = maps:from_list([{list_to_atom("field_" ++ integer_to_list(I)), {I, <<"some text">>}} || I <- lists:seq(1, 30)]),
    Binary = binary:copy(<<"x">>, 1 bsl 20),
    Cases = [{'lookup, 1 MB binary', Binary, fun(M) -> fun M:lookup/2 end},
             {'lookup, map of 30 keys', Map, fun(M) -> fun M:lookup/2 end},
             {'get_in of one field', Map, fun part/1}],
    Loop = loop([Few]),
    fun({M, Options}) ->
            [begin
                 T = M:new(bench, [public | Options]),
                 M:insert(T, [{K, Value} || K <- lists:seq(1, 100)]),
                 Time = timed([Few], Make(M), T),
                 M:delete(T),
                 {Phase, each(Time, Loop, length(Few))}
             end || {Phase, Value, Make} <- Cases]
    end.

part(fyris) ->
    fun(T, K) -> {ok, _} = fyris:get_in(T, K, [2, field_17]) end;
part(ets) ->
    fun(T, K) ->
            [{_, Map}] = ets:lookup(T, K),
            maps:get(field_17, Map)
    end.

hot(N) ->
    Keys = [I rem ?HOT || I <- lists:seq(1, N)],
    Loop = loop([Keys]),
    fun({M, Options}) ->
            T = M:new(bench, [public | Options]),
            M:insert(T, [{I} || I <- lists:seq(0, ?HOT - 1)]),
            Time = timed([Keys], fun M:lookup/2, T),
            M:delete(T),
            [{lookup, each(Time, Loop, N)}]
    end.

%% Specifications that name a key, and are written anew for each; and a crowd of processes that do all there is to do
%% with keys.
queries(Type, N) ->
    Numbers = [(I * 379) rem ?HOT || I <- lists:seq(1, N)],
    Keys = [part_key(I) || I <- Numbers],
    Crowd = slices([{I rem 22, K} || {I, K} <- lists:zip(shuffled(45, lists:seq(1, N)), Keys)], 100),
    Loop = loop([Keys]),
    fun({M, Options}) ->
            T = M:new(bench, [Type, public | Options]),
            M:insert(T, [{part_key(I), I} || I <- lists:seq(0, ?HOT - 1)]),
            Times = [{Phase, each(timed([Keys], Do(M), T), Loop, N)} || {Phase, Do} <- query_phases()],
            Chunks = alone_timed(fun() -> fun() -> [chunks(M, T) || _ <- lists:seq(1, N div ?HOT + 1)] end end),
            Mixed = timed(Crowd, crowd(M), T),
            M:delete(T),
            Times ++ [{'select, chunks of 10', Chunks / (?HOT * (N div ?HOT + 1))}, {'100 processes', each(Mixed, Loop, N)}]
    end.

part_key(I) -> {I div 10, I rem 10, key}.

query_phases() ->
    [{select, fun(M) -> fun(T, K) -> M:select(T, [{{K, '$1'}, [], ['$1']}]) end end},
     {match_object, fun(M) -> fun(T, K) -> M:match_object(T, {K, '_'}) end end},
     {select_count, fun(M) -> fun(T, K) -> M:select_count(T, [{{K, '_'}, [], [true]}]) end end},
     {select_replace, fun(M) -> fun(T, K) -> M:select_replace(T, [{{K, '$1'}, [], [{{{const, K}, {'+', '$1', 1}}}]}]) end end},
     {'update_counter with a default', fun(M) -> fun(T, K) -> M:update_counter(T, K, {2, 1}, {K, 0}) end end},
     {'select_delete and insert', fun(M) ->
          fun(T, K) -> M:select_delete(T, [{{K, '_'}, [], [true]}]), M:insert(T, {K, 1}) end
      end}].

chunks(M, T) -> chunks_on(M, M:select(T, [{{'_', '$1'}, [], ['$1']}], 10)).

chunks_on(_, '$end_of_table') -> ok;
chunks_on(M, {_, Continuation}) -> chunks_on(M, M:select(Continuation)).

crowd(M) ->
    fun(T, {Op, K}) when Op < 10 -> M:insert(T, {K, 1});
       (T, {Op, K}) when Op < 15 -> M:delete(T, K);
       (T, {Op, K}) when Op < 19 -> M:select_delete(T, [{{K, '_'}, [], [true]}]);
       (T, {19, K}) -> M:select(T, [{{K, '$1'}, [], ['$1']}]);
       (T, {20, K}) -> M:select_replace(T, [{{K, '$1'}, [], [{{{const, K}, {'+', '$1', 1}}}]}]);
       (T, {21, K}) -> M:update_counter(T, K, {2, 1}, {K, 0})
    end.

%% What `info' says: for both, all that the table has asked of its allocator.
memory(N) ->
    fun({M, Options}) ->
            [begin
                 T = M:new(bench, [public | Options]),
                 Empty = M:info(T, memory),
                 [M:insert(T, {key(Kind, I), I}) || I <- lists:seq(1, N)],
                 Bytes = (M:info(T, memory) - Empty) * erlang:system_info(wordsize),
                 M:delete(T),
                 {Phase, Bytes / N}
             end || {Phase, Kind} <- [{'bytes, {integer, integer}', "integer"},
                                      {'bytes, {20-byte binary, integer}', "20-byte binary"}]]
    end.

%% ---------------------------------------------------------------------------
%% Clocks

%% One worker a slice; from when all are ready to when all are done.
timed(Slices, F, T) ->
    Self = self(),
    Pids = [spawn_link(fun() -> worker(Self, Slice, F, T) end) || Slice <- Slices],
    [receive {Pid, ready} -> ok end || Pid <- Pids],
    Start = erlang:monotonic_time(nanosecond),
    [Pid ! go || Pid <- Pids],
    [receive {Pid, done} -> ok end || Pid <- Pids],
    erlang:monotonic_time(nanosecond) - Start.

worker(Parent, Slice, F, T) ->
    erlang:garbage_collect(),
    Parent ! {self(), ready},
    receive go -> each_of(Slice, F, T) end,
    Parent ! {self(), done}.

each_of([X | Rest], F, T) ->
    F(T, X),
    each_of(Rest, F, T);
each_of([], _, _) ->
    ok.

%% In a process of its own, which has no more on its heap than it makes.
alone_timed(Prepare) ->
    Self = self(),
    spawn_link(fun() ->
                       Do = Prepare(),
                       erlang:garbage_collect(),
                       Start = erlang:monotonic_time(nanosecond),
                       _ = Do(),
                       Self ! {took, erlang:monotonic_time(nanosecond) - Start}
               end),
    receive {took, Time} -> Time end.

slices(List, 1) ->
    [List];
slices(List, Workers) ->
    {Slice, Rest} = lists:split(length(List) div Workers, List),
    [Slice | slices(Rest, Workers - 1)].

key("integer", I) -> I;
key(_, I) -> <<"key-", (16#1000000000000000 + I):128>>.

shuffled(Seed, List) ->
    rand:seed(exsss, Seed),
    [X || {_, X} <- lists:sort([{rand:uniform(), X} || X <- List])].
