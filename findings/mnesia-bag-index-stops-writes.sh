#!/usr/bin/env bash
# Mnesia 4.21.3 (OTP 25.2.3): after a table of kind `disc_only_copies` with an index of type `bag` has become
# `ram_copies` or `disc_copies`, transactions that write to it answer {atomic,ok} and write nothing.
#
# Mnesia takes the index of the old kind out of its list of what a write does by another name than the one that it has
# there, so the entry stays, and the table of dets that it names has been closed. Each write ends at that entry, in
# silence. With {index,[v]} the name under which the table is closed is wrong as well: it stays open, the write goes on,
# and the index of dets is filled for nobody.
#
# Seen, for ram_copies and disc_copies: sync_transaction {atomic,ok}, then read [] and table_info(size) 0 with
# {index,[{v,bag}]}, one row with {index,[v]}.
#
# Usage: findings/mnesia-bag-index-stops-writes.sh. Needs apt-get and dpkg (Debian 12); some seconds. Fails if the
# behaviour has changed.
set -euo pipefail
version=1:25.2.3+dfsg-1+deb12u4
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -qq -o APT::Sandbox::User=root "erlang-base=$version" "erlang-mnesia=$version"
for package in *.deb; do dpkg -x "$package" root; done
export ERL_ROOTDIR=$folder/root/usr/lib/erlang
export EMU=beam PROGNAME=erl BINDIR
BINDIR=$(dirname "$(find "$ERL_ROOTDIR" -name erlexec)")
cat >stops.erl <<'END'
-module(stops).
-export([main/0]).

main() ->
    ok = application:load(mnesia),
    {ok, Version} = application:get_key(mnesia, vsn),
    ok = mnesia:create_schema([node()]),
    ok = mnesia:start(),
    Seen = [look(Table, Index, Kind)
            || {Table, Index, Kind} <- [{a, {v, bag}, ram_copies}, {b, {v, bag}, disc_copies}, {c, v, ram_copies}]],
    io:format("mnesia ~s~n~p~n", [Version, Seen]),
    Rows = [{Answer, Row, Size} || {_, _, Answer, Row, Size} <- Seen],
    Nothing = {{atomic, ok}, [], 0},
    Same = Rows =:= [Nothing, Nothing, {{atomic, ok}, [{c, 1, z}], 1}],
    halt(case {Version, Same} of {"4.21.3", true} -> 0; _ -> 1 end).

look(Table, Index, Kind) ->
    {atomic, ok} = mnesia:create_table(Table, [{attributes, [k, v]}, {index, [Index]}, {disc_only_copies, [node()]}]),
    {atomic, ok} = mnesia:change_table_copy_type(Table, node(), Kind),
    Answer = mnesia:sync_transaction(fun() -> mnesia:write({Table, 1, z}) end),
    {Index, Kind, Answer, mnesia:dirty_read(Table, 1), mnesia:table_info(Table, size)}.
END
"$BINDIR/erlexec" -noinput -eval '{ok, stops} = compile:file(stops), halt().'
"$BINDIR/erlexec" -noinput -mnesia dir "\"$folder/data\"" -s stops main || {
  echo "the behaviour has changed" >&2
  exit 1
}
