%% Every function and type that `ets' has in some release of OTP is in `fyris'.
-module(fyris_exports_test).

-compile(export_all).
-include("fyris_same.hrl").

%% Parts of others that `ets' has to export; documented nowhere.
-define(INTERNAL, [{internal_delete_all, 2}, {internal_request_all, 0}, {internal_select_delete, 2}]).

facts() ->
    File = filename:join([filename:dirname(code:which(?MODULE)), "..", atom_to_list(?MODULE) ++ ".facts"]),
    {ok, Facts} = file:consult(File),
    Facts.

functions(M) -> lists:sort(M:module_info(exports)) -- [{module_info, 0}, {module_info, 1}].

types(M) ->
    {ok, {M, [{abstract_code, {_, Forms}}]}} = beam_lib:chunks(code:which(M), [abstract_code]),
    lists:usort(lists:append([Types || {attribute, _, export_type, Types} <- Forms])).

the_facts_of_this_release_are_right_test() ->
    [?assertEqual({Kind, lists:sort(Facts)}, {Kind, case Kind of functions -> functions(ets); types -> types(ets) end})
     || {Release, Kind, Facts} <- facts(), Release =:= fyris_same:otp()].

every_function_is_there_test() ->
    [?assertEqual({Release, []}, {Release, (Facts -- ?INTERNAL) -- functions(fyris)}) || {Release, functions, Facts} <- facts()].

every_type_is_there_test() ->
    [?assertEqual({Release, []}, {Release, Facts -- types(fyris)}) || {Release, types, Facts} <- facts()].

%% What Mnesia calls of a backend beyond its behaviour, from OTP 29 on.
mnesia_finds_what_it_calls_test() ->
    [?assert(lists:member(Call, functions(fyris_mnesia))) || Call <- [{select_reverse, 3}, {select_reverse, 4}]].

%% Types of a module that uses them as it would use those of ets.
types_are_usable_test() ->
    Types = [Name || {29, types, Facts} <- facts(), {Name, 0} <- Facts],
    Module = ["-module(fyris_typed).\n-export([f/1]).\n-spec f(",
              lists:join(" | ", [io_lib:format("fyris:~w()", [T]) || T <- Types]), ") -> ok.\nf(_) -> ok.\n"],
    {ok, Tokens, _} = erl_scan:string(lists:flatten(Module)),
    Forms = [begin {ok, Form} = erl_parse:parse_form(F), Form end || F <- forms(Tokens)],
    ?assertMatch({ok, fyris_typed, _}, compile:forms(Forms, [])).

forms([]) -> [];
forms(Tokens) ->
    {Form, [Dot | Rest]} = lists:splitwith(fun(T) -> element(1, T) =/= dot end, Tokens),
    [Form ++ [Dot] | forms(Rest)].
