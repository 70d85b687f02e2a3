#!/usr/bin/env bash
# Deterministic threads beside plain ones: for each program and number of threads the ratio of the medians of wall-clock
# times, runs interleaved, the same with turns of 16 points, and how much slower a fence makes ours. Before that what a
# synchronization point costs, and a thread that is created and joined. Ours are the programs of `programs/`; real ones
# are measured where they are installed.
#
#   crates/dthreads/bench.sh [runs]
set -euo pipefail
cd "$(dirname "$0")/../.."
runs=${1:-5}
cargo build --release --locked -q -p fyris-dthreads-preload
library=$PWD/${CARGO_TARGET_DIR:-target}/release/libfyris_dthreads.so
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for source in crates/dthreads/programs/*.c; do
  cc -O2 -pthread "$source" -o "$folder/$(basename "$source" .c)"
done
c++ -O2 -pthread crates/dthreads/programs/streamcluster.cpp -o "$folder/streamcluster"
# make_input BYTES: the input of compressors and of `sort`, copies of the library.
make_input() {
  while cat "$library"; do :; done 2>"$folder/error" | head -c "$1" >"$folder/input"
}
make_input 16000000

# Prints the microseconds that a command takes.
time_of() {
  local start end
  start=$(date +%s%N)
  "$@" <"$folder/input" >"$folder/output"
  end=$(date +%s%N)
  echo $(((end - start) / 1000))
}

median() {
  sort -n | awk '{all[NR] = $1} END {print all[int((NR + 1) / 2)]}'
}

# compare NAME COMMAND...
compare() {
  local name=$1 n
  shift
  : >"$folder/plain" >"$folder/ours" >"$folder/fence" >"$folder/turns"
  for ((n = 0; n < runs; n++)); do
    time_of "$@" >>"$folder/plain"
    time_of env LD_PRELOAD="$library" "$@" >>"$folder/ours"
    time_of env LD_PRELOAD="$library" FYRIS_DTHREADS_FENCE=1 "$@" >>"$folder/fence"
    time_of env LD_PRELOAD="$library" FYRIS_DTHREADS_TURN=16 "$@" >>"$folder/turns"
  done
  awk -v name="$name" -v plain="$(median <"$folder/plain")" -v ours="$(median <"$folder/ours")" \
    -v fence="$(median <"$folder/fence")" -v turns="$(median <"$folder/turns")" \
    'BEGIN {printf "%-28s %9.1f ms %9.1f ms %7.2f %12.2f %12.2f\n", name, plain / 1000, ours / 1000, ours / plain,
            turns / plain, fence / ours}'
}

echo "a program that does nothing: plain $(time_of env true) us, ours $(time_of env LD_PRELOAD="$library" true) us"
echo "plain: $("$folder/costs" 1 1000)"
echo "ours:  $(LD_PRELOAD=$library "$folder/costs" 1 1000)"
printf '%-28s %12s %12s %7s %12s %12s\n' program plain ours ratio 'turns of 16' 'fence / ours'
for threads in 2 4 8; do
  compare "word_count $threads" "$folder/word_count" $threads 400
  compare "histogram $threads" "$folder/histogram" $threads 200
  compare "histogram, adjacent $threads" "$folder/histogram" $threads 100 adjacent
  compare "kmeans $threads" "$folder/kmeans" $threads 500
  compare "pipeline $threads" "$folder/pipeline" $threads 10000
  compare "reverse_index $threads" "$folder/reverse_index" $threads 10000
  compare "barriers $threads" "$folder/barriers" $threads 4000
  compare "annealing $threads" "$folder/annealing" $threads 2000
  compare "streamcluster $threads" "$folder/streamcluster" $threads 2000
done
# compare_all SUFFIX COMMAND...: those that are installed.
compare_all() {
  local suffix=$1 command
  shift
  for command in "$@"; do
    command -v "${command%% *}" >/dev/null || continue
    # shellcheck disable=SC2086
    compare "$command$suffix" $command
  done
}
compressors=("pbzip2 -p2 -c" "lbzip2 -n2 -c" "pigz -p2 -c")
compare_all "" "${compressors[@]}" "plzip -n2 -c" "xz -T2 -3 -c" "zstd -T2 -q -c" "sort --parallel=2"
# Places of the program are learned early: a larger input shows what is left then.
make_input 64000000
compare_all ", 64 MB" "${compressors[@]}"
