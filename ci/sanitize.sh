#!/usr/bin/env bash
# Runs the tests of sync, the indexes and store under AddressSanitizer and ThreadSanitizer, with tiny tables so that
# rare branches are common, and those of segments under AddressSanitizer. Usage: ci/sanitize.sh [address|thread]...
# (both when none is given)
#
# RUSTC_BOOTSTRAP lets the stable toolchain accept the flags. `--cfg fyris_sanitize` takes mimalloc and membarrier(2)
# out of the way. ThreadSanitizer needs a standard library that is instrumented as well, or it takes everything for a
# race that a mutex, a `Once` or the end of a thread orders: so it is built from its source, the component rust-src,
# which rustup installs here if it has to.
set -euo pipefail
cd "$(dirname "$0")/.."

target=$(rustc -vV | sed -n 's/^host: //p')
root=${CARGO_TARGET_DIR:-target}
export RUSTC_BOOTSTRAP=1
# Reports name lines.
export CARGO_PROFILE_DEV_DEBUG=line-tables-only
export PROPTEST_CASES=${PROPTEST_CASES:-16}
# A race that is none: see there.
export TSAN_OPTIONS="suppressions=$PWD/ci/tsan.supp ${TSAN_OPTIONS:-}"
# Leaks are not looked for: entries of indexes are addresses with tags, which LeakSanitizer does not follow, so it takes
# the content of tables and the garbage that a thread has at rest for lost. That all of it is freed is shown by tests
# that count (`drops`, `garbage`, `release`, `memory`) and by the soak.
export ASAN_OPTIONS="detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
# Functions take several times as much of the stack as without; deep terms are read by recursion.
export RUST_MIN_STACK=$((64 << 20))
failed=()

# Both: what is compared with a real Erlang in a process of its own, under no sanitizer, is compared elsewhere.
left_out="oracle query_oracle"
# ThreadSanitizer: it ends a child of a process with several threads that starts a thread.
left_out_thread="fork fork_early"
# Test functions, for the same reason as above.
skipped=(--skip erlang::)

test_targets() { # test_targets CRATE SANITIZER
    local file name
    for file in crates/"$1"/tests/*.rs crates/"$1"/tests/*/main.rs; do
        [ -e "$file" ] || continue
        name=$(basename "${file%/main.rs}" .rs)
        case " $left_out $([ "$2" = thread ] && echo "$left_out_thread") " in
            *" $name "*) ;;
            *) printf -- '--test %s ' "$name" ;;
        esac
    done
}

run() { # run PACKAGE SANITIZER FOLDER CFGS ARGUMENTS...: a call of cargo test
    local name=$1 sanitizer=$2 folder=$3 cfgs=$4
    shift 4
    echo "== $sanitizer sanitizer: $name" >&2
    [ "$sanitizer" = address ] || set -- -Zbuild-std "$@"
    RUSTFLAGS="-Zsanitizer=$sanitizer -Cunsafe-allow-abi-mismatch=sanitizer $cfgs" \
        CARGO_TARGET_DIR="$root/$folder" \
        cargo test --locked --target "$target" --no-fail-fast -p "$name" "$@" || failed+=("$sanitizer: $name")
}

sanitize() { # sanitize SANITIZER
    local crate package
    if [ "$1" = thread ] && [ ! -e "$(rustc --print sysroot)/lib/rustlib/src/rust/library/Cargo.lock" ]; then
        rustup component add rust-src
    fi
    for crate in sync index classic judy store; do
        package=$([ "$crate" = store ] && echo fyris || echo "fyris-$crate")
        # shellcheck disable=SC2046 # words are wanted
        run "$package" "$1" "sanitize-$1" "--cfg fyris_sanitize --cfg fyris_small" \
            --lib $(test_targets "$crate" "$1") -- "${skipped[@]}"
    done
    # Its processes share memory with each other, which no sanitizer follows; addresses it does. SIGSEGV is left to its
    # own handler, and to the tests that look at how a process dies of one.
    if [ "$1" = address ]; then
        ASAN_OPTIONS="handle_segv=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}" \
            run fyris-segment address sanitize-segment "--cfg fyris_sanitize" \
            --lib --test basic --test hostile --test processes --test map_shared --test map_hostile --test map_processes
    fi
}

for sanitizer in ${@:-address thread}; do
    sanitize "$sanitizer"
done
if [ ${#failed[@]} -gt 0 ]; then
    printf 'sanitize: not clean: %s\n' "${failed[@]}" >&2
    exit 1
fi
echo "sanitize: clean (${*:-address thread})"
