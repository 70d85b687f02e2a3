%% Large binaries are held as they are, whoever made them and whatever becomes of them elsewhere.
-module(fyris_binaries_test).

-compile(export_all).
-include("fyris_same.hrl").

-define(SIZES, [250, 256, 257, 300, 1_000, 4_096, 20_000, 100_000]).

%% Bytes that tell their size and number.
bytes(Size, Seed) -> binary:copy(<<Seed>>, Size).

%% ---------------------------------------------------------------------------
%% Appending. The machine appends in place, and moves what grows, as long as it knows of one owner.

%% What is appended to a binary that was inserted changes neither the object nor any of the terms.
appended_after_an_insert_test_() ->
    [{lists:concat([Name, " ", Size]), fun() -> appended_after(Grow, Size) end}
     || Size <- ?SIZES, {Name, Grow} <- ways_to_grow()].

%% Each makes a binary of that size and content that the machine can append to.
ways_to_grow() ->
    [{append, fun(Size, Seed) -> append(bytes(1, Seed), bytes(Size - 1, Seed)) end},
     {append_twice, fun(Size, Seed) -> append(append(bytes(1, Seed), bytes(1, Seed)), bytes(Size - 2, Seed)) end},
     {bytewise, fun(Size, Seed) -> bytewise(Size, Seed, <<>>) end},
     {comprehension, fun(Size, Seed) -> << <<Seed>> || _ <- lists:seq(1, Size)>> end},
     {whole, fun bytes/2}].

append(A, B) -> <<A/binary, B/binary>>.

bytewise(0, _, Binary) -> Binary;
bytewise(N, Seed, Binary) -> bytewise(N - 1, Seed, <<Binary/binary, Seed>>).

appended_after(Grow, Size) ->
    T = fyris:new(t, [public]),
    Check = fun(Terms) ->
                    [?assertEqual(bytes(S, I), Stored) || {{_, S, I}, Stored} <- fyris:tab2list(T)],
                    [?assertEqual(bytes(S, I), Term) || {S, I, Term} <- Terms]
            end,
    Inserted = [begin
                    Binary = Grow(Size, I),
                    fyris:insert(T, {{1, Size, I}, Binary}),
                    {Size, I, Binary}
                end || I <- lists:seq(1, 10)],
    Check(Inserted),
    %% Longer and longer, and two from the same one.
    Longer = lists:append([longer(T, Grown, lists:seq(1, 12)) || Grown <- Inserted]),
    Check(Inserted ++ Longer),
    garbage_collect(),
    Check(Inserted ++ Longer),
    %% What came out of the table is appended to.
    Out = [{S + 8, I, <<Stored/binary, I, I, I, I, I, I, I, I>>} || {{_, S, I}, Stored} <- fyris:tab2list(T)],
    Check(Inserted ++ Longer ++ Out),
    fyris:delete_all_objects(T),
    garbage_collect(),
    Check(Inserted ++ Longer ++ Out),
    fyris:delete(T).

longer(_, _, []) -> [];
longer(T, {Size, Seed, Binary}, [N | More]) ->
    First = <<Binary/binary, (bytes(16 * N, Seed))/binary>>,
    fyris:insert(T, {{{2, N}, Size + 16 * N, Seed}, First}),
    Second = <<Binary/binary, (bytes(32 * N, Seed))/binary>>,
    fyris:insert(T, {{{3, N}, Size + 32 * N, Seed}, [Second], First}),
    true = fyris:delete(T, {{3, N}, Size + 32 * N, Seed}),
    [{Size + 16 * N, Seed, First}, {Size + 32 * N, Seed, Second} | longer(T, {Size + 16 * N, Seed, First}, More)].

%% So it is with a binary that grows while others take it out, and that is sent.
grows_while_it_is_read_test() ->
    T = fyris:new(t, [public]),
    Self = self(),
    Readers = [spawn_monitor(fun() -> read_while_it_grows(T, 0), Self ! {self(), read} end) || _ <- [1, 2]],
    All = lists:foldl(fun(N, Binary) ->
                              Next = <<Binary/binary, (bytes(40, 7))/binary>>,
                              fyris:insert(T, {grows, Next}),
                              [Pid ! {look, Next} || {Pid, _} <- Readers, N rem 50 =:= 0],
                              Next
                      end, bytes(250, 7), lists:seq(1, 3000)),
    [Pid ! stop || {Pid, _} <- Readers],
    [receive {'DOWN', Ref, process, Pid, Reason} -> ?assertEqual(normal, Reason) end || {Pid, Ref} <- Readers],
    ?assertEqual(bytes(250 + 40 * 3000, 7), All),
    ?assertEqual([{grows, All}], fyris:lookup(T, grows)),
    fyris:delete(T).

read_while_it_grows(T, Least) ->
    Found = case fyris:lookup(T, grows) of
                [{grows, Binary}] -> Binary;
                [] -> bytes(250, 7)
            end,
    true = byte_size(Found) >= Least andalso Found =:= bytes(byte_size(Found), 7),
    receive
        {look, Sent} -> Sent = bytes(byte_size(Sent), 7), read_while_it_grows(T, byte_size(Found));
        stop -> ok
    after 0 -> read_while_it_grows(T, byte_size(Found))
    end.

%% ---------------------------------------------------------------------------
%% Where binaries come from.

%% Whatever made a binary, and wherever it lay: an object with it has it when all else is gone.
origins_test_() ->
    [{atom_to_list(Name), fun() -> outlives_its_origin(Make) end} || {Name, Make} <- origins()].

origins() ->
    Size = 70_000,
    [{term_to_binary, fun() -> term_to_binary(lists:seq(1, 20_000)) end},
     {binary_to_term, fun() -> binary_to_term(term_to_binary(bytes(Size, 1))) end},
     {list_to_binary, fun() -> list_to_binary(lists:duplicate(Size, 2)) end},
     {iolist, fun() -> iolist_to_binary([bytes(Size, 1), 3 | bytes(Size, 4)]) end},
     {unicode, fun() -> unicode:characters_to_binary(lists:duplicate(Size, 8364)) end},
     {replace, fun() -> binary:replace(bytes(Size, 5), <<5, 5>>, <<6>>, [global]) end},
     {message, fun() -> from_another(fun() -> bytes(Size, 7) end) end},
     {message_with_a_part, fun() -> from_another(fun() -> binary:part(bytes(Size, 8), 100, 1_000) end) end},
     {message_with_a_long_part, fun() -> from_another(fun() -> binary:part(bytes(Size, 8), 0, Size - 1) end) end},
     {message_appended, fun() -> from_another(fun() -> bytewise(Size, 9, <<>>) end) end},
     {part, fun() -> binary:part(bytes(Size, 10), 1, Size - 2) end},
     {whole_part, fun() -> binary:part(bytes(Size, 11), 0, Size) end},
     {odd_part, fun() -> <<_:3, Odd:Size/bitstring, _/bitstring>> = bytes(Size, 16#A5), <<Odd/bitstring>> end},
     {file, fun() -> {ok, Binary} = file:read_file(code:which(?MODULE)), Binary end},
     {raw_file, fun read_raw/0},
     {port, fun from_a_port/0},
     {tcp, fun from_a_socket/0},
     {zlib, fun() -> zlib:uncompress(zlib:compress(bytes(Size, 12))) end},
     {zlib_small, fun() -> zlib:compress(term_to_binary([rand:uniform(1 bsl 32) || _ <- lists:seq(1, 1_000)])) end},
     {persistent_term, fun from_a_persistent_term/0},
     {literal, fun from_a_literal/0},
     {table, fun() -> from_a_table(Size) end},
     {loaded_table, fun() -> from_a_loaded_table(Size) end},
     {ets, fun() -> from_ets(Size) end},
     {process_dictionary, fun() -> put(binary, bytes(Size, 13)), garbage_collect(), get(binary) end}].

outlives_its_origin(Make) ->
    T = fyris:new(t, [public]),
    Test = self(),
    %% Nothing but the table has it in the end.
    {Pid, Ref} = spawn_monitor(fun() ->
                                       Binary = Make(),
                                       true = byte_size(Binary) > 255,
                                       fyris:insert(T, {1, Binary, [Binary]}),
                                       Test ! {hash, erlang:md5(Binary), byte_size(Binary)}
                               end),
    receive {'DOWN', Ref, process, Pid, Reason} -> ?assertEqual(normal, Reason) end,
    {Hash, Size} = receive {hash, H, S} -> {H, S} end,
    %% What was freed is written over.
    [garbage_collect(P) || P <- processes()],
    Others = [bytes(Size + N, N) || N <- lists:seq(-16, 16), _ <- [1, 2, 3]],
    [{1, Found, [Other]}] = fyris:lookup(T, 1),
    ?assertEqual([{Hash, Size}], lists:usort([{erlang:md5(B), byte_size(B)} || B <- [Found, Other]])),
    true = fyris:delete(T),
    [garbage_collect(P) || P <- processes()],
    ?assertEqual(Hash, erlang:md5(Found)),
    ?assertEqual(99, length(Others)).

from_another(Make) ->
    Self = self(),
    {Pid, Ref} = spawn_monitor(fun() -> Self ! {binary, Make()} end),
    receive {'DOWN', Ref, process, Pid, normal} -> ok end,
    receive {binary, Binary} -> Binary end.

read_raw() ->
    {ok, File} = file:open(code:which(?MODULE), [read, raw, binary]),
    {ok, Binary} = file:read(File, 5_000),
    ok = file:close(File),
    Binary.

from_a_port() ->
    Port = open_port({spawn_executable, "/bin/cat"}, [stream, binary]),
    port_command(Port, bytes(1_000, 14)),
    receive {Port, {data, Data}} -> port_close(Port), Data end.

from_a_socket() ->
    {ok, Listens} = gen_tcp:listen(0, [binary, {active, false}, {ip, {127, 0, 0, 1}}, {buffer, 4_000}]),
    {ok, Where} = inet:port(Listens),
    {ok, One} = gen_tcp:connect({127, 0, 0, 1}, Where, [binary, {active, false}]),
    {ok, Other} = gen_tcp:accept(Listens),
    ok = gen_tcp:send(One, [bytes(3_000, I) || I <- lists:seq(1, 4)]),
    {ok, Binary} = gen_tcp:recv(Other, 4_000),
    %% The driver goes on with its buffer.
    {ok, _} = gen_tcp:recv(Other, 8_000),
    [ok = gen_tcp:close(S) || S <- [One, Other, Listens]],
    Binary.

from_a_persistent_term() ->
    persistent_term:put(?MODULE, {binary, bytes(2_000, 15)}),
    {binary, Binary} = persistent_term:get(?MODULE),
    persistent_term:erase(?MODULE),
    Binary.

%% A literal of a module that goes.
from_a_literal() ->
    Name = fyris_binaries_literal,
    Value = erl_parse:abstract(bytes(3_000, 16)),
    Forms = [{attribute, 1, module, Name}, {attribute, 1, export, [{it, 0}]},
             {function, 1, it, 0, [{clause, 1, [], [], [Value]}]}],
    {ok, Name, Code} = compile:forms(Forms),
    {module, Name} = code:load_binary(Name, "nowhere", Code),
    Binary = Name:it(),
    true = code:delete(Name),
    Self = self(),
    %% By another process, while this one has the literal.
    spawn(fun() -> code:soft_purge(Name), Self ! purged end),
    receive purged -> Binary end.

from_a_table(Size) ->
    T = fyris:new(t, [public]),
    fyris:insert(T, {1, bytes(Size, 17)}),
    Binary = fyris:lookup_element(T, 1, 2),
    fyris:delete(T),
    Binary.

%% Bytes of the library's own, to which the machine has a reference.
from_a_loaded_table(Size) ->
    T = fyris:new(t, [public]),
    fyris:insert(T, {1, bytes(Size, 18)}),
    File = filename:join("/tmp", "fyris_binaries_" ++ os:getpid()),
    ok = fyris:tab2file(T, File),
    {ok, Loaded} = fyris:file2tab(File),
    ok = file:delete(File),
    Binary = fyris:lookup_element(Loaded, 1, 2),
    fyris:delete(T),
    fyris:delete(Loaded),
    Binary.

from_ets(Size) ->
    T = ets:new(t, []),
    ets:insert(T, {1, bytes(Size, 19)}),
    Binary = ets:lookup_element(T, 1, 2),
    ets:delete(T),
    Binary.

%% ---------------------------------------------------------------------------
%% Counts

%% Many processes do everything with a few binaries at once; then nobody holds any of them but this one.
counts_return_test_() ->
    {timeout, 300, fun() -> fyris_reload_test:in_peer(fun counts_return/0) end}.

counts_return() ->
    Shared = [bytes(Size, Size rem 251) || Size <- shared_sizes()],
    [hammered(Type, Shared) || Type <- ?ALL],
    [?assertEqual({Size, [1]}, {Size, fyris_counts:holders(Size, [1])}) || Size <- shared_sizes()],
    [?assertEqual(bytes(byte_size(B), byte_size(B) rem 251), B) || B <- Shared].

shared_sizes() -> [65_601, 100_001, 300_001].

hammered(Type, Shared) ->
    T = fyris:new(t, [Type, public]),
    fyris:insert(T, {0, <<>>, 0}),
    [?assertEqual([1], fyris_counts:holders(byte_size(B), [1])) || B <- Shared],
    Before = fyris_counts:binaries(),
    Workers = [spawn_monitor(fun() -> rand:seed(exsss, Seed), hammer(T, Type, Shared, 1_500) end)
               || Seed <- lists:seq(1, 2 * erlang:system_info(schedulers))],
    [receive {'DOWN', Ref, process, Pid, Reason} -> ?assertEqual(normal, Reason) end || {Pid, Ref} <- Workers],
    [?assertEqual(true, is_right(B)) || {_, B, _} <- fyris:tab2list(T), is_binary(B)],
    fyris:delete(T),
    garbage_collect(),
    %% Less than 256 KiB, and one more, wait with each thread that may have written.
    Most = Before + erlang:system_info(schedulers) * (320 bsl 10) + (256 bsl 10),
    ?assertEqual({Type, true}, {Type, fyris_counts:binaries_get_below(Most)}).

hammer(_, _, _, 0) -> ok;
hammer(T, Type, Shared, N) ->
    Key = rand:uniform(4),
    case rand:uniform(12) of
        1 -> fyris:delete(T, Key);
        2 -> true = lists:all(fun({_, B, _}) -> is_right(B) end, fyris:lookup(T, Key));
        3 -> true = lists:all(fun({_, B, _}) -> is_right(B) end, fyris:take(T, Key));
        4 -> garbage_collect();
        5 -> fyris:insert(T, {Key, bytes(256 + rand:uniform(9_000), N rem 251), 0});
        6 -> fyris:insert(T, [{K, one_of(Shared), 0} || K <- [1, 2, 3]]);
        7 -> [fyris:insert(T, {Key, <<B/binary, (binary:first(B)), (binary:first(B))>>, 0})
              || {_, B, _} <- fyris:lookup(T, Key), byte_size(B) > 0];
        8 -> true = lists:all(fun is_right/1, fyris:select(T, [{{'_', '$1', '_'}, [], ['$1']}]));
        9 when Type =:= set; Type =:= ordered_set -> fyris:update_element(T, Key, [{2, one_of(Shared)}, {3, 1}]);
        10 when Type =:= set; Type =:= ordered_set -> fyris:update_counter(T, Key, {3, 1}, {Key, one_of(Shared), 0});
        11 -> fyris:insert_new(T, {Key, binary:part(one_of(Shared), 10, 1_000), 0});
        _ -> fyris:insert(T, {Key, one_of(Shared), 0})
    end,
    %% Bags are kept small.
    [fyris:delete(T, Key) || length(fyris:lookup(T, Key)) > 20],
    hammer(T, Type, Shared, N - 1).

one_of(Some) -> lists:nth(rand:uniform(length(Some)), Some).

%% All bytes are the same.
is_right(<<>>) -> true;
is_right(Binary) -> Binary =:= bytes(byte_size(Binary), binary:first(Binary)).

%% The owner of a table ends: what its objects held is free.
an_owner_ends_test() ->
    Size = 90_001,
    Binary = bytes(Size, 3),
    {Pid, Ref} = spawn_monitor(fun() ->
                                       T = fyris:new(t, [ordered_set]),
                                       fyris:insert(T, [{I, Binary} || I <- lists:seq(1, 100)]),
                                       exit(kill_me)
                               end),
    receive {'DOWN', Ref, process, Pid, kill_me} -> ok end,
    ?assertEqual([1], fyris_counts:holders(Size, [1])),
    ?assertEqual(bytes(Size, 3), Binary).

%% A large table is emptied by a thread that is none of the machine's schedulers, and gives back what it holds.
a_large_table_goes_test() ->
    Size = 95_001,
    Binary = bytes(Size, 4),
    [begin
         T = fyris:new(t, [Type, public]),
         fyris:insert(T, [{I, Binary, bytes(256, I rem 251)} || I <- lists:seq(1, 20_000)]),
         Remove(T),
         ?assertEqual([1], fyris_counts:holders(Size, [1])),
         [fyris:delete(T) || fyris:info(T) =/= undefined]
     end || Type <- [set, ordered_set], Remove <- [fun fyris:delete/1, fun fyris:delete_all_objects/1]],
    ?assertEqual(bytes(Size, 4), Binary).

%% The native part is purged and loaded again while objects hold binaries, and gives them back after that.
purged_and_loaded_test_() ->
    {timeout, 300, fun() -> fyris_reload_test:in_peer(fun purged_and_loaded/0) end}.

purged_and_loaded() ->
    Size = 80_001,
    Binary = bytes(Size, 5),
    T = fyris:new(t, [public]),
    fyris:insert(T, [{I, Binary, bytes(300, I)} || I <- lists:seq(1, 10)]),
    [begin
         ?assertEqual([11], fyris_counts:holders(Size, [11])),
         fyris_reload_test:purge(),
         [?assertEqual([{I, Binary, bytes(300, I)}], fyris:lookup(T, I)) || I <- lists:seq(1, 10)],
         ?assertEqual([11], fyris_counts:holders(Size, [11])),
         ?assertEqual(true, element(5, fyris_nif:layout()))
     end || _ <- [1, 2, 3]],
    fyris:delete(T, 1),
    ?assertEqual([10], fyris_counts:holders(Size, [10])),
    fyris:delete(T),
    ?assertEqual([1], fyris_counts:holders(Size, [1])),
    ?assertEqual(bytes(Size, 5), Binary).

%% Specifications and continuations hold binaries too.
a_compiled_specification_lets_go_test() ->
    Size = 85_001,
    Binary = bytes(Size, 6),
    T = fyris:new(t, [ordered_set, public]),
    fyris:insert(T, [{I, I} || I <- lists:seq(1, 100)]),
    {Pid, Ref} = spawn_monitor(fun() ->
        Spec = fyris:match_spec_compile([{{'$1', '_'}, [], [{{'$1', {const, Binary}}}]}]),
        [{3, Binary}] = fyris:match_spec_run([{3, 3}], Spec),
        {Found, _} = fyris:select(T, [{{'$1', '_'}, [], [{{'$1', Binary}}]}], 10),
        true = Found =:= [{I, Binary} || I <- lists:seq(1, 10)]
    end),
    receive {'DOWN', Ref, process, Pid, Reason} -> ?assertEqual(normal, Reason) end,
    ?assertEqual([1], fyris_counts:holders(Size, [1])),
    ?assertEqual(bytes(Size, 6), Binary),
    fyris:delete(T).

%% ---------------------------------------------------------------------------
%% Accounts

%% Terms that come out of a table weigh on the process that gets them as those of ets do, so it is collected as often.
processes_are_charged_test() ->
    [?same(charged(M, Size)) || Size <- [1_000, 100_000]].

charged(M, Size) ->
    Self = self(),
    spawn_opt(fun() ->
                      T = M:new(t, []),
                      M:insert(T, {1, bytes(Size, 1)}),
                      garbage_collect(),
                      Before = virtual_heap(),
                      Found = [M:lookup(T, 1) || _ <- lists:seq(1, 50)],
                      Self ! {charged, virtual_heap() - Before, length(Found)}
              end, [{min_heap_size, 100_000}, {min_bin_vheap_size, 10_000_000}]),
    receive {charged, _, 50} = Charged -> Charged end.

%% Words of the binaries that it refers to.
virtual_heap() ->
    {garbage_collection_info, Info} = process_info(self(), garbage_collection_info),
    proplists:get_value(bin_vheap_size, Info).
