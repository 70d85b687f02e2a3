#!/usr/bin/env bash
# Instructions and misses of the first-level data cache of one operation on a table of 1,000 objects, `ets` beside
# Fyris: the difference of runs of 40 and 10 rounds under valgrind's cachegrind, with the loop and its garbage
# collection; an insert has its share of the making and deleting of the table. Some seven seconds a run, half an hour
# for all.
#
#   erlang/bench/instructions.sh [set|ordered_set] [ROW...]
set -euo pipefail
cd "$(dirname "$0")/.."
type=${1:-set}
shift || true
make -s all
mkdir -p bench/ebin
erlc -pa ebin -o bench/ebin bench/*.erl
root=$(erl -noshell -eval 'io:put_chars(code:root_dir()), halt().')
version=$(erl -noshell -eval 'io:put_chars(erlang:system_info(version)), halt().')
export ROOTDIR=$root BINDIR=$root/erts-$version/bin EMU=beam PROGNAME=erl

# counts ARGUMENT...: instructions and misses of a run.
counts() {
  valgrind --smc-check=all --tool=cachegrind --cache-sim=yes --cachegrind-out-file=/dev/null \
    "$BINDIR/beam.smp" -S 1:1 -SDcpu 1:1 -SDio 1 -sbwt none -sbwtdcpu none -sbwtdio none -- \
    -root "$root" -bindir "$BINDIR" -progname erl -home "$HOME" -- -noshell -pa ebin bench/ebin \
    -s fyris_bench_instructions main -extra "$@" 2>&1 |
    sed -n 's/,//g; s/.*I   refs: *\([0-9]*\).*/\1/p; s/.*D1  misses: *\([0-9]*\).*/\1/p' | tr '\n' ' '
}

rows() {
  erl -noshell -pa ebin bench/ebin -s fyris_bench_instructions main -extra
}

echo "| $type of 1000 | operation | ets: instructions, misses | fyris: instructions, misses |"
echo "|---|---|---|---|"
{ [ $# -gt 0 ] && printf '%s\n' "$@" || rows; } | while read -r row; do
  for operation in lookup lookup_element insert overwrite; do
    line="| $row | $operation |"
    for module in ets fyris; do
      few=$(counts "$module" "$type" "$row" "$operation" 10 </dev/null)
      many=$(counts "$module" "$type" "$row" "$operation" 40 </dev/null)
      operations=30000
      [ "$operation" != overwrite ] || operations=60000
      line="$line $(echo "$few $many $operations" | awk '{printf "%.0f, %.1f |", ($3 - $1) / $5, ($4 - $2) / $5}')"
    done
    echo "$line"
  done
done
