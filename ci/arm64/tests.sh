#!/usr/bin/env bash
# The tests of the crates below the bindings on AArch64. Runs in the root of root.sh:
#
#   ci/arm64/root.sh ci/arm64/tests.sh
#
# All but segments, and a test that has the kernel refuse a system call, run under qemu-user; those want a kernel of
# their own, see vm.sh.
set -euo pipefail
cd "$(dirname "$0")/../.."
# Emulation is ten to twenty times slower.
export PROPTEST_CASES=${PROPTEST_CASES:-16}
export FYRIS_ORACLE_CASES=${FYRIS_ORACLE_CASES:-2000} FYRIS_ORACLE_PAIRS=${FYRIS_ORACLE_PAIRS:-10000}

step() { printf '\n== arm64: %s\n' "$*"; }

step "sync, term, index, classic, judy, query, store"
cargo test --locked --lib --tests -p fyris-sync -p fyris-term -p fyris-index -p fyris-classic -p fyris-judy \
  -p fyris-query -p fyris -- \
  --skip pins_hold_without_membarrier

export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER=$PWD/ci/arm64/vm.sh
step "sync without membarrier, in a virtual machine"
cargo test --locked -p fyris-sync --test fallback

step "segment, in a virtual machine"
cargo test --locked --lib --tests -p fyris-segment

echo
echo "arm64: all good"
