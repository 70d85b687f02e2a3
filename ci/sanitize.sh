#!/usr/bin/env bash
# Runs the concurrent tests under AddressSanitizer and ThreadSanitizer, with tiny tables so that rare
# branches are common. Usage: ci/sanitize.sh [address|thread]...   (both when none is given)
#
# The stable toolchain ships the runtimes; RUSTC_BOOTSTRAP lets it accept the flag. std itself stays
# uninstrumented. `--cfg fyris_sanitize` takes mimalloc and membarrier(2) out of the way.
set -euo pipefail
cd "$(dirname "$0")/.."

target=$(rustc -vV | sed -n 's/^host: //p')
export RUSTC_BOOTSTRAP=1
export PROPTEST_CASES=${PROPTEST_CASES:-16}

run() {
    local sanitizer=$1
    echo "== $sanitizer sanitizer" >&2
    RUSTFLAGS="-Zsanitizer=$sanitizer -Cunsafe-allow-abi-mismatch=sanitizer --cfg fyris_sanitize --cfg fyris_small" \
    CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/sanitize-$sanitizer" \
        cargo test --target "$target" -p fyris-sync -p fyris-index --lib --tests
    # Its processes share memory with each other, which no sanitizer follows; addresses it does. SIGSEGV is left to its
    # own handler, and to the tests that look at how a process dies of one.
    if [ "$sanitizer" = address ]; then
        ASAN_OPTIONS="handle_segv=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}" \
        RUSTFLAGS="-Zsanitizer=address -Cunsafe-allow-abi-mismatch=sanitizer --cfg fyris_sanitize" \
        CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/sanitize-segment" \
            cargo test --target "$target" -p fyris-segment --lib --test basic --test hostile --test processes \
                --test map_shared --test map_hostile --test map_processes
    fi
}

# What the standard library orders inside of itself ThreadSanitizer does not see: see the suppressions.
export TSAN_OPTIONS="suppressions=$PWD/ci/tsan.supp ${TSAN_OPTIONS:-}"

for sanitizer in "${@:-address thread}"; do
    for one in $sanitizer; do
        run "$one"
    done
done
