#!/usr/bin/env escript
%%! +fnu
%% Makes dets files, and beside each NAME.dets the rows that dets itself then has, as an external term in NAME.rows:
%% sorted, of a copy that dets has opened, and repaired where it was not closed.
%%
%%     escript crates/files/tests/erlang/dets.escript golden crates/files/tests/golden   the small ones that are
%% committed
%%     escript crates/files/tests/erlang/dets.escript all FOLDER                         these and larger ones
%%     escript crates/files/tests/erlang/dets.escript hashes FILE                        terms, and what phash2 gives
%% for them
-mode(compile).

main(["golden", Dir]) -> [make(Dir, Name) || Name <- small()];
main(["all", Dir]) -> [make(Dir, Name) || Name <- small() ++ large()];
main(["die", Dir, Name]) -> die(Dir, list_to_atom(Name));
main(["hashes", File]) ->
    _ = rand:seed(exsss, {1, 2, 3}),
    Terms = leaves() ++ [nasty(3) || _ <- lists:seq(1, 800)],
    ok = file:write_file(File, term_to_binary([{T, erlang:phash2(T)} || T <- Terms])).

small() -> [set, bag, duplicate_bag, keypos2, rewritten, open_set, open_bag, open_duplicate_bag, empty].
large() -> [many, one_slot, big_objects, bag_many, open_many, open_big, open_rewritten, deep, auto_saved].

make(Dir, Name) ->
    File = file(Dir, Name),
    _ = file:delete(File),
    case lists:prefix("open_", atom_to_list(Name)) orelse Name =:= auto_saved of
        true -> child(Dir, Name);
        false -> {ok, T} = open(File, Name), fill(T, Name), ok = dets:close(T)
    end,
    Copy = File ++ ".copy",
    {ok, _} = file:copy(File, Copy),
    {ok, T2} = open(Copy, Name),
    Rows = dets:match_object(T2, '_'),
    Found = found(T2, Rows),
    ok = dets:close(T2),
    ok = file:delete(Copy),
    ok = file:write_file(filename:join(Dir, atom_to_list(Name) ++ ".rows"), term_to_binary(lists:sort(Found))),
    Found =:= Rows orelse file:write_file(filename:join(Dir, atom_to_list(Name) ++ ".doubled"), "").

%% From OTP 27 on a set may keep an older object of a key that is, or contains, 0.0 or -0.0; a lookup finds the newer.
found(T, Rows) ->
    At = dets:info(T, keypos),
    case dets:info(T, type) of
        set -> [Row || Row <- Rows, dets:lookup(T, element(At, Row)) =:= [Row]];
        _ -> Rows
    end.

%% A process that opens, writes, and is killed.
child(Dir, Name) ->
    Script = escript:script_name(),
    os:cmd("escript " ++ Script ++ " die " ++ Dir ++ " " ++ atom_to_list(Name)).

die(Dir, Name) ->
    {ok, T} = open(file(Dir, Name), Name),
    fill(T, Name),
    Name =:= auto_saved andalso saved(file(Dir, Name)),
    timer:sleep(50),
    os:cmd("kill -9 " ++ os:getpid()),
    timer:sleep(10000).

%% Waits until the header says that the file is closed.
saved(File) ->
    timer:sleep(200),
    {ok, Fd} = file:open(File, [read, raw, binary]),
    {ok, Closed} = file:pread(Fd, 8, 4),
    ok = file:close(Fd),
    Closed =:= <<1:32>> orelse saved(File).

file(Dir, Name) -> filename:join(Dir, atom_to_list(Name) ++ ".dets").

open(File, Name) ->
    Type = case atom_to_list(Name) of
        "open_" ++ Rest -> type(Rest);
        Rest -> type(Rest)
    end,
    Kp = case Name of keypos2 -> 2; _ -> 1 end,
    Save = case Name of auto_saved -> 100; _ -> infinity end,
    dets:open_file(make_ref(), [{file, File}, {type, Type}, {keypos, Kp}, {auto_save, Save}]).

type("bag" ++ _) -> bag;
type("duplicate_bag" ++ _) -> duplicate_bag;
type(_) -> set.

fill(T, set) -> ok = dets:insert(T, [{K, value(K)} || K <- keys()]);
fill(T, keypos2) -> ok = dets:insert(T, [{r, N, value(N)} || N <- lists:seq(1, 20)]);
fill(T, bag) -> [ok = dets:insert(T, {K, N}) || N <- [3, 1, 2, 1], K <- lists:seq(1, 10)], ok;
fill(T, duplicate_bag) -> [ok = dets:insert(T, {K, N}) || N <- [3, 1, 2, 1], K <- lists:seq(1, 10)], ok;
fill(_, empty) -> ok;
fill(T, rewritten) ->
    [ok = dets:insert(T, {K, binary:copy(<<"x">>, 20 * N)}) || N <- [1, 9, 2, 30, 3], K <- lists:seq(1, 12)],
    [ok = dets:delete(T, K) || K <- [2, 5, 7]],
    ok;
fill(T, open_set) ->
    fill(T, set),
    dets:sync(T),
    [ok = dets:insert(T, {K, new}) || K <- lists:seq(1, 5)],
    _ = dets:lookup(T, 1),
    [ok = dets:delete(T, K) || K <- lists:seq(4, 8)],
    _ = dets:lookup(T, 1),
    ok;
fill(T, open_bag) ->
    fill(T, bag),
    _ = dets:lookup(T, 1),
    ok = dets:delete_object(T, {1, 1}),
    _ = dets:lookup(T, 1),
    ok;
fill(T, open_duplicate_bag) -> fill(T, duplicate_bag), _ = dets:lookup(T, 1), ok;
fill(T, many) -> ok = dets:insert(T, [{N, {N, N * N}} || N <- lists:seq(1, 20000)]);
fill(T, auto_saved) -> ok = dets:insert(T, [{N, {N, N * N}} || N <- lists:seq(1, 300)]);
fill(T, one_slot) ->
    E = ets:new(e, [set]),
    ets:insert(E, [{{k, N}, N} || N <- lists:seq(1, 5000)]),
    dets:from_ets(T, E);
fill(T, big_objects) -> ok = dets:insert(T, [{N, binary:copy(<<N>>, N * 40000)} || N <- lists:seq(1, 12)]);
fill(T, bag_many) -> [ok = dets:insert(T, [{K, N} || K <- lists:seq(1, 50)]) || N <- lists:seq(1, 60)], ok;
fill(T, open_many) ->
    [begin ok = dets:insert(T, [{N, {Round, N}} || N <- lists:seq(1, 3000, Round)]), _ = dets:lookup(T, 1) end
     || Round <- lists:seq(1, 4)],
    ok;
fill(T, open_big) ->
    ok = dets:insert(T, [{N, binary:copy(<<N>>, N * 900)} || N <- lists:seq(1, 40)]),
    _ = dets:lookup(T, 1),
    ok;
fill(T, open_rewritten) ->
    fill(T, rewritten),
    _ = dets:lookup(T, 1),
    fill(T, rewritten);
fill(T, deep) ->
    _ = rand:seed(exsss, {4, 5, 6}),
    ok = dets:insert(T, [{nasty(2), nasty(2)} || _ <- lists:seq(1, 500)]).

keys() ->
    [1, 2, 3, 4, 5, 6, 7, 8, 1.5, -7, 1 bsl 70, a, 'å', "text", <<"bytes">>, {t, 1},
     [a | b], #{k => v}, [], <<1:3>>, {}].

value(K) -> {K, [K, K], lists:duplicate(3, <<"v">>)}.

%% ---- terms of all kinds ----

leaves() ->
    [0, 1, -1, 255, 256, 1 bsl 27 - 1, 1 bsl 27, -(1 bsl 27), -(1 bsl 27) - 1, 1 bsl 59, -(1 bsl 59), 1 bsl 63,
     -(1 bsl 63), 1 bsl 64, 1 bsl 128 + 7, -(1 bsl 200), 0.0, -0.0, 1.5, -2.25e300, a, '', 'åäö', '日本', 'a日',
     list_to_atom(lists:duplicate(200, $z)), list_to_atom(lists:duplicate(200, 255)), [], {}, #{}, <<>>, "", <<1:1>>,
     <<5:13>>, <<"twelve bytes">>, <<"eleven byte">>, <<"thirteen byte">>, "abc", "abcd", "abcde", [1, a], [a, 1],
     [256 | x], "ab" ++ c, [[], []], {[], a}, {a}, {0, a}, fun lists:map/2, self(), make_ref(),
     hd(erlang:ports()), c:pid(0, 20000, 3), binary_to_term(<<131, 88, 119, 3, "a@b", 70000:32, 9:32, 1:32>>),
     binary_to_term(<<131, 120, 119, 3, "a@b", 1:16, 70000:48, 1:32>>),
     binary_to_term(<<131, 90, 3:16, 119, 3, "a@b", 1:32, 70000:32, 9:32, 5:32>>)].

nasty(0) -> pick(leaves());
nasty(D) ->
    case rand:uniform(9) of
        1 -> list_to_tuple(some(D));
        2 -> some(D);
        3 -> maps:from_list([{nasty(D - 1), nasty(D - 1)} || _ <- lists:seq(1, rand:uniform(5))]);
        4 -> some(D) ++ nasty(D - 1);
        5 -> maps:from_list([{N * 7, nasty(0)} || N <- lists:seq(1, 40)]);
        6 -> rand:uniform(1 bsl 40) - 1 bsl 39;
        7 -> rand:bytes(rand:uniform(40));
        8 -> [rand:uniform(300) || _ <- lists:seq(1, rand:uniform(12))];
        9 -> nasty(0)
    end.

some(D) -> [nasty(D - 1) || _ <- lists:seq(1, rand:uniform(5))].

pick(L) -> lists:nth(rand:uniform(length(L)), L).
