%% Fyris beside ets, inside one BEAM.
%%
%% For each case a fresh table is made, filled and timed, fyris and ets in turn, several times; the fastest run counts
%% (what else the machine does only ever adds time), the harness's own loop is measured and subtracted. With two
%% schedulers, ets runs with each of its sets of options, and the fastest counts, case by case; with one, its locks are
%% never contended, and it runs without options, its fastest. Figures are nanoseconds an operation (an object, where
%% whole tables are read); the ratio is fyris / ets, lower is better.
%%
%% `main(["1", N, File | Words])' measures with the schedulers there are and leaves what it found in a file;
%% `main(["2", N, File | Words])' goes on with that and reports both. Only groups whose name begins with one of
%% the words are measured, if there are words.
-module(fyris_bench).

-export([main/1]).

-define(RUNS, 3).

-spec main([string()]) -> ok.
main([Last, N, File | Words]) ->
    Load = load(),
    Found = [{{schedulers(), Group, Phase}, Times}
             || {Group, Prepare} <- fyris_bench_cases:groups(list_to_integer(N), schedulers()),
                is_wanted(Group, Words),
                {Phase, Times} <- apart(fun() -> measured(Group, Prepare()) end)],
    case Last of
        "1" ->
            ok = file:write_file(File, term_to_binary({Load, Found}));
        "2" ->
            {ok, Before} = file:read_file(File),
            {LoadBefore, FoundBefore} = binary_to_term(Before),
            Text = report(list_to_integer(N), [LoadBefore, Load, load()], FoundBefore ++ Found),
            ok = file:write_file(File ++ ".md", Text),
            io:put_chars(Text)
    end.

is_wanted(_, []) -> true;
is_wanted(Group, Words) -> lists:any(fun(Word) -> lists:prefix(Word, Group) end, Words).

%% The result of a fun in a process of its own, whose heap goes with it.
apart(Fun) ->
    {Pid, Monitor} = spawn_monitor(fun() -> exit({result, Fun()}) end),
    receive
        {'DOWN', Monitor, process, Pid, {result, Result}} -> Result;
        {'DOWN', Monitor, process, Pid, Reason} -> exit(Reason)
    end.

schedulers() -> erlang:system_info(schedulers_online).

%% [{Phase, {Ets, Fyris}}]
measured(Group, Run) ->
    io:format(standard_error, "~b scheduler(s): ~s~n", [schedulers(), Group]),
    Passes = [{Backend, Run(Backend)} || R <- lists:seq(1, ?RUNS), Backend <- rotated(R, backends())],
    Phases = [Phase || {Phase, _} <- element(2, hd(Passes))],
    Best = fun(Backend, Phase) ->
                     lists:min([proplists:get_value(Phase, Times) || {B, Times} <- Passes, B =:= Backend])
             end,
    [{Phase, {lists:min([Best(B, Phase) || {ets, _} = B <- backends()]), Best({fyris, []}, Phase)}}
     || Phase <- Phases].

backends() ->
    [{fyris, []}, {ets, []}
     | case schedulers() of
           1 -> [];
           _ -> [{ets, [{read_concurrency, true}, {write_concurrency, true}]}, {ets, [{write_concurrency, auto}]}]
       end].

rotated(R, List) ->
    {Before, After} = lists:split(R rem length(List), List),
    After ++ Before.

%% ---------------------------------------------------------------------------
%% The report: what misses its target most comes first

report(N, Loads, Found) ->
    Rows = lists:reverse(lists:keysort(1, [row(Case, Times) || {Case, Times} <- Found])),
    Within = length([x || {_, _, _, Ratio, Target} <- Rows, Ratio =< Target]),
    Faster = length([x || {_, _, _, Ratio, _} <- Rows, Ratio < 1]),
    [io_lib:format("# Figures~n~n"
                   "What `make bench` printed last, as it is: the cases that miss their target most come first, targets missed are bold.~n"
                   "Nanoseconds an operation (an object, where whole tables are read; bytes under `memory`).~n~n"
                   "`make bench-erlang N=~b`: OTP ~s, ~b runs, the fastest counts. Load of the machine before, between and after: ~s, ~s, ~s.~n~n",
                   [N, erlang:system_info(otp_release), ?RUNS | Loads]),
     "| case | schedulers | ets | fyris | fyris / ets | target |\n|---|---|---|---|---|---|\n",
     [io_lib:format("| ~s, ~s | ~b | ~.1f | ~.1f | ~s | ~s |~n",
                    [Group, Phase, Schedulers, Ets, Fyris, marked(Ratio, Target), target(Target)])
      || {_, {Schedulers, Group, Phase}, {Ets, Fyris}, Ratio, Target} <- Rows],
     io_lib:format("~n~b cases: ~b below 1, ~b within their target.~n", [length(Rows), Faster, Within])].

row({Schedulers, Group, Phase} = Case, {Ets, Fyris}) ->
    Ratio = Fyris / max(Ets, 0.01),
    Target = fyris_bench_cases:target(Schedulers, Group, Phase),
    {Ratio / Target, Case, {Ets, Fyris}, Ratio, Target}.

marked(Ratio, Target) when Ratio > Target -> io_lib:format("**~.2f**", [Ratio]);
marked(Ratio, _) -> io_lib:format("~.2f", [Ratio]).

target(Target) -> io_lib:format("~.2f", [Target]).

load() ->
    case file:read_file("/proc/loadavg") of
        {ok, Text} -> hd(binary:split(Text, <<" ">>));
        _ -> <<"unknown">>
    end.
