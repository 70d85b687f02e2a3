#!/usr/bin/env bash
# Model checking with loom: every interleaving of a few threads over the publication, unlink and freeze edges.
set -euo pipefail
cd "$(dirname "$0")/.."
export RUSTFLAGS="--cfg loom --cfg fyris_small"
export LOOM_MAX_PREEMPTIONS=${LOOM_MAX_PREEMPTIONS:-2}
cargo test --locked --release -p fyris-sync --lib linger --target-dir "${CARGO_TARGET_DIR:-target}/loom"
cargo test --locked --release -p fyris-index --test loom --target-dir "${CARGO_TARGET_DIR:-target}/loom"
