#!/usr/bin/env bash
# As ci/mutants.sh, for the Erlang binding: each seeded bug is built into a library of its own, and the test module that
# must catch it runs with that. Usage: ci/mutants-erlang.sh [NAME...]
set -uo pipefail
cd "$(dirname "$0")/../erlang"
if ! command -v erl >/dev/null; then
  echo "mutants-erlang: no Erlang here: skipped" >&2
  exit 0
fi
target=${CARGO_TARGET_DIR:-$(cd .. && pwd)/target}/mutants

# name | test module
mutants=$(cat <<'LIST'
nif_room_open         | fyris_words_test
nif_leaves_unread     | fyris_words_test
nif_dead_owner_unasked| fyris_tables_test
nif_dead_fixers_unasked | fyris_tables_test
store_write_unnoticed | fyris_folds_test
nif_kinds_forgotten   | fyris_reload_test
nif_tables_left       | fyris_reload_test
nif_binary_held_on    | fyris_release_test
nif_binary_uncounted  | fyris_binaries_test
nif_mark_ignored      | fyris_words_test
nif_alias_mixed       | fyris_alias_test
nif_holds_unasked     | fyris_release_test
nif_kept_till_freed   | fyris_release_test
nif_kept_freed_at_once| fyris_release_test
nif_kept_forgotten    | fyris_release_test
nif_fun_any_code      | fyris_funs_test
nif_told_unpinned     | fyris_watch_test
nif_sent_after_end    | fyris_watch_test
nif_turn_unheard      | fyris_watch_test
LIST
)

make --no-print-directory test-beams >/dev/null || exit
mkdir -p "$target"
survivors=()
while IFS='|' read -r name module; do
  name=$(echo $name) module=$(echo $module)
  if [ $# -gt 0 ] && [[ " $* " != *" $name "* ]]; then
    continue
  fi
  log=$target/$name.log app=$target/$name
  printf '#!/bin/sh\nexec "$@" --cfg %s\n' "'fyris_mutant=\"$name\"'" >"$target/$name.rustc"
  chmod +x "$target/$name.rustc"
  # Cargo takes what another wrapper has built for its own.
  cargo clean --quiet --profile quick -p fyris_nif --manifest-path native/fyris_nif/Cargo.toml --target-dir "$target" </dev/null
  # A mutant that does not compile proves nothing.
  if ! RUSTC_WORKSPACE_WRAPPER=$target/$name.rustc cargo build --quiet --locked --profile quick \
    --manifest-path native/fyris_nif/Cargo.toml --target-dir "$target" </dev/null >"$log" 2>&1; then
    echo "BROKEN    $name does not build: $log"
    survivors+=("$name")
    continue
  fi
  # An application of its own, beside the one that is in use.
  rm -rf "$app" && mkdir -p "$app/priv" && cp -r ebin "$app/ebin"
  cp "$target/quick/libfyris_nif.so" "$app/priv/fyris_nif.so"
  if timeout 300 erl -noshell -pa "$app/ebin" test/ebin -run fyris_test_run only "$module" </dev/null >>"$log" 2>&1; then
    echo "SURVIVED  $name: $module"
    survivors+=("$name")
  else
    echo "killed    $name by $module"
  fi
done <<<"$mutants"

if [ ${#survivors[@]} -gt 0 ]; then
  echo "mutants-erlang: ${#survivors[@]} not killed: ${survivors[*]}" >&2
  exit 1
fi
echo "mutants-erlang: all killed"
