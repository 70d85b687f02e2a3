%% What people see: listings, and what the shell says of errors. And that every function is there.
-module(fyris_people_test).

-compile(export_all).
-include("fyris_same.hrl").

-define(NEWER, [{lookup_element, 4}, {update_element, 4}, {first_lookup, 1}, {last_lookup, 1}, {next_lookup, 2},
                {prev_lookup, 2}]).
-define(HIDDEN, [{internal_request_all, 0}, {internal_delete_all, 2}, {internal_select_delete, 2}, {module_info, 0},
                 {module_info, 1}]).

every_function_is_there_newer_ones_too_test() ->
    Wanted = (ets:module_info(exports) ++ ?NEWER) -- ?HIDDEN,
    ?assertEqual([], lists:usort(Wanted) -- fyris:module_info(exports)).

%% The same argument is blamed, or the error as a whole.
the_shell_explains_a_badarg_as_for_ets_test() ->
    Calls = [{lookup, [nowhere, 1]}, {lookup, [1, 1]}, {insert, [nowhere, {1}]}, {lookup_element, [t, 2, 1]},
             {lookup_element, [t, 1, 9]}, {update_counter, [t, 2, 1]}, {update_counter, [t, 1, {1, 1}]},
             {update_element, [t, 1, {1, x}]}, {update_element, [t, 1, {9, x}]}, {give_away, [t, self(), x]},
             {new, [1, []]}, {new, [t, [named_table]]}, {rename, [t, 1]}, {rename, [nowhere, a]}, {whereis, [1]},
             {delete, [nowhere]}, {first, [nowhere]}, {next, [t, 7]}, {take, [nowhere, 1]}, {safe_fixtable, [t, x]},
             {member, [nowhere, 1]}, {slot, [t, 1 bsl 40]}, {info, [1]}],
    Blamed = [{F, Args, blamed(ets, F, Args), blamed(fyris, F, Args)} || {F, Args} <- Calls],
    ?assertEqual([], [Call || {_, _, Real, Ours} = Call <- Blamed, Real =/= Ours]).

blamed(M, F, Args) ->
    fyris_same:in_process(
      fun() ->
              M:new(t, [named_table]),
              M:insert(t, {1, a}),
              try apply(M, F, [case A of Pid when is_pid(Pid) -> self(); _ -> A end || A <- Args])
              catch error:badarg:Stack -> arguments(badarg, Stack)
              end
      end).

arguments(Reason, [{_, _, _, Info} | _] = Stack) ->
    #{module := Explainer} = proplists:get_value(error_info, Info),
    lists:sort(maps:keys(Explainer:format_error(Reason, Stack))).

tables_are_listed_test() ->
    fyris:new(a_listed_name, [named_table, ordered_set]),
    Text = printed(fun() -> fyris:i() end, []),
    [?assert(string:find(Text, Word) =/= nomatch) || Word <- ["a_listed_name", "ordered_set", "owner", " bytes: objects "]],
    fyris:delete(a_listed_name).

tables_are_browsed_page_by_page_test() ->
    T = fyris:new(t, [ordered_set]),
    fyris:insert(T, [{I, an_object} || I <- lists:seq(1, 5)]),
    ?assertEqual(5, count(printed(fun() -> fyris:i(T) end, ["\n"]))),
    ?assertEqual(2, count(printed(fun() -> fyris:i(T, 2) end, ["q\n"]))),
    ?assertEqual(4, count(printed(fun() -> fyris:i(T, 2, 30) end, ["\n", "q\n"]))),
    ?assertError(badarg, fyris:i(nowhere)),
    fyris:delete(T).

count(Text) -> length(string:split(Text, "an_object", all)) - 1.

%% What a fun prints, when it reads these lines.
printed(Fun, Lines) ->
    Before = group_leader(),
    Terminal = spawn_link(fun() -> terminal([], Lines) end),
    group_leader(Terminal, self()),
    try Fun() after group_leader(Before, self()) end,
    Terminal ! {self(), text},
    receive {Terminal, Text} -> lists:flatten(Text) end.

terminal(Text, Lines) ->
    receive
        {io_request, From, Ref, {put_chars, unicode, Chars}} ->
            From ! {io_reply, Ref, ok},
            terminal([Text, unicode:characters_to_list(Chars)], Lines);
        {io_request, From, Ref, {put_chars, unicode, M, F, Args}} ->
            From ! {io_reply, Ref, ok},
            terminal([Text, unicode:characters_to_list(apply(M, F, Args))], Lines);
        {io_request, From, Ref, _} ->
            {Line, Rest} = case Lines of [] -> {eof, []}; [First | More] -> {First, More} end,
            From ! {io_reply, Ref, Line},
            terminal(Text, Rest);
        {Pid, text} ->
            Pid ! {self(), Text}
    end.
