%% The state machine behind the oracle: which commands come next, which may come, and what is known after them.
%%
%% A command is `{Process, Function, Arguments}'. Arguments that are other things on the two sides are tagged (see
%% `fyris_oracle_sides'); what is no function of ets is one of `fyris_oracle_calls'.
-module(fyris_oracle_commands).

-export([commands/1, valid/1]).

-import(fyris_same, [otp/0]).
-import(fyris_oracle_terms, [one/1, key/1, value/0, object/1, counters/1, pattern/1, spec/1]).

-define(SLOTS, [1, 2]).
-define(NAMES, [fyris_oracle_a, fyris_oracle_b]).

%% What is known of the tables: enough to make commands that mostly fit. It is not always so: a command may fail, a
%% deletion by one who may not, say. `bags' and `compressed' are sure: whether any table can be so.
-record(state, {pool, fixing, tables = #{}, fixed = false, bags = false, compressed = false}).
-record(table, {type, keypos}).

%% A run of so many commands.
commands(N) ->
    State = #state{pool = fyris_oracle_terms:pool(), fixing = one([false, false, true])},
    commands(N, State, [{init, State}]).

commands(0, _, Done) ->
    lists:reverse(Done);
commands(N, State, Done) ->
    Command = command(State),
    case precondition(State, Command) of
        true -> commands(N - 1, next_state(State, Command), [Command | Done]);
        false -> commands(N, State, Done)
    end.

%% Whether all of them may still come where they do, when others have been left out.
valid([{init, State} | Commands]) ->
    valid(State, Commands);
valid(_) ->
    false.

valid(_, []) -> true;
valid(State, [Command | More]) ->
    precondition(State, Command) andalso valid(next_state(State, Command), More).

next_state(#state{tables = Tables, bags = Bags, compressed = Compressed} = State, {_, new, [{slot, Slot}, _, {options, Options}]}) ->
    Table = table(Options),
    State#state{tables = Tables#{Slot => Table}, bags = Bags orelse is_bag(Table),
                compressed = Compressed orelse lists:member(compressed, Options)};
next_state(#state{tables = Tables} = State, {_, delete, [{table, Slot}]}) ->
    State#state{tables = maps:remove(Slot, Tables)};
next_state(State, {_, safe_fixtable, _}) ->
    State#state{fixed = true};
next_state(State, _) ->
    State.

table(Options) ->
    #table{type = lists:last([set | [O || O <- Options, lists:member(O, [ordered_set, bag, duplicate_bag])]]),
           keypos = lists:last([1 | [N || {keypos, N} <- Options, N > 0]])}.

is_bag(#table{type = Type}) -> Type =:= bag orelse Type =:= duplicate_bag.

%% What ets itself gets wrong is left out: `take' from a fixed bag counts wrong, from OTP 25 to 29.
precondition(#state{fixed = true, bags = true}, {_, take, _}) ->
    false;
%% A failed update with a default leaves its key behind in a fixed table, where `next' goes on from it.
precondition(#state{fixed = true}, {_, F, [_, _, _, _]}) when F =:= update_element; F =:= update_counter ->
    otp() < 27;
precondition(#state{tables = Tables}, {_, new, [{slot, Slot} | _]}) ->
    not is_map_key(Slot, Tables);
precondition(#state{fixing = Fixing}, {_, safe_fixtable, _}) ->
    Fixing;
precondition(#state{compressed = true}, {_, _, Args}) ->
    otp() < 26 orelse not has_name_of_function(Args);
precondition(_, _) ->
    true.

%% Such funs in compressed tables: OTP 27 and 29 crash when `match_object' or `tab2list' reads them.
has_name_of_function(T) when is_function(T) -> erlang:fun_info(T, type) =:= {type, external};
has_name_of_function(T) when is_tuple(T) -> has_name_of_function(tuple_to_list(T));
has_name_of_function([H | T]) -> has_name_of_function(H) orelse has_name_of_function(T);
has_name_of_function(T) when is_map(T) -> has_name_of_function(maps:to_list(T));
has_name_of_function(_) -> false.

command(#state{tables = Tables} = State) ->
    Slot = one(?SLOTS),
    case Tables of
        #{Slot := Table} -> command(Slot, Table, State);
        #{} -> one([new(Slot), new(Slot), new(Slot), command(Slot, #table{type = set, keypos = 1}, State)])
    end.

command(Slot, #table{keypos = KeyPos}, #state{pool = Pool, bags = Bags}) ->
    Keys = {KeyPos, Pool},
    {F, Args} = case rand:uniform(100) of
                    N when N =< 40 -> write(Bags, Keys);
                    N when N =< 65 -> read(Keys);
                    N when N =< 82 -> query(Keys);
                    N when N =< 97 -> admin(Keys);
                    _ -> rare(Keys)
                end,
    with_table(F, Args, one([{table, Slot}, {table, Slot}, {table, Slot}, {tid, Slot}])).

%% The table is the first argument, but for these.
with_table(F, Args, Table) when F =:= foldl; F =:= foldr ->
    {process(), F, Args ++ [Table]};
%% By its tid: in OTP 25 a continuation belongs to the name that it was begun with.
with_table(start, Args, {_, Slot}) ->
    {process(), start, [{tid, Slot} | Args]};
with_table(F, Args, _) when F =:= new_again; F =:= whereis; F =:= compile; F =:= run; F =:= test_one; F =:= kill ->
    {process(), F, Args};
with_table(F, Args, Table) ->
    {process(), F, [Table | Args]}.

%% Mostly the one that makes tables.
process() -> one([a, a, a, a, b]).

new(Slot) -> {process(), new, [{slot, Slot}, one([t | ?NAMES]), {options, options()}]}.

options() ->
    lists:append(
      [one([[], [], [bag, set]]), [one([set, ordered_set, bag, duplicate_bag])], one([[], [public], [public], [protected], [private]]),
       one([[], [named_table]]), one([[], [], [{keypos, 2}]]), one([[], [compressed]]),
       one([[], [], [{heir, {process, one([a, b])}, {heir, data}}], [{heir, none}]]),
       one([[], [], [{write_concurrency, one([true, false, auto])}]]), one([[], [], [{read_concurrency, true}]]),
       one([[], [], [{decentralized_counters, one([true, false])}]]),
       one([[] || _ <- lists:seq(1, 12)] ++ [[foo], [set], [{keypos, 0}], [protected], [{heir, none, x}]])]).

write(Bags, {_, Pool} = Keys) ->
    case rand:uniform(24) of
        N when N =< 8 -> {insert, [object(Keys)]};
        9 -> {insert, [objects(Bags, Keys)]};
        10 -> {insert, [counters(Keys)]};
        11 -> {insert, [one([bulk(), [object(Keys) | bad], [object(Keys), bad], [{}], bad, "x", #{}])]};
        12 -> {insert_new, [object(Keys)]};
        13 -> {insert_new, [objects(Bags, Keys)]};
        14 -> {delete, [key(Pool)]};
        15 -> {delete_object, [object(Keys)]};
        16 -> {take, [key(Pool)]};
        17 -> {update_counter, [key(Pool), counter()]};
        18 -> {update_counter, [key(Pool), counter()]};
        19 -> counter_with_default(Keys);
        20 -> {update_element, [key(Pool), edit()]};
        21 -> {update_element, [key(Pool), edit()]};
        22 -> {update_element, [key(Pool), edit(), counters(Keys)]};
        23 -> {delete_some_object, []};
        24 -> {one([init, delete_object]), [one([[object(Keys)], bad])]}
    end.

%% Several of one key stand in another order in the bags of OTP 25.
objects(Bags, Keys) ->
    Objects = [object(Keys) || _ <- lists:seq(1, rand:uniform(5) - 1)],
    case Bags andalso otp() < 26 of
        true -> lists:foldr(fun with_other_keys/2, [], Objects);
        false -> Objects
    end.

with_other_keys(Object, Others) ->
    case lists:any(fun(Other) -> may_share_key(Object, Other) end, Others) of
        true -> Others;
        false -> [Object | Others]
    end.

%% At any of the key positions that tables have.
may_share_key(A, B) ->
    lists:any(fun(N) -> element(N, A) == element(N, B) end,
              [N || N <- [1, 2], N =< tuple_size(A), N =< tuple_size(B)]).

bulk() ->
    From = rand:uniform(100),
    [{I, I + 1, I rem 7} || I <- lists:seq(From, From + one([20, 60, 250]))].

counter() ->
    one([1, -1, 0, 1 bsl 62, -(1 bsl 59), {2, 1}, {1, 1}, {3, 5}, {2, 3, 4, 0}, [{2, 1}, {3, 1}, {2, 1}], [], {2, a},
         a, {9, 1}, {2, -3, 0, 7}, {0, 1}, {2, 1.0}, [{2, 1} | x], {2, 1, a, 1}, {2, 0, 1, 1}, 1 bsl 200]).

%% OTP 25 crashes after a default that the operation does not fit; OTP 29 looks at defaults first.
counter_with_default({KeyPos, Pool}) ->
    case otp() >= 29 andalso rand:uniform(3) of
        1 -> {update_counter, [key(Pool), counter(), one([x, {}, {k}, {k, a}, {k, k, 1}, [{k, k, 1}]])]};
        _ -> counter_with_good_default(KeyPos, Pool)
    end.

counter_with_good_default(KeyPos, Pool) ->
    {update_counter, [key(Pool), one([{3, 1}, [{3, 1}, {3, -4, 0, 2}], [], {3, 1 bsl 61}]),
                      setelement(KeyPos, {k, k, rand:uniform(5)}, key(Pool))]}.

edit() ->
    one([{2, value()}, {3, value()}, {1, x}, [{3, a}, {2, value()}, {3, value()}], [], {0, x}, foo, {9, x},
         [{3, x} | y], [{3, x}, {1, y}], {3}]).

read({_, Pool}) ->
    case rand:uniform(16) of
        N when N =< 5 -> {lookup, [key(Pool)]};
        6 -> {member, [key(Pool)]};
        N when N =< 8 -> {lookup_element, [key(Pool), one([1, 2, 3, 0, 4, a])]};
        9 -> {one([tab2list, first, last]), []};
        10 -> {one([next, prev]), [one([key(Pool), '$end_of_table'])]};
        11 -> {one([walk, walk_back, walk_lookup, slots]), []};
        12 -> {one([foldl, foldr]), [{function, collect}, []]};
        13 -> {lookup_element, [key(Pool), one([1, 2, 3, 4]), default]};
        14 -> {one([first_lookup, last_lookup]), []};
        15 -> {one([next_lookup, prev_lookup]), [key(Pool)]};
        16 -> {one([slot, lookup]), [one([0, -1, a])]}
    end.

query(Keys) ->
    case rand:uniform(14) of
        1 -> {select, [spec(Keys)]};
        2 -> {select_reverse, [spec(Keys)]};
        3 -> {select_count, [spec(Keys)]};
        4 -> {select_delete, [spec(Keys)]};
        5 -> {match, [pattern(Keys)]};
        6 -> {match_object, [pattern(Keys)]};
        7 -> {match_delete, [pattern(Keys)]};
        8 -> {select_replace, [replacement(Keys)]};
        9 -> {collect, [one([match, match_object]), pattern(Keys), one([1, 2, 7, 100, 0, a])]};
        10 -> {collect, [one([select, select_reverse]), spec(Keys), one([1, 2, 7, 100, 0, a])]};
        11 -> {start, [one([match, match_object]), pattern(Keys), one([1, 2, 7])]};
        12 -> {start, [one([select, select_reverse]), spec(Keys), one([1, 2, 7])]};
        13 -> {one([continue, repair]), [spec(Keys)]};
        14 -> {one([compile, run, run, test_one]), [spec(Keys), [object(Keys), object(Keys), value()]]}
    end.

replacement(Keys) ->
    Object = object(Keys),
    one([[{{'$1', '$2'}, [fyris_oracle_terms:guard()], [{{'$1', {{'$2', '$1'}}}}]}],
         [{{'$1', '_', '$2'}, [], [{{'$1', new, '$2'}}]}],
         [{'$1', [], ['$1']}],
         [{{'$1', '$2'}, [], [{{'$2', '$1'}}]}],
         [{Object, [], [{const, fyris_oracle_terms:put_key(tuple_size(Object), value(), Object)}]}],
         [{{'_', '$1'}, [], [{{{element, 1, '$_'}, {'+', '$1', 1}}}]}],
         [{{'_', '_'}, [], ['$_']}], [{{'$1', '_'}, [], [{'$1'}]}], spec(Keys)]).

admin({_, Pool}) ->
    case rand:uniform(15) of
        N when N =< 3 -> {info, [one([size, type, keypos, protection, owner, heir, name, named_table, fixed, id, node,
                                      compressed, read_concurrency, write_concurrency, decentralized_counters, foo, "x"])]};
        4 -> {info, []};
        5 -> {setopts, [{options, one([{heir, none}, {heir, {process, b}, gift}, {protection, public}, [], foo,
                                       [{protection, private}, {heir, none}], [{heir, none}, {heir, none}],
                                       {protection, protected}, [{heir, {process, a}, k} | x]])}]};
        6 -> {give_away, [one([{process, a}, {process, b}, foo, {process, b}]), key(Pool)]};
        7 -> {rename, [one(["x", r | ?NAMES])]};
        8 -> {whereis, [one([nowhere, 1 | ?NAMES])]};
        N when N =< 11 -> {safe_fixtable, [one([true, true, false, perhaps])]};
        12 -> {new_again, [{options, options()}]};
        13 -> {safe_fixed, []};
        14 -> {all, []};
        15 -> {is_compiled, []}
    end.

rare({_, _} = Keys) ->
    case rand:uniform(24) of
        N when N =< 9 -> {delete, []};
        N when N =< 12 -> {kill, []};
        N when N =< 15 -> {qlc, [one([[], {n_objects, 2}, {traverse, first_next}, {traverse, last_prev}, foo,
                                      {traverse, {select, spec(Keys)}}])]};
        16 -> {file, [one([[], [{extended_info, [object_count]}], [{extended_info, [md5sum]}], [{sync, true}], [foo], [{extended_info, [x]}], [{sync, 1}],
                          [{extended_info, [md5sum, object_count]}, {sync, false}]]),
                      one([[], [{verify, true}], [bar], [{verify, x}], [{verify, false}, {verify, true}], bar])]};
        17 -> {dets, []};
        N when N =< 21 -> {match_delete, ['_']};
        _ -> {delete_all_objects, []}
    end.
