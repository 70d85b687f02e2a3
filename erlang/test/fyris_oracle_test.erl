%% Random commands on ets and fyris, made and shrunk with PropEr: every reply and every exception compared.
%%
%% A failure prints its seed and the fewest commands that show it; FYRIS_SEED=N runs that seed first.
%% FYRIS_ORACLE=N runs so many commands instead of those of CI.
-module(fyris_oracle_test).

-compile(export_all).

-define(COMMANDS, list_to_integer(os:getenv("FYRIS_ORACLE", "300000"))).
%% In one run.
-define(LENGTH, 100).

every_reply_is_that_of_ets_test_() ->
    case code:which(proper) of
        non_existing -> {"no PropEr here: left out", []};
        _ -> {timeout, 1200, fun() -> run(first_seed(), ?COMMANDS div ?LENGTH, default) end}
    end.

%% The same on indexes behind a pointer, which share all but the table's structure; tables of a type that one does not
%% serve are on their own.
every_reply_on_other_indexes_is_that_of_ets_test_() ->
    Run = fun(Index) -> run(first_seed(), ?COMMANDS div 20 div ?LENGTH, Index) end,
    case code:which(proper) of
        non_existing -> {"no PropEr here: left out", []};
        _ -> [{timeout, 1200, fun() -> Run(Index) end}
              || Index <- [btree, avl, treap, ca_avl, ca_treap, relaxed_avl, skip_list, split_ordered, michael_hash,
                           linear_hash, judysl, judyesl, judyeh]]
    end.

first_seed() ->
    list_to_integer(os:getenv("FYRIS_SEED", integer_to_list(erlang:phash2(make_ref(), 1 bsl 27) * 10_000))).

run(Seed, Runs, Index) ->
    io:format(user, "oracle: ~b commands from seed ~b, index ~s~n", [Runs * ?LENGTH, Seed, Index]),
    put(seed, Seed),
    erase(first_failed),
    Same = fun(Commands) -> differ(Commands, Index) =:= none end,
    Property = proper:forall(shrinking(proper_types:lazy(fun next_commands/0)), Same),
    case proper:quickcheck(Property, [quiet, {numtests, Runs}, {max_shrinks, 3000}]) of
        true ->
            ok;
        false ->
            [[_ | Least] = Commands] = proper:counterexample(),
            error({differ, [{seed, get(first_failed)}, {commands, Least}, {replies, differ(Commands, Index)}]})
    end.

next_commands() ->
    Seed = get(seed),
    put(seed, Seed + 1),
    rand:seed(exsss, Seed),
    fyris_oracle_commands:commands(?LENGTH).

%% A list of commands, which shrinks to shorter ones that are still in order.
shrinking(Commands) ->
    proper_types:add_constraint(
      proper_types:bind(proper_types:noshrink(Commands), fun proper_types:shrink_list/1, false),
      fun fyris_oracle_commands:valid/1, true).

%% The first command that differs, with both replies. (Debian's PropEr knows no properties that raise.)
differ([{init, _} | Commands], Index) ->
    Sides = fyris_oracle_sides:start(Index),
    try first_difference(Commands, Sides)
    catch Class:Reason:Stack -> {raised, Class, Reason, Stack}
    after fyris_oracle_sides:stop()
    end.

first_difference([], _) ->
    none;
first_difference([Command | More], Sides) ->
    case fyris_oracle_sides:run(Command, Sides) of
        {true, _, After} -> first_difference(More, After);
        {false, {Real, Ours}, After} ->
            Difference = {Command, [{ets, Real}, {fyris, Ours}], fyris_oracle_sides:look(Command, After)},
            note(Difference),
            Difference
    end.

%% The very first is what shrinking begins with; should it not come again, this is all that is known of it. Not by `~p',
%% nor by eunit, which leave out what is deep.
note(Difference) ->
    case get(first_failed) of
        undefined ->
            put(first_failed, get(seed) - 1),
            io:format(user, "oracle: seed ~b differs first in ~w~n", [get(first_failed), Difference]);
        _ -> ok
    end.
