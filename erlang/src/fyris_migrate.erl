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
%% == What it does not see ==
%%
%% Calls put together at run time, and macros that a header of another
%% application defines. Elixir says `:ets'; there, replace it by `:fyris'.
-module(fyris_migrate).

-export([scan/1, rewrite/1, rewrite/2, print/1]).

-export_type([finding/0]).

-type finding() :: #{file := file:filename(),
                     line := pos_integer(),
                     column := pos_integer(),
                     call := {atom(), arity()} | type | reference,
                     becomes := string() | keep,
                     note => string()}.

%% A place of the atom `ets', and its use.
-type place() :: {{pos_integer(), pos_integer()},
                  {atom(), arity() | unknown} | type | reference}.

%% @doc Returns every use of `ets' in a file, a folder (with all below it) or a list of these, in order.
%%
%% A finding says where it is, which call it is (or `type', or `reference'), what it becomes (or `keep'), and perhaps a
%% note. A file that cannot be read is `{error, File, Reason}' among the findings.
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
-spec rewrite(file:filename() | [file:filename()]) ->
          [{file:filename(), non_neg_integer()} |
           {error, file:filename(), term()}].
rewrite(Paths) ->
    rewrite(Paths, []).

%% @doc Returns the number of places to be rewritten in each file; with `write' among the options, rewrites them.
%%
%% `ets' becomes `fyris' at the places that {@link scan/1} names, and a module that calls `fun2ms' gets the parse
%% transform of Fyris. A file that cannot be read or written is `{error, File, Reason}'.
-spec rewrite(file:filename() | [file:filename()], [write]) ->
          [{file:filename(), non_neg_integer()} |
           {error, file:filename(), term()}].
rewrite(Paths, Options) ->
    Write = proplists:get_bool(write, Options),
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
places(Tokens) -> places(Tokens, none).

%% Finds the uses of `ets' among the tokens. The second argument is the token before.
places([{atom, _, ets} = Atom, {':', _}, {atom, _, F} | Rest], _) ->
    [{at(Atom), use(F, Rest)} | places(Rest, Atom)];
places([{atom, _, ets} = Atom, {':', _} | Rest], _) ->
    [{at(Atom), {'_', unknown}} | places(Rest, Atom)];
places([{atom, _, ets} = Atom, {',', _}, {atom, _, F}, {',', _} | Rest],
       {Open, _}) when Open =:= '('; Open =:= '{'; Open =:= ',' ->
    [{at(Atom), applied(F, exists(F, unknown), Rest)} | places(Rest, Atom)];
places([{atom, _, ets} = Atom | Rest], _) ->
    [{at(Atom), reference} | places(Rest, Atom)];
places([Token | Rest], _) ->
    places(Rest, Token);
places([], _) ->
    [].

at(Token) ->
    {erl_scan:line(Token), erl_scan:column(Token)}.

%% Returns the kind of a use: `fun ets:f/1', a type such as `ets:tid()', or a call.
use(F, [{'/', _}, {integer, _, Arity} | _]) -> {F, Arity};
use(F, [{'(', _}, {')', _} | _])
  when F =:= tid; F =:= tab; F =:= table; F =:= continuation;
       F =:= table_type; F =:= table_access; F =:= match_pattern;
       F =:= match_spec; F =:= compiled_match_spec; F =:= comp_match_spec ->
    type;
use(F, [{'(', _} | Rest]) -> {F, count(Rest)};
use(F, _) -> {F, unknown}.

%% Returns function and arity of `apply(ets, f, [...])'.
applied(_, false, _) -> reference;
applied(F, true, [{'[', _} | Rest]) -> {F, count(Rest)};
applied(F, true, _) -> {F, unknown}.

%% Counts the arguments, up to the bracket that closes.
count([{Close, _} | _]) when Close =:= ')'; Close =:= ']' -> 0;
count(Tokens) -> count(Tokens, 0, 1).

count([], _, _) ->
    unknown;
count([{Close, _} | _], 0, N)
  when Close =:= ')'; Close =:= ']'; Close =:= '}'; Close =:= '>>' ->
    N;
count([{',', _} | Rest], 0, N) ->
    count(Rest, 0, N + 1);
count([{'fun', _}, {'(', _} | Rest], Depth, N) ->
    count(Rest, Depth + 2, N);
count([{'fun', _}, {var, _, _}, {'(', _} | Rest], Depth, N) ->
    count(Rest, Depth + 2, N);
count([Token | Rest], Depth, N) ->
    count(Rest, Depth + step(element(1, Token)), N).

step(Open) when Open =:= '('; Open =:= '['; Open =:= '{'; Open =:= '<<';
                Open =:= 'begin'; Open =:= 'case'; Open =:= 'if';
                Open =:= 'receive'; Open =:= 'try' -> 1;
step(Close) when Close =:= ')'; Close =:= ']'; Close =:= '}';
                 Close =:= '>>'; Close =:= 'end' -> -1;
step(_) -> 0.

%% ---------------------------------------------------------------------------
%% Replacements

finding(File, {{Line, Column}, Use}) ->
    maps:merge(#{file => File, line => Line, column => Column, call => Use},
               change(Use)).

change(reference) ->
    #{becomes => keep, note => "an atom: is the module meant?"};
change(type) ->
    #{becomes => "the type of the same name in fyris"};
change({'_', _}) ->
    #{becomes => call_text(fyris, '_', unknown),
      note => "the function is known at run time only"};
change({F, Arity}) ->
    case {exists(F, Arity), attention(F)} of
        {false, _} -> #{becomes => keep, note => "fyris has no such " ++ thing(Arity)};
        {true, none} -> #{becomes => call_text(fyris, F, Arity)};
        {true, Note} -> #{becomes => call_text(fyris, F, Arity), note => Note}
    end.

%% Names the kind of thing. Without arguments it can be the name of a type.
thing(0) -> "function or type";
thing(_) -> "function".

call_text(Module, '_', _) -> lists:concat([Module, ":F"]);
call_text(Module, F, unknown) -> lists:concat([Module, ":", F]);
call_text(Module, F, Arity) -> lists:concat([Module, ":", F, "/", Arity]).

exists(F, Arity) ->
    lists:any(fun({G, A}) ->
                      F =:= G andalso (Arity =:= unknown orelse A =:= Arity)
              end, fyris:module_info(exports)).

attention(fun2ms) ->
    "needs -compile({parse_transform, fyris_ms}) for ms_transform.hrl";
attention(all) ->
    "lists tables of fyris only";
attention(F) when F =:= first; F =:= next; F =:= last; F =:= prev;
                  F =:= slot; F =:= tab2list; F =:= foldl; F =:= foldr ->
    "the order of set and bag is another";
attention(give_away) ->
    "the receiver must use fyris too";
attention(info) ->
    "memory and stats are those of fyris";
attention(whereis) ->
    "names of fyris and ets are apart";
attention(_) ->
    none.

print_one({error, File, Reason}) ->
    io:format("~ts: cannot be read: ~tp~n", [File, Reason]);
print_one(#{file := File, line := Line, column := Column, call := Use,
            becomes := Becomes} = Finding) ->
    io:format("~ts:~b:~b: ~ts -> ~ts~ts~n",
              [File, Line, Column, used(Use), shown(Becomes),
               [["  (", Note, ")"] || #{note := Note} <- [Finding]]]).

used({F, Arity}) -> call_text(ets, F, Arity);
used(type) -> "a type of ets";
used(reference) -> "ets".

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
    [{File, length(Edits)}];
changed(File, true, Encoding, Text, Edits) ->
    New = unicode:characters_to_binary(edit(Text, {1, 1}, Edits), unicode,
                                       Encoding),
    case file:write_file(File, New) of
        ok -> [{File, length(Edits)}];
        {error, Reason} -> [{error, File, Reason}]
    end.

%% Returns place, present text and new text of each change, in order.
edits(Tokens) ->
    lists:sort([{Place, "ets", "fyris"}
                || {Place, Use} <- places(Tokens), maps:get(becomes, change(Use)) =/= keep]
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
