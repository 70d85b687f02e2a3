#!/usr/bin/env bash
# Everything that proves Fyris right within 25 minutes on two cores; installs what it needs.
set -euo pipefail
cd "$(dirname "$0")/.."

step() { printf '\n== %s\n' "$*"; }

step "what the tests need"
ci/setup.sh

step "unit, property, golden, conformance, oracle and documentation tests"
cargo test --locked --workspace

step "the same indexes with tiny constants, where rare branches are common"
RUSTFLAGS="--cfg fyris_small" cargo test --locked -p fyris-index -p fyris --target-dir target/small

step "the map of segments with tiny nodes"
RUSTFLAGS="--cfg fyris_small" cargo test --locked -p fyris-segment --target-dir target/small \
  --test map_model --test map_hostile --test map_shared

step "Erlang and Elixir: the NIF beside the real ets"
if command -v erl >/dev/null; then
  make --no-print-directory -C erlang test
else
  echo "no Erlang here: skipped"
fi

step "Python: the wheel, installed and tested"
python/test.sh

step "model checking (loom, shuttle)"
ci/loom.sh

step "fuzz targets on their stored corpora and a few seconds more"
ci/fuzz.sh 4

step "what a person would run"
make run </dev/null
for suite in core query segment array_mix; do
  echo "bench $suite --quick"
  cargo run --release --locked -q -p fyris-cli -- bench $suite --quick >/dev/null
done

echo
echo "test: all good"
