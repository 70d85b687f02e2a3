#!/usr/bin/env bash
# Model checking. loom: every interleaving of a few threads, and every value a load may return, over the publication,
# unlink and freeze edges. shuttle: random schedules of whole structures that grow, shrink and change their shape.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
export LOOM_MAX_PREEMPTIONS=${LOOM_MAX_PREEMPTIONS:-2} SHUTTLE_SILENCE_WARNINGS=1
with() { RUSTFLAGS="--cfg $1 --cfg fyris_small" cargo test --locked --profile quick --target-dir "$target/$1" "${@:2}"; }
with loom -p fyris-sync --lib reclaim
with loom -p fyris-sync --lib lock::
with loom -p fyris-index --test loom
with loom -p fyris-classic --test loom_lists --test loom_linear --test loom_skip --test loom_ravl
with loom -p fyris-judy --test loom_judy
with loom -p fyris --lib -- ops::model version::model transaction::model watch::model
with loom -p fyris-segment --test loom
with shuttle -p fyris-sync --lib lock::
with shuttle -p fyris-index --test shuttle
with shuttle -p fyris-classic --test shuttle_lists --test shuttle_skip --test shuttle_ravl --test ca_shuttle
with shuttle -p fyris-judy --test shuttle_judy
