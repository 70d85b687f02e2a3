%% @doc Moves a project from `ets' to `fyris': lists every use of `ets' with
%% what changes, and rewrites it in place.
%%
%% == How it reads ==
%%
%% By tokens, not by compiling: so it needs no include path, sees what stands
%% under `-ifdef', and keeps a file's layout and comments to the byte. An
%% atom `ets' counts where code can mean the module: `ets:f(', `fun ets:f/1',
%% `{ets, f, Args}', and as an argument of `apply', `spawn' and the like.
%% Other atoms called `ets' are reported, and left alone.
%%
%% A variable or a macro that is `ets', and that calls are made with (`M = ets, M:lookup(T, K)'), becomes `fyris'.
%%
%% == What it leaves alone ==
%%
%% Calls on tables that OTP makes for itself (`ets:lookup(global_locks, Id)'), unless the file makes one of that name:
%% they stay with `ets', and a note says so. So do tables that are handed to other modules of OTP (`dets:to_ets(Dets, T)'),
%% which read those of `ets' only: each call is listed, with what there is instead. Native records of OTP 29 are listed, too.
%%
%% == What it does not see ==
%%
%% Calls put together at run time, and macros that a header of another
%% application defines. For Elixir there is `mix fyris.migrate'.
-module(fyris_migrate).

-export([scan/1, rewrite/1, rewrite/2, print/1]).

-export_type([finding/0, rewritten/0]).

-type finding() :: #{file := file:filename(),
                     line := pos_integer(),
                     column := pos_integer(),
                     call := fyris_migrate_rules:use(),
                     becomes := string() | keep,
                     note => string()}.

-type rewritten() :: {would_change | changed, file:filename(), pos_integer()} | {error, file:filename(), term()}.

%% A place of the atom `ets', its use, and the table of OTP that is meant, or `none'.
-type place() :: {{pos_integer(), pos_integer()}, fyris_migrate_rules:use(), atom()}.

%% @doc Returns every use of `ets' in a file, a folder (with all below it) or a list of these, in order.
%%
%% A finding says where it is, which call it is (or `type', `module' or `reference'), what it becomes (or `keep'), and
%% perhaps a note. A file that cannot be read is `{error, File, Reason}' among the findings.
%% ```
%% > fyris_migrate:scan("src/cache.erl").
%% [#{file => "src/cache.erl", line => 12, column => 5, call => {new, 2}, becomes => "fyris:new/2"}]
%% '''
-spec scan(file:filename() | [file:filename()]) ->
          [finding() | {error, file:filename(), term()}].
scan(Paths) ->
    lists:flatmap(fun scan_file/1, files(Paths)).

%% @doc Prints what {@link scan/1} finds, a line each. Returns `ok'.
-spec print(file:filename() | [file:filename()]) -> ok.
print(Paths) ->
    lists:foreach(fun print_one/1, scan(Paths)).

%% @doc Returns the number of places that would be rewritten in each file, and touches nothing. As
%% `rewrite(Paths, [])'.
-spec rewrite(file:filename() | [file:filename()]) -> [rewritten()].
rewrite(Paths) ->
    rewrite(Paths, []).

%% @doc Returns the number of places to be rewritten in each file, `{would_change, File, N}'; with the option `write'
%% rewrites them: `{changed, File, N}'.
%%
%% `ets' becomes `fyris' at the places that {@link scan/1} names, and a module that calls `fun2ms' gets the parse
%% transform of Fyris. A file that cannot be read or written is `{error, File, Reason}'.
%%
%% Fails with `{bad_options, Options}', and touches nothing, for others.
-spec rewrite(file:filename() | [file:filename()], [write]) -> [rewritten()].
rewrite(Paths, Options) ->
    Write = Options =/= [],
    Options =:= [] orelse Options =:= [write] orelse error({bad_options, Options}),
    lists:flatmap(fun(File) -> rewrite_file(File, Write) end, files(Paths)).

%% ---------------------------------------------------------------------------
%% Files

files([C | _] = Path) when is_integer(C) -> files([Path]);
files(Paths) when is_list(Paths) ->
    lists:flatmap(fun files_of/1, Paths);
files(Path) -> files([Path]).

files_of(Path) ->
    case filelib:is_dir(Path) of
        true -> lists:sort(filelib:fold_files(Path, "\\.[eh]rl$", true,
                                              fun(F, Fs) -> [F | Fs] end, []));
        false -> [Path]
    end.

%% Returns the encoding of a file, its text as characters, and its tokens.
read(File) ->
    case file:read_file(File) of
        {ok, Bytes} -> tokens(text(Bytes));
        {error, Reason} -> {error, Reason}
    end.

text(Bytes) ->
    case unicode:characters_to_list(Bytes) of
        Text when is_list(Text) -> {utf8, Text};
        _ -> {latin1, binary_to_list(Bytes)}
    end.

tokens({Encoding, Text}) ->
    case erl_scan:string(Text, {1, 1}) of
        {ok, Tokens, _} -> {ok, Encoding, Text, Tokens};
        {error, {_, _, Reason}, Where} ->
            {error, {Where, lists:flatten(erl_scan:format_error(Reason))}}
    end.

%% ---------------------------------------------------------------------------
%% Finding

scan_file(File) ->
    case read(File) of
        {ok, _, _, Tokens} -> [finding(File, P) || P <- places(Tokens)];
        {error, Reason} -> [{error, File, Reason}]
    end.

-spec places([erl_scan:token()]) -> [place()].
places(Tokens) ->
    Own = [Name || {call, new, [[{atom, _, Name}] | _]} <- calls(Tokens)],
    Macros = called(Tokens, fun macro/1),
    lists:append([uses(Form, #{own => Own, macros => Macros, variables => called(Form, fun variable/1)}, [])
                  || Form <- forms(Tokens)]).

forms([]) -> [];
forms(Tokens) ->
    {Form, Rest} = lists:splitwith(fun(Token) -> element(1, Token) =/= dot end, Tokens),
    [Form | forms(lists:nthtail(min(1, length(Rest)), Rest))].

%% The calls of ets by name, with the tokens of their arguments.
calls([{atom, _, ets}, {':', _}, {atom, _, F}, {'(', _} | Rest]) ->
    [{call, F, Arguments} || Arguments <- [arguments(Rest)], is_list(Arguments)] ++ calls(Rest);
calls([_ | Rest]) -> calls(Rest);
calls([]) -> [].

%% What stands before a colon, as a reader of tokens finds it.
called([], _) -> [];
called([_ | Rest] = Tokens, Read) -> Read(Tokens) ++ called(Rest, Read).

variable([{var, _, Name}, {':', _} | _]) -> [Name];
variable(_) -> [].

macro([{'?', _}, {Kind, _, Name}, {':', _} | _]) when Kind =:= atom; Kind =:= var -> [Name];
macro(_) -> [].

%% Finds the uses of `ets' among the tokens of a form. The last argument is the tokens before, from the nearest on.
uses([], _, _) -> [];
uses([{atom, _, ets} = Atom | Rest], Known, Before) ->
    {Use, Arguments} = use(Rest, Before, Known),
    [{at(Atom), Use, of_otp(Use, Arguments, Known)} | uses(Rest, Known, [Atom | Before])];
uses([{atom, _, Module} = Token, {':', _}, {atom, _, F} | Rest] = Tokens, Known, Before) ->
    Uses = uses(tl(Tokens), Known, [Token | Before]),
    case fyris_migrate_rules:takes_table(Module, F) of
        true ->
            {{F, Arity}, _} = named(F, Rest),
            [{at(Token), {Module, F, Arity}, none} | Uses];
        false ->
            Uses
    end;
uses([{'-', _}, {atom, _, record} = Token, {'#', _} | Rest], Known, Before) ->
    [{at(Token), native_record, none} | uses(Rest, Known, [Token | Before])];
uses([Token | Rest], Known, Before) ->
    uses(Rest, Known, [Token | Before]).

at(Token) ->
    {erl_scan:line(Token), erl_scan:column(Token)}.

%% Returns the use of an atom by the tokens behind it and before it, and the tokens of the arguments, as far as there
%% are.
use([{':', _}, {atom, _, F} | Rest], _, _) -> named(F, Rest);
use([{':', _} | _], _, _) -> {{'_', unknown}, unknown};
use([{',', _}, {atom, _, F}, {',', _} | Rest], [{Open, _} | _], _) when Open =:= '('; Open =:= '{'; Open =:= ',' ->
    applied(F, fyris_migrate_rules:exists(F, unknown), Rest);
use([{',', _}, {var, _, _}, {',', _} | _], [{'(', _}, {atom, _, Caller} | _], _) ->
    case lists:member(Caller, [apply, spawn, spawn_link, spawn_monitor, spawn_opt, spawn_request, tc,
                               function_exported]) of
        true -> {{'_', unknown}, unknown};
        false -> {reference, unknown}
    end;
use(_, [{'=', _}, {var, _, Name} | _], #{variables := Called}) -> held(Name, Called);
use([{')', _} | _], [{',', _}, {Kind, _, Name}, {'(', _}, {atom, _, define} | _], #{macros := Called})
  when Kind =:= atom; Kind =:= var ->
    held(Name, Called);
use(_, _, _) -> {reference, unknown}.

%% What has a name is the module if calls are made with it.
held(Name, Called) ->
    case lists:member(Name, Called) of
        true -> {module, unknown};
        false -> {reference, unknown}
    end.

%% Returns the kind of a use: `fun ets:f/1', a type such as `ets:tid()', or a call.
named(F, [{'/', _}, {integer, _, Arity} | _]) -> {{F, Arity}, unknown};
named(F, [{'(', _}, {')', _} | _] = Tokens) ->
    case fyris_migrate_rules:is_type(F) of
        true -> {type, unknown};
        false -> counted(F, tl(Tokens))
    end;
named(F, [{'(', _} | Rest]) -> counted(F, Rest);
named(F, _) -> {{F, unknown}, unknown}.

%% Returns function and arity of `apply(ets, f, [...])'.
applied(_, false, _) -> {reference, unknown};
applied(F, true, [{'[', _} | Rest]) -> counted(F, Rest);
applied(F, true, _) -> {{F, unknown}, unknown}.

counted(F, Tokens) ->
    case arguments(Tokens) of
        unknown -> {{F, unknown}, unknown};
        Arguments -> {{F, length(Arguments)}, Arguments}
    end.

%% Returns the table of OTP that a call is about, or `none'.
of_otp({F, Arity}, Arguments, #{own := Own}) when is_list(Arguments) ->
    Argument = fyris_migrate_rules:table_argument(F),
    case Argument =< Arity andalso lists:nth(Argument, Arguments) of
        [{atom, _, Name}] when F =/= new ->
            case fyris_migrate_rules:is_of_otp(Name) andalso not lists:member(Name, Own) of
                true -> Name;
                false -> none
            end;
        _ ->
            none
    end;
of_otp(_, _, _) -> none.

%% Returns the tokens of each argument, up to the bracket that closes; or `unknown' if there is none.
arguments([{Close, _} | _]) when Close =:= ')'; Close =:= ']' -> [];
arguments(Tokens) -> arguments(Tokens, 0, [], []).

arguments([], _, _, _) ->
    unknown;
arguments([{Close, _} | _], 0, Last, Others)
  when Close =:= ')'; Close =:= ']'; Close =:= '}'; Close =:= '>>' ->
    lists:reverse(Others, [lists:reverse(Last)]);
arguments([{',', _} | Rest], 0, Last, Others) ->
    arguments(Rest, 0, [], [lists:reverse(Last) | Others]);
arguments([{'fun', _} = Fun, {'(', _} | Rest], Depth, Last, Others) ->
    arguments(Rest, Depth + 2, [Fun | Last], Others);
arguments([{'fun', _} = Fun, {var, _, _}, {'(', _} | Rest], Depth, Last, Others) ->
    arguments(Rest, Depth + 2, [Fun | Last], Others);
arguments([Token | Rest], Depth, Last, Others) ->
    arguments(Rest, Depth + step(element(1, Token)), [Token | Last], Others).

step(Open) when Open =:= '('; Open =:= '['; Open =:= '{'; Open =:= '<<';
                Open =:= 'begin'; Open =:= 'case'; Open =:= 'if';
                Open =:= 'receive'; Open =:= 'try' -> 1;
step(Close) when Close =:= ')'; Close =:= ']'; Close =:= '}';
                 Close =:= '>>'; Close =:= 'end' -> -1;
step(_) -> 0.

finding(File, {{Line, Column}, Use, Table}) ->
    maps:merge(#{file => File, line => Line, column => Column, call => Use},
               fyris_migrate_rules:change(Use, Table)).

print_one({error, File, Reason}) ->
    io:format("~ts: cannot be read: ~tp~n", [File, Reason]);
print_one(#{file := File, line := Line, column := Column, call := Use,
            becomes := Becomes} = Finding) ->
    io:format("~ts:~b:~b: ~ts -> ~ts~ts~n",
              [File, Line, Column, used(Use), shown(Becomes),
               [["  (", Note, ")"] || #{note := Note} <- [Finding]]]).

used({'_', _}) -> "ets:F";
used({F, unknown}) -> lists:concat(["ets:", F]);
used({F, Arity}) -> lists:concat(["ets:", F, "/", Arity]);
used({Module, F, unknown}) -> lists:concat([Module, ":", F]);
used({Module, F, Arity}) -> lists:concat([Module, ":", F, "/", Arity]);
used(type) -> "a type of ets";
used(native_record) -> "a native record";
used(_) -> "ets".

shown(keep) -> "stays";
shown(Text) -> Text.

%% ---------------------------------------------------------------------------
%% Rewriting

rewrite_file(File, Write) ->
    case read(File) of
        {ok, Encoding, Text, Tokens} ->
            changed(File, Write, Encoding, Text, edits(Tokens));
        {error, Reason} ->
            [{error, File, Reason}]
    end.

changed(_, _, _, _, []) ->
    [];
changed(File, false, _, _, Edits) ->
    [{would_change, File, length(Edits)}];
changed(File, true, Encoding, Text, Edits) ->
    New = unicode:characters_to_binary(edit(Text, {1, 1}, Edits), unicode,
                                       Encoding),
    case file:write_file(File, New) of
        ok -> [{changed, File, length(Edits)}];
        {error, Reason} -> [{error, File, Reason}]
    end.

%% Returns place, present text and new text of each change, in order.
edits(Tokens) ->
    lists:sort([{Place, "ets", "fyris"}
                || {Place, Use, Table} <- places(Tokens),
                   maps:get(becomes, fyris_migrate_rules:change(Use, Table)) =/= keep]
               ++ transform(Tokens)).

%% The header of the parse transform of ets becomes the one of Fyris, which
%% leaves calls of `ets:fun2ms' alone: there are none left.
transform([{'-', _} = Dash, {atom, _, include_lib}, {'(', _},
           {string, _, "stdlib/include/ms_transform.hrl"} = Text, {')', _}
           | Rest]) ->
    {Line, Column} = at(Dash),
    Old = "-include_lib(\"stdlib/include/ms_transform.hrl\")",
    case {at(Text), length("-include_lib(")} of
        {{Line, Start}, Width} when Start =:= Column + Width ->
            [{{Line, Column}, Old, "-compile({parse_transform, fyris_ms})"}
             | transform(Rest)];
        _ ->
            transform(Rest)
    end;
transform([_ | Rest]) -> transform(Rest);
transform([]) -> [].

edit(Text, _, []) ->
    Text;
edit(Text, Place, [{Place, Old, New} | Edits]) ->
    {Quoted, Rest} = without(Old, Text),
    {Line, Column} = Place,
    New ++ edit(Rest, {Line, Column + Quoted}, Edits);
edit([$\n | Text], {Line, _}, Edits) ->
    [$\n | edit(Text, {Line + 1, 1}, Edits)];
edit([C | Text], {Line, Column}, Edits) ->
    [C | edit(Text, {Line, Column + 1}, Edits)].

%% Takes the old text off, which may be a quoted atom; and how long it was.
without(Old, [$' | Text]) ->
    [$' | Rest] = lists:nthtail(length(Old), Text),
    {length(Old) + 2, Rest};
without(Old, Text) ->
    {length(Old), lists:nthtail(length(Old), Text)}.
