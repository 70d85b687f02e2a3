%% Mnesia on one node: random operations on a table kept as `fyris_copies' and on the same table kept as
%% `ram_copies', every reply compared. When they differ, the seed is printed, and the fewest operations that show it.
-module(fyris_mnesia_test).

-compile(export_all).
-include("fyris_same.hrl").

-define(RUNS, 60).
-define(COMMANDS, 60).
-define(CONTEXTS, [transaction, sync_transaction, async_dirty, sync_dirty, ets_or_dirty]).

mnesia_test_() ->
    {setup, fun start/0, fun stop/1,
     [{timeout, 120, {test, ?MODULE, Name}}
      || Name <- [random_set, random_ordered_set, random_bag, sizes, stored_where, indexes_come_and_go, indexes_tell_keys_apart,
                  checkpoint_and_backup, bad_definitions, concurrent_counters, selects_backwards,
                  gone_with_mnesia]]}.

start() ->
    application:set_env(mnesia, schema_location, ram),
    application:set_env(mnesia, dir, directory()),
    ok = mnesia:start(),
    ok = fyris_mnesia:register(),
    %% Twice is no harm.
    ok = fyris_mnesia:register().

stop(_) ->
    error_logger:tty(false),
    mnesia:stop(),
    error_logger:tty(true).

directory() ->
    filename:join("/tmp", "fyris_mnesia_" ++ os:getpid()).

%% From OTP 29 on.
selects_backwards() ->
    case erlang:function_exported(mnesia, select_reverse, 4) of
        true ->
            [?assertEqual(selected(ram_copies, Type, Context), selected(fyris_copies, Type, Context))
             || Type <- [set, ordered_set, bag], Context <- [transaction, async_dirty]];
        false ->
            ok
    end.

selected(Copies, Type, Context) ->
    {atomic, ok} = mnesia:create_table(backwards, [{Copies, [node()]}, {type, Type}, {attributes, [k, v]}]),
    [ok = mnesia:dirty_write({backwards, I, I rem 3}) || I <- lists:seq(1, 50)],
    Spec = [{{backwards, '$1', 1}, [], ['$1']}],
    Run = fun(F) -> case mnesia:activity(Context, F) of
                        List when Type =:= ordered_set -> List;
                        List -> lists:sort(List)
                    end
          end,
    %% As variables: releases before have no such functions.
    M = mnesia,
    Found = [Run(fun() -> M:select_reverse(backwards, Spec) end),
             Run(fun() -> chunks(M, M:select_reverse(backwards, Spec, 7, read)) end)],
    {atomic, ok} = mnesia:delete_table(backwards),
    Found.

chunks(_, '$end_of_table') -> [];
chunks(M, {Found, Continuation}) -> Found ++ chunks(M, M:select_reverse(Continuation)).

%% ---------------------------------------------------------------------------
%% The same operations on both

random_set() -> random(set).
random_ordered_set() -> random(ordered_set).
random_bag() -> random(bag).

random(Type) ->
    First = erlang:system_time(),
    [run(Type, Seed) || Seed <- lists:seq(First, First + ?RUNS - 1)].

run(Type, Seed) ->
    rand:seed(exsss, Seed),
    Commands = [command() || _ <- lists:seq(1, ?COMMANDS)],
    case differs(Type, Commands) of
        false -> ok;
        _ -> Least = shrink(Type, Commands, 1),
             io:format(user, "~nseed ~p, ~p~n~p~n~p~n", [Seed, Type, Least, differs(Type, Least)]),
             error({differ, [{seed, Seed}, {type, Type}]})
    end.

shrink(_, Commands, N) when N > length(Commands) ->
    Commands;
shrink(Type, Commands, N) ->
    {Before, [_ | After]} = lists:split(N - 1, Commands),
    case differs(Type, Before ++ After) of
        false -> shrink(Type, Commands, N + 1);
        _ -> shrink(Type, Before ++ After, N)
    end.

differs(Type, Commands) ->
    Real = replies(ram_copies, Type, Commands),
    case replies(fyris_copies, Type, Commands) of
        Real -> false;
        Ours -> lists:last([D || {A, B} = D <- lists:zip(Real, Ours), A =/= B])
    end.

%% Indexes that take 1 and 1.0 for one are all that Mnesia's own kind has.
replies(Storage, Type, Commands) ->
    T = t,
    {atomic, ok} = mnesia:create_table(T, [{Storage, [node()]}, {type, Type}, {record_name, r},
                                           {attributes, [k, v, w]}, {index, [{v, ordered}]}]),
    Replies = [reply(T, Type, Command) || Command <- Commands],
    {atomic, ok} = mnesia:delete_table(T),
    Replies.

reply(T, Type, {within, Context, Calls}) ->
    Reply = in(Context, fun() -> [plain(Type, F, call(T, F, Args)) || {F, Args} <- Calls] end),
    {Reply, mnesia:table_info(T, size)};
reply(T, Type, {F, Args}) ->
    plain(Type, F, try apply(mnesia, F, [T | Args]) catch exit:Reason -> {exit, without_table(Reason)} end).

in(transaction, Fun) -> outcome(mnesia:transaction(Fun));
in(sync_transaction, Fun) -> outcome(mnesia:sync_transaction(Fun));
in(Dirty, Fun) -> try mnesia:activity(context(Dirty), Fun) catch exit:Reason -> {exit, without_table(Reason)} end.

%% `mnesia:ets' goes around every storage but that of ets.
context(ets_or_dirty) -> async_dirty;
context(Context) -> Context.

outcome({aborted, Reason}) -> {aborted, without_table(Reason)};
outcome(Outcome) -> Outcome.

without_table({Reason, _}) when is_atom(Reason) -> Reason;
without_table(Reason) -> Reason.

call(_, abort, []) -> mnesia:abort(wanted);
call(T, write, [Object]) -> mnesia:write(T, Object, write);
call(T, delete, [Key]) -> mnesia:delete(T, Key, write);
call(T, delete_object, [Object]) -> mnesia:delete_object(T, Object, write);
call(T, read, [Key]) -> mnesia:read(T, Key, read);
call(T, match_object, [Pattern]) -> mnesia:match_object(T, Pattern, read);
call(T, select, [Spec]) -> mnesia:select(T, Spec, read);
call(T, chunks, [Spec]) -> in_order(T) andalso chunks(mnesia:select(T, Spec, 3, read));
call(T, index_read, [Value]) -> mnesia:index_read(T, Value, v);
call(T, index_match_object, [Pattern]) -> mnesia:index_match_object(T, Pattern, v, read);
call(T, foldl, []) -> mnesia:foldl(fun(Object, Sofar) -> [Object | Sofar] end, [], T);
call(T, foldr, []) -> mnesia:foldr(fun(Object, Sofar) -> [Object | Sofar] end, [], T);
call(T, all_keys, []) -> mnesia:all_keys(T);
call(T, walk, []) -> in_order(T) andalso walk(T, mnesia:first(T), []);
call(T, walk_back, []) -> in_order(T) andalso walk_back(T, mnesia:last(T), []).

%% Where a transaction wrote, Mnesia's `next' in a hash table leaves keys out or not, and its `select' by chunks forgets
%% the body of the specification or not, all by the order of the table.
in_order(T) ->
    mnesia:table_info(T, type) =:= ordered_set orelse not mnesia:is_transaction().

chunks('$end_of_table') -> [];
chunks({Results, Continuation}) -> Results ++ chunks(mnesia:select(Continuation)).

walk(_, '$end_of_table', Keys) -> Keys;
walk(T, Key, Keys) -> walk(T, mnesia:next(T, Key), [Key | Keys]).

walk_back(_, '$end_of_table', Keys) -> Keys;
walk_back(T, Key, Keys) -> walk_back(T, mnesia:prev(T, Key), [Key | Keys]).

%% Where there is no order, none is compared; nor is that of an index.
plain(Type, F, List) when is_list(List), Type =/= ordered_set; is_list(List), F =:= index_read;
                          is_list(List), F =:= index_match_object; is_list(List), F =:= dirty_index_read ->
    lists:sort(fun(A, B) -> term_to_binary(A) =< term_to_binary(B) end, List);
plain(_, _, Value) ->
    Value.

command() ->
    case rand:uniform(3) of
        1 -> dirty();
        _ -> {within, one(?CONTEXTS), [within() || _ <- lists:seq(1, rand:uniform(6))]}
    end.

within() ->
    one([fun() -> {write, [object()]} end, fun() -> {write, [object()]} end, fun() -> {delete, [key()]} end,
         fun() -> {delete_object, [object()]} end, fun() -> {read, [key()]} end,
         fun() -> {match_object, [pattern()]} end, fun() -> {select, [spec()]} end, fun() -> {chunks, [spec()]} end,
         fun() -> {index_read, [value()]} end, fun() -> {index_match_object, [{r, '_', value(), '_'}]} end,
         fun() -> {one([foldl, foldr, all_keys, walk, walk_back]), []} end,
         fun() -> one([{abort, []}, {read, [key()]}]) end]).

dirty() ->
    one([fun() -> {dirty_write, [object()]} end, fun() -> {dirty_delete, [key()]} end,
         fun() -> {dirty_delete_object, [object()]} end, fun() -> {dirty_read, [key()]} end,
         fun() -> {dirty_match_object, [pattern()]} end, fun() -> {dirty_select, [spec()]} end,
         fun() -> {dirty_index_read, [value(), v]} end, fun() -> {dirty_all_keys, []} end,
         fun() -> {table_info, [one([size, type, arity, wild_pattern])]} end,
         fun() -> {clear_table, []} end]).

object() -> {r, key(), value(), rand:uniform(3)}.

%% Mnesia itself takes 1 and 1.0 for one key where it merges what a transaction wrote, and the order of a hash table
%% then decides what comes of it.
key() -> one([1, 2, a, {x, 1}, <<"b">>, [1], 3, 4]).

value() -> one([1, 1.0, u, v]).

pattern() -> {r, one(['_', key()]), one(['_', '$1', value()]), one(['_', '$1'])}.

spec() ->
    [{{r, one(['$1', key()]), one(['$2', value()]), '$3'}, one([[], [{'>', '$3', 1}]]), [one(['$_', '$3'])]}].

one(List) ->
    case lists:nth(rand:uniform(length(List)), List) of
        Fun when is_function(Fun, 0) -> Fun();
        Value -> Value
    end.

%% ---------------------------------------------------------------------------
%% What one table promises

made(Name, Options) ->
    {atomic, ok} = mnesia:create_table(Name, [{fyris_copies, [node()]} | Options]),
    Name.

sizes() ->
    T = made(sizes, [{type, bag}]),
    [mnesia:dirty_write({T, I rem 10, I}) || I <- lists:seq(1, 1000)],
    ?assertEqual(1000, mnesia:table_info(T, size)),
    ?assertEqual(fyris:info(T, memory), mnesia:table_info(T, memory)),
    {atomic, ok} = mnesia:clear_table(T),
    ?assertEqual(0, mnesia:table_info(T, size)).

stored_where() ->
    T = made(where, [{type, ordered_set}]),
    ok = mnesia:dirty_write({T, 1, 2}),
    ?assertEqual([{T, 1, 2}], fyris:lookup(T, 1)),
    ?assertEqual(undefined, ets:info(T)),
    ?assertEqual([node()], mnesia:table_info(T, fyris_copies)),
    ?assertEqual({ext, fyris_copies, fyris_mnesia}, mnesia:table_info(T, storage_type)).

indexes_come_and_go() ->
    T = made(indexes, [{attributes, [k, v, w]}, {index, [{w, bag}]}]),
    [ok = mnesia:dirty_write({T, I, I rem 7, I rem 3}) || I <- lists:seq(1, 70)],
    Tables = length(fyris:all()),
    {atomic, ok} = mnesia:add_table_index(T, v),
    ?assertEqual(Tables + 1, length(fyris:all())),
    ?assertEqual(10, length(mnesia:dirty_index_read(T, 3, v))),
    ?assertEqual(24, length(mnesia:dirty_index_read(T, 1, w))),
    {atomic, ok} = mnesia:del_table_index(T, v),
    ?assertEqual(Tables, length(fyris:all())),
    {atomic, ok} = mnesia:delete_table(T),
    ?assertEqual(Tables - 2, length(fyris:all())).

%% 1 and 1.0 are two keys, but in an ordered_set.
indexes_tell_keys_apart() ->
    [begin
         T = made(apart, [{type, Type}, {index, [3]}]),
         [ok = mnesia:dirty_write({T, K, z}) || K <- [1, 1.0]],
         ok = mnesia:dirty_delete(T, 1),
         Left = [{T, 1.0, z} || Type =/= ordered_set],
         ?assertEqual({Type, Left, Left}, {Type, mnesia:dirty_index_read(T, z, 3), mnesia:dirty_match_object({T, '_', '_'})}),
         [ok = mnesia:dirty_write({T, K, V}) || V <- [y, z], K <- [1, 1.0]],
         ok = mnesia:dirty_delete_object({T, 1.0, z}),
         Rows = mnesia:dirty_match_object({T, '_', z}),
         ?assertEqual({Type, Rows}, {Type, mnesia:dirty_index_read(T, z, 3)}),
         {atomic, ok} = mnesia:delete_table(T)
     end || Type <- [set, bag, ordered_set]].

checkpoint_and_backup() ->
    T = made(kept, []),
    [ok = mnesia:dirty_write({T, I, old}) || I <- lists:seq(1, 50)],
    {ok, Name, _} = mnesia:activate_checkpoint([{name, point}, {min, [T]}]),
    [ok = mnesia:dirty_write({T, I, new}) || I <- lists:seq(1, 80)],
    File = filename:join("/tmp", "fyris_mnesia_backup_" ++ os:getpid()),
    ok = mnesia:backup_checkpoint(Name, File),
    ok = mnesia:deactivate_checkpoint(Name),
    {atomic, [T]} = mnesia:restore(File, [{clear_tables, [T]}, {skip_tables, [schema]}]),
    ok = file:delete(File),
    ?assertEqual(50, mnesia:table_info(T, size)),
    ?assertEqual([{T, 9, old}], mnesia:dirty_read(T, 9)).

bad_definitions() ->
    %% A name that someone else has.
    fyris:new(taken, [named_table]),
    {aborted, _} = mnesia:create_table(taken, [{fyris_copies, [node()]}]),
    {aborted, {bad_type, _, _}} = mnesia:create_table(bad, [{fyris_copies, [node()]}, {type, duplicate_bag}]),
    {aborted, {already_exists, _}} = mnesia:create_table(made(once, []), [{fyris_copies, [node()]}]).

concurrent_counters() ->
    T = made(counters, []),
    Add = fun() -> [{_, a, N}] = mnesia:read(T, a, write), mnesia:write({T, a, N + 1}) end,
    ok = mnesia:dirty_write({T, a, 0}),
    Work = fun() -> [begin {atomic, _} = mnesia:transaction(Add), mnesia:dirty_update_counter(T, b, 1) end
                     || _ <- lists:seq(1, 200)] end,
    Done = [spawn_monitor(Work) || _ <- lists:seq(1, 4)],
    [receive {'DOWN', Monitor, _, _, normal} -> ok end || {_, Monitor} <- Done],
    ?assertEqual([[{T, a, 800}], [{T, b, 800}]], [mnesia:dirty_read(T, K) || K <- [a, b]]).

gone_with_mnesia() ->
    T = made(gone, [{index, [3]}]),
    ?assert(is_list(fyris:info(T))),
    stop(none),
    ?assertEqual([], [fyris:info(Table, name) || Table <- [T, fyris_mnesia], fyris:info(Table) =/= undefined]),
    ?assertEqual(undefined, whereis(fyris_mnesia_keeper)),
    start().
