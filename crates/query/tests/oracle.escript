#!/usr/bin/env escript
%% Runs match specifications as OTP does: reads a list of {Spec, Objects} and writes, for each, badarg or the list of what
%% each object gives ([] for no match).
main([In, Out]) ->
    {ok, Bytes} = file:read_file(In),
    Answers = [answer(Case) || Case <- binary_to_term(Bytes)],
    ok = file:write_file(Out, term_to_binary(Answers)).

answer({Spec, Objects}) ->
    try ets:match_spec_compile(Spec) of
        Compiled -> [ets:match_spec_run([Object], Compiled) || Object <- Objects]
    catch
        error:badarg -> badarg
    end.
