#!/usr/bin/env bash
# OTP 25.2.3: `list_to_ref/1` of a reference to atomics, counters or an ets table keeps what it refers to for good.
#
# The text of a reference can be read back in the node that made it, into the very same reference: also that of atomics,
# whose memory goes when the last reference to it does. But the reference that is read is counted once more than there
# are terms that have it, so that the memory stays when all of them are gone, and their process too. Who reads such text
# does so unawares: a query of `qlc` that looks keys up in an ets table and is shown by `qlc:info/1` passes its tid so.
# `binary_to_term(term_to_binary(Reference))` keeps nothing.
#
# Seen: 10 times 8 MB of atomics made and dropped in a process that ends: 0 MB more than before, of erlang:memory(total);
# passed through binary_to_term(term_to_binary(R)) as well: 0 MB; through list_to_ref(ref_to_list(R)): 79 MB. OTP 29.1.1
# does the same.
#
# Usage: findings/otp-list-to-ref-keeps.sh. Needs apt-get and dpkg (Debian 12); some seconds. Fails if the behaviour has
# changed.
set -euo pipefail
version=1:25.2.3+dfsg-1+deb12u4
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -qq -o APT::Sandbox::User=root "erlang-base=$version"
dpkg -x erlang-base_*.deb root
export ERL_ROOTDIR=$folder/root/usr/lib/erlang
export EMU=beam PROGNAME=erl BINDIR
BINDIR=$(dirname "$(find "$ERL_ROOTDIR" -name erlexec)")
cat >keeps.erl <<'END'
-module(keeps).
-export([main/0]).

main() ->
    [Dropped, Encoded, Read] =
        [more(Way) || Way <- [fun(R) -> R end,
                              fun(R) -> binary_to_term(term_to_binary(R)) end,
                              fun(R) -> list_to_ref(ref_to_list(R)) end]],
    io:format("OTP ~s, MB that stay: dropped ~b, term_to_binary ~b, list_to_ref ~b~n",
              [erlang:system_info(otp_release), Dropped, Encoded, Read]),
    halt(if Dropped < 8, Encoded < 8, Read > 72 -> 0; true -> 1 end).

more(Way) ->
    Before = erlang:memory(total),
    {Process, Monitor} = spawn_monitor(fun() -> lists:foreach(fun(_) -> Way(atomics:new(1_000_000, [])) end, lists:seq(1, 10)) end),
    receive {'DOWN', Monitor, process, Process, normal} -> ok end,
    [garbage_collect(P) || P <- processes()],
    timer:sleep(200),
    (erlang:memory(total) - Before) div 1_000_000.
END
"$BINDIR/erlexec" -noinput -eval '{ok, keeps} = compile:file(keeps), halt().'
"$BINDIR/erlexec" -noinput -s keeps main || {
  echo "the behaviour has changed" >&2
  exit 1
}
