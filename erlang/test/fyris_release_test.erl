%% What objects hold lives as long as they do, and no longer.
-module(fyris_release_test).

-compile(export_all).
-include("fyris_same.hrl").

-define(LARGE, 200_000).

a_binary_goes_with_its_object_test_() ->
    [{atom_to_list(Type), fun() -> a_binary_goes(Type) end} || Type <- ?ALL].

%% A binary that is put into a table and comes out of it is the same, not a copy, and is held by whoever has it.
a_binary_goes(Type) ->
    T = fyris:new(t, [Type, public]),
    Binary = binary:copy(<<7>>, ?LARGE),
    [1] = fyris_counts:holders(?LARGE, [1]),
    fyris:insert(T, {1, Binary}),
    Held = binary_held_by(fun() -> fyris:lookup_element(T, 1, 2) end),
    ?assertEqual([3], fyris_counts:holders(?LARGE, [3])),
    fyris:delete(T, 1),
    ?assertEqual([2], fyris_counts:holders(?LARGE, [2])),
    Held ! {self(), size},
    ?assertEqual({size, ?LARGE}, receive {size, _} = Size -> Size end),
    Held ! stop,
    ?assertEqual([1], fyris_counts:holders(?LARGE, [1])),
    ?assertEqual(binary:copy(<<7>>, ?LARGE), Binary),
    fyris:delete(T).

%% So is one that comes in or goes out in another way.
a_binary_is_the_same_whichever_way_it_came_test_() ->
    [{atom_to_list(Name), fun() -> is_the_same(Way) end}
     || {Name, Way} <- [{Name, Way} || {Name, Way} <- ways(), Name =/= select_replace_moves]
            ++ [{lookup, fun(T, B) -> fyris:insert(T, {1, B, 0}), fyris:insert(T, fyris:lookup(T, 1)) end},
                {select, fun(T, B) -> fyris:insert(T, {2, B, 0}), [C] = fyris:select(T, [{{2, '$1', '_'}, [], ['$1']}]),
                                      fyris:insert(T, {1, C, 0}) end},
                {foldl, fun(T, B) -> fyris:insert(T, {2, B, 0}), C = fyris:foldl(fun({_, C, _}, _) -> C end, none, T),
                                     fyris:insert(T, {1, C, 0}) end}]].

is_the_same(Way) ->
    T = fyris:new(t, [public]),
    Size = 70_001,
    Binary = binary:copy(<<7>>, Size),
    Way(T, Binary),
    [{1, Found, 0}] = fyris:lookup(T, 1),
    ?assertMatch([_], fyris_counts:holders(Size, [any], 0)),
    ?assertEqual(Binary, Found),
    fyris:delete(T),
    ?assertEqual([1], fyris_counts:holders(Size, [1])),
    ?assertEqual(Binary, binary:copy(<<7>>, Size)).

%% An object with a part of a binary does not hold the whole.
a_part_does_not_hold_the_whole_test() ->
    T = fyris:new(t, [public]),
    Whole = binary:copy(<<"0123456789">>, 100_000),
    [begin
         <<_:From/binary, Part:Size/binary, _/binary>> = Whole,
         fyris:insert(T, {1, Part, [Part]}),
         [{1, Found, [Found]}] = fyris:lookup(T, 1),
         ?assertEqual(Part, Found),
         ?assertEqual(Size, binary:referenced_byte_size(Found))
     end || From <- [0, 1, 8, 500_000], Size <- [100, 1_000, 20_000, 500_000]],
    ?assertEqual([1], fyris_counts:holders(1_000_000, [1])),
    ?assertEqual(1_000_000, byte_size(Whole)),
    fyris:delete(T).

%% What is appended to a binary later, in place where the machine can, does not change an object with it.
appending_changes_no_object_test() ->
    T = fyris:new(t, [public]),
    Append = fun(I, Before) ->
                     After = <<Before/binary, (binary:copy(<<I>>, 50))/binary>>,
                     fyris:insert(T, {I, After}),
                     After
             end,
    All = lists:foldl(Append, <<>>, lists:seq(1, 200)),
    [?assertEqual(binary:part(All, 0, 50 * I), fyris:lookup_element(T, I, 2)) || I <- lists:seq(1, 200)],
    fyris:delete(T).

%% Of binaries that replace each other less than 256 KiB wait, and one more.
few_binaries_wait_at_rest_test_() ->
    {timeout, 300, fun() -> fyris_reload_test:in_peer(fun few_wait/0) end}.

few_wait() ->
    T = fyris:new(t, [public]),
    [begin
         [fyris:insert(T, {1, binary:copy(<<I>>, Size)}) || I <- lists:seq(1, 255)],
         fyris:delete(T, 1),
         garbage_collect(),
         Before = fyris_counts:binaries(),
         [fyris:insert(T, {1, binary:copy(<<I>>, Size)}) || _ <- lists:seq(1, 20), I <- lists:seq(1, 255)],
         garbage_collect(),
         Most = Before + erlang:system_info(schedulers) * ((256 bsl 10) + Size) + (128 bsl 10),
         ?assertEqual({Size, true}, {Size, fyris_counts:binaries_get_below(Most)})
     end || Size <- [300, 5_000, 40_000, 200_000]].

binary_held_by(F) ->
    Parent = self(),
    Pid = spawn(fun() -> Found = F(), Parent ! got, hold(Found) end),
    receive got -> Pid end.

hold([Binary]) -> hold(Binary);
hold(Binary) ->
    receive
        {From, size} -> From ! {size, byte_size(Binary)}, hold(Binary);
        stop -> ok
    end.

%% The resource behind a reference lives as long as an object refers to it, as in ets, and goes with the last one.
a_resource_lives_as_long_as_an_object_with_its_reference_test_() ->
    [{lists:concat([Type, " ", Name]), fun() -> a_resource_lives(Type, Remove) end}
     || Type <- ?UNIQUE,
        {Name, Remove} <- [{delete, fun(T) -> fyris:delete(T, 1) end},
                           {insert, fun(T) -> fyris:insert(T, {1, other}) end},
                           {insert_list, fun(T) -> fyris:insert(T, [{1, other}, {2, other}]) end},
                           {delete_all, fun fyris:delete_all_objects/1},
                           {table, fun fyris:delete/1}]].

a_resource_lives(Type, Remove) ->
    0 = fyris_counts:extra(0),
    T = fyris:new(t, [Type, public]),
    on_its_own(fun() ->
                       Counter = atomics:new(1, []),
                       atomics:put(Counter, 1, 42),
                       fyris:insert(T, {1, #{counter => [Counter]}, binary:copy(<<1>>, 300), 5})
               end),
    %% Updates keep it too.
    6 = fyris:update_counter(T, 1, {4, 1}),
    on_its_own(fun() ->
                       #{counter := [Counter]} = fyris:lookup_element(T, 1, 2),
                       43 = atomics:add_get(Counter, 1, 1)
               end),
    on_its_own(fun() ->
                       [{1, #{counter := [Counter]}, _, 6}] = fyris:lookup(T, 1),
                       43 = atomics:get(Counter, 1)
               end),
    Remove(T),
    ?assertEqual(0, fyris_counts:extra(0)).

%% No term of it is left in this process.
on_its_own(F) ->
    {Pid, Ref} = spawn_monitor(F),
    receive {'DOWN', Ref, process, Pid, Reason} -> ?assertEqual(normal, Reason) end.

%% Whatever way a reference comes into a table, and whatever is done to its object later.
a_resource_lives_whichever_way_it_came_test_() ->
    [{atom_to_list(Name), {timeout, 60, fun() -> came(Way) end}} || {Name, Way} <- ways()].

ways() ->
    [{insert, fun(T, R) -> fyris:insert(T, {1, R, 0}) end},
     {insert_new, fun(T, R) -> fyris:insert_new(T, {1, R, 0}) end},
     {insert_list, fun(T, R) -> fyris:insert(T, [{1, R, 0}, {2, x}]) end},
     {insert_long_list, fun(T, R) -> fyris:insert(T, [{1, R, 0} | [{I, x} || I <- lists:seq(2, 1000)]]) end},
     {insert_new_list, fun(T, R) -> fyris:insert_new(T, [{1, R, 0}, {2, x}]) end},
     {update_element, fun(T, R) -> with(T, fun() -> fyris:update_element(T, 1, {2, R}) end) end},
     {update_elements, fun(T, R) -> with(T, fun() -> fyris:update_element(T, 1, [{2, R}, {3, 0}]) end) end},
     {update_element_default, fun(T, R) -> fyris:update_element(T, 1, {3, 0}, {k, R, 1}) end},
     {update_element_into_default, fun(T, R) -> fyris:update_element(T, 1, {2, R}, {k, x, 0}) end},
     {update_counter_default, fun(T, R) -> fyris:update_counter(T, 1, {3, 0}, {k, R, 0}) end},
     {compare_and_swap, fun(T, R) -> with(T, fun() -> fyris:compare_and_swap(T, {1, x, 0}, {1, R, 0}) end) end},
     {upsert, fun(T, R) -> fyris:upsert(T, 1, {1, R, 0}, fun(O) -> O end) end},
     {init_table, fun(T, R) -> fyris:init_table(T, fun(read) -> {[{1, R, 0}], fun(_) -> end_of_input end} end) end},
     {select_replace_const,
      fun(T, R) -> with(T, fun() -> fyris:select_replace(T, [{{1, '_', '_'}, [], [{const, {1, R, 0}}]}]) end) end},
     {select_replace_moves,
      fun(T, R) ->
              fyris:insert(T, {1, 0, R}),
              1 = fyris:select_replace(T, [{{'$1', '$2', '$3'}, [], [{{'$1', '$3', '$2'}}]}])
      end},
     {updated_beside,
      fun(T, R) ->
              fyris:insert(T, {1, R, 5}),
              true = fyris:update_element(T, 1, {3, 0})
      end},
     {updated_beside_large,
      fun(T, R) ->
              fyris:insert(T, {1, R, 5}),
              true = fyris:update_element(T, 1, {3, binary:copy(<<"large">>, 1000)}),
              true = fyris:update_element(T, 1, {3, 0})
      end},
     {counted_beside, fun(T, R) -> fyris:insert(T, {1, R, -1}), 0 = fyris:update_counter(T, 1, {3, 1}) end},
     {counted_large,
      fun(T, R) ->
              fyris:insert(T, {1, R, 1 bsl 70}),
              0 = fyris:update_counter(T, 1, {3, -(1 bsl 70)})
      end},
     {replaced_by_itself, fun(T, R) -> [fyris:insert(T, {1, R, 0}) || _ <- lists:seq(1, 5)] end},
     {set_again, fun(T, R) -> fyris:insert(T, {1, R, 0}), true = fyris:update_element(T, 1, {2, R}) end}].

%% What a fun has captured counts as well.
a_fun_keeps_what_it_has_captured_test() ->
    T = fyris:new(t, [public]),
    0 = fyris_counts:extra(0),
    on_its_own(fun() ->
                       Counter = atomics:new(1, []),
                       fyris:insert(T, {1, fun() -> atomics:add_get(Counter, 1, 1) end, 0})
               end),
    1 = fyris:update_counter(T, 1, {3, 1}),
    true = fyris:update_element(T, 1, {3, [x]}),
    on_its_own(fun() -> [{1, Count, [x]}] = fyris:lookup(T, 1), [1, 2] = [Count(), Count()] end),
    fyris:delete(T, 1),
    ?assertEqual(0, fyris_counts:extra(0)),
    fyris:delete(T).

%% Records that were replaced wait among the garbage of the scheduler that replaced them, but their resources do not.
a_resource_does_not_wait_for_records_that_were_replaced_test() ->
    T = fyris:new(t, [public]),
    0 = fyris_counts:extra(0),
    on_scheduler(1, fun() ->
                            Counter = atomics:new(1, []),
                            [fyris:insert(T, {1, Counter, I}) || I <- lists:seq(1, 5)]
                    end),
    on_scheduler(erlang:system_info(schedulers_online), fun() -> fyris:delete(T, 1) end),
    ?assertEqual(0, fyris_counts:extra(0)),
    fyris:delete(T).

on_scheduler(N, F) ->
    {_, Ref} = spawn_opt(F, [monitor, {scheduler, N}]),
    receive {'DOWN', Ref, process, _, Reason} -> ?assertEqual(normal, Reason) end.

%% A reference that is looked up is good, whatever is done to its object at the same time.
a_resource_that_was_looked_up_lives_test_() ->
    [{lists:concat([Type, " ", Shared]), {timeout, 60, fun() -> looked_up_lives(Type, Shared) end}}
     || Type <- ?UNIQUE, Shared <- [alone, shared]].

looked_up_lives(Type, Shared) ->
    T = fyris:new(t, [Type, public]),
    0 = fyris_counts:extra(0),
    New = fun(I) -> Counter = atomics:new(1, []), atomics:put(Counter, 1, I), Counter end,
    Write = fun() ->
                    [begin
                         Counter = New(I),
                         [fyris:insert(T, {K, Counter, I}) || K <- [1 | [2 || Shared =:= shared]], _ <- [1, 2]],
                         I rem 7 =:= 0 andalso fyris:delete(T, 1)
                     end || I <- lists:seq(1, 5_000)]
            end,
    Read = fun() ->
                   [?assertEqual(I, atomics:get(Counter, 1))
                    || _ <- lists:seq(1, 5_000), {_, Counter, I} <- fyris:tab2list(T) ++ fyris:lookup(T, 1)]
           end,
    Refs = [element(2, spawn_monitor(F)) || F <- [Write, Read, Write, Read]],
    [receive {'DOWN', Ref, process, _, Reason} -> ?assertEqual(normal, Reason) end || Ref <- Refs],
    fyris:delete(T),
    ?assertEqual(0, fyris_counts:extra(0)).

%% So is one that a query finds, or that is in a key.
a_resource_that_was_found_lives_test_() ->
    Is = fun(C) -> is_reference(C) end,
    [{atom_to_list(Name), {timeout, 60, fun() -> found_lives(Find) end}}
     || {Name, Find} <- [{match, fun(T) -> lists:filter(Is, lists:append(fyris:match(T, {'_', '$1', '_'}))) end},
                         {select, fun(T) -> lists:filter(Is, fyris:select(T, [{{'_', '$1', '_'}, [], ['$1']}])) end},
                         {select_built, fun(T) -> [C || {C} <- fyris:select(T, [{{1, '$1', '_'}, [], [{{'$1'}}]}])] end},
                         {chunk, fun(T) -> chunks(fyris:select(T, [{{'_', '$1', '_'}, [], ['$1']}], 1)) end},
                         {first, fun(T) -> [C || {C} <- [fyris:first(T)]] end},
                         {tab2list, fun(T) -> [C || {{C}, _, _} <- fyris:tab2list(T)] end}]].

chunks('$end_of_table') -> [];
chunks({Found, Next}) -> lists:filter(fun(C) -> is_reference(C) end, Found) ++ chunks(fyris:select(Next)).

found_lives(Find) ->
    T = fyris:new(t, [public]),
    0 = fyris_counts:extra(0),
    Write = fun() ->
                    [begin
                         Counter = atomics:new(1, []),
                         fyris:insert(T, [{1, Counter, I}, {{Counter}, x, I}]),
                         fyris:delete(T, {Counter}),
                         I rem 3 =:= 0 andalso fyris:delete(T, 1)
                     end || I <- lists:seq(1, 10_000)]
            end,
    Read = fun() -> [?assertEqual(0, atomics:get(Counter, 1)) || _ <- lists:seq(1, 10_000), Counter <- Find(T)] end,
    Refs = [element(2, spawn_monitor(F)) || F <- [Write, Read, Write, Read]],
    [receive {'DOWN', Ref, process, _, Reason} -> ?assertEqual(normal, Reason) end || Ref <- Refs],
    fyris:delete(T),
    ?assertEqual(0, fyris_counts:extra(0)).

%% What came as an argument and goes out again by another way than an object.
a_resource_in_an_argument_test_() ->
    [{atom_to_list(Name), fun() -> in_an_argument(Way) end}
     || {Name, Way} <- [{select, fun(T, R) -> hd(fyris:select(T, [{{1}, [], [{const, R}]}])) end},
                        {chunk, fun(T, R) -> {[Found], _} = fyris:select(T, [{{'_'}, [], [{const, R}]}], 1), Found end},
                        {next_chunk,
                         fun(T, R) ->
                                 {_, Next} = fyris:select(T, [{{'_'}, [], [{const, {R}}]}], 1),
                                 {[{Found}], _} = fyris:select(Next),
                                 Found
                         end},
                        {repaired,
                         fun(T, R) ->
                                 Spec = [{{'_'}, [], [{const, {R}}]}],
                                 {_, Next} = fyris:select(T, Spec, 1),
                                 {[{Found}], _} = fyris:select(fyris:repair_continuation(Next, Spec)),
                                 Found
                         end},
                        {match_spec_run, fun(_, R) -> hd(fyris:match_spec_run([{R}], fyris:match_spec_compile([{{'$1'}, [], ['$1']}]))) end},
                        {compiled, fun(_, R) -> hd(fyris:match_spec_run([{x}], fyris:match_spec_compile([{'_', [], [{const, R}]}]))) end},
                        {test_ms, fun(_, R) -> {ok, Found} = fyris:test_ms({R}, [{{'$1'}, [], ['$1']}]), Found end},
                        {give_away, fun(_, R) -> transfer(fun(To) -> fyris:give_away(fyris:new(t, []), To, R) end) end},
                        {heir, fun(_, R) -> transfer(fun(To) -> fyris:new(t, [{heir, To, R}]) end) end},
                        {setopts, fun(_, R) -> transfer(fun(To) -> fyris:setopts(fyris:new(t, [{heir, To, x}]), {heir, To, R}) end) end}]].

in_an_argument(Way) ->
    0 = fyris_counts:extra(0),
    T = fyris:new(t, []),
    fyris:insert(T, [{1}, {2}, {3}]),
    Counter = atomics:new(1, []),
    atomics:put(Counter, 1, 42),
    ?assertEqual(42, atomics:get(Way(T, Counter), 1)),
    fyris:delete(T),
    ?assertEqual(0, fyris_counts:extra(0)).

%% What comes with a table that another process hands over.
transfer(F) ->
    Me = self(),
    on_its_own(fun() -> F(Me) end),
    receive {'ETS-TRANSFER', T, _, Data} -> fyris:delete(T), Data after 60_000 -> error(timeout) end.

%% The heir's data alone keep a resource, until there is no heir any more; the table itself may be part of them.
an_heir_keeps_a_resource_test() ->
    0 = fyris_counts:extra(0),
    New = fun(To) -> R = atomics:new(1, []), atomics:put(R, 1, 42), fyris:new(t, [{heir, To, [R]}]) end,
    on_its_own(fun() -> Me = self(), 42 = atomics:get(hd(transfer(fun(_) -> New(Me) end)), 1) end),
    ?assertEqual(0, fyris_counts:extra(0)),
    T = New(spawn(fun() -> receive after infinity -> ok end end)),
    ?assertEqual(1, fyris_counts:extra(1)),
    fyris:setopts(T, {heir, none}),
    ?assertEqual(0, fyris_counts:extra(0)),
    fyris:setopts(T, {heir, self(), T}),
    fyris:delete(T),
    ?assertEqual(0, fyris_counts:extra(0)).

%% A table's tid in objects, its own too, outlives neither of them for long.
a_tid_in_an_object_test() ->
    [T, Other] = [fyris:new(t, [public]) || _ <- [1, 2]],
    fyris:insert(T, [{own, T}, {other, [Other]}, {Other, key}]),
    ?assertEqual([{own, T}], fyris:lookup(T, own)),
    ?assertEqual([{Other, key}], fyris:lookup(T, Other)),
    ?assertEqual([T], fyris:select(T, [{{own, '$1'}, [], ['$1']}])),
    [Found] = fyris:lookup_element(T, other, 2),
    fyris:insert(Found, {1, 2}),
    fyris:delete(Found),
    ?assertEqual([{other, [Other]}], fyris:lookup(T, other)),
    ?assertError(badarg, fyris:lookup(hd(fyris:lookup_element(T, other, 2)), 1)),
    fyris:delete(T),
    ?assertEqual(0, fyris_counts:extra(0)).

with(T, Change) ->
    fyris:insert(T, {1, x, 0}),
    true = lists:member(Change(), [true, 1]).

came(Way) ->
    [begin
         T = fyris:new(t, [Type, public]),
         0 = fyris_counts:extra(0),
         on_its_own(fun() ->
                            Counter = atomics:new(1, []),
                            atomics:put(Counter, 1, 42),
                            Way(T, Counter)
                    end),
         on_its_own(fun() ->
                            [{1, Counter, 0}] = fyris:lookup(T, 1),
                            42 = atomics:get(Counter, 1)
                    end),
         fyris:update_element(T, 1, {2, gone}),
         ?assertEqual(0, fyris_counts:extra(0)),
         fyris:delete(T)
     end || Type <- ?UNIQUE].

%% Of one large binary there is one copy, however many objects have it and whatever way it came into them.
a_large_binary_is_kept_once_test_() ->
    {timeout, 300, fun() -> fyris_reload_test:in_peer(fun kept_once/0) end}.

kept_once() ->
    Blob = binary:copy(<<7>>, 1 bsl 20),
    N = 300,
    Most = 40 bsl 20,
    Before = resident(),
    [begin
         T = fyris:new(t, [Type, public]),
         [fyris:insert(T, {I, [{deep, Blob}], Blob}) || I <- lists:seq(1, N)],
         fyris:insert(T, [{I, Blob} || I <- lists:seq(N + 1, 2 * N)]),
         %% What comes out goes in again.
         [fyris:insert(T, {I + 2 * N, fyris:lookup(T, I)}) || I <- lists:seq(1, N)],
         [fyris:update_element(T, I, {2, {Blob}}) || Type =/= bag, I <- lists:seq(1, N)],
         [?assertEqual(true, lists:all(fun(O) -> has(Blob, O) end, fyris:lookup(T, I))) || I <- lists:seq(1, 3 * N)],
         ?assertEqual({Type, true}, {Type, fyris_counts:binaries() =:= 0 orelse settles_below(Before + Most, 1200)}),
         fyris:delete(T)
     end || Type <- [set, ordered_set, bag]],
    ?assertEqual([1], fyris_counts:holders(1 bsl 20, [1])),
    ?assertEqual(1 bsl 20, byte_size(Blob)).

%% The machine's own garbage of the comparisons above goes when its allocators come to it; not where they are off.
settles_below(_, 0) ->
    false;
settles_below(Most, Tries) ->
    erlang:garbage_collect(),
    resident() < Most orelse begin timer:sleep(50), settles_below(Most, Tries - 1) end.

has(Blob, Object) -> element(tuple_size(Object), Object) =:= Blob orelse binary:match(term_to_binary(Object), Blob) =/= nomatch.

%% Bytes of memory of this emulator.
resident() ->
    {ok, Text} = file:read_file("/proc/self/statm"),
    [_, Pages | _] = string:lexemes(Text, " "),
    4096 * binary_to_integer(Pages).

%% Other binaries come to lie where one was that objects still have.
a_binary_in_the_place_of_another_is_itself_test() ->
    T = fyris:new(t, [public]),
    Make = fun(I) -> binary:copy(<<I:32>>, 5_000) end,
    [on_its_own(fun() -> fyris:insert(T, {I, Make(I)}) end) || I <- lists:seq(1, 300)],
    [?assertEqual(Make(I), fyris:lookup_element(T, I, 2)) || I <- lists:seq(1, 300)],
    fyris:delete(T),
    ?assertEqual(0, fyris_counts:extra(0)).

%% Many at once put it in and take it out.
one_binary_of_many_test() ->
    Blob = binary:copy(<<9>>, ?LARGE),
    [begin
         T = fyris:new(t, [Type, public]),
         Work = fun(Seed) ->
                        rand:seed(exsss, Seed),
                        [case rand:uniform(4) of
                             1 -> fyris:delete(T, rand:uniform(5));
                             2 -> [?assertEqual(Blob, B) || {_, B} <- fyris:lookup(T, rand:uniform(5))];
                             3 -> fyris:insert(T, {rand:uniform(5), Blob});
                             4 -> [fyris:insert(T, {rand:uniform(5), B}) || {_, B} <- fyris:lookup(T, rand:uniform(5))]
                         end || _ <- lists:seq(1, 500)]
                end,
         Workers = [spawn_monitor(fun() -> Work(Seed) end) || Seed <- lists:seq(1, 10)],
         [receive {'DOWN', Ref, process, Pid, Reason} -> ?assertEqual(normal, Reason) end || {Pid, Ref} <- Workers],
         fyris:delete(T)
     end || Type <- ?ALL],
    ?assertEqual([1], fyris_counts:holders(?LARGE, [1])),
    ?assertEqual(binary:copy(<<9>>, ?LARGE), Blob).
