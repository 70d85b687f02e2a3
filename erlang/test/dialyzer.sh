#!/usr/bin/env bash
# Whether dialyzer finds a wrong argument by the specifications of `fyris` alone: every function of test/dialyzer/wrong.erl
# has one, and test/dialyzer/right.erl has none. What is known of OTP is kept in the cache (a minute, once).
set -euo pipefail
cd "$(dirname "$0")/.."
command -v dialyzer >/dev/null || { echo "no dialyzer here: skipped"; exit 0; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
release=$(erl -noshell -eval 'io:put_chars(erlang:system_info(otp_release)), halt().')
plt=${XDG_CACHE_HOME:-$HOME/.cache}/fyris/otp-$release.plt
mkdir -p "$(dirname "$plt")"
[ -e "$plt" ] || dialyzer --quiet --build_plt --output_plt "$plt" --apps erts kernel stdlib || [ -e "$plt" ]
erlc +debug_info -o "$folder" src/fyris.erl test/dialyzer/wrong.erl test/dialyzer/right.erl
# Only what is said of the two files: the rest of the application is not there.
dialyzer --quiet --plt "$plt" "$folder"/{fyris,wrong,right}.beam >"$folder/said" 2>&1 || true
grep '^right.erl' "$folder/said" && { echo "dialyzer: finds fault with right calls" >&2; exit 1; }
found=$(sed -n 's/^wrong.erl:\([0-9]*\).*/\1/p' "$folder/said" | sort -nu)
# The functions in which something is said, each found by the line where it begins.
awk -v lines="$(tr '\n' ' ' <<<"$found")" '
  BEGIN {split(lines, at, " "); for (i in at) said[at[i]] = 1}
  match($0, /^[a-z_]+\(\) ->/) {name = substr($0, 1, RLENGTH - 5); if (name !~ /^beyond_/) all[name] = 1}
  FNR in said {seen[name] = 1}
  END {
    for (name in all) {
      count++
      if (!(name in seen)) {print "dialyzer: nothing said of " name; missing = 1}
    }
    if (!missing) print "dialyzer: " count " wrong calls found, none in right ones"
    exit missing
  }' test/dialyzer/wrong.erl
