%% Sentences of ETS_API.md on tables as wholes: making, naming, owning, fixing, `info'.
-module(fyris_tables_test).

-compile(export_all).
-include("fyris_same.hrl").

new_returns_a_tid_or_the_name_test() ->
    ?same(M:new(a, [])),
    ?same(M:new(a, [named_table])).

new_refuses_what_is_no_name_or_no_option_test() ->
    [?same(M:new(Name, Options))
     || {Name, Options} <- [{1, []}, {"a", []}, {a, [foo]}, {a, foo},
                            {a, [set | bag]}, {a, [{keypos, 0}]},
                            {a, [{keypos, a}]}, {a, [{heir, foo, 1}]},
                            {a, [{heir, none, 1}]}, {a, [{heir, none}]},
                            {a, [{write_concurrency, yes}]},
                            {a, [{read_concurrency, auto}]},
                            {a, [{decentralized_counters, 1}]},
                            {a, [[]]}, {a, [{keypos, 1, 2}]}]].

new_refuses_a_name_in_use_test() ->
    ?same(begin M:new(a, [named_table]), M:new(a, [named_table]) end),
    ?same(begin M:new(a, [named_table]), M:info(M:new(a, []), name) end).

later_options_win_but_set_and_protected_undo_nothing_test() ->
    Items = [type, protection, keypos, read_concurrency, write_concurrency,
             compressed, named_table, decentralized_counters],
    [?same([M:info(T, I) || T <- [M:new(a, Options)], I <- Items])
     || Options <- [[], [bag, set], [private, protected], [bag, ordered_set],
                    [public, private], [{keypos, 2}, {keypos, 3}],
                    [compressed], [{read_concurrency, true}],
                    [private, {read_concurrency, true},
                     {write_concurrency, true}],
                    [named_table], [duplicate_bag, bag]]].

delete_removes_name_and_tid_at_once_test() ->
    ?same(begin
              a = M:new(a, [named_table, public]),
              T = M:whereis(a),
              true = M:delete(a),
              {M:info(a), M:info(T), M:whereis(a),
               M:new(a, [named_table]), fyris_same:try_it(fun() -> M:lookup(T, 1) end)}
          end).

a_name_is_free_while_a_large_table_is_being_freed_test() ->
    ?same(begin
              [begin
                   M:new(a, [named_table]),
                   M:insert(a, [{I, I} || I <- lists:seq(1, 50_000)]),
                   true = M:delete(a),
                   {M:info(a), M:whereis(a)}
               end || _ <- [1, 2, 3]]
          end).

info_items_of_no_list_test() ->
    T = fyris:new(a, []),
    fyris:insert(T, {1, binary:copy(<<"x">>, 1000)}),
    ?assert(is_list(fyris:info(T, binary))),
    ?assert(fyris:info(T, stats) =/= undefined),
    ?assert(is_integer(fyris:info(T, memory))),
    fyris:delete(T).

an_heir_without_data_gets_the_table_and_no_message_test() ->
    Me = self(),
    fyris_same:in_process(fun() -> fyris:new(a, [named_table, {heir, Me}]) end),
    ?assertEqual(Me, fyris:info(a, owner)),
    ?assertEqual(none, receive {'ETS-TRANSFER', _, _, _} -> message after 0 -> none end),
    fyris:delete(a).

delete_of_nothing_is_an_error_test() ->
    ?same(M:delete(a)),
    ?same(M:delete(1)),
    ?same(begin T = M:new(a, []), M:delete(T), M:delete(T) end).

any_process_may_delete_a_public_table_test() ->
    [?same(begin
               T = M:new(a, [Access]),
               fyris_same:in_process(
                 fun() -> fyris_same:try_it(fun() -> M:delete(T) end) end)
           end) || Access <- [public, protected, private]].

rename_test() ->
    ?same(begin M:new(a, [named_table]), {M:rename(a, b), M:info(a), M:info(b, name)} end),
    ?same(begin M:new(a, [named_table]), M:new(b, [named_table]), M:rename(a, b) end),
    ?same(begin M:new(a, [named_table]), M:rename(a, a) end),
    ?same(begin M:new(a, [named_table]), M:rename(a, "b") end),
    ?same(begin T = M:new(a, []), {M:rename(T, b) =:= T, M:info(T, name), M:info(b)} end),
    ?same(M:rename(a, b)).

whereis_test() ->
    ?same({M:whereis(a), M:new(a, [named_table]), M:whereis(a), M:info(M:whereis(a), id)}),
    ?same(M:whereis(1)),
    ?same(begin T = M:new(a, []), M:whereis(T) end).

all_has_names_and_tids_test() ->
    ?same(begin
              T = M:new(a, []),
              M:new(b, [named_table]),
              All = M:all(),
              M:delete(T),
              {lists:member(T, All), lists:member(b, All),
               lists:member(T, M:all())}
          end).

info_items_are_those_of_ets_in_its_order_test() ->
    [?same([case Item of
                {memory, N} when is_integer(N) -> memory;
                _ -> Item
            end || Item <- M:info(M:new(a, Options))])
     || Options <- [[], [named_table, ordered_set, private, {keypos, 2}],
                    [bag, public, {heir, self(), x}]]].

info_of_what_is_no_table_test() ->
    ?same(M:info(a)),
    ?same(M:info(a, size)),
    ?same(M:info(a, foo)),
    ?same(M:info("a")),
    ?same(M:info(1, size)),
    ?same(M:info(make_ref())),
    ?same(begin T = M:new(a, []), M:delete(T), {M:info(T), M:info(T, foo)} end),
    ?same(begin T = M:new(a, []), M:info(T, foo) end),
    ?same(begin T = M:new(a, []), M:info(T, "size") end).

info_works_on_private_tables_of_others_test() ->
    ?same(begin
              T = M:new(a, [private]),
              M:insert(T, {1}),
              fyris_same:in_process(fun() -> {M:info(T, size), M:info(T, owner)} end)
          end).

fixed_items_test() ->
    ?same(begin
              T = M:new(a, []),
              Before = [M:info(T, I) || I <- [fixed, safe_fixed, safe_fixed_monotonic_time]],
              M:safe_fixtable(T, true),
              M:safe_fixtable(T, true),
              {_, By} = M:info(T, safe_fixed),
              {Time, By} = M:info(T, safe_fixed_monotonic_time),
              Near = abs(Time - erlang:monotonic_time()) <
                  erlang:convert_time_unit(1, second, native),
              M:safe_fixtable(T, false),
              Still = M:info(T, fixed),
              M:safe_fixtable(T, false),
              {Before, By, Near, Still, M:info(T, fixed), M:safe_fixtable(T, false)}
          end),
    ?same(begin T = M:new(a, []), M:safe_fixtable(T, yes) end).

%% The time of a fix is the machine's when the table was fixed: it lies between the times before and after, and is the
%% same whenever and by whichever process it is asked for.
the_time_of_a_fix_stays_test() ->
    ?same(begin
              T = M:new(a, [public]),
              Before = erlang:monotonic_time(),
              M:safe_fixtable(T, true),
              After = erlang:monotonic_time(),
              Times = fun() ->
                          [element(1, M:info(T, I)) ||
                              _ <- lists:seq(1, 5000),
                              I <- [safe_fixed, safe_fixed_monotonic_time]]
                      end,
              [Time, {_, _, _}] = Answers = lists:usort(Times()),
              fyris_same:in_process(fun() -> M:safe_fixtable(T, true), Times() end),
              Kept = Answers =:= lists:usort(Times()),
              M:safe_fixtable(T, false),
              M:safe_fixtable(T, true),
              {Again, _} = M:info(T, safe_fixed_monotonic_time),
              {Before =< Time, Time =< After, Kept, After =< Again}
          end).

fixes_end_with_their_process_test() ->
    ?same(begin
              T = M:new(a, [public]),
              fyris_same:in_process(fun() -> M:safe_fixtable(T, true) end),
              timer:sleep(20),
              M:info(T, fixed)
          end).

access_rights_test() ->
    Calls = [{lookup, [1]}, {insert, [{1}]}, {delete, [1]}, {member, [1]},
             {tab2list, []}, {first, []}, {delete_all_objects, []},
             {update_counter, [1, 1]}, {update_element, [1, {2, 1}]},
             {setopts, [{heir, none}]}, {give_away, [self(), x]},
             {safe_fixtable, [true]}, {rename, [b]}, {take, [1]},
             {insert_new, [{9}]}, {slot, [0]}, {lookup_element, [1, 1]},
             {delete_object, [{1}]}, {insert, [[]]}],
    [?same(begin
               T = M:new(a, [Access]),
               M:insert(T, {1, 1}),
               fyris_same:in_process(
                 fun() ->
                         R = fyris_same:try_it(fun() -> apply(M, F, [T | As]) end),
                         case F of
                             %% The table has one slot in ets only.
                             slot -> element(1, R);
                             tab2list -> element(1, R);
                             _ -> R
                         end
                 end)
           end) || Access <- [private, protected, public],
                   {F, As} <- Calls, F =/= tab2list orelse Access =/= private].

setopts_test() ->
    ?same(begin T = M:new(a, []), {M:setopts(T, []), M:setopts(T, {protection, private}),
                                   M:info(T, protection),
                                   M:setopts(T, [{heir, none}])} end),
    [?same(begin T = M:new(a, []), M:setopts(T, O) end)
     || O <- [foo, [foo], {heir, foo}, [{heir, none}, {heir, none}],
              {protection, foo}, [{protection, public}, {protection, private}],
              {keypos, 2}, set]].

give_away_test() ->
    ?same(begin
              T = M:new(a, [named_table, private]),
              M:insert(T, {1}),
              Me = self(),
              Other = spawn_link(fun() ->
                                         receive {'ETS-TRANSFER', a, Me, gift} -> ok end,
                                         Me ! {got, M:lookup(a, 1), M:info(a, owner) =:= self()},
                                         receive stop -> ok end
                                 end),
              true = M:give_away(T, Other, gift),
              R = receive {got, _, _} = G -> G end,
              Now = fyris_same:try_it(fun() -> M:lookup(a, 1) end),
              unlink(Other),
              exit(Other, kill),
              timer:sleep(20),
              {R, Now, M:info(a)}
          end),
    ?same(begin T = M:new(a, []), M:give_away(T, self(), x) end),
    ?same(begin T = M:new(a, []), M:give_away(T, foo, x) end),
    ?same(begin
              T = M:new(a, []),
              P = spawn(fun() -> ok end),
              timer:sleep(20),
              M:give_away(T, P, x)
          end).

tables_end_with_their_owner_test() ->
    ?same(begin
              T = fyris_same:in_process(fun() -> M:new(a, [public]) end),
              {M:info(T), fyris_same:try_it(fun() -> M:insert(T, {1}) end)}
          end),
    ?same(begin
              fyris_same:in_process(fun() -> M:new(a, [named_table]) end),
              {M:info(a), M:whereis(a), M:new(a, [named_table])}
          end).

the_heir_gets_the_table_and_a_message_test() ->
    ?same(begin
              Me = self(),
              P = fyris_same:in_process(
                    fun() ->
                            M:new(a, [named_table, private, {heir, Me, [data, make_ref()]}]),
                            M:insert(a, {1, x}),
                            self()
                    end),
              Found = M:lookup(a, 1),
              Message = receive {'ETS-TRANSFER', a, P, D} -> D after 1000 -> none end,
              {Found, Message, M:info(a, owner) =:= Me, M:info(a, heir)}
          end).

a_dead_heir_counts_as_none_test() ->
    ?same(begin
              Heir = spawn(fun() -> ok end),
              timer:sleep(20),
              T = fyris_same:in_process(fun() -> M:new(a, [public, {heir, Heir, x}]) end),
              M:info(T)
          end),
    ?same(begin
              Heir = spawn(fun() -> receive stop -> ok end end),
              T = fyris_same:in_process(
                    fun() ->
                            T = M:new(a, [public, {heir, Heir, x}]),
                            exit(Heir, kill),
                            T
                    end),
              timer:sleep(20),
              M:info(T)
          end).

whoever_learns_of_the_end_finds_the_table_gone_test_() ->
    {timeout, 60,
     fun() ->
             [begin
                  {Pid, Monitor} =
                      spawn_monitor(
                        fun() ->
                                fyris:new(gone, [named_table, public]),
                                [fyris:insert(gone, {I}) || I <- lists:seq(1, 10)]
                        end),
                  receive {'DOWN', Monitor, process, Pid, _} -> ok end,
                  ?assertEqual(undefined, fyris:info(gone)),
                  ?assertError(badarg, fyris:lookup(gone, 1))
              end || _ <- lists:seq(1, 500)]
     end}.

nothing_is_left_of_killed_owners_test_() ->
    {timeout, 60,
     fun() ->
             Before = length(fyris:all()),
             Pids = [spawn(fun Loop() ->
                                   T = fyris:new(x, [public]),
                                   fyris:insert(T, [{I, self()} || I <- lists:seq(1, 20)]),
                                   fyris:safe_fixtable(T, true),
                                   Loop()
                           end) || _ <- lists:seq(1, 10)],
             timer:sleep(200),
             [exit(P, kill) || P <- Pids],
             timer:sleep(200),
             ?assertEqual(Before, length(fyris:all()))
     end}.

the_module_can_be_loaded_again_test() ->
    T = fyris:new(a, []),
    fyris:insert(T, {1, binary:copy(<<"x">>, 300)}),
    code:purge(fyris_nif),
    {module, fyris_nif} = code:load_file(fyris_nif),
    ?assertMatch([{1, _}], fyris:lookup(T, 1)),
    code:purge(fyris_nif),
    ?assertMatch([{1, _}], fyris:lookup(T, 1)),
    fyris:delete(T).

tids_print_and_compare_as_references_test() ->
    T = fyris:new(a, []),
    ?assert(is_reference(T)),
    ?assert(T =:= fyris:info(T, id)),
    ?assert(T =:= binary_to_term(term_to_binary(T))),
    ?assertEqual([], fyris:lookup(binary_to_term(term_to_binary(T)), 1)),
    fyris:delete(T).

%% The owner has so many links that its parent hears of the end long before the library does.
a_link_tells_of_the_end_before_the_library_hears_of_it_test_() ->
    {timeout, 60,
     fun() ->
             process_flag(trap_exit, true),
             [begin
                  Owner = spawn_link(
                            fun() ->
                                    fyris:new(gone, [named_table, public]),
                                    [spawn_link(fun() -> receive stop -> ok end end)
                                     || _ <- lists:seq(1, 5000)],
                                    exit(enough)
                            end),
                  receive {'EXIT', Owner, enough} -> ok end,
                  ?assertEqual(undefined, fyris:info(gone))
              end || _ <- lists:seq(1, 30)],
             process_flag(trap_exit, false)
     end}.

%% Memory is that of the tables there are, by kind; it goes with them.
memory_test() ->
    Kinds = [total, objects, indexes],
    Before = fyris:memory(total),
    T = fyris:new(a, []),
    fyris:insert(T, [{I, <<"what does not fit into the index">>} || I <- lists:seq(1, 1000)]),
    [{total, Total}, {objects, Objects}, {indexes, Indexes}] = Memory = fyris:memory(),
    ?assertEqual(Total, Objects + Indexes),
    ?assert(Total - Before >= fyris:info(T, memory) * erlang:system_info(wordsize) - 8),
    ?assert(Objects > 32000),
    ?assertEqual(Kinds, [Kind || {Kind, _} <- Memory]),
    ?assertEqual([{indexes, fyris:memory(indexes)}], fyris:memory([indexes])),
    ?assertEqual([], fyris:memory([])),
    [?assertError(badarg, fyris:memory(Bad)) || Bad <- [no_kind, [no_kind], [total | indexes], 1]],
    fyris:delete(T),
    ?assertEqual(Before, fyris:memory(total)).

%% Whoever was told of the end of a process finds nothing of its fixes: neither in `info' nor in `next' of a key that was
%% deleted under them, nor in the time of a fix that comes after it.
who_was_told_of_an_end_finds_no_fix_test() ->
    [begin
         T = fyris:new(t, [Type, public]),
         fyris:insert(T, [{I} || I <- lists:seq(1, 10)]),
         dead_fixer(T, fun() -> ok end),
         ?assertEqual({false, false, false}, {fyris:info(T, fixed), fyris:info(T, safe_fixed),
                                              proplists:get_value(fixed, fyris:info(T), false)}),
         dead_fixer(T, fun() -> fyris:delete(T, 5) end),
         Type =/= ordered_set andalso ?assertError(badarg, fyris:next(T, 5)),
         fyris:insert(T, {5}),
         dead_fixer(T, fun() -> ok end),
         fyris:safe_fixtable(T, true),
         {_, Fixers} = fyris:info(T, safe_fixed),
         ?assertEqual([{self(), 1}], Fixers),
         fyris:delete(T)
     end || _ <- lists:seq(1, 100), Type <- [set, ordered_set, bag]].

dead_fixer(T, Do) ->
    {_, Monitor} = spawn_monitor(fun() -> fyris:safe_fixtable(T, true), Do() end),
    receive {'DOWN', Monitor, process, _, _} -> ok end.

%% A table is not given to a process whose end was told.
a_dead_process_gets_nothing_test() ->
    [begin
         T = fyris:new(t, [public, {heir, self(), kept}]),
         {Pid, Monitor} = spawn_monitor(fun() -> fyris:safe_fixtable(T, true) end),
         receive {'DOWN', Monitor, process, _, _} -> ok end,
         ?assertError(badarg, fyris:give_away(T, Pid, gift)),
         ?assertEqual(self(), fyris:info(T, owner)),
         fyris:delete(T)
     end || _ <- lists:seq(1, 100)].
