#!/usr/bin/env bash
# Mnesia 4.21.3 (OTP 25.2.3): an index of a table of type `set` takes the keys 1 and 1.0 for one, so a row that is there
# is not found; and the index type that would keep them apart is ignored.
#
# A table of type `set` (and of type `bag`) has the rows {t,1,z} and {t,1.0,z} side by side, as keys of these types are
# compared by `=:=`. Its index is an ordered_set of {Value, Key}, which compares by `==`, so it has one entry for both.
# Once one of the rows is deleted the other can be read by its key, but `index_read` and `match_object` with the value
# answer [], in silence: a pattern with the value bound is looked up in the index. `{index,[{v,bag}]}`, which Mnesia
# takes for a type of index, makes no difference for a table in memory.
#
# Seen, for each of {index,[v]}, {index,[{v,bag}]} and {index,[{v,ordered}]}: index_read finds 1 row of 2 before the
# delete and 0 of 1 after it, match_object 0 of 1 after it, read 1 of 1.
#
# Usage: findings/mnesia-index-folds-keys.sh. Needs apt-get and dpkg (Debian 12); some seconds. Fails if the behaviour
# has changed.
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
cat >folds.erl <<'END'
-module(folds).
-export([main/0]).

main() ->
    ok = application:load(mnesia),
    {ok, Version} = application:get_key(mnesia, vsn),
    ok = mnesia:start(),
    Seen = [look(list_to_atom("t" ++ integer_to_list(N)), Index)
            || {N, Index} <- [{1, v}, {2, {v, bag}}, {3, {v, ordered}}]],
    io:format("mnesia ~s~n~p~n", [Version, Seen]),
    Same = [ok || {_, {both, 1}, {index_read, 0}, {match_object, 0}, {read, 1}} <- Seen],
    halt(case {Version, Same} of {"4.21.3", [ok, ok, ok]} -> 0; _ -> 1 end).

look(Table, Index) ->
    {atomic, ok} = mnesia:create_table(Table, [{attributes, [k, v]}, {index, [Index]}]),
    [ok = mnesia:dirty_write({Table, Key, z}) || Key <- [1, 1.0]],
    Both = length(mnesia:dirty_index_read(Table, z, v)),
    ok = mnesia:dirty_delete(Table, 1),
    {Index, {both, Both},
     {index_read, length(mnesia:dirty_index_read(Table, z, v))},
     {match_object, length(mnesia:dirty_match_object({Table, '_', z}))},
     {read, length(mnesia:dirty_read(Table, 1.0))}}.
END
"$BINDIR/erlexec" -noinput -eval '{ok, folds} = compile:file(folds), halt().'
"$BINDIR/erlexec" -noinput -mnesia dir "\"$folder/data\"" -s folds main || {
  echo "the behaviour has changed" >&2
  exit 1
}
