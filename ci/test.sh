#!/usr/bin/env bash
# The tests that show that Fyris is right, in 20 to 40 minutes on a fresh machine with two cores, the build included;
# installs what it needs. `quick` keeps to the crates below the bindings and to one build, within 6 minutes. The rest:
# ci/test-long.sh.
#
#   ci/test.sh [quick]
set -euo pipefail
cd "$(dirname "$0")/.."
. ci/steps.sh

if [ "${1:-}" = quick ]; then
  export PROPTEST_CASES=${PROPTEST_CASES:-32}
  step "unit, property and conformance tests of sync, term, index, query, store and segment"
  cargo test --locked --lib -p fyris-sync -p fyris-term -p fyris-files -p fyris-query -p fyris-segment
  cargo test --locked -p fyris-index --lib --test hash_conformance --test ordered_conformance
  cargo test --locked -p fyris --lib --test model --test lists --test select --test dump
  step "test: all good (quick)"
  exit
fi

# The NIF, also for the scripts that test projects which depend on it.
export PROFILE=quick

step "what the tests need"
ci/setup.sh

step "unit, property, golden, conformance, oracle and documentation tests"
cargo test --locked --workspace

step "Erlang and Elixir: the NIF beside the real ets"
if command -v erl >/dev/null; then
  make --no-print-directory -C erlang test
else
  echo "no Erlang here: skipped"
fi

step "Python: the wheel, installed and tested; what mypy and pyright find"
python/test.sh
python/types.sh

step "what a person would run"
make --no-print-directory run </dev/null

step "test: all good"
