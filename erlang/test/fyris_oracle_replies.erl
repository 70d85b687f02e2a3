%% The one place that says where `ets' and `fyris' may answer differently, and what is compared all the same.
%%
%% | where | what is compared |
%% |---|---|
%% | lists from set, bag, duplicate_bag | the lists in an order that tells 1 from 1.0 |
%% | first, last there | whether there is a key |
%% | next, prev, slot there | whether there is an answer |
%% | chunks there (`fyris_oracle_calls:chunk/3') | whether there is one; `collect' compares all of them |
%% | select_delete of all there | that it counts: with decentralized counters, ets counts again what is gone from a fixed table |
%% | info: memory, stats; texts of errors | not at all |
%% | tids, pids of the processes, compiled specifications | which ones they are |
%% | the function that an error is raised in | not where ets makes one function of others |
%%
%% Never asked, since ets has it wrong (see `fyris_oracle_commands', `fyris_oracle_terms'): `take' from a fixed bag;
%% maps as keys in patterns; variables above '$2147483647'; maps in bodies whose keys turn out equal; and, by release:
%%
%% | not asked of | what |
%% |---|---|
%% | 25 | the order of one key's objects from a list in bags |
%% | 25 to 26 | -0.0, which is 0.0 there |
%% | 25 to 28 | defaults that do not fit |
%% | 26 and later | funs such as `fun lists:map/2' where a table is compressed: it crashes |
%% | 27 and later | updates with a default in a fixed table: a failed one leaves its key behind |
%%
%% Before OTP 29 `tab2file' of what is no table, or may not be read, is asked in the way of OTP 29
%% (`fyris_oracle_calls').
-module(fyris_oracle_replies).

-export([comparable/3, same/2]).

%% What is compared in pairs: a limited call that has come to its end says so then or the next time; ets finds no slot 0
%% in an empty ordered_set with write_concurrency.
same({{value, ended}, _, _}, _) -> true;
same(_, {{value, ended}, _, _}) -> true;
same({{error, badarg, {slot, [_, 0]}}, Mail, 0}, {{value, '$end_of_table'}, Mail, 0}) -> true;
same({{error, badarg}, Mail, 0}, {{value, []}, Mail, 0}) -> true;
same({{error, badarg, {F, _}}, Mail, Size}, {{value, there}, Mail, Size}) when F =/= slot -> true;
same({{error, badarg}, Mail, Size}, {{value, there}, Mail, Size}) -> true;
same(A, B) -> A =:= B.

comparable({_, select_delete, [_, [{'_', [], [true]}]]}, Type, {{value, Count}, Mail, Size})
        when is_integer(Count), Type =/= ordered_set ->
    {counted, Mail, Size};
comparable({_, F, _}, Type, {Reply, Mail, Size}) ->
    {reply(F, Type, Reply), Mail, Size};
comparable(_, _, Reply) ->
    Reply.

reply(new, _, {value, Table}) when not is_atom(Table) ->
    table;
reply(whereis, _, {value, Table}) when is_reference(Table) ->
    table;
reply(F, _, {value, _} = Reply) when F =:= info; F =:= all; F =:= safe_fixed ->
    without_memory(Reply);
reply(F, Type, {value, Value}) when Type =/= ordered_set ->
    {value, unordered(kind(F), Value)};
reply(init, _, {exit, {Reason, [_ | _]}}) ->
    {exit, Reason};
reply(_, _, Reply) ->
    Reply.

kind(F) when F =:= first; F =:= last; F =:= first_lookup; F =:= last_lookup -> edge;
kind(F) when F =:= next; F =:= prev; F =:= next_lookup; F =:= prev_lookup; F =:= slot -> step;
kind(F) ->
    case lists:member(F, [tab2list, select, select_reverse, match, match_object, foldl, foldr, walk, walk_back,
                          walk_lookup, slots, collect]) of
        true -> list;
        false -> other
    end.

unordered(edge, Key) -> Key =/= '$end_of_table';
unordered(step, _) -> there;
unordered(list, List) when is_list(List) -> lists:sort([{term_to_binary(Value), Value} || Value <- List]);
unordered(_, Value) -> Value.

without_memory({value, Info}) when is_list(Info) -> lists:keydelete(memory, 1, Info);
without_memory(Reply) -> Reply.
