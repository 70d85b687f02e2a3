%% The phases of the papers on the scalability of ETS (2013, 2014) inside of BEAM: `ets' with its options beside `fyris'
%% with its indexes, as `fyris-bench ets_bench' runs them in Rust. One JSON object a line, for `fyris-bench papers'.
%%
%% There is a worker process for each scheduler. Each draws its keys beforehand, from all keys; a phase is over when all
%% workers have done their part, and its time is that of the whole. All tables take turns, run by run. With one worker
%% all tables must have the same number of objects in the end, or the run fails.
%%
%% `main(["about", Command])' prints the line that says where and when; `main([Bits, Ops, Runs])' measures with the
%% schedulers there are: keys below two to the power of Bits, Ops operations of a mixed phase by all workers.
-module(fyris_papers).

-export([main/1]).

-define(MIXES, [50, 80, 90, 99, 100]).

-spec main([string()]) -> ok.
main(["about", Command]) ->
    {{Year, Month, Day}, {Hour, Minute, _}} = calendar:universal_time(),
    io:format("{\"about\":{\"command\":\"~s\",\"date\":\"~b-~2..0b-~2..0b ~2..0b:~2..0b\",\"machine\":\"~s\","
              "\"cpus\":~b,\"kernel\":\"Linux ~s\",\"otp\":\"~s\"}}~n",
              [Command, Year, Month, Day, Hour, Minute, machine(), erlang:system_info(logical_processors),
               string:trim(read("/proc/sys/kernel/osrelease")), erlang:system_info(otp_release)]);
main([Bits, Ops, Runs]) ->
    Range = 1 bsl list_to_integer(Bits),
    Count = erlang:system_info(schedulers_online),
    Workers = [spawn_link(fun() -> worker(I, Count, Range, list_to_integer(Ops)) end) || I <- lists:seq(1, Count)],
    Kinds = kinds(),
    Passes = [pass(Kind, Workers, R) || R <- lists:seq(1, list_to_integer(Runs)), Kind <- rotated(R, Kinds)],
    check(Count, Passes),
    [print(Kind, Phase, Count, Range, [proplists:get_value(Phase, Times) || {K, _, Times} <- Passes, K =:= Kind])
     || Kind <- Kinds, Phase <- phases()],
    ok.

machine() ->
    case re:run(read("/proc/cpuinfo"), "model name\\s*: (.*)", [{capture, [1], list}]) of
        {match, [Name]} -> Name;
        nomatch -> "unknown"
    end.

read(File) ->
    case file:read_file(File) of
        {ok, Text} -> Text;
        {error, _} -> <<>>
    end.

rotated(R, List) ->
    {Before, After} = lists:split(R rem length(List), List),
    After ++ Before.

phases() -> [insert] ++ [{mix, Share} || Share <- ?MIXES] ++ [delete].

%% ---------------------------------------------------------------------------
%% The tables

%% {Module, Index, OptionsName, Type, Options}; of `ets' the type stands for the index.
kinds() ->
    [{ets, Type, Name, Type, Options} || Type <- [set, ordered_set], {Name, Options} <- options()]
        ++ [{fyris, Index, Name, Type, [{index, Index} | Options]}
            || {Type, Index, Names} <- indexes(), {Name, Options} <- options(), lists:member(Name, Names)].

options() ->
    R = {read_concurrency, true},
    W = {write_concurrency, true},
    [{"no", []}, {"r", [R]}, {"w", [W]}, {"r+w", [R, W]}, {"auto", [R, {write_concurrency, auto}]}].

%% Without `michael_hash', whose number of buckets is fixed.
indexes() ->
    [{set, hash, ["no"]}, {ordered_set, ordered, ["no"]}, {set, split_ordered, ["no"]},
     {set, linear_hash, ["no", "r", "w", "r+w", "auto"]}, {set, judyeh, ["r"]}]
        ++ [{ordered_set, Index, ["no"]} || Index <- [skip_list, relaxed_avl, ca_avl, ca_treap]]
        ++ [{ordered_set, Index, ["no", "r"]} || Index <- [avl]]
        ++ [{ordered_set, Index, ["r"]} || Index <- [treap, btree, judysl, judyesl]].

%% {Kind, Size, [{Phase, {Nanoseconds, Runtime}}]}: of an operation, for one worker.
pass({Module, Index, Name, Type, Options} = Kind, Workers, R) ->
    io:format(standard_error, "~b scheduler(s), run ~b: ~s ~s ~s~n", [length(Workers), R, Module, Index, Name]),
    Table = Module:new(papers, [Type, public | Options]),
    Times = [{Phase, phase(Phase, Module, Table, Workers)} || Phase <- phases()],
    Size = Module:info(Table, size),
    true = Module:delete(Table),
    {Kind, Size, Times}.

phase(Phase, Module, Table, Workers) ->
    {Runtime, _} = statistics(runtime),
    Start = erlang:monotonic_time(nanosecond),
    [Worker ! {self(), Phase, Module, Table} || Worker <- Workers],
    Ops = lists:sum([receive {Worker, Done} -> Done end || Worker <- Workers]),
    Time = erlang:monotonic_time(nanosecond) - Start,
    {After, _} = statistics(runtime),
    {Time * length(Workers) / Ops, (After - Runtime) * 1.0e6 / Ops}.

%% The keys of one worker are the same in each pass, so that one worker alone leaves the same objects everywhere.
check(1, [{First, Size, _} | Rest]) ->
    case [{Kind, Wrong} || {Kind, Wrong, _} <- Rest, Wrong =/= Size] of
        [] -> ok;
        [{Kind, Wrong} | _] -> error({wrong_answer, {Kind, Wrong}, {First, Size}})
    end;
check(_, _) ->
    ok.

%% ---------------------------------------------------------------------------
%% The workers

worker(I, Count, Range, Ops) ->
    Seed = rand:seed_s(exsss, {I, Count, 42}),
    {Keys, Seed1} = drawn(Range div 2 div Count, Range, Seed),
    {Gone, Seed2} = drawn(Range div 2 div Count, Range, Seed1),
    {Mixes, _} = lists:mapfoldl(fun(Share, S) ->
                                        {List, S1} = mixed(Ops div Count, Share, Range, S),
                                        {{{mix, Share}, List}, S1}
                                end,
                                Seed2,
                                ?MIXES),
    serve(maps:from_list([{insert, Keys}, {delete, Gone} | Mixes])).

serve(Lists) ->
    receive
        {From, Phase, Module, Table} ->
            List = maps:get(Phase, Lists),
            perform(Phase, Module, Table, List),
            From ! {self(), length(List)},
            serve(Lists)
    end.

perform(insert, Module, Table, Keys) -> lists:foreach(fun(Key) -> Module:insert(Table, {Key}) end, Keys);
perform(delete, Module, Table, Keys) -> lists:foreach(fun(Key) -> Module:delete(Table, Key) end, Keys);
perform({mix, _}, Module, Table, Ops) -> mix(Module, Table, Ops).

mix(_, _, []) ->
    ok;
mix(Module, Table, [Op | Ops]) ->
    Key = Op bsr 2,
    case Op band 3 of
        0 -> Module:lookup(Table, Key);
        1 -> Module:insert(Table, {Key});
        2 -> Module:delete(Table, Key)
    end,
    mix(Module, Table, Ops).

drawn(Count, Range, Seed) -> lists:mapfoldl(fun(_, S) -> rand:uniform_s(Range, S) end, Seed, lists:seq(1, Count)).

%% Operations as a key and two bits.
mixed(Count, Share, Range, Seed) ->
    Draw = fun(_, S) ->
                   {Key, S1} = rand:uniform_s(Range, S),
                   {Dice, S2} = rand:uniform_s(200, S1),
                   Op = if Dice =< 2 * Share -> 0;
                           true -> 1 + Dice rem 2
                        end,
                   {Key bsl 2 bor Op, S2}
           end,
    lists:mapfoldl(Draw, Seed, lists:seq(1, Count)).

%% ---------------------------------------------------------------------------
%% The lines

print({Module, Index, Name, _, _}, Phase, Count, Range, Samples) ->
    Times = lists:sort([Time || {Time, _} <- Samples]),
    Runtimes = lists:sort([Runtime || {_, Runtime} <- Samples]),
    Median = quantile(0.5, Times),
    io:format("{\"suite\":\"ets_bench_beam\",\"case\":\"~s\",\"subject\":\"~s in OTP ~s\",\"index\":\"~s\","
              "\"object\":\"{K}\",\"options\":\"~s\",\"keys\":\"term_int\",\"threads\":~b,\"n\":~b,"
              "\"ns_per_op\":~.2f,\"min\":~.2f,\"max\":~.2f,\"q1\":~.2f,\"q3\":~.2f,\"runs\":~b,"
              "\"cpu_ns_per_op\":~.2f,\"ops_per_s\":~.3f}~n",
              [phase_name(Phase), Module, erlang:system_info(otp_release), Index, Name, Count, Range, Median, hd(Times),
               lists:last(Times), quantile(0.25, Times), quantile(0.75, Times), length(Times),
               quantile(0.5, Runtimes), Count * 1.0e9 / Median]).

phase_name({mix, Share}) -> "mix" ++ integer_to_list(Share);
phase_name(Phase) -> atom_to_list(Phase).

quantile(Share, Sorted) ->
    At = Share * (length(Sorted) - 1),
    Low = lists:nth(trunc(At) + 1, Sorted),
    High = lists:nth(min(trunc(At) + 2, length(Sorted)), Sorted),
    Low + (High - Low) * (At - trunc(At)).
