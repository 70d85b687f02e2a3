%% Four small programs of processes that work together: a bank, seats that are reserved, a queue of jobs, and counts
%% that are kept in step with a table.
%%
%%   make && erlc -o ebin examples/fyris_together.erl && erl -noshell -pa ebin -s fyris_together run -s erlang halt
-module(fyris_together).

-export([run/0, bank/0, reservations/0, job_queue/0, counts/0]).

-define(PROCESSES, 4).

run() ->
    [ok, ok, ok, ok] = [bank(), reservations(), job_queue(), counts()],
    ok.

%% Transfers between accounts: none is overdrawn, and the sum stays.
bank() ->
    Accounts = fyris:new(accounts, [public]),
    fyris:insert(Accounts, [{N, 100} || N <- lists:seq(0, 4)]),
    Transfers = fun(P) ->
                        [transfer(Accounts, (P + N) rem 5, (P + 3 * N + 1) rem 5, 10 + N rem 50)
                         || N <- lists:seq(1, 200)]
                end,
    Results = lists:append(together(Transfers)),
    Done = length([Left || {atomic, Left} <- Results]),
    Refused = length([Left || {aborted, {too_little, Left}} <- Results]),
    800 = Done + Refused,
    {aborted, {too_little, _}} = transfer(Accounts, 0, 1, 501),
    Balances = fyris:select(Accounts, [{{'_', '$1'}, [], ['$1']}]),
    true = lists:all(fun(Balance) -> Balance >= 0 end, Balances),
    500 = lists:sum(Balances),
    io:format("bank: ~b of 800 transfers, the sum is 500~n", [Done]),
    true = fyris:delete(Accounts),
    ok.

%% Takes before it looks what is left: an abort takes that back, and nobody else has seen it.
transfer(Accounts, From, To, Amount) ->
    fyris:transaction(
      fun(Tx) ->
              Within = fyris:within(Tx, Accounts),
              case fyris:update_counter(Within, From, -Amount) of
                  Left when Left < 0 -> fyris:abort({too_little, Left + Amount});
                  Left -> fyris:update_counter(Within, To, Amount), Left
              end
      end).

%% Everybody tries to reserve a seat in each of the processes, and nobody gets two. A free seat, {Number, free}, has no
%% third element, so the unique index does not have it.
reservations() ->
    Seats = fyris:new(seats, [ordered_set, public, {secondary, by_state, {element, 2}},
                              {secondary, by_person, {unique, {element, 3}}}]),
    fyris:insert(Seats, [{N, free} || N <- lists:seq(1, 8)]),
    People = [ada, bob, cleo, dan, eva, finn],
    Results = lists:append(together(fun(_) -> [{Person, reserve(Seats, Person)} || Person <- People] end)),
    Refused = [Person || {Person, {aborted, {{not_unique, by_person, Person}, _Stack}}} <- Results],
    18 = length(Refused),
    [] = [Person || Person <- People, length(fyris:lookup_by(Seats, by_person, Person)) =/= 1],
    2 = length(fyris:lookup_by(Seats, by_state, free)),
    io:format("reservations: 6 people have a seat each, ~b second ones were refused~n", [length(Refused)]),
    true = fyris:delete(Seats),
    ok.

%% Gives a person the first free seat. That the person has none yet is looked at when it is committed.
reserve(Seats, Person) ->
    fyris:transaction(
      fun(Tx) ->
              Within = fyris:within(Tx, Seats),
              case fyris:lookup_by(Within, by_state, free) of
                  [{Number, free} | _] -> fyris:insert(Within, {Number, taken, Person}), Number;
                  [] -> fyris:abort(no_seat_left)
              end
      end).

%% Workers take jobs until none is ready. One that fails dies; then its job is given back, and another one begins.
%% The state is the first part of the key, so that the ready jobs are a range, whose first is the oldest.
job_queue() ->
    Jobs = fyris:new(jobs, [ordered_set, public, {secondary, by_worker, {element, 3}}]),
    fyris:insert(Jobs, [{{ready, N}, 0} || N <- lists:seq(1, 100)]),
    start_worker(Jobs, ?PROCESSES),
    {Finished, Failed} = keep_workers(Jobs, ?PROCESSES, [], 0),
    true = lists:seq(1, 100) =:= lists:sort(Finished),          % each once
    Again = length([N || {{done, N}, 2, _} <- fyris:tab2list(Jobs)]),
    {100, 10, 10} = {length(fyris:prefix(Jobs, {done, '_'})), Again, Failed},
    100 = fyris:info(Jobs, size),
    io:format("job queue: 100 jobs done once each, ~b of them at the second attempt~n", [Again]),
    true = fyris:delete(Jobs),
    ok.

start_worker(Jobs, N) -> [spawn_monitor(fun() -> exit({finished, work(Jobs, [])}) end) || _ <- lists:seq(1, N)].

%% What a supervisor does. Returns the jobs that workers have finished, and how many workers have failed.
keep_workers(_, 0, Finished, Failed) -> {Finished, Failed};
keep_workers(Jobs, Workers, Finished, Failed) ->
    receive
        {'DOWN', _, process, _, {finished, Numbers}} -> keep_workers(Jobs, Workers - 1, Numbers ++ Finished, Failed);
        {'DOWN', _, process, Worker, {failed, Numbers}} ->
            give_back(Jobs, Worker),
            start_worker(Jobs, 1),
            keep_workers(Jobs, Workers, Numbers ++ Finished, Failed + 1)
    end.

%% The jobs that a worker has finished, once none is ready.
work(Jobs, Finished) ->
    case claim(Jobs) of
        {atomic, none} -> Finished;
        {atomic, {Number, 1}} when Number rem 10 =:= 0 -> exit({failed, Finished});
        {atomic, {Number, Attempt}} ->
            Taken = {{taken, Number}, Attempt, self()},
            %% No fun is needed between what is seen and what is written.
            {ok, _} = fyris:write_batch([{check, Jobs, {taken, Number}, Taken}, {delete, Jobs, {taken, Number}},
                                         {insert, Jobs, setelement(1, Taken, {done, Number})}]),
            work(Jobs, [Number | Finished])
    end.

claim(Jobs) ->
    fyris:transaction(
      fun(Tx) ->
              Within = fyris:within(Tx, Jobs),
              case fyris:prefix(Within, {ready, '_'}, [{limit, 1}]) of
                  [{{ready, Number}, Attempts}] ->
                      fyris:delete(Within, {ready, Number}),
                      fyris:insert(Within, {{taken, Number}, Attempts + 1, self()}),
                      {Number, Attempts + 1};
                  [] -> none
              end
      end).

give_back(Jobs, Worker) ->
    {atomic, ok} =
        fyris:transaction(
          fun(Tx) ->
                  Within = fyris:within(Tx, Jobs),
                  Taken = [Job || {{taken, _}, _, _} = Job <- fyris:lookup_by(Within, by_worker, Worker)],
                  [fyris:delete(Within, {taken, Number}) || {{taken, Number}, _, _} <- Taken],
                  fyris:insert(Within, [{{ready, Number}, Attempts} || {{taken, Number}, Attempts, _} <- Taken]),
                  ok
          end).

%% Keeps how many items of each category there are in a table of its own, beside the writers of the items.
counts() ->
    Items = fyris:new(items, [public]),
    Counts = fyris:new(counts, [ordered_set, public]),
    fyris:insert(Items, [{N, tea} || N <- lists:seq(0, 49)]),
    Self = self(),
    {Watcher, Monitor} = spawn_monitor(fun() ->
                                               %% First what is there, then all that changes: nothing twice.
                                               Subscription = fyris:subscribe(Items, all, [{from, snapshot}]),
                                               Self ! {watching, self()},
                                               watch(Subscription, Counts)
                                       end),
    receive {watching, Watcher} -> ok end,
    together(fun(P) -> [write(Items, (P * 31 + N * 17) rem 100, N) || N <- lists:seq(1, 500)] end),
    Scanned = [{Category, fyris:select_count(Items, [{{'_', Category}, [], [true]}])}
               || Category <- [cheese, fruit, tea]],
    %% The watcher ends with the table, once it has been told all that was before.
    fyris:delete(Items),
    receive {'DOWN', Monitor, process, Watcher, Reason} -> normal = Reason end,
    Scanned = fyris:range(Counts, '_', '_'),
    io:format("counts: ~p, as in a scan~n", [Scanned]),
    true = fyris:delete(Counts),
    ok.

write(Items, Key, N) when N rem 5 =:= 0 -> fyris:delete(Items, Key);
write(Items, Key, N) -> fyris:insert(Items, {Key, element(N rem 3 + 1, {cheese, fruit, tea})}).

watch(Subscription, Counts) ->
    receive
        {fyris, Subscription, _, {deleted, _}} -> ok;
        {fyris, Subscription, _, {overflow, _} = Overflow} -> exit(Overflow);
        {fyris, Subscription, _, Event} ->
            %% As one: who reads the counts never sees half of an event.
            {ok, _} = fyris:write_batch([{update_counter, Counts, Category, Step, {Category, 0}}
                                         || {Category, Step} <- steps(Event)]),
            watch(Subscription, Counts)
    end.

steps({objects, _, Objects}) -> [{Category, 1} || {_, Category} <- Objects];
steps({changes, Changes}) -> lists:append([step(Change) || Change <- Changes]);
steps(current) -> [].

step({insert, _, {_, New}}) -> [{New, 1}];
step({update, _, {_, Old}, {_, New}}) -> [{Old, -1}, {New, 1}];
step({delete, _, {_, Old}}) -> [{Old, -1}].

%% Runs a fun in several processes at once, and returns what each of them has returned.
together(Fun) ->
    Workers = [spawn_monitor(fun() -> exit({done, Fun(N)}) end) || N <- lists:seq(1, ?PROCESSES)],
    [receive {'DOWN', Monitor, process, _, Reason} -> {done, Result} = Reason, Result end || {_, Monitor} <- Workers].
