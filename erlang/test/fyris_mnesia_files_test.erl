%% The files of a Mnesia table: after an end at any moment they give the table as it was.
%%
%% A writer works on a table while its files are copied, with the writer and its dumper held wherever they happen to
%% be. The writer is compiled for small dumps, so most copies are taken while a dump is being made.
-module(fyris_mnesia_files_test).

-compile(export_all).
-include("fyris_same.hrl").

-define(TAB, fyris_files_tab).
-define(COPY, fyris_files_copy).
-define(OPERATIONS, 4000).
-define(COPIES, 40).

files_test_() ->
    {timeout, 600,
     {setup, fun start/0, fun stop/1,
      [{timeout, 120, {lists:concat([Name, " ", Type]), fun() -> clean(), ?MODULE:Name(Type) end}}
       || Name <- [held_anywhere, cut_anywhere], Type <- [set, ordered_set, bag]]
      ++ [{timeout, 120, {test, ?MODULE, Name}} || Name <- [damaged_dump, damaged_log, torn_or_damaged, files_of_before,
                                                           a_log_of_before_is_not_applied]]}}.

start() ->
    %% In memory where that can be: thousands of syncs, and no power is lost here.
    Base = case filelib:is_dir("/dev/shm") of true -> "/dev/shm"; false -> "/tmp" end,
    Dir = filename:join(Base, "fyris_mnesia_files_" ++ os:getpid()),
    ok = filelib:ensure_path(Dir),
    application:set_env(mnesia, schema_location, ram),
    application:set_env(mnesia, dir, Dir),
    %% Each torn end is told.
    ok = logger:set_primary_config(level, none),
    ok = mnesia:start(),
    small_writer(),
    Dir.

stop(Dir) ->
    mnesia:stop(),
    ok = logger:set_primary_config(level, notice),
    ok = file:del_dir_r(Dir),
    code:purge(fyris_mnesia_writer),
    {module, _} = code:load_file(fyris_mnesia_writer).

clean() ->
    [fyris_mnesia_file:delete(Tab) || Tab <- [?TAB, ?COPY]].

%% The same module, but with dumps from a kilobyte on.
small_writer() ->
    {ok, Module, Binary} = compile:file(source(), [binary, {d, 'FYRIS_SMALL'}]),
    code:purge(Module),
    {module, Module} = code:load_binary(Module, "small", Binary).

source() ->
    Ebin = filename:dirname(code:which(fyris_mnesia)),
    filename:join([filename:dirname(Ebin), "src", "fyris_mnesia_writer.erl"]).

%% ---------------------------------------------------------------------------

started(Tab, Table, Source) ->
    fyris_mnesia_writer:start_link({Tab, Table}, Source, fyris_mnesia_writer:ledger()).

%% What a copy of the files gives is the table after as many operations as were said to be written, or more.
held_anywhere(Type) ->
    Operations = operations(?OPERATIONS),
    Model = model(Type, Operations),
    Table = fyris:new(?TAB, [Type, public, {keypos, 2}]),
    {ok, Writer} = started(?TAB, Table, empty),
    Counts = counters:new(2, []),
    {Client, Monitor} =
        spawn_monitor(fun() -> [change(Writer, Operation, Counts) || Operation <- Operations] end),
    Dumps = [copy_one(Type, Writer, Counts, Model) || _ <- lists:seq(1, ?COPIES)],
    exit(Client, kill),
    receive {'DOWN', Monitor, _, _, _} -> ok end,
    fyris_mnesia_writer:stop(Writer),
    fyris:delete(Table),
    ?assert(lists:member(true, Dumps)).

change(Writer, Operation, Counts) ->
    counters:add(Counts, 1, 1),
    fyris_mnesia_writer:change(Writer, Operation),
    rand:uniform(3) =:= 1 andalso
        begin
            fyris_mnesia_writer:write(Writer),
            counters:put(Counts, 2, counters:get(Counts, 1))
        end.

copy_one(Type, Writer, Counts, Model) ->
    timer:sleep(rand:uniform(5)),
    Least = counters:get(Counts, 2),
    Held = hold(Writer),
    Most = counters:get(Counts, 1),
    Dumping = copy_files(),
    [erlang:resume_process(Pid) || Pid <- Held],
    Content = load_copy(Type),
    ?assert(lists:member(Content, [maps:get(N, Model) || N <- lists:seq(Least, Most)])),
    Dumping.

%% The writer first, so that it makes no dumper after.
hold(Writer) ->
    true = held(Writer),
    {links, Links} = process_info(Writer, links),
    [Writer | [Pid || Pid <- Links, is_pid(Pid), Pid =/= self(), held(Pid)]].

%% It fails while the process is in a call of the file system.
held(Pid) ->
    try erlang:suspend_process(Pid)
    catch
        error:internal_error -> resume(Pid), erlang:yield(), held(Pid);
        error:Ended when Ended =:= badarg; Ended =:= exited -> false
    end.

resume(Pid) ->
    try erlang:resume_process(Pid) catch error:badarg -> false end.

copy_files() ->
    fyris_mnesia_file:delete(?COPY),
    Parts = fyris_mnesia_file:suffixes(),
    [_ = file:copy(path(?TAB, Part), path(?COPY, Part)) || Part <- Parts, filelib:is_regular(path(?TAB, Part))],
    filelib:is_regular(path(?COPY, ".FYO")).

path(Tab, Suffix) -> mnesia_lib:dir(atom_to_list(Tab) ++ Suffix).

load_copy(Type) ->
    Table = fyris:new(?COPY, [Type, public, {keypos, 2}]),
    {ok, Writer} = started(?COPY, Table, files),
    ok = fyris_mnesia_writer:ready(Writer),
    Content = lists:sort(fyris:tab2list(Table)),
    fyris_mnesia_writer:stop(Writer),
    fyris:delete(Table),
    Content.

%% A log that ends anywhere gives the operations before; and what is written after it is not lost.
cut_anywhere(Type) ->
    Operations = operations(8),
    Model = model(Type, Operations),
    Table = fyris:new(?TAB, [Type, public, {keypos, 2}]),
    {ok, Writer} = started(?TAB, Table, empty),
    [begin fyris_mnesia_writer:change(Writer, Operation), fyris_mnesia_writer:write(Writer) end || Operation <- Operations],
    fyris_mnesia_writer:stop(Writer),
    fyris:delete(Table),
    {ok, Log} = file:read_file(path(?TAB, ".FYL")),
    Contents = [cut(Type, binary:part(Log, 0, Bytes)) || Bytes <- lists:seq(0, byte_size(Log))],
    ?assertEqual(in_turn([maps:get(N, Model) || N <- lists:seq(0, 8)]), in_turn(Contents)).

cut(Type, Log) ->
    fyris_mnesia_file:delete(?COPY),
    ok = file:write_file(path(?COPY, ".FYL"), Log),
    Content = load_copy(Type),
    ?assertEqual(lists:sort([{r, after_all, 1} | Content]), load_after_write(Type)),
    Content.

load_after_write(Type) ->
    Table = fyris:new(?COPY, [Type, public, {keypos, 2}]),
    {ok, Writer} = started(?COPY, Table, files),
    fyris_mnesia_writer:change(Writer, {insert, {r, after_all, 1}}),
    fyris_mnesia_writer:stop(Writer),
    fyris:delete(Table),
    load_copy(Type).

%% Without what is the same as the one before: an operation may change nothing.
in_turn([Content, Content | More]) -> in_turn([Content | More]);
in_turn([Content | More]) -> [Content | in_turn(More)];
in_turn([]) -> [].

%% Wherever a bit flips in a file that was finished, or it ends too early, that is found; and all else is read.
damaged_dump() ->
    clean(),
    dump([{r, I, I} || I <- lists:seq(1, 20)], 3),
    {ok, Dump} = file:read_file(path(?TAB, ".FYD")),
    ?assertMatch({[{insert, _}], #{number := 3, damaged := []}}, found()),
    [begin
         ok = file:write_file(path(?TAB, ".FYD"), Wrong(Dump, At)),
         ?assertMatch({_, #{damaged := [{dump, _, _} | _]}}, found())
     end || At <- lists:seq(0, byte_size(Dump) - 1), Wrong <- [fun flipped/2, fun(Bytes, To) -> binary:part(Bytes, 0, To) end]],
    clean().

flipped(Bytes, At) ->
    <<Before:At/binary, Byte, After/binary>> = Bytes,
    [Before, Byte bxor (1 bsl rand:uniform(8) bsr 1), After].

found() ->
    {Operations, Found} = fyris_mnesia_file:read(?TAB, fun(More, Before) -> Before ++ More end, []),
    {Operations, Found}.

%% Behind a record that is no more, the others are found; without them it could be one that was never finished.
damaged_log() ->
    Bytes = logged(3, 6),
    Last = last_record(Bytes),
    [begin
         ok = file:write_file(path(?TAB, ".FYL"), flipped(Bytes, At)),
         {Operations, #{damaged := Damaged, log := {_, Good, Size}}} = found(),
         ?assertEqual(byte_size(Bytes), Size),
         ?assertEqual({At, At >= Last}, {At, Damaged =:= []}),
         ?assertEqual({At, if At >= Last -> Last; true -> Size end}, {At, Good}),
         ?assert(length(Operations) >= 5)
     end || At <- lists:seq(0, byte_size(Bytes) - 1)],
    clean().

logged(Number, Count) ->
    clean(),
    Log = lists:foldl(fun(I, Log) -> fyris_mnesia_file:append(Log, [{insert, {r, I, <<"value">>}}]) end,
                      fyris_mnesia_file:create_log(?TAB, Number), lists:seq(1, Count)),
    ok = fyris_mnesia_file:close(Log),
    {ok, Bytes} = file:read_file(path(?TAB, ".FYL")),
    Bytes.

last_record(Bytes) ->
    Log = fyris_mnesia_file:append(fyris_mnesia_file:open_log(?TAB, new, byte_size(Bytes)), [{insert, {r, 1, <<"value">>}}]),
    ok = fyris_mnesia_file:close(Log),
    2 * byte_size(Bytes) - fyris_mnesia_file:bytes(Log).

%% A record that was begun, whose objects are the files of another table.
torn_or_damaged() ->
    Other = logged(0, 3),
    Whole = logged(0, 3),
    Log = fyris_mnesia_file:append(fyris_mnesia_file:open_log(?TAB, new, byte_size(Whole)), [{insert, {r, 1, [Other, Whole, old()]}}]),
    ok = fyris_mnesia_file:close(Log),
    {ok, Bytes} = file:read_file(path(?TAB, ".FYL")),
    [begin
         ok = file:write_file(path(?TAB, ".FYL"), binary:part(Bytes, 0, To)),
         {_, #{damaged := Damaged, log := Log1}} = found(),
         ?assertEqual({[], {new, byte_size(Whole), To}}, {Damaged, Log1})
     end || To <- lists:seq(byte_size(Whole), byte_size(Bytes) - 1)],
    clean().

%% The format without positions: read, and then replaced by the new one.
files_of_before() ->
    clean(),
    ok = file:write_file(path(?TAB, ".FYL"), old()),
    ?assertMatch({_, #{number := 0, damaged := [], anew := true}}, found()),
    [begin
         ok = file:write_file(path(?TAB, ".FYL"), flipped(old(), At)),
         ?assertMatch({_, #{damaged := [_ | _]}}, found())
     end || At <- lists:seq(0, byte_size(old()) div 2), At < 8 orelse At >= 16],
    ok = file:write_file(path(?COPY, ".FYL"), old()),
    [?assertEqual([{r, I, I} || I <- lists:seq(1, 4)], load_copy(set)) || _ <- [1, 2]],
    ?assertMatch({_, #{anew := false, damaged := [], log := {new, _, _}}}, fyris_mnesia_file:read(?COPY, fun(_, _) -> [] end, [])),
    clean().

old() ->
    Records = [begin
                   Body = term_to_binary([{insert, {r, I, I}}]),
                   <<(byte_size(Body)):64, (erlang:crc32(Body)):32, Body/binary>>
               end || I <- lists:seq(1, 4)],
    iolist_to_binary(["fyrismn1", <<0:64>> | Records]).

dump(Objects, Number) ->
    fyris_mnesia_file:write_dump(?TAB, Number, fun() -> {Objects, none} end, fun(none) -> '$end_of_table' end,
                                  fun() -> ok end).

%% What another node had takes the place of all that was here, even if the end comes before the logs are deleted.
a_log_of_before_is_not_applied() ->
    clean(),
    Log = fyris_mnesia_file:create_log(?TAB, 0),
    ok = fyris_mnesia_file:close(fyris_mnesia_file:append(Log, [{insert, {r, 1, before}}])),
    {ok, Before} = file:read_file(path(?TAB, ".FYL")),
    dump([{r, 2, now}], 1),
    [begin
         ok = file:write_file(path(?TAB, Suffix), Before),
         copy_files(),
         ?assertEqual([{r, 2, now}], load_copy(set))
     end || Suffix <- [".FYL", ".FYO"]],
    clean().

%% ---------------------------------------------------------------------------

%% The first operations make the table, others change it.
operations(N) -> [operation(I, rand:uniform(8)) || I <- lists:seq(1, N)].

operation(I, 1) when I > 4 -> {delete, key()};
operation(I, 2) when I > 4 -> {match_delete, {r, '_', I - rand:uniform(4)}};
operation(I, _) -> {insert, [{r, key(), I}, {r, key(), I}]}.

key() -> one([1, 2, 3, a, <<"b">>, {x, 1}, lists:seq(1, 40)]).

one(List) -> lists:nth(rand:uniform(length(List)), List).

%% What is in the table after each number of operations.
model(Type, Operations) ->
    T = ets:new(model, [Type, {keypos, 2}]),
    {_, Model} = lists:foldl(fun(Operation, {N, States}) ->
                                     apply_to(T, Operation),
                                     {N + 1, States#{N + 1 => lists:sort(ets:tab2list(T))}}
                             end, {0, #{0 => []}}, Operations),
    ets:delete(T),
    Model.

apply_to(T, {insert, Objects}) -> ets:insert(T, Objects);
apply_to(T, {delete, Key}) -> ets:delete(T, Key);
apply_to(T, {match_delete, Pattern}) -> ets:match_delete(T, Pattern).
