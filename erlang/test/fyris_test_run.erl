%% Runs every test module there is beside this one.
-module(fyris_test_run).

-export([main/0]).

main() ->
    Dir = filename:dirname(code:which(?MODULE)),
    Modules = [list_to_atom(filename:basename(File, ".beam"))
               || File <- filelib:wildcard(filename:join(Dir, "*_test.beam"))],
    Result = eunit:test([{timeout, 300, M} || M <- lists:sort(Modules)], []),
    halt(case Result of ok -> 0; error -> 1 end).
