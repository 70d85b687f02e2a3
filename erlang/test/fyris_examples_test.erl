%% The programs of `examples/' run, and keep what they promise.
-module(fyris_examples_test).

-compile(export_all).

together_test_() ->
    load("fyris_together.erl"),
    [{atom_to_list(Program), fun() -> ok = fyris_together:Program() end}
     || Program <- [bank, reservations, job_queue, counts, run]].

load(Name) ->
    Source = filename:join([filename:dirname(code:which(?MODULE)), "..", "..", "examples", Name]),
    {ok, Module, Code, []} = compile:file(Source, [binary, return]),
    {module, Module} = code:load_binary(Module, Source, Code).
