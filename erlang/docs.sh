#!/bin/sh
# Writes the documentation of the Erlang modules where `h(fyris, lookup)` in the shell and `h :fyris.lookup` in IEx look
# for it: FOLDER/doc/chunks, beside FOLDER/ebin. Does nothing without edoc (Debian's erlang-edoc), or if it is there.
#
#   docs.sh [FOLDER]     by default this folder, or where rebar3 builds
set -eu
here=$(cd -P "$(dirname "$0")" && pwd)

write() { # write FOLDER
  chunk=$1/doc/chunks/fyris.chunk
  [ -e "$chunk" ] && [ -z "$(find "$here/src" -name '*.erl' -newer "$chunk")" ] && return
  erl -noshell -eval '
    [Source, Folder] = init:get_plain_arguments(),
    case code:which(edoc_doclet_chunks) of
        non_existing -> ok;
        _ ->
            Files = [filename:join(Source, Name) || Name <- ["fyris.erl", "fyris_migrate.erl", "fyris_mnesia.erl",
                                                             "fyris_ms.erl"]],
            edoc:files(Files, [{doclet, edoc_doclet_chunks}, {layout, edoc_layout_chunks}, {preprocess, true},
                               {includes, [Source]}, {dir, filename:join(Folder, "doc")}]),
            %% IEx wants what the chunks of OTP have: code where edoc writes what is preformatted, and paragraphs.
            Code = fun Code({pre, Attributes, [Text]}) when is_binary(Text) ->
                           {pre, Attributes, [{code, [], [Text]}]};
                       Code({Tag, Attributes, Content}) -> {Tag, Attributes, Code(Content)};
                       Code(Many) when is_list(Many) -> lists:map(Code, Many);
                       Code(Other) -> Other
                   end,
            IsInline = fun(Node) -> is_binary(Node) orelse lists:member(element(1, Node), [code, em, a, b, i]) end,
            Paragraphs = fun Paragraphs([]) -> [];
                             Paragraphs(Many) ->
                                 {Text, Rest} = lists:splitwith(IsInline, Many),
                                 IsBlank = lists:all(fun(T) -> is_binary(T) andalso string:trim(T) =:= <<>> end, Text),
                                 {Blocks, Further} = lists:splitwith(fun(Node) -> not IsInline(Node) end, Rest),
                                 [{p, [], Text} || not IsBlank] ++ Blocks ++ Paragraphs(Further)
                         end,
            Docs = fun(#{<<"en">> := Text} = Doc) -> Doc#{<<"en">> := Paragraphs(Code(Text))};
                      (None) -> None
                   end,
            [begin
                 {ok, Chunk} = file:read_file(File),
                 {docs_v1, At, Language, Format, Module, Meta, Entries} = binary_to_term(Chunk),
                 New = [setelement(4, Entry, Docs(element(4, Entry))) || Entry <- Entries],
                 Whole = {docs_v1, At, Language, Format, Docs(Module), Meta, New},
                 ok = file:write_file(File, term_to_binary(Whole, [compressed]))
             end || File <- filelib:wildcard(filename:join([Folder, "doc", "chunks", "*.chunk"]))]
    end,
    halt().' -extra "$here/src" "$1"
}

if [ $# -gt 0 ]; then
  write "$1"
elif [ -n "${REBAR_BUILD_DIR:-}" ]; then
  for folder in "$REBAR_BUILD_DIR/lib/fyris" "$REBAR_BUILD_DIR/checkouts/fyris"; do
    [ ! -d "$folder" ] || write "$folder"
  done
else
  write "$here"
fi
