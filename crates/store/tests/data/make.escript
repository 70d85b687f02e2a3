#!/usr/bin/env escript
%%! +fnu
%% Remakes the dumps in this folder with a real OTP, so that Fyris can be held against them where none is installed:
%%
%%     escript crates/store/tests/data/make.escript
%%
%%   TYPE-COUNT-INFO.ets   written by ets:tab2file; INFO is none, count, md5 or both (the extended_info)
%%   TYPE-5.txt            the objects, a line each by ~w: in order of the keys for an ordered_set, else sorted
%%   3000.txt              the same, for every table of that size
%%   odd-*.ets             a named private table, a public one with another key position
%%   damaged.txt           FILE DAMAGE AT VERIFY ANSWER: what ets:file2tab(File, [{verify, VERIFY}]) says of the file
%%                         after `cut` (only the first AT bytes are left), `flip` (bit AT rem 8 of byte AT div 8 is
%%                         turned over) or `add` (AT zero bytes behind the end): ok:COUNT, hangs, or the error term.
%%                         The name of the file is FILE in an error term
-mode(compile).

main([]) ->
    error_logger:tty(false),
    ok = file:set_cwd(filename:dirname(escript:script_name())),
    [file:delete(F) || F <- filelib:wildcard("*.ets") ++ filelib:wildcard("*.txt")],
    [dumps(Type, Count) || Type <- [set, ordered_set, bag, duplicate_bag], Count <- [0, 5, 3000]],
    odd("odd-named-private.ets", [set, named_table, private]),
    odd("odd-public-keypos2.ets", [ordered_set, public, {keypos, 2}]),
    Lines = [damaged(File, D, At, Verify)
             || File <- ["set-5-both.ets", "bag-5-none.ets", "set-0-both.ets", "ordered_set-5-count.ets", "duplicate_bag-5-md5.ets"],
                {D, At} <- damages(filelib:file_size(File)), Verify <- [true, false]],
    ok = file:write_file("damaged.txt", Lines),
    io:format("~w dumps, ~w lines of damage~n", [length(filelib:wildcard("*.ets")), length(Lines)]),
    halt(0).

dumps(Type, Count) ->
    Table = ets:new(table, [Type]),
    [ets:insert(Table, O) || O <- objects(Count)],
    Name = lists:concat([Type, "-", Count]),
    [dump(Table, lists:concat([Name, "-", Info, ".ets"]), Extended) || {Info, Extended} <- infos(Count)],
    [list(Table, Type, Name ++ ".txt") || Count =:= 5],
    [list(Table, Type, "3000.txt") || Count =:= 3000, Type =:= set],
    ets:delete(Table).

infos(3000) -> [{none, []}, {both, [object_count, md5sum]}];
infos(_) -> [{none, []}, {count, [object_count]}, {md5, [md5sum]}, {both, [object_count, md5sum]}].

dump(Table, File, Extended) -> ok = ets:tab2file(Table, File, [{extended_info, Extended}]).

list(Table, Type, File) ->
    Objects = case Type of ordered_set -> ets:tab2list(Table); _ -> lists:sort(ets:tab2list(Table)) end,
    ok = file:write_file(File, [io_lib:format("~w~n", [O]) || O <- Objects]).

odd(File, Options) ->
    Table = ets:new(odd, Options),
    [ets:insert(Table, {O, N}) || {O, N} <- lists:zip(objects(5), lists:seq(1, 5))],
    dump(Table, File, [object_count, md5sum]),
    list(Table, hd(Options), filename:rootname(File) ++ ".txt"),
    ets:delete(Table).

%% The key 1 stands twice, for the bags; nothing that ~w shows in a way that cannot be read back.
objects(0) -> [];
objects(5) -> [{1, one, <<"first">>}, {1, uno}, {"key", [a, b | c], #{x => 1.5}}, {{tuple, -1}, 1 bsl 70, <<5:3>>}, {atom, 'with space', -0.5, []}];
objects(N) -> [object(I) || I <- lists:seq(1, N)].

object(I) when I rem 7 =:= 0 -> {I, list_to_binary(lists:duplicate(I rem 90, $x)), I / 8};
object(I) when I rem 7 =:= 1 -> {{I, key}, [I, I + 1], #{I => [I]}};
object(I) when I rem 7 =:= 2 -> {list_to_binary(integer_to_list(I)), I};
object(I) when I rem 7 =:= 3 -> {list_to_atom("atom" ++ integer_to_list(I))};
object(I) -> {I * 1000003, I * I * I * I * I * I, -I}.

%% Every early byte, then ever fewer.
damages(Size) ->
    At = [N || N <- lists:seq(0, Size - 1), N < 60 orelse N rem 9 =:= 0 orelse N > Size - 40],
    [{cut, N} || N <- At] ++ [{flip, N * 8 + N rem 8} || N <- At] ++ [{add, N} || N <- [1, 8, 100, 10000]].

damaged(File, Damage, At, Verify) ->
    {ok, Bytes} = file:read_file(File),
    ok = file:write_file("FILE", damage(Damage, At, Bytes)),
    Answer = answer(Verify),
    _ = file:delete("FILE"),
    io_lib:format("~s ~w ~w ~w ~s~n", [File, Damage, At, Verify, Answer]).

damage(cut, At, Bytes) -> binary:part(Bytes, 0, At);
damage(add, At, Bytes) -> <<Bytes/binary, 0:(At * 8)>>;
damage(flip, At, Bytes) ->
    <<Before:(At div 8)/binary, Byte, After/binary>> = Bytes,
    <<Before/binary, (Byte bxor (1 bsl (At rem 8))), After/binary>>.

answer(Verify) ->
    {Pid, Ref} = spawn_monitor(fun() -> exit({answer, load(Verify)}) end),
    receive
        {'DOWN', Ref, _, _, {answer, Answer}} -> Answer;
        {'DOWN', Ref, _, _, _} -> "raises"
    after 5000 -> exit(Pid, kill), "hangs"
    end.

load(Verify) ->
    case ets:file2tab("FILE", [{verify, Verify}]) of
        {ok, Table} -> ["ok:", integer_to_list(ets:info(Table, size))];
        {error, Reason} -> io_lib:format("~w", [plain(Reason)])
    end.

%% An error term that tells the name of the file as a string or a binary of bytes, made printable.
plain("FILE") -> 'FILE';
plain(T) when is_tuple(T) -> list_to_tuple([plain(E) || E <- tuple_to_list(T)]);
plain(T) -> T.
