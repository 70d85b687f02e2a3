#!/usr/bin/env bash
# Deterministic threads beside plain ones: for each program and number of threads the ratio of the medians of wall-clock
# times, runs interleaved. Ours are the programs of `programs/`; real ones are measured where they are installed.
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
head -c 4000000 "$library" >"$folder/input"

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
  : >"$folder/plain" >"$folder/ours"
  for ((n = 0; n < runs; n++)); do
    time_of "$@" >>"$folder/plain"
    time_of env LD_PRELOAD="$library" "$@" >>"$folder/ours"
  done
  awk -v name="$name" -v plain="$(median <"$folder/plain")" -v ours="$(median <"$folder/ours")" \
    'BEGIN {printf "%-28s %9.1f ms %9.1f ms %7.2f\n", name, plain / 1000, ours / 1000, ours / plain}'
}

printf '%-28s %12s %12s %7s\n' program plain ours ratio
for threads in 2 4 8; do
  compare "word_count $threads" "$folder/word_count" $threads 100
  compare "histogram $threads" "$folder/histogram" $threads 40
  compare "histogram, adjacent $threads" "$folder/histogram" $threads 40 adjacent
  compare "kmeans $threads" "$folder/kmeans" $threads 100
  compare "pipeline $threads" "$folder/pipeline" $threads 2000
  compare "reverse_index $threads" "$folder/reverse_index" $threads 2000
  compare "barriers $threads" "$folder/barriers" $threads 1000
done
for command in "pigz -p2 -c" "plzip -n2 -c" "xz -T2 -3 -c" "zstd -T2 -q -c" "sort --parallel=2"; do
  command -v "${command%% *}" >/dev/null || continue
  # shellcheck disable=SC2086
  compare "$command" $command
done
