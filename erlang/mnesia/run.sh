#!/usr/bin/env bash
# OTP's own test suites of Mnesia three times: untouched, with their ram_copies kept as fyris_copies, with their
# disc_copies.
#
#   erlang/mnesia/run.sh                      all suites, all three, and what differs (an hour)
#   erlang/mnesia/run.sh for_ram_copies       one of: untouched, for_ram_copies, for_disc_copies; against the last run
#                                             untouched
#   ONLY=evil_backup erlang/mnesia/run.sh     cases whose SUITE:CASE matches a regular expression
#
# A case that passes untouched and not with fyris_copies must be in differences.eterm, with the reason; else this fails.
# A case may take TIMEOUT seconds (150). A case that did not pass ends its nodes, so that the next one begins with new
# ones. Results, logs and nodes' directories stay in WORK (a folder in the cache).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
erlang=$(dirname "$here")
sides=("$@")
[ $# -gt 0 ] || sides=(untouched for_ram_copies for_disc_copies)

export SUITES_SOURCE ERL_CRASH_DUMP_SECONDS=0 LC_ALL=C.UTF-8
SUITES_SOURCE=$("$here/source.sh")
export ONLY=${ONLY:-} TIMEOUT=${TIMEOUT:-150}
work=${WORK:-${XDG_CACHE_HOME:-$HOME/.cache}/fyris/mnesia/work}
# An epmd of its own: names of nodes are those of the suites.
export ERL_EPMD_PORT=${ERL_EPMD_PORT:-4380}
mkdir -p "$work/driver"
erlc -Werror -o "$work/driver" "$here"/*.erl

driver() { # SIDE FUNCTION [ERL OPTION...]
  local side=$1 function=$2
  shift 2
  (cd "$work/$side" && SUITES_SIDE=$side HOME=$work/$side erl -noshell -noinput \
    -pa "$work/driver" "$work/$side/mnesia/ebin" "$work/$side/test" "$erlang/ebin" "$@" -s mnesia_suites "$function" </dev/null)
}

run_side() {
  local side=$1
  mkdir -p "$work/$side"
  [ "$work/$side/built" -nt "$here/mnesia_suites_transform.erl" ] || { driver "$side" build >"$work/$side/build.log" 2>&1 && touch "$work/$side/built"; } ||
    { tail -5 "$work/$side/build.log" >&2; exit 1; }
  driver "$side" plan
  : >"$work/$side/log.txt"
  until [ -e "$work/$side/finished" ]; do
    rm -rf "$work/$side"/Mnesia.* "$work/$side"/*.BUP "$work/$side"/MnesiaCore*
    driver "$side" main +S 4 -sname mnesia_suites@localhost >>"$work/$side/log.txt" 2>&1 || sleep 1
  done
}

ulimit -c 0
for side in "${sides[@]}"; do run_side "$side"; done
cd "$work"
exec erl -noshell -pa "$work/driver" -run mnesia_suites compare "$here/differences.eterm" "${sides[@]}"
