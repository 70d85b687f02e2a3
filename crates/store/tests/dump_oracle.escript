#!/usr/bin/env escript
%% -*- erlang -*-
%% Real ets against the dumps of Fyris. Run by tests/dump/interop.rs with a command and a folder:
%%
%%   check DIR    every NAME.ets in DIR holds the objects in NAME.list (a list in external format), and
%%                file2tab takes it with and without verifying; NAME.info is what tabfile_info should say
%%   write DIR    makes dumps of all types with all options, NAME.ets beside NAME.list and NAME.info
%%   answer DIR   what file2tab and tabfile_info say of every *.ets in DIR: answers.etf, a list of
%%                {Name, WithVerify, Without, Info}, each {ok, N} or {ok, Info}, {error, R}, {raised, R}, hangs
%%
%% Prints what is wrong, a line each, and exits 1; prints nothing and exits 0 if all is well.
-mode(compile).

main([Command, Dir]) ->
    error_logger:tty(false),
    Bad = case Command of
              "check" -> lists:append([check(F) || F <- files(Dir)]);
              "write" -> write(Dir);
              "answer" -> answer(Dir)
          end,
    [io:format("~ts~n", [B]) || B <- Bad],
    halt(case Bad of [] -> 0; _ -> 1 end).

files(Dir) -> filelib:wildcard(filename:join(Dir, "*.ets")).

read(File, Ext) ->
    {ok, Bin} = file:read_file(filename:rootname(File) ++ Ext),
    binary_to_term(Bin).

check(File) ->
    Objects = read(File, ".list"),
    {ok, Info} = ets:tabfile_info(File),
    [io_lib:format("~s: tabfile_info ~w", [File, Info]) || Info =/= read(File, ".info")] ++
        lists:append([check(File, Objects, Info, Verify) || Verify <- [true, false]]).

check(File, Objects, Info, Verify) ->
    case catch ets:file2tab(File, [{verify, Verify}]) of
        {ok, T} ->
            %% An ets table made of the same objects: OTP 25 has no -0.0.
            Type = proplists:get_value(type, Info),
            Keypos = proplists:get_value(keypos, Info),
            Like = ets:new(like, [Type, {keypos, Keypos}]),
            [ets:insert(Like, O) || O <- Objects],
            Same = content(T, Type) =:= content(Like, Type),
            Kept = [ets:info(T, I) || I <- [name, type, protection, named_table, keypos]] =:=
                [proplists:get_value(I, Info) || I <- [name, type, protection, named_table, keypos]],
            ets:delete(T),
            ets:delete(Like),
            [io_lib:format("~s: other objects", [File]) || not Same] ++
                [io_lib:format("~s: other options", [File]) || not Kept];
        Other ->
            [io_lib:format("~s: verify ~w: ~P", [File, Verify, Other, 20])]
    end.

content(T, ordered_set) -> ets:tab2list(T);
content(T, _) -> lists:sort(ets:tab2list(T)).

write(Dir) ->
    Infos = [[], [object_count], [md5sum], [object_count, md5sum]],
    [write(Dir, Type, Info, N, Named) ||
        Type <- [set, ordered_set, bag, duplicate_bag], Info <- Infos, N <- [0, 5, 1000], Named <- [true, false]],
    [].

write(Dir, Type, Info, N, Named) ->
    Name = list_to_atom(lists:flatten(io_lib:format("~s_~w_~w_~s", [Type, length(Info), N, Named]))),
    T = ets:new(Name, [Type, {keypos, 2}, public] ++ [named_table || Named]),
    [ets:insert(T, object(I)) || I <- lists:seq(1, N)],
    File = filename:join(Dir, lists:flatten(io_lib:format("~s_~w.ets", [Name, Info]))),
    ok = ets:tab2file(T, File, [{extended_info, Info}]),
    {ok, About} = ets:tabfile_info(File),
    Root = filename:rootname(File),
    ok = file:write_file(Root ++ ".list", term_to_binary(ets:tab2list(T))),
    ok = file:write_file(Root ++ ".info", term_to_binary(About)),
    ets:delete(T).

object(I) when I rem 11 =:= 0 -> {I, key(I), self(), make_ref(), fun() -> I end};
object(I) when I rem 11 =:= 1 -> {I, key(I), #{I => [I, 1.5], key => "text"}};
object(I) when I rem 11 =:= 2 -> {I, key(I), binary:copy(<<I>>, I), <<1:3>>};
object(I) when I rem 11 =:= 3 -> {I, key(I), I bsl 100, -I};
object(I) when I rem 11 =:= 4 -> {big, key(I), binary:copy(<<I>>, 70000)};
object(I) -> {I, key(I)}.

key(I) when I rem 4 =:= 0 -> I div 8;
key(I) when I rem 4 =:= 1 -> {a, I};
key(I) when I rem 4 =:= 2 -> integer_to_binary(I);
key(I) -> float(I).

answer(Dir) ->
    Answers = [{filename:basename(F), answer(F, true), answer(F, false), info(F)} || F <- files(Dir)],
    ok = file:write_file(filename:join(Dir, "answers.etf"), term_to_binary(Answers)),
    [].

answer(File, Verify) ->
    within(fun() ->
                   case ets:file2tab(File, [{verify, Verify}]) of
                       {ok, T} -> {ok, ets:info(T, size)};
                       Error -> Error
                   end
           end).

info(File) -> within(fun() -> ets:tabfile_info(File) end).

%% In a process of its own: the table goes with it, and so does one that hangs.
within(Fun) ->
    {Pid, Ref} = spawn_monitor(
        fun() -> exit(try {done, Fun()} catch error:R when is_atom(R) -> {done, {raised, R}};
                                              error:R when is_tuple(R) -> {done, {raised, element(1, R)}} end) end),
    receive
        {'DOWN', Ref, _, _, {done, Answer}} -> Answer;
        {'DOWN', Ref, _, _, Other} -> {died, Other}
    after 2000 -> exit(Pid, kill), hangs
    end.
