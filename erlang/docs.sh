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
                               {includes, [Source]}, {dir, filename:join(Folder, "doc")}])
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
