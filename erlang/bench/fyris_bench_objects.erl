%% Objects as applications store them, in tables of the sizes that they have: registries, sessions, caches, records of
%% processes. And one hot object of each kind of value.
-module(fyris_bench_objects).

-export([groups/2, target/2, rows/0]).

-import(fyris_bench_cases, [timed/3, loop/1, each/3, alone_timed/1, shuffled/2, slices/2]).

%% Operations of a phase at least, in small tables too.
-define(OPERATIONS, 200_000).
-define(HOT, 20_000).
%% Processes of the registry for each worker, and the keys that each is registered under at a time.
-define(PROCESSES, 4).
-define(REGISTERED, 100).

groups(N, Workers) ->
    Sizes = lists:usort([Size || Size <- [1000, 50_000, N], Size =< N]),
    [{lists:concat(["objects, ", Type, " of ", Size, " ", Name]), fun() -> table(Type, Size, Make, Workers) end}
     || Type <- [set, ordered_set], Size <- Sizes, {Name, Make} <- rows()]
        ++ [{"objects, one hot", fun() -> fun hot/1 end} || Workers =:= 1]
        ++ [{lists:concat(["objects, a ", Type, " of ", Size, " under one key"]),
             fun() -> fun(Backend) -> bag(Backend, Type, Size) end end}
            || Workers =:= 1, Type <- [bag, duplicate_bag], Size <- [1000, 10_000]]
        ++ [{"objects, registry of pids", fun() -> registry(Workers) end}].

%% The figures to reach, by the number of objects.
target(Group, Phase) ->
    case string:prefix(Group, "objects, one hot") of
        nomatch -> by_size(size_of(Group), phase(Group, Phase));
        _ -> 1.5
    end.

%% To replace a binary of 1 KB has figures of its own.
phase(Group, overwrite) ->
    case string:find(Group, "binary of 1 KB") of
        nomatch -> overwrite;
        _ -> 'overwrite of 1 KB'
    end;
phase(_, Phase) -> Phase.

size_of(Group) ->
    case re:run(Group, "of ([0-9]+) ", [{capture, [1], list}]) of
        {match, [Size]} -> list_to_integer(Size);
        nomatch -> 1000
    end.

by_size(Size, Phase) ->
    {Small, Middle, Large} =
        case Phase of
            _ when Phase =:= lookup; Phase =:= lookup_element -> {1.3, 0.8, 0.6};
            overwrite -> {1.1, 0.8, 0.7};
            'overwrite of 1 KB' -> {1.5, 1.2, 0.7};
            'insert new' -> {1.1, 0.9, 0.7};
            'mix 80/20' -> {1.0, 0.7, 0.5};
            bytes -> {1.0, 0.7, 0.7};
            _ -> {1.0, 0.8, 0.6}
        end,
    if Size =< 1000 -> Small; Size =< 50_000 -> Middle; true -> Large end.

%% ---------------------------------------------------------------------------
%% The objects: each from a number and the turn in which it is written

rows() ->
    [{"{integer, integer}", fun(I, V) -> {I, V} end},
     {"{integer, struct of 10}", fun(I, V) -> {I, struct(I, V)} end},
     {"{binary, struct of 10}", fun(I, V) -> {name(I), struct(I, V)} end},
     {"{binary, session map}", fun(I, V) -> {name(I), session(I, V)} end},
     {"record of 12", fun record/2},
     {"{{atom, integer, integer}, atom}",
      fun(I, V) -> {{cell, I div 100, I rem 100}, element(1 + V rem 2, {open, closed})} end},
     {"{integer, list of 20}", fun(I, V) -> {I, [V | lists:seq(I, I + 18)]} end},
     {"{integer, string of 30}", fun(I, V) -> {I, [$a + V rem 26 | lists:duplicate(29, $x)]} end},
     {"{binary, JSON document}", fun(I, V) -> {name(I), document(I, V)} end},
     {"{integer, map of 30}", fun(I, V) -> {I, maps:from_list([{K, K + V} || K <- lists:seq(1, 30)])} end},
     {"{integer, map of 100}", fun(I, V) -> {I, maps:from_list([{K, K + V} || K <- lists:seq(1, 100)])} end},
     {"{integer, map of 100 of its own keys}",
      fun(I, V) -> {I, maps:from_list([{I + K * K, K + V} || K <- lists:seq(1, 100)])} end},
     {"{binary, binary of 1 KB}", fun(I, V) -> {name(I), binary:copy(<<I:32, V:32>>, 128)} end},
     {"{integer, {pid, reference, integer, atom}}", fun(I, V) -> {I, {self(), make_ref(), V, running}} end}].

name(I) -> <<"user:", (integer_to_binary(1_000_000 + I))/binary>>.

struct(I, V) ->
    #{'__struct__' => 'Elixir.User', id => I, name => name(I), age => V rem 100, email => <<"someone@example.org">>,
      active => true, roles => [admin, user], score => I / 3, parent => nil, tags => [<<"a">>, <<"b">>], version => V}.

session(I, V) -> #{user => I, token => <<(I * 7919):64>>, seen => V, data => #{lang => en}, admin => false}.

record(I, V) ->
    {I, order, name(I), V, I / 7, open, [1, 2, 3], {1, two}, <<"some text">>, undefined, I * 1000, true}.

document(I, V) ->
    #{<<"id">> => I, <<"version">> => V, <<"name">> => name(I), <<"tags">> => [<<"one">>, <<"two">>, <<"three">>],
      <<"address">> => #{<<"street">> => <<"High Street 1">>, <<"city">> => <<"Town">>, <<"zip">> => 12345},
      <<"items">> => [#{<<"sku">> => <<"A-1">>, <<"count">> => 1, <<"price">> => 9.5},
                      #{<<"sku">> => <<"B-2">>, <<"count">> => V rem 10, <<"price">> => 12.25}],
      <<"paid">> => true, <<"note">> => null}.

%% ---------------------------------------------------------------------------
%% A table of one row

table(Type, Size, Make, Workers) ->
    Turns = max(1, ?OPERATIONS div Size),
    Numbers = shuffled(46, lists:seq(1, Size)),
    Objects = [Make(I, 0) || I <- Numbers],
    Others = [Make(I, 1) || I <- shuffled(47, Numbers)],
    Keys = [element(1, O) || O <- shuffled(48, Objects)],
    Position = tuple_size(hd(Objects)),
    Over = lists:append(lists:duplicate(Turns, Others ++ Objects)),
    Many = lists:append(lists:duplicate(Turns, Keys)),
    Mix = mix(Many, Over),
    Phases = [{overwrite, Over, fun(M) -> fun M:insert/2 end},
              {lookup, Many, fun(M) -> fun M:lookup/2 end},
              {lookup_element, Many, fun(M) -> fun(T, K) -> M:lookup_element(T, K, Position) end end},
              {'mix 80/20', Mix, fun mixed/1}],
    Slices = [{Phase, slices(List, Workers), length(List), Do} || {Phase, List, Do} <- Phases],
    Loops = [{Phase, loop(Slice)} || {Phase, Slice, _, _} <- Slices],
    News = slices(Objects, Workers),
    NewLoop = Turns * loop(News),
    Spec = tenth(Position, Keys),
    fun({M, Options}) ->
            New = each(new(M, [Type, public | Options], News, Turns), NewLoop, Turns * Size),
            T = M:new(bench, [Type, public | Options]),
            Empty = M:info(T, memory),
            M:insert(T, Objects),
            Bytes = (M:info(T, memory) - Empty) * erlang:system_info(wordsize) / Size,
            Times = [{Phase, each(timed(Slice, Do(M), T), proplists:get_value(Phase, Loops), Length)}
                     || {Phase, Slice, Length, Do} <- Slices],
            Often = fun(Do) -> fun() -> [Do(M, T) || _ <- lists:seq(1, Turns)] end end,
            Whole = [{Phase, alone_timed(fun() -> Often(Do) end) / (Turns * Size)}
                     || Workers =:= 1, {Phase, Do} <- whole(Spec)],
            M:delete(T),
            [{'insert new', New}, {bytes, Bytes}] ++ Times ++ Whole
    end.

new(M, Options, Slices, Turns) ->
    Turn = fun() ->
                   T = M:new(bench, Options),
                   Time = timed(Slices, fun M:insert/2, T),
                   M:delete(T),
                   Time
           end,
    lists:sum([Turn() || _ <- lists:seq(1, Turns)]).

%% Selects a tenth of the objects, by a guard that is no range of keys: all of them are looked at.
tenth(Arity, Keys) ->
    Bound = lists:nth(1 + length(Keys) div 10, lists:sort(Keys)),
    Head = list_to_tuple(['$1', '$2' | lists:duplicate(Arity - 2, '_')]),
    [{Head, [{'orelse', {'=:=', '$2', no_such_value}, {'<', '$1', {const, Bound}}}], ['$_']}].

whole(Spec) ->
    [{tab2list, fun(M, T) -> M:tab2list(T) end}, {'select with a guard', fun(M, T) -> M:select(T, Spec) end}].

mix(Keys, Objects) ->
    rand:seed(exsss, 8),
    lists:zipwith(fun(K, O) -> case rand:uniform(5) of 1 -> O; _ -> {lookup, K} end end,
                  Keys, lists:sublist(Objects, length(Keys))).

mixed(M) ->
    fun(T, {lookup, K}) -> M:lookup(T, K);
       (T, Object) -> M:insert(T, Object)
    end.

%% ---------------------------------------------------------------------------
%% One object, by the kind of its value

hot({M, Options}) ->
    Tables = {ets:new(t, []), M:new(t, [])},
    Times = lists:append([of_kind(M, Options, Kind, Value) || {Kind, Value} <- kinds(M, Tables)]),
    ets:delete(element(1, Tables)),
    M:delete(element(2, Tables)),
    Times.

kinds(M, {OfEts, Own}) ->
    [{reference, make_ref()}, {monitor, erlang:monitor(process, self())}, {alias, alias()},
     {'list of 3 references', [make_ref(), make_ref(), make_ref()]}, {'list of 3 aliases', [alias(), alias(), alias()]},
     {'remote pid', binary_to_term(<<131, 88, 119, 3, "a@b", 1:32, 2:32, 3:32>>)},
     {'remote reference', binary_to_term(<<131, 90, 3:16, 119, 3, "a@b", 3:32, 1:32, 2:32, 3:32>>)},
     {'tid of ets', OfEts}, {'tid of its own', Own}, {atomics, atomics:new(1, [])}, {pid, self()},
     {port, hd(erlang:ports())}, {'function of a module', fun lists:map/2}, {closure, fun(X) -> {X, M} end},
     {'integer of 80 bits', 1 bsl 79 + 1}]
        ++ [{lists:concat(["binary of ", Size, " bytes"]), binary:copy(<<"x">>, Size)}
            || Size <- [64, 65, 256, 1024, 4096]].

of_kind(M, Options, Kind, Value) ->
    T = M:new(bench, [public | Options]),
    Both = lists:append(lists:duplicate(?HOT div 2, [{1, Value, a}, {1, Value, b}])),
    Keys = lists:duplicate(?HOT, 1),
    M:insert(T, {1, Value, a}),
    Found = [{lists:concat([Phase, " of ", Kind]), each(timed([List], Do, T), loop([List]), ?HOT)}
             || {Phase, List, Do} <- [{lookup, Keys, fun M:lookup/2}, {insert, Both, fun M:insert/2}]],
    M:delete(T),
    [{list_to_atom(Phase), Time} || {Phase, Time} <- Found].

%% ---------------------------------------------------------------------------
%% Many objects under a key

bag({M, Options}, Type, Size) ->
    T = M:new(bench, [Type, public | Options]),
    Objects = [{key, I, <<"value">>} || I <- shuffled(49, lists:seq(1, Size))],
    {Some, Others} = lists:split(Size div 2, Objects),
    Phases = [{insert, Objects, fun M:insert/2},
              {delete_object, Some, fun M:delete_object/2},
              {'insert beside half', Some, fun M:insert/2},
              {match_delete, Others, fun(_, {K, I, _}) -> M:match_delete(T, {K, I, '_'}) end}],
    Times = [{Phase, each(timed([List], Do, T), loop([List]), length(List))} || {Phase, List, Do} <- Phases],
    Full = [{Phase, fun(_, O) -> Do(O) end}
            || {Phase, Do} <- [{'delete_object and insert', fun(O) -> M:delete_object(T, O), M:insert(T, O) end},
                               {'match_delete and insert',
                             fun({K, I, _} = O) -> M:match_delete(T, {K, I, '_'}), M:insert(T, O) end}]],
    Churned = [{Phase, each(timed([Some], Do, T), loop([Some]), length(Some))} || {Phase, Do} <- Full],
    M:delete(T),
    Times ++ Churned.

%% What Elixir's `Registry' does: a process registers under a key and goes; and a counter for each key, of those there.
registry(Workers) ->
    Self = self(),
    Entries = [{I rem 1000, {Self, I}} || I <- shuffled(50, lists:seq(1, 20_000))],
    Slices = slices(Entries, Workers),
    Loop = loop(Slices),
    Churn = [churn(Slice) || Slice <- slices(Entries, ?PROCESSES * Workers)],
    ChurnLoop = loop(Churn),
    fun({M, Options}) ->
            T = M:new(bench, [duplicate_bag, public | Options]),
            Counters = M:new(counters, [set, public | Options]),
            Phases = [{register, fun M:insert/2}, {lookup, fun(_, {K, _}) -> M:lookup(T, K) end},
                      {unregister, fun(_, {K, {Pid, I}}) -> M:match_delete(T, {K, {Pid, I}}) end},
                      {update_counter, fun(_, {K, _}) -> M:update_counter(Counters, K, {2, 1}, {K, 0}) end}],
            Times = [{Phase, each(timed(Slices, Do, T), Loop, length(Entries))} || {Phase, Do} <- Phases],
            Churned = each(timed(Churn, churned(M, Counters), T), ChurnLoop, 2 * length(Entries)),
            M:delete(T),
            M:delete(Counters),
            Times ++ [{churn, Churned}]
    end.

%% A process registers under one key after another, and unregisters from the oldest once it has ?REGISTERED keys.
churn(Entries) ->
    {First, Rest} = lists:split(?REGISTERED, Entries),
    Last = lists:nthtail(length(Rest), Entries),
    [{register, E} || E <- First]
        ++ lists:append(lists:zipwith(fun(New, Old) -> [{register, New}, {unregister, Old}] end,
                                      Rest, lists:sublist(Entries, length(Rest))))
        ++ [{unregister, E} || E <- Last].

churned(M, Counters) ->
    fun(T, {register, {K, {_, I}}}) ->
            M:insert(T, {K, {self(), I}}),
            M:update_counter(Counters, K, {2, 1}, {K, 0});
       (T, {unregister, {K, {_, I}}}) ->
            M:match_delete(T, {K, {self(), I}}),
            M:update_counter(Counters, K, {2, -1})
    end.
