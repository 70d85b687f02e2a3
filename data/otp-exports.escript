#!/usr/bin/env escript
%%! +fnu
%% Remakes data/otp25-exports.ets: every function of the OTP installed here, as its BEAM files tell. From anywhere:
%%
%%     escript data/otp-exports.escript
%%
%% Reads the files with beam_lib; loads none of the modules. See data/README.md for what the table holds.
-mode(compile).

main([]) ->
    Table = ets:new(otp_exports, [ordered_set, named_table]),
    Beams = filelib:wildcard(filename:join(code:lib_dir(), "*/ebin/*.beam")),
    [ets:insert(Table, functions(Beam)) || Beam <- Beams],
    Path = filename:join(filename:dirname(escript:script_name()), "otp25-exports.ets"),
    ok = ets:tab2file(Table, Path, [{extended_info, [object_count, md5sum]}]),
    Exported = length([x || {_, _, #{exported := true}} <- ets:tab2list(Table)]),
    io:format("~ts: ~w functions of ~w modules, ~w exported, ~w bytes~n",
              [Path, ets:info(Table, size), length(Beams), Exported, filelib:file_size(Path)]).

functions(Beam) ->
    {ok, {Module, [{exports, Exports}, {locals, Locals}, {attributes, Attributes}]}} =
        beam_lib:chunks(Beam, [exports, locals, attributes]),
    Forms = forms(Beam),
    Lines = maps:from_list([{{F, A}, erl_anno:line(Anno)} || {function, Anno, F, A, _} <- Forms]),
    Specs = maps:from_list([{local_name(Name), Types} || {attribute, _, spec, {Name, Types}} <- Forms]),
    Deprecated = lists:append([value(D) || {deprecated, D} <- Attributes]),
    App = application(Beam),
    [{{Module, F, A}, App, props(FA, Exported, Lines, Specs, Deprecated)}
     || {Exported, FAs} <- [{true, Exports}, {false, Locals}], {F, A} = FA <- FAs, F =/= module_info, written(F)].

%% The forms the module was compiled from, if the file keeps them.
forms(Beam) ->
    case beam_lib:chunks(Beam, [abstract_code]) of
        {ok, {_, [{abstract_code, {raw_abstract_v1, Forms}}]}} -> Forms;
        _ -> []
    end.

local_name({_Module, F, A}) -> {F, A};
local_name({F, A}) -> {F, A}.

value(List) when is_list(List) -> List;
value(Value) -> [Value].

%% Not a name that the compiler gave to a fun, as in '-map/2-fun-0-'.
written(Name) -> hd(atom_to_list(Name) ++ "x") =/= $-.

%% ".../kernel-8.5.3/ebin/file.beam" is of kernel.
application(Beam) ->
    Folder = filename:basename(filename:dirname(filename:dirname(Beam))),
    list_to_atom(hd(string:split(Folder, "-", trailing))).

props({F, A} = FA, Exported, Lines, Specs, Deprecated) ->
    maps:from_list([{exported, Exported}]
                   ++ [{line, maps:get(FA, Lines)} || is_map_key(FA, Lines)]
                   ++ [{spec, spec(F, maps:get(FA, Specs))} || is_map_key(FA, Specs)]
                   ++ lists:sublist([{deprecated, reason(D)} || D <- Deprecated, concerns(D, F, A)], 1)).

%% The spec as one line of text: "keyfind(Key, N, TupleList) -> Tuple | false when ...".
spec(F, Types) ->
    Text = erl_pp:attribute({attribute, erl_anno:new(0), spec, {{F, arity(Types)}, Types}}, [{encoding, unicode}]),
    Line = re:replace(Text, "\\s+", " ", [global, unicode, {return, binary}]),
    string:trim(string:trim(string:prefix(Line, "-spec "), trailing, " ."), both).

arity([{type, _, 'fun', [{type, _, product, Args} | _]} | _]) -> length(Args);
arity([{type, _, bounded_fun, [Fun | _]} | _]) -> arity([Fun]).

concerns(module, _, _) -> true;
concerns(D, F, A) ->
    element(1, D) =:= F andalso (element(2, D) =:= A orelse element(2, D) =:= '_').

reason({_, _, Text}) when is_list(Text) -> unicode:characters_to_binary(Text);
reason({_, _, When}) -> When;
reason(_) -> true.
