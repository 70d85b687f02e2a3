#!/usr/bin/env bash
# Long runs: random work with invariants checked and memory watched, then more property cases, oracle pairs and fuzzing.
# Usage: ci/soak.sh [SECONDS [store|segments|node|properties]...]   (1800 seconds each, and all of them, if none is
# given)
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:-1800}
shift || true
[[ $seconds =~ ^[0-9]+$ ]] || { echo "soak: usage: ci/soak.sh [SECONDS [store|segments|node|properties]...]" >&2; exit 2; }
[ $# -gt 0 ] || set -- store segments node properties

soak_test() { # soak_test CRATE
  FYRIS_SOAK_SECONDS=$seconds cargo test --locked --release -p "$1" --test soak -- --ignored --nocapture
}

for part in "$@"; do
  echo "== soak: $part"
  case $part in
    store) soak_test fyris ;;
    segments) soak_test fyris-segment ;;
    node)
      if command -v erl >/dev/null; then
        make --no-print-directory -C erlang soak "SECONDS=$seconds"
      else
        echo "no Erlang here: skipped"
      fi
      ;;
    properties)
      PROPTEST_CASES=20000 cargo test --release --locked --workspace
      cargo test --locked -p fyris-segment --test processes -- --ignored
      FYRIS_ORACLE_CASES=200000 cargo test --locked -p fyris-query --test oracle
      FYRIS_ORACLE_PAIRS=200000 cargo test --locked -p fyris --test query_oracle
      FYRIS_RUNS=50 cargo test --locked -p fyris-dthreads-preload --test programs -- --include-ignored
      FYRIS_HISTORIES=20000 cargo test --locked -p fyris --test histories
      ci/fuzz.sh 600
      ;;
    *)
      echo "soak: no part called $part" >&2
      exit 2
      ;;
  esac
done
echo "soak: all good"
