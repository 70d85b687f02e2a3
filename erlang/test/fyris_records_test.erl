%% Native records, new in OTP 29, beside the real ets; and what older releases say of a file that has one.
-module(fyris_records_test).

-include("fyris_same.hrl").

-compile(export_all).

%% `#m:n{Field = Value, ...}' in the external format.
bytes(Fields) -> bytes(m, n, 1, Fields).

bytes(Module, Name, Exported, Fields) ->
    Atom = fun(A) -> Text = atom_to_binary(A), <<119, (byte_size(Text)), Text/binary>> end,
    Value = fun(V) -> <<131, Bytes/binary>> = term_to_binary(V), Bytes end,
    iolist_to_binary([131, 67, <<(length(Fields)):32>>, Exported, Atom(Module), Atom(Name),
                      [Atom(F) || {F, _} <- Fields], [Value(V) || {_, V} <- Fields]]).

r(Fields) -> r(m, n, 1, Fields).
r(Module, Name, Exported, Fields) -> binary_to_term(bytes(Module, Name, Exported, Fields)).

%% Records, from the lowest on.
sorted() ->
    [r(a, z, 1, [{x, 1}]), r(m, a, 1, [{x, 1}]), r(m, n, 0, []), r(m, n, 0, [{x, 9}]), r([]), r([{a, 9}]), r([{b, 1}]),
     r([{b, 1.5}]), r([{b, x}]), r([{a, 1}, {b, 1}]), r([{a, 2}, {b, 1}]), r([{a, 1}, {c, 1}]), r([{b, 1}, {a, 1}])].

is_here() ->
    try r([]) of
        _ -> true
    catch
        error:badarg -> ?assert(fyris_same:otp() < 29), false
    end.

here_test_() ->
    [{atom_to_list(Case), fun ?MODULE:Case/0}
     || is_here(),
        Case <- [objects, order, numbers, maps, nested, patterns, guards, specifications, refused, local_parts, resources,
                 files, owners, updates, size]].

objects() ->
    ?same_types(?ALL, begin
        Objects = [{I, R, #{R => [R]}} || {I, R} <- lists:enumerate(sorted())] ++ [{R, 1} || R <- sorted()],
        true = M:insert(T, Objects),
        {lists:sort(M:tab2list(T)) =:= lists:sort(Objects),
         [{M:lookup(T, R), M:member(T, R), M:match_object(T, {'_', R, '_'})} || R <- sorted()],
         M:take(T, hd(sorted())), M:delete(T, lists:last(sorted())), M:info(T, size),
         lists:sort(M:select(T, [{{'$1', '_'}, [], ['$1']}]))}
    end).

order() ->
    ?same_types([ordered_set], begin
        Among = [{}, {1, 2, 3}, self(), #{}, #{a => 1}, [], <<>>, a, 1],
        M:insert(T, [{K} || K <- sorted() ++ Among]),
        {M:tab2list(T), M:first(T), [M:next(T, R) || R <- sorted()], [M:prev(T, R) || R <- sorted()]}
    end),
    ?assertEqual(sorted(), lists:sort(lists:reverse(sorted()))),
    T = fyris:new(t, [ordered_set]),
    fyris:insert(T, [{R} || R <- lists:reverse(sorted())]),
    ?assertEqual([{R} || R <- sorted()], fyris:tab2list(T)),
    fyris:delete(T).

numbers() ->
    ?same_types(?ALL, begin
        Values = [1, 1.0, 0.0, -0.0, 1 bsl 70, float(1 bsl 70)],
        M:insert(T, [{r([{x, V}]), I} || {I, V} <- lists:enumerate(Values)]),
        {M:info(T, size), [M:lookup(T, r([{x, V}])) || V <- Values],
         [lists:sort(M:match(T, {r([{x, V}]), '$1'})) || V <- Values]}
    end).

maps() ->
    ?same_types(?ALL, begin
        Keys = [r([{x, V}]) || V <- [2, 1.0, 1]],
        Map = maps:from_list([{K, I} || {I, K} <- lists:enumerate(Keys)]),
        M:insert(T, [{Map, 1}, {1, Map}, {maps:from_list([{r([{x, I}]), I} || I <- lists:seq(1, 100)]), large}]),
        {M:lookup(T, Map), M:lookup(T, 1), lists:sort(M:tab2list(T))}
    end).

nested() ->
    Deep = lists:foldl(fun(_, R) -> r([{x, R}]) end, 0, lists:seq(1, 100)),
    ?same_types(?ALL, begin
        Values = [Deep, r([{x, {1, [r([{y, #{a => r([])}}])]}}]), r([{x, fun lists:map/2}, {y, <<1:3>>}]),
                  r([{x, binary:copy(<<7>>, 100_000)}]), r([{list_to_atom("f" ++ integer_to_list(I)), I} || I <- lists:seq(1, 300)])],
        M:insert(T, [{I, V} || {I, V} <- lists:enumerate(Values)]),
        M:insert(T, [{V, I} || {I, V} <- lists:enumerate(Values)]),
        {[M:lookup(T, I) =:= [{I, V}] || {I, V} <- lists:enumerate(Values)],
         [M:lookup(T, V) =:= [{V, I}] || {I, V} <- lists:enumerate(Values)]}
    end).

patterns() ->
    ?same_types(?ALL, begin
        M:insert(T, [{1, r([{x, 1}])}, {2, r([{x, 1.0}])}, {3, r([{x, '_'}])}, {4, r([{x, '$1'}])}, {r([{x, '$1'}]), 5}]),
        {[lists:sort(M:match_object(T, P)) || P <- [{'_', r([{x, V}])} || V <- [1, 1.0, '_', '$1']] ++ [{r([{x, '$1'}]), '_'}]],
         M:match(T, {r([{x, '$1'}]), '_'}), M:match_delete(T, {'_', r([{x, '_'}])}), M:info(T, size)}
    end).

guards() ->
    ?same_types(?ALL, begin
        M:insert(T, [{1, r([{x, 1}])}, {2, r(m, o, 0, [])}, {3, {n, 1}}, {4, #{}}]),
        Ask = fun(Guard) -> lists:sort(M:select(T, [{{'$1', '$2'}, [Guard], ['$1']}])) end,
        [{Guard, Ask(Guard)}
         || Guard <- [{is_record, '$2', m, n}, {is_record, '$2', m, o}, {is_record, '$2', n, m}, {is_record, '$2', n, 2},
                      {is_record, '$2', m, '$1'}, {is_record, {const, r([])}, m, n}, {is_tuple, '$2'}, {is_map, '$2'},
                      {is_function, '$2'}, {is_list, '$2'}, {'==', '$2', r([{x, 1.0}])}, {'=:=', '$2', r([{x, 1.0}])},
                      {'<', '$2', r([{x, 2}])}, {'>', '$2', {1}}, {'==', {tuple_size, '$2'}, 1}, {'==', {map_size, '$2'}, 0}]]
    end).

specifications() ->
    ?same_types(?ALL, begin
        M:insert(T, [{1, r([{x, 1}])}]),
        Compiled = M:match_spec_compile([{{'_', '$1'}, [], [{{'$1', r([{x, '$1'}])}}]}]),
        {M:select(T, [{{'$1', '_'}, [], [r([{x, '$1'}])]}]), M:select(T, [{{'$1', '_'}, [], [{const, r([{x, 2}])}]}]),
         M:match_spec_run([{1, r([{y, 2}])}, {2, a}], Compiled), M:test_ms({1, r([])}, [{{'_', r([])}, [], ['$_']}]),
         M:select(T, [{r([{x, '$1'}]), [], ['$_']}]),
         M:select_replace(T, [{{'$1', '_'}, [], [{{'$1', r([{x, '$1'}])}}]}]), M:tab2list(T)}
    end).

refused() ->
    ?same_types(?ALL, begin
        M:insert(T, {1, r([])}),
        [try F() catch error:Reason -> Reason end
         || F <- [fun() -> M:select(T, [{{'_', r([{x, '$1'}])}, [], ['$1']}]) end,
                  fun() -> M:select(T, [{{'$1', '_'}, [{is_record, '$1'}], ['$1']}]) end,
                  fun() -> M:select(T, [{{'$1', '_'}, [{is_record, '$1', n}], ['$1']}]) end,
                  fun() -> M:insert(T, r([{x, 1}])) end,
                  fun() -> M:insert(T, [{2}, r([])]) end]]
    end).

%% What is of this node comes back as it was.
local_parts() ->
    Port = hd(erlang:ports()),
    Alias = erlang:alias(),
    Free = make_ref(),
    ?same_types(?ALL, begin
        Values = [self(), Port, Alias, Free, fun() -> {Free, self()} end, [self() | Free]],
        M:insert(T, [{r([{x, V}]), r([{y, {V}}])} || V <- Values]),
        [M:lookup(T, r([{x, V}])) =:= [{r([{x, V}]), r([{y, {V}}])}] || V <- Values]
    end),
    unalias(Alias).

%% A resource lives as long as an object whose record refers to it.
resources() ->
    T = fyris:new(t, [public]),
    {_, Process} = spawn_monitor(fun() ->
        Array = atomics:new(1, []),
        atomics:put(Array, 1, 7),
        fyris:insert(T, {1, r([{x, [Array]}])})
    end),
    receive {'DOWN', Process, process, _, Why} -> ?assertEqual(normal, Why) end,
    [erlang:garbage_collect(P) || P <- processes()],
    [{1, Record}] = fyris:lookup(T, 1),
    Before = byte_size(bytes([{x, []}])) - 1,
    <<_:Before/binary, Value/binary>> = term_to_binary(Record),
    [Array] = binary_to_term(<<131, Value/binary>>),
    ?assertEqual(7, atomics:get(Array, 1)),
    fyris:delete(T).

files() ->
    Objects = [{I, R} || {I, R} <- lists:enumerate(sorted())],
    [with_file(fun(File) ->
         T = Writes:new(t, [Type]),
         Writes:insert(T, Objects),
         ok = Writes:tab2file(T, File, [{extended_info, [object_count, md5sum]}]),
         {ok, Read} = Reads:file2tab(File, [{verify, true}]),
         ?assertEqual(Objects, lists:sort(Reads:tab2list(Read))),
         Writes:delete(T),
         Reads:delete(Read)
     end) || Writes <- [ets, fyris], Reads <- [ets, fyris], Type <- ?ALL].

%% Data of heirs and gifts.
owners() ->
    ?same(begin
        Me = self(),
        R = r([{x, Me}]),
        {_, Process} = spawn_monitor(fun() ->
            T = M:new(t, [{heir, Me, R}]),
            M:insert(T, {1, R}),
            M:give_away(M:new(u, []), Me, {R})
        end),
        receive {'DOWN', Process, process, _, Why} -> normal = Why end,
        Got = [receive {'ETS-TRANSFER', Table, _, Data} -> {Data, M:tab2list(Table), M:delete(Table)} after 5000 -> none end
               || _ <- [1, 2]],
        lists:sort(Got) =:= [{{R}, [], true}, {R, [{1, R}], true}]
    end).

updates() ->
    ?same_types(?UNIQUE, begin
        M:insert(T, {r([{x, 1}]), 1, a}),
        {M:update_counter(T, r([{x, 1}]), {2, 5}), M:update_element(T, r([{x, 1}]), {3, r([{z, 2}])}),
         M:lookup_element(T, r([{x, 1}]), 3), M:insert_new(T, {r([{x, 1.0}]), 2, b}), lists:sort(M:tab2list(T))}
    end).

%% The definition is kept once: an object takes at most half of what it takes in `ets'.
size() ->
    N = 20_000,
    [Ets, Fyris] = [begin
         T = M:new(t, [set]),
         Empty = M:info(T, memory),
         M:insert(T, [{I, r([{first, I}, {second, b}])} || I <- lists:seq(1, N)]),
         Words = M:info(T, memory) - Empty,
         M:delete(T),
         Words / N
     end || M <- [ets, fyris]],
    ?assertEqual({true, Ets, Fyris}, {Fyris * 2 =< Ets, Ets, Fyris}).

%% A release without native records says that a file has one, verified or not, compressed or not, and makes no table.
files_on_older_releases_test() ->
    is_here() orelse with_file(fun(File) ->
        Plain = iolist_to_binary([131, 104, 2, 97, 1, binary:part(bytes([{x, 1}]), 1, byte_size(bytes([{x, 1}])) - 1)]),
        <<131, Bare/binary>> = Plain,
        Packed = <<131, 80, (byte_size(Bare)):32, (zlib:compress(Bare))/binary>>,
        Description = {{name, records}, {type, set}, {protection, public}, {named_table, true}, {keypos, 1}, {size, 2},
                       {extended_info, []}, {major_version, 1}, {minor_version, 0}},
        [begin
             file:delete(File),
             Log = make_ref(),
             {ok, Log} = disk_log:open([{name, Log}, {file, File}]),
             ok = disk_log:blog_terms(Log, [term_to_binary(Description), term_to_binary({a, b}), Object]),
             ok = disk_log:close(Log),
             [?assertEqual({error, native_record}, fyris:file2tab(File, [{verify, Verify}])) || Verify <- [false, true]],
             ?assertEqual(undefined, fyris:info(records))
         end || Object <- [Plain, Packed]]
    end).

with_file(Fun) ->
    File = lists:concat(["/tmp/fyris_records_test_", os:getpid(), ".tab"]),
    try Fun(File) after file:delete(File) end.
