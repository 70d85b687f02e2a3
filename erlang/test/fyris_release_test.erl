%% What objects hold lives as long as they do, and no longer.
-module(fyris_release_test).

-compile(export_all).
-include("fyris_same.hrl").

-define(LARGE, 200_000).

a_binary_goes_with_its_object_test_() ->
    [{atom_to_list(Type), fun() -> a_binary_goes(Type) end} || Type <- ?ALL].

%% A binary that came out of a table is a resource; when nobody has it, and the object is gone, so is the resource.
a_binary_goes(Type) ->
    T = fyris:new(t, [Type, public]),
    fyris:insert(T, {1, binary:copy(<<7>>, ?LARGE)}),
    Before = resources(),
    Held = binary_held_by(fun() -> fyris:lookup_element(T, 1, 2) end),
    fyris:delete(T, 1),
    ?assertEqual(Before + 1, eventually(Before + 1)),
    Held ! {self(), size},
    ?assertEqual({size, ?LARGE}, receive {size, _} = Size -> Size end),
    Held ! stop,
    ?assertEqual(Before, eventually(Before)),
    fyris:delete(T).

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

%% When what earlier tests have left is gone.
resources() ->
    [erlang:garbage_collect(P) || P <- processes()],
    timer:sleep(10),
    {_, _, Count} = fyris_nif:counts(),
    Count.

eventually(Wanted) -> eventually(Wanted, 200).

eventually(Wanted, Tries) ->
    erlang:garbage_collect(),
    case fyris_nif:counts() of
        {_, _, Wanted} -> Wanted;
        {_, _, Other} when Tries =:= 0 -> Other;
        _ -> timer:sleep(10), eventually(Wanted, Tries - 1)
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
    T = fyris:new(t, [Type, public]),
    Before = resources(),
    on_its_own(fun() ->
                       Counter = atomics:new(1, []),
                       atomics:put(Counter, 1, 42),
                       fyris:insert(T, {1, #{counter => [Counter]}, binary:copy(<<1>>, 100), 5})
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
    ?assertEqual(Before, eventually(Before)).

%% No term of it is left in this process.
on_its_own(F) ->
    {Pid, Ref} = spawn_monitor(F),
    receive {'DOWN', Ref, process, Pid, Reason} -> ?assertEqual(normal, Reason) end.
