#!/usr/bin/env bash
# The steps that `make test` leaves out for their length, half an hour more: tiny constants, models, fuzzing.
set -euo pipefail
cd "$(dirname "$0")/.."
. ci/steps.sh
export PROFILE=quick

step "the indexes and the store with tiny constants, where rare branches are common"
# Behind a pointer (`plugged`) an index has the same branches.
RUSTC_WORKSPACE_WRAPPER=$PWD/ci/small-rustc.sh cargo test --locked --lib --tests \
  -p fyris-index -p fyris-classic -p fyris-judy -p fyris -- --skip plugged::

step "the map of segments with tiny nodes"
RUSTC_WORKSPACE_WRAPPER=$PWD/ci/small-rustc.sh cargo test --locked -p fyris-segment \
  --test map_model --test map_hostile --test map_shared

step "segments that notice writes by signals, as before Linux 6.7"
FYRIS_TRACKING=signal cargo test --locked -p fyris-segment --lib --tests
FYRIS_TRACKING=signal cargo test --locked -p fyris-capi --test c

step "a program that depends on fyris alone, with and without mimalloc"
ci/lone-dependency.sh

step "projects of Erlang and Elixir that depend on fyris, without cargo; a table of atoms that is full"
if command -v erl >/dev/null; then
  ci/trial-erlang.sh
  make --no-print-directory -C erlang test-beams
  FYRIS_ATOMS=1 erl -noshell -pa erlang/ebin erlang/test/ebin -eval 'ok = eunit:test(fyris_errors_test), halt().'
else
  echo "no Erlang here: skipped"
fi

step "deterministic threads, 20 runs of each program under noise, a thousand of one"
FYRIS_RUNS=20 FYRIS_STRICT=1 cargo test --locked -p fyris-dthreads-preload --test programs -- --include-ignored

step "SQL of the shell beside sqlite3: 10,000 statements"
FYRIS_SQL_QUERIES=10000 cargo test --locked -p fyris-cli --test sql_oracle

step "directories of Mnesia, of all kinds, beside Mnesia"
FYRIS_MNESIA_ALL=1 cargo test --locked -p fyris-files --test erlang directories_of_this_erlang

step "model checking (loom, shuttle)"
ci/loom.sh

step "fuzz targets on their stored corpora and a few seconds more"
ci/fuzz.sh 4

step "test-long: all good"
