#!/usr/bin/env escript
%%! -noinput
%% Answers queries as the real ets does. Packets of four bytes of length and a term, on standard input and output:
%% a list of {KeyPos, Objects, Spec}, and back a list with what every operation of every type of table gave.
main(_) ->
    loop(open_port({fd, 0, 1}, [binary, {packet, 4}, eof])).

loop(Port) ->
    receive
        {Port, {data, Bytes}} ->
            Answers = [[table(Type, Case) || Type <- types()] || Case <- binary_to_term(Bytes)],
            true = port_command(Port, term_to_binary(Answers)),
            loop(Port);
        {Port, eof} ->
            halt(0)
    end.

types() -> [set, ordered_set, bag, duplicate_bag].

table(Type, {KeyPos, Objects, Spec}) ->
    Head = head(Spec),
    On = fun(F) -> on(Type, KeyPos, Objects, F) end,
    Reads = On(fun(T) ->
        [try_({select, fun() -> ets:select(T, Spec) end}),
         try_({select_reverse, fun() -> ets:select_reverse(T, Spec) end}),
         try_({select_count, fun() -> ets:select_count(T, Spec) end}),
         try_({chunks, fun() -> chunks(ets:select(T, Spec, 2), fun ets:select/1) end}),
         try_({chunks_reverse,
               fun() -> chunks(ets:select_reverse(T, Spec, 2), fun ets:select_reverse/1) end}),
         try_({match, fun() -> ets:match(T, Head) end}),
         try_({match_object, fun() -> ets:match_object(T, Head) end})]
    end),
    Writes = [
        On(fun(T) -> changed(T, fun() -> ets:select_delete(T, Spec) end) end),
        On(fun(T) -> changed(T, fun() -> ets:select_delete(T, truthful(Spec)) end) end),
        On(fun(T) -> changed(T, fun() -> ets:select_replace(T, Spec) end) end),
        On(fun(T) -> changed(T, fun() -> ets:select_replace(T, keeping(Spec)) end) end),
        On(fun(T) -> changed(T, fun() -> ets:match_delete(T, Head) end) end)],
    Reads ++ Writes.

on(Type, KeyPos, Objects, F) ->
    T = ets:new(t, [Type, {keypos, KeyPos}]),
    %% One by one: which of two objects of one key in a list stays, ets leaves open.
    [ets:insert(T, Object) || Object <- Objects],
    Answer = F(T),
    ets:delete(T),
    Answer.

try_({_Name, F}) ->
    try {ok, F()} catch error:Why -> {error, Why} end.

changed(T, F) ->
    Answer = try_({change, F}),
    {Answer, ets:tab2list(T)}.

chunks('$end_of_table', _) -> [];
chunks({Results, Continuation}, Next) -> Results ++ chunks(Next(Continuation), Next).

head([{Head, _, _} | _]) -> Head.

%% The same with bodies that say true: what select_delete deletes.
truthful(Spec) -> [{Head, Guards, [true]} || {Head, Guards, _} <- Spec].

%% The same with bodies that put the object back with its first elements and one more.
keeping(Spec) -> [{Head, Guards, ['$_']} || {Head, Guards, _} <- Spec].
