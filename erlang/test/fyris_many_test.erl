%% Thousands of objects under one key, which come and go one at a time, whole and by patterns.
-module(fyris_many_test).

-compile(export_all).
-include("fyris_same.hrl").

-define(KEY, key).

%% The objects by their numbers: what they begin with differs, or is alike in some of them, or in all.
shapes(Pid, Ref) ->
    [{numbers, fun(I) -> {?KEY, I, value} end},
     {tens, fun(I) -> {?KEY, I div 10, I} end},
     {alike, fun(I) -> {?KEY, same, beginning, I} end},
     {pids, fun(I) -> {?KEY, {element(1 + I rem tuple_size(Pid), Pid), I}} end},
     {references, fun(I) -> {?KEY, {element(1 + I rem tuple_size(Ref), Ref), I}} end},
     {maps, fun(I) -> {?KEY, #{a => I, b => [I]}} end},
     {binaries, fun(I) -> {?KEY, binary:copy(<<I:32>>, 100)} end},
     {none, fun(_) -> {?KEY} end}].

patterns(numbers) -> [{'_', '_'}, {'$1', value}, {7, '_'}, {7, value}, {7, other}, {'_', other}];
patterns(tens) -> [{3, '_'}, {3, 31}, {'_', 44}, {3, '$1'}];
patterns(alike) -> [{same, beginning, 17}, {same, '_', 18}, {'_', beginning, 19}, {same, other, '_'}];
patterns({pids, Pid}) -> [{{element(2, Pid), '_'}}, {{element(1, Pid), 3}}, {{'_', 4}}, {{self(), '_'}}];
patterns({references, Ref}) -> [{{element(2, Ref), '_'}}, {{element(1, Ref), 3}}, {{'_', 4}}];
patterns(maps) -> [{#{a => 5}}, {#{a => 6, b => [6]}}];
patterns(binaries) -> [{binary:copy(<<5:32>>, 100)}];
patterns(none) -> [{}].

head(Pattern) -> list_to_tuple([?KEY | tuple_to_list(Pattern)]).

churn_test_() ->
    Pid = list_to_tuple([spawn(fun() -> ok end) || _ <- lists:seq(1, 300)]),
    Ref = list_to_tuple([make_ref() || _ <- lists:seq(1, 300)]),
    [{lists:flatten(io_lib:format("~p of ~p", [Type, Name])),
      {timeout, 300, fun() -> ?same(churn(M, Type, Object, heads(Name, Pid, Ref))) end}}
     || Type <- ?BAGS, {Name, Object} <- shapes(Pid, Ref)].

heads(pids, Pid, _) -> [head(P) || P <- patterns({pids, Pid})];
heads(references, _, Ref) -> [head(P) || P <- patterns({references, Ref})];
heads(Name, _, _) -> [head(P) || P <- patterns(Name)].

%% Fills, asks, deletes the newest, the oldest and others, fills again, and deletes by patterns.
churn(M, Type, Object, Heads) ->
    rand:seed(exsss, 5),
    T = M:new(t, [Type, public]),
    Some = fun(N) -> [Object(rand:uniform(3000)) || _ <- lists:seq(1, N)] end,
    Insert = fun(Objects) -> [M:insert(T, O) || O <- Objects] end,
    Delete = fun(Objects) -> [M:delete_object(T, O) || O <- Objects] end,
    Ask = fun() ->
                  [M:tab2list(T), M:info(T, size)]
                      ++ [{M:match_object(T, H), M:match(T, H), M:select_count(T, [{H, [], [true]}])} || H <- Heads]
          end,
    Insert([Object(I) || I <- lists:seq(1, 3000)]),
    First = Ask(),
    Delete(Some(500)),
    Delete([Object(I) || I <- lists:seq(2900, 3000)]),
    Delete([Object(I) || I <- lists:seq(1, 100)]),
    Second = Ask(),
    Insert(Some(1000)),
    Insert(Some(300)),
    Third = Ask(),
    Counts = [M:select_delete(T, [{H, [], [true]}]) || H <- Heads],
    Insert(Some(1000)),
    Deleted = [M:match_delete(T, H) || H <- Heads],
    Fourth = Ask(),
    Delete([Object(I) || I <- lists:seq(1, 2990)]),
    Fifth = Ask(),
    {First, Second, Third, Deleted, Counts, Fourth, Fifth}.

%% Runs of three levels, and a queue: the oldest goes when the newest has come.
queue_test_() ->
    [{atom_to_list(Type),
      {timeout, 300,
       fun() ->
               ?same(begin
                         T = M:new(t, [Type, public]),
                         [M:insert(T, {?KEY, I, value}) || I <- lists:seq(1, 20_000)],
                         [begin
                              M:insert(T, {?KEY, 20_000 + I, value}),
                              M:match_delete(T, {?KEY, I, '_'})
                          end || I <- lists:seq(1, 6000)],
                         {M:lookup(T, ?KEY), M:info(T, size)}
                     end)
       end}} || Type <- ?BAGS].

%% A process reads while others come and go: it sees each object that stays, in their order, and none twice.
readers_test_() ->
    {timeout, 60,
     fun() ->
             T = fyris:new(t, [duplicate_bag, public]),
             Stay = [{?KEY, {stays, I}} || I <- lists:seq(1, 2000)],
             fyris:insert(T, Stay),
             Writers = [spawn_link(fun() -> come_and_go(T, W, 3000) end) || W <- [1, 2, 3]],
             Reads = read_while(T, Stay, [monitor(process, W) || W <- Writers], 0),
             ?assert(Reads > 0),
             ?assertEqual(Stay, fyris:lookup(T, ?KEY))
     end}.

come_and_go(_, _, 0) -> ok;
come_and_go(T, W, N) ->
    fyris:insert(T, {?KEY, {{W, N}, x}}),
    true = fyris:match_delete(T, {?KEY, {{W, N}, '_'}}),
    N rem 3 =:= 0 andalso fyris:delete_object(T, {?KEY, {{W, N}, x}}),
    come_and_go(T, W, N - 1).

read_while(_, _, [], Reads) -> Reads;
read_while(T, Stay, [Monitor | Others] = Monitors, Reads) ->
    Stay = [O || {_, {stays, _}} = O <- fyris:lookup(T, ?KEY)],
    [{?KEY, {stays, 9}}] = fyris:match_object(T, {?KEY, {stays, 9}}),
    receive
        {'DOWN', Monitor, _, _, normal} -> read_while(T, Stay, Others, Reads)
    after 0 -> read_while(T, Stay, Monitors, Reads + 1)
    end.
