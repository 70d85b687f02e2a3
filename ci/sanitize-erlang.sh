#!/usr/bin/env bash
# Runs the tests of the Erlang binding with the NIF under AddressSanitizer, inside the ordinary emulator. Usage:
# ci/sanitize-erlang.sh [MODULE...]   (test modules; those that make sense when all is five times slower if none is
# given)
#
# The runtime comes from gcc (rustc's is static, for programs only) and is loaded before the emulator. `+Mea min` turns
# the emulator's own allocators off, so that what it gives the NIF is watched too. Leaks are counted by the tests
# themselves.
set -euo pipefail
cd "$(dirname "$0")/../erlang"

runtime=$(gcc -print-file-name=libasan.so)
runtime=$(readlink -f "$runtime")
if ! command -v erl >/dev/null || [ ! -e "$runtime" ]; then
    echo "sanitize-erlang: no Erlang, or no libasan of gcc, here: skipped" >&2
    exit 0
fi

target=$(rustc -vV | sed -n 's/^host: //p')
dir=${CARGO_TARGET_DIR:-$(cd .. && pwd)/target}/sanitize-erlang
make --no-print-directory test-beams
RUSTC_BOOTSTRAP=1 \
RUSTFLAGS="-Zsanitizer=address -Cunsafe-allow-abi-mismatch=sanitizer --cfg fyris_sanitize" \
    cargo build --quiet --profile quick \
    --manifest-path native/fyris_nif/Cargo.toml --target "$target" --target-dir "$dir"

# An application of its own, beside the one that is in use.
app=$dir/app
rm -rf "$app" && mkdir -p "$app/priv"
cp -r ebin "$app/ebin"
cp "$dir/$target/quick/libfyris_nif.so" "$app/priv/fyris_nif.so"

modules=("$@")
if [ ${#modules[@]} = 0 ]; then
    modules=(fyris_binaries_test fyris_oracle_test fyris_histories_test fyris_kills_test fyris_objects_test
             fyris_query_test fyris_release_test fyris_tables_test fyris_terms_test fyris_verbs_test fyris_files_test)
fi

# Signals' stacks are the emulator's business. Frames are much larger than they are without the sanitizer, and
# schedulers have small stacks: they get larger ones, for terms of a thousand levels. New memory is not filled: `ets` of
# OTP 25 reads a field of a fixed table's notes before it has written it, and then deletes some objects where it should
# delete all.
export ASAN_OPTIONS="max_malloc_fill_size=0:detect_leaks=0:handle_segv=1:handle_sigfpe=0:use_sigaltstack=0:allocator_may_return_null=1:abort_on_error=1"
export ERL_FLAGS="+Mea min +sss 4096 +sssdcpu 4096 +sssdio 4096"
export FYRIS_ORACLE=${FYRIS_ORACLE:-30000}
LD_PRELOAD=$runtime erl -noshell -pa "$app/ebin" test/ebin -run fyris_test_run only "${modules[@]}"
