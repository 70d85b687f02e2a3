#!/usr/bin/env bash
# Fuzzes every decoder: the stored corpus, then SECONDS (default 60) of new inputs a target.
# With a target and files, runs that target on these files only.
#
#   ci/fuzz.sh [SECONDS [TARGET [FILE...]]]
#
# Needs Rust, gcc with g++, and the Rust registry. The sanitizers of the stable toolchain want RUSTC_BOOTSTRAP=1; the
# flags are those that cargo-fuzz would pass.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-60}
only=${2:-}
files=("${@:3}")
triple=$(rustc -vV | sed -n 's/^host: //p')
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}/fuzz
export RUSTC_BOOTSTRAP=1
# The indexes keep pointers with marks in their high bits, which the leak detector does not see; a leak
# shows as memory that grows to the limit.
export ASAN_OPTIONS=detect_leaks=0
sancov="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4"
sancov+=" -Cllvm-args=-sanitizer-coverage-inline-8bit-counters"
sancov+=" -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares"
export RUSTFLAGS="--cfg fuzzing --cfg fyris_sanitize -Zsanitizer=address $sancov ${RUSTFLAGS:-}"
# Blocks from mimalloc would hide from the sanitizer; see fyris_sync::alloc.
cargo build --quiet --release --locked --manifest-path fuzz/Cargo.toml --target "$triple" --bins

run() { # run TARGET
  local target=$1
  local bin="$CARGO_TARGET_DIR/$triple/release/$target"
  local found="$CARGO_TARGET_DIR/found/$target"
  mkdir -p "$found" "fuzz/artifacts/$target"
  local flags=(-detect_leaks=0 -rss_limit_mb=2048 -malloc_limit_mb=1024 -timeout=10 -print_final_stats=0
    -verbosity=0 "-artifact_prefix=fuzz/artifacts/$target/")
  echo "fuzz: $target"
  if [ ${#files[@]} -gt 0 ]; then
    "$bin" "${flags[@]}" "${files[@]}"
    return
  fi
  # Every stored input once; then new ones.
  "$bin" "${flags[@]}" -runs=0 "fuzz/corpus/$target"
  if [ "$seconds" -gt 0 ]; then
    "$bin" "${flags[@]}" "-max_total_time=$seconds" "$found" "fuzz/corpus/$target"
  fi
}

if [ -n "$only" ]; then
  run "$only"
  exit
fi
for source in fuzz/fuzz_targets/*.rs; do
  run "$(basename "$source" .rs)"
done
echo "fuzz: no crash"
