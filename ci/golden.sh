#!/usr/bin/env bash
# Remakes every golden file with the Erlang installed here (OTP 25 made those that are committed).
set -euo pipefail
cd "$(dirname "$0")/.."
command -v escript >/dev/null || { echo "golden: needs Erlang (escript)" >&2; exit 1; }
for script in crates/term/golden/*.escript crates/store/tests/data/make.escript data/otp-exports.escript; do
  echo "== $script"
  escript "$script"
done
for script in dets mnesia; do
  escript crates/files/tests/erlang/$script.escript golden crates/files/tests/erlang/golden
done
git status --short crates/term/golden crates/store/tests/data crates/files/tests/erlang/golden data
