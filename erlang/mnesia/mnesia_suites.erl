%% Builds OTP's suites of Mnesia, runs their cases one by one, and compares two runs. `run.sh' calls it.
%%
%% In the directory of a side: `cases.eterm', the cases to run; `results.eterm', a tuple for each one that ran;
%% `begun.eterm', the one under way; `finished', when all ran.
-module(mnesia_suites).

-export([build/0, plan/0, main/0, compare/1]).

-define(SUITES, [mnesia_external_backend_test, mnesia_trans_access_test, mnesia_dirty_access_test, mnesia_evil_backup,
                 mnesia_isolation_test, mnesia_durability_test, mnesia_consistency_test, mnesia_atomicity_test,
                 mnesia_index_plugin_test, mnesia_qlc_test, mnesia_frag_test, mnesia_nice_coverage_test,
                 mnesia_evil_coverage_test]).
%% They need common_test, or have no use for another storage.
-define(LEFT_OUT, ["mnesia_SUITE", "mnesia_bench_SUITE"]).
%% The tools of the suites, which are no suites.
-define(TOOLS, ["ext_test", "ext_test_server", "mt", "gen_tcp_blocking_dist"]).
-define(LIBRARY, "mnesia_test_lib").

%% ---------------------------------------------------------------------------
%% Building

%% Mnesia with the functions for debugging that many cases need, and the suites.
build() ->
    Mnesia = filename:join([os:getenv("SUITES_SOURCE"), "lib", "mnesia"]),
    compile(files(Mnesia, "src"), "mnesia/ebin", [{d, debug}]),
    {ok, App} = file:read_file(filename:join([Mnesia, "src", "mnesia.app.src"])),
    ok = file:write_file("mnesia/ebin/mnesia.app", string:replace(App, "%VSN%", "0.suites", all)),
    code:add_patha("mnesia/ebin"),
    [compile([File], "test", transformed(name(File))) || File <- files(Mnesia, "test"), not lists:member(name(File), ?LEFT_OUT)],
    halt(0).

files(Mnesia, Folder) -> filelib:wildcard(filename:join([Mnesia, Folder, "*.erl"])).

name(File) -> filename:basename(File, ".erl").

transformed(Name) ->
    case {kept(os:getenv("SUITES_SIDE")), lists:member(Name, ?TOOLS)} of
        {none, _} -> [];
        {_, true} -> [];
        {Storage, false} -> [{parse_transform, mnesia_suites_transform}, {kept, Storage} | [library || Name =:= ?LIBRARY]]
    end.

kept("untouched") -> none;
kept("for_ram_copies") -> ram_copies;
kept("for_disc_copies") -> disc_copies.

compile(Files, Out, More) ->
    ok = filelib:ensure_path(Out),
    Source = os:getenv("SUITES_SOURCE"),
    [{ok, _} = compile:file(File, [{outdir, Out}, {i, filename:dirname(File)}, {i, filename:join(Source, "lib")},
                                   report_errors, debug_info, nowarn_export_all | More])
     || File <- Files].

%% ---------------------------------------------------------------------------
%% Which cases

plan() ->
    Cases = lists:uniq([Case || Suite <- ?SUITES, code:ensure_loaded(Suite) =:= {module, Suite},
                                Test <- Suite:all(), Case <- cases(Suite, [], Test), wanted(Case)]),
    write("cases.eterm", Cases),
    [_ = file:delete(File) || File <- ["results.eterm", "begun.eterm", "finished"]],
    halt(0).

%% A case is {Suite, Groups, Function}.
cases(Suite, Groups, {group, Group}) ->
    {Group, _, Tests} = lists:keyfind(Group, 1, Suite:groups()),
    [Case || Test <- Tests, Case <- cases(Suite, Groups ++ [Group], Test)];
cases(_, Groups, {Suite, all}) -> [Case || Test <- Suite:all(), Case <- cases(Suite, Groups, Test)];
cases(_, Groups, {group, Suite, Group}) -> cases(Suite, Groups, {group, Group});
cases(_, Groups, {Suite, Test}) -> cases(Suite, Groups, Test);
cases(Suite, Groups, Function) -> [{Suite, Groups, Function}].

wanted(Case) -> re:run(title(Case), os:getenv("ONLY", "")) =/= nomatch.

title({Suite, _, Function}) -> lists:concat([Suite, ":", Function]).

%% ---------------------------------------------------------------------------
%% Running

%% Runs cases that have no result, until one does not pass.
main() ->
    [ended(Case, {failed, "the node ended or hung"}, 0) || Case <- read("begun.eterm")],
    write("begun.eterm", []),
    Done = [{Suite, Function} || {Suite, Function, _, _} <- read("results.eterm")],
    run([Case || {Suite, _, Function} = Case <- read("cases.eterm"), not lists:member({Suite, Function}, Done)]),
    ok = file:write_file("finished", ""),
    halt(0).

run([]) ->
    ok;
run([Case | More]) ->
    write("begun.eterm", [Case]),
    io:format("~n===== ~s~n", [title(Case)]),
    Begun = erlang:monotonic_time(millisecond),
    Outcome = outcome(guarded(Case)),
    ended(Case, Outcome, erlang:monotonic_time(millisecond) - Begun),
    write("begun.eterm", []),
    case Outcome of
        {failed, _} -> halt(1);
        _ -> run(More)
    end.

ended({Suite, _, Function}, Outcome, Milliseconds) ->
    io:format("===== ~s:~s ~0tP~n", [Suite, Function, Outcome, 60]),
    ok = file:write_file("results.eterm", io_lib:format("~0tp.~n", [{Suite, Function, Outcome, Milliseconds}]), [append]).

outcome({ok, _, _}) -> passed;
outcome({skip, _, Why}) -> {skipped, brief(Why)};
outcome({_, _, Why}) -> {failed, brief(Why)};
outcome(Other) -> {failed, brief(Other)}.

brief(Why) -> lists:flatten(io_lib:format("~0tP", [Why, 40])).

%% The suites have a timer of their own; this one is for when they hang with it.
guarded({_, _, Function} = Case) ->
    {Pid, Monitor} = spawn_monitor(fun() -> exit({result, evaluated(Case)}) end),
    receive
        {'DOWN', Monitor, process, Pid, {result, Result}} -> Result;
        {'DOWN', Monitor, process, Pid, Why} -> {crash, Function, Why}
    after 2 * limit() ->
        {crash, Function, hung}
    end.

limit() -> list_to_integer(os:getenv("TIMEOUT")) * 1000.

evaluated({Suite, Groups, Function}) ->
    {module, Suite} = code:ensure_loaded(Suite),
    Config = lists:foldl(fun(Group, Config) -> in_group(Suite, Group, Config) end,
                         [{tc_timeout, limit()} | mnesia_test_lib:default_config()], Groups),
    case begun(Suite, Function, Config) of
        {skip, Why} -> {skip, Function, Why};
        _ -> mnesia_test_lib:eval_test_case(Suite, Function, Config)
    end.

in_group(_, _, {skip, Why}) -> {skip, Why};
in_group(Suite, Group, Config) ->
    case erlang:function_exported(Suite, init_per_group, 2) of
        true -> Suite:init_per_group(Group, Config);
        false -> Config
    end.

%% The library does this again, but knows no case that is skipped here.
begun(_, _, {skip, Why}) -> {skip, Why};
begun(Suite, Function, Config) ->
    case Suite:init_per_testcase(Function, Config) of
        {skip, Why} -> {skip, Why};
        _ -> Suite:end_per_testcase(Function, Config)
    end.

%% ---------------------------------------------------------------------------
%% Comparing

compare([Known | Sides]) ->
    {ok, Reasons} = file:consult(Known),
    Untouched = results("untouched"),
    Unknown = [Case || Side <- Sides, Case <- summary(Side, results(Side), Untouched, Reasons)],
    halt(case Unknown of [] -> 0; _ -> 1 end).

results(Side) -> read(filename:join(Side, "results.eterm")).

%% Prints what there is to say of a side, and returns the differences without a reason.
summary(Side, Cases, Untouched, Reasons) ->
    io:format("~n~s~n", [Side]),
    [io:format("  ~-32s ~3b of ~3b~n", [Suite, count(Suite, Cases), length([x || {S, _, _, _} <- Cases, S =:= Suite])])
     || Suite <- ?SUITES, lists:keymember(Suite, 1, Cases)],
    Unknown = [Case || Case <- differences(Untouched, Cases), not explained(Side, Case, Reasons)],
    [io:format("  not passed either way: ~s:~s ~0tP~n", [Suite, Function, Outcome, 20])
     || {Suite, Function, Outcome, _} <- Cases, Outcome =/= passed, not passed(Suite, Function, Untouched)],
    io:format("mnesia suites, ~s: ~b of ~b passed~n", [Side, length([x || {_, _, passed, _} <- Cases]), length(Cases)]),
    Unknown.

passed(Suite, Function, Cases) -> [x || {S, F, passed, _} <- Cases, S =:= Suite, F =:= Function] =/= [].

count(Suite, Cases) -> length([x || {S, _, passed, _} <- Cases, S =:= Suite]).

differences(Untouched, Cases) ->
    [{Suite, Function, Outcome} || {Suite, Function, Outcome, _} <- Cases, Outcome =/= passed, passed(Suite, Function, Untouched)].

explained(Side, {Suite, Function, Outcome}, Reasons) ->
    case [Reason || {In, Reason, Known} <- Reasons, In =:= list_to_atom(Side), {S, Functions} <- Known, S =:= Suite,
                    lists:member(Function, Functions)] of
        [Reason | _] ->
            io:format("  differs: ~s:~s: ~s~n", [Suite, Function, Reason]),
            true;
        [] ->
            io:format("  DIFFERS, and no reason is known: ~s:~s ~0tP~n", [Suite, Function, Outcome, 60]),
            false
    end.

%% ---------------------------------------------------------------------------

write(File, Terms) ->
    ok = file:write_file(File, [io_lib:format("~0tp.~n", [Term]) || Term <- Terms]).

read(File) ->
    case file:consult(File) of
        {ok, Terms} -> Terms;
        {error, enoent} -> []
    end.
