%% What people are told of a badarg: which argument, and why.
-module(fyris_errors_test).

-include_lib("stdlib/include/assert.hrl").

-export([objects_test/0, tables_test/0, counters_test/0]).

%% `fyris:insert(T, foo)' was once a badarg without a word, where ets says that it is not a tuple.
objects_test() ->
    T = fyris:new(t, []),
    ?assertEqual(
        #{2 => <<"not a tuple or a list of tuples">>}, told(fun() -> fyris:insert(T, foo) end)
    ),
    ?assertEqual(
        #{2 => <<"not a proper list">>}, told(fun() -> fyris:insert_new(T, [{a} | b]) end)
    ),
    ?assertEqual(
        #{general => <<"bad key position 1 in a tuple of 0">>},
        told(fun() -> fyris:insert(T, {}) end)
    ).

tables_test() ->
    Gone = #{1 => <<"the table identifier does not refer to an existing table">>},
    ?assertEqual(Gone, told(fun() -> fyris:lookup(no_such_table, 1) end)),
    ?assertEqual(
        #{1 => <<"range does not work on a set">>},
        told(fun() -> fyris:range(fyris:new(t, []), 1, 2) end)
    ).

counters_test() ->
    T = fyris:new(t, []),
    ?assertEqual(
        #{2 => <<"no object has this key">>}, told(fun() -> fyris:update_counter(T, a, 1) end)
    ).

%% What the shell would print of the error that Fun raises.
told(Fun) ->
    try Fun() of
        Value -> {no_error, Value}
    catch
        error:Reason:Stack ->
            {Module, _, _, Info} = hd(Stack),
            Error = proplists:get_value(error_info, Info, #{}),
            Explain = maps:get(function, Error, format_error),
            (maps:get(module, Error, Module)):Explain(Reason, Stack)
    end.
