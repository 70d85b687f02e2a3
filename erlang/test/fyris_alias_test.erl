%% Aliases of processes: what comes back is the alias, by which its process is reached.
-module(fyris_alias_test).

-compile(export_all).
-include("fyris_same.hrl").

%% More than the library remembers the processes of at a time (native/fyris_nif/src/kind/alias.rs).
-define(MANY, 70_000).

same(Alias, Copy) ->
    Alias =:= Copy
        andalso term_to_binary(Alias) =:= term_to_binary(Copy)
        andalso erts_debug:flat_size(Alias) =:= erts_debug:flat_size(Copy).

reaches(Alias) ->
    Message = make_ref(),
    Alias ! Message,
    receive Message -> true after 5000 -> false end.

found(T, Key) ->
    [{Key, Alias, x}] = fyris:lookup(T, Key),
    erlang:garbage_collect(),
    Alias.

every_kind_comes_back_usable_test() ->
    T = fyris:new(t, []),
    Pid = spawn_link(fun() -> receive stop -> ok end end),
    Monitors = [erlang:monitor(process, Pid, [{alias, Kind}]) || Kind <- [explicit_unalias, demonitor]],
    [begin
         fyris:insert(T, {I, Alias, x}),
         Copy = found(T, I),
         ?assert(same(Alias, Copy)),
         ?assert(reaches(Copy))
     end || {I, Alias} <- lists:enumerate([alias(), alias([explicit_unalias]) | Monitors])],
    fyris:insert(T, {demonitored, lists:last(Monitors), x}),
    erlang:demonitor(found(T, demonitored)),
    ?assertEqual(false, is_alias_of_mine(found(T, demonitored))),
    Pid ! stop,
    fyris:delete(T).

is_alias_of_mine(Alias) ->
    Alias ! {to, Alias},
    receive {to, Alias} -> true after 50 -> false end.

%% The alias of a request goes with the first reply, as one that was not stored does.
reply_ends_an_alias_test() ->
    T = fyris:new(t, []),
    Server = spawn_link(fun() ->
                                receive {request, Key} -> [Alias ! reply || _ <- [1, 2], Alias <- [found(T, Key)]] end
                        end),
    Monitor = erlang:monitor(process, Server, [{alias, reply_demonitor}]),
    [fyris:insert(T, {I, Alias, x}) || {I, Alias} <- [{1, alias([reply])}, {2, Monitor}]],
    Server ! {request, 2},
    ?assertEqual(ok, receive reply -> ok after 5000 -> none end),
    ?assertEqual(none, receive reply -> two; {'DOWN', Monitor, _, _, _} -> down after 50 -> none end),
    found(T, 1) ! once,
    found(T, 1) ! once,
    ?assertEqual(ok, receive once -> ok after 5000 -> none end),
    ?assertEqual(none, receive once -> two after 50 -> none end),
    fyris:delete(T).

%% Where an alias is not at the top: in lists, maps and their keys, funs, continuations, keys of all kinds of tables.
aliases_anywhere_test() ->
    T = fyris:new(t, []),
    Alias = alias(),
    Term = {[Alias, {Alias} | Alias], #{Alias => Alias, a => [Alias]}, fun() -> Alias end, lists:duplicate(3, Alias)},
    fyris:insert(T, {1, Term, x}),
    {[_, {A} | B], #{Alias := C, a := [D]}, F, Three} = Copy = found(T, 1),
    ?assert(same(Term, Copy)),
    [?assert(reaches(One)) || One <- [A, B, C, D, F() | Three]],
    fyris:delete(T),
    [by_key(Type) || Type <- [set, ordered_set, bag, duplicate_bag]].

by_key(Type) ->
    T = fyris:new(t, [Type]),
    Keys = lists:append([[alias(), make_ref()] || _ <- lists:seq(1, 100)]),
    fyris:insert(T, [{Key, Key, x} || Key <- Keys]),
    [?assert(same(Key, found(T, Key))) || Key <- Keys],
    All = [Key || {Key, _, _} <- fyris:tab2list(T)],
    ?assertEqual(lists:sort(Keys), case Type of ordered_set -> All; _ -> lists:sort(All) end),
    Pattern = fun(Key) -> [{{Key, Key, '$1'}, [{'=:=', '$1', x}], [{{'$1'}}]}] end,
    [?assertEqual([{x}], fyris:select(T, Pattern(Key))) || Key <- lists:sublist(Keys, 8)],
    ?assertEqual([], [Key || Key <- All, tuple_size(hd(fyris:take(T, Key))) =/= 3]),
    [erlang:unalias(Key) || Key <- Keys],
    fyris:delete(T).

%% An alias that is off, or whose process has gone, is still the same term, also when it comes from its external format.
aliases_that_are_off_test() ->
    [begin
         T = fyris:new(t, [Type]),
         Off = alias(),
         erlang:unalias(Off),
         {Pid, Monitor} = spawn_monitor(fun() -> exit(alias()) end),
         Gone = receive {'DOWN', Monitor, process, Pid, Alias} -> Alias end,
         [begin
              fyris:insert(T, {Key, Key, x}),
              Decoded = binary_to_term(term_to_binary(Key)),
              ?assert(same(Key, found(T, Key))),
              ?assertEqual(false, is_alias_of_mine(found(T, Key))),
              ?assertEqual([{Key, Key, x}], fyris:lookup(T, Decoded)),
              fyris:insert(T, {Decoded, Decoded, y}),
              ?assertEqual([{Key, Key, y}], fyris:tab2list(T)),
              fyris:delete(T, Decoded),
              ?assertEqual([], fyris:tab2list(T))
          end || Key <- [Off, Gone]],
         fyris:delete(T)
     end || Type <- [set, ordered_set]].

%% Several processes store theirs at a time, and each reaches itself by every one of them.
many_aliases_of_several_processes_test() ->
    T = fyris:new(t, [public]),
    Workers = [spawn_monitor(fun() -> exit(store_and_reach(T, W)) end) || W <- [1, 2, 3]],
    [receive {'DOWN', Monitor, process, Pid, Reached} -> ?assertEqual(?MANY div 3, Reached) end
     || {Pid, Monitor} <- Workers],
    fyris:delete(T).

store_and_reach(T, W) ->
    Numbered = [{{W, I}, alias()} || I <- lists:seq(1, ?MANY div 3)],
    [fyris:insert(T, {Key, Alias, x}) || {Key, Alias} <- Numbered],
    [element(2, hd(fyris:lookup(T, Key))) ! {reached, Key} || {Key, _} <- Numbered],
    length([Key || {Key, Alias} <- Numbered, fyris:lookup_element(T, Key, 2) =:= Alias, has_come(Key)]).

has_come(Key) -> receive {reached, Key} -> true after 5000 -> false end.
