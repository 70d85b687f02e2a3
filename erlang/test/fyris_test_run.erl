%% Runs every test module there is beside this one.
-module(fyris_test_run).

-export([main/0, only/1]).

main() ->
    Dir = filename:dirname(code:which(?MODULE)),
    run([list_to_atom(filename:basename(File, ".beam"))
         || File <- filelib:wildcard(filename:join(Dir, "*_test.beam"))]).

%% Some of them, by name.
only(Names) -> run([list_to_atom(Name) || Name <- Names]).

run(Modules) ->
    Result = eunit:test([{atom_to_list(M), tests(M)} || M <- lists:sort(Modules)], []),
    halt(case Result of ok -> 0; error -> 1 end).

%% What eunit would find itself, but with time for a busy machine instead of five seconds a test.
tests(Module) ->
    [timed({test, Module, F}) || F <- named(Module, "_test")]
        ++ [{generator, fun() -> timed(Module:F()) end} || F <- named(Module, "_test_")].

timed(Tests) when is_list(Tests) -> [timed(Test) || Test <- Tests];
timed({timeout, _, _} = Test) -> Test;
timed({Title, Tests}) -> {Title, timed(Tests)};
timed(Test) -> {timeout, 120, Test}.

named(Module, Suffix) ->
    [F || {F, 0} <- Module:module_info(exports),
          lists:suffix(Suffix, atom_to_list(F))].
