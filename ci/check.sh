#!/usr/bin/env bash
# Format, lints as errors, documentation without warnings.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo fmt --all --check
cargo clippy --locked --workspace --all-targets -- -D warnings
# Without the default features: files, serde, mimalloc, other indexes.
for crate in fyris-term fyris fyris-index fyris-cli; do
  cargo clippy --locked -p $crate --no-default-features -- -D warnings
done
if cargo tree --locked -p fyris -e normal | grep -E 'fyris-(classic|judy)' >&2; then
  exit 1
fi
RUSTDOCFLAGS="-D warnings" cargo doc --locked --workspace --no-deps
# Workspaces of their own: in form, and their locks in step with the crates that they use.
for own in bench fuzz erlang/native/fyris_nif python; do
  cargo fmt --check --manifest-path $own/Cargo.toml
  cargo metadata --locked --format-version 1 --manifest-path $own/Cargo.toml >/dev/null || {
    echo "$own/Cargo.lock is not in step: cargo metadata --manifest-path $own/Cargo.toml >/dev/null" >&2
    exit 1
  }
done
cargo clippy --locked --manifest-path erlang/native/fyris_nif/Cargo.toml --all-targets -- -D warnings
# What would be published: each package is whole, with its licences and what a registry shows.
package=$(cargo package --locked --workspace --no-verify --allow-dirty 2>&1) || { echo "$package" >&2; exit 1; }
if grep "manifest has no" <<<"$package" >&2; then
  exit 1
fi
ci/dependencies.sh
python3 -m doctest ci/addresses.py
# What is inside of what we give away has its licence beside it, C sources too.
while read -r manifest packages; do
  notices=$(ci/notices.py "$manifest" x86_64-unknown-linux-gnu $packages)
  grep -q '^\* libmimalloc-sys .*c_src/mimalloc.*LICENSE \[' <<<"$notices" ||
    { echo "$manifest: no licence of mimalloc" >&2; exit 1; }
done <<'INSIDE'
Cargo.toml fyris-cli fyris-dthreads-preload fyris-capi
erlang/native/fyris_nif/Cargo.toml fyris_nif
python/Cargo.toml fyris-python
INSIDE
ci/semver.sh
# One name, one thing; the glossary of invariants is what the sources say.
ci/names.py
# The verbs of README are there, in each language.
ci/verbs.py
# Where packages come from is for the package clients of the machine to know.
if git grep -nE 'https?://[a-z]' -- '*.sh' '*Makefile' .ci .github | grep -v rustup >&2; then
  exit 1
fi
# A file is one idea: none may reach 800 lines.
long=$(git ls-files '*.rs' | xargs wc -l | awk '$2 != "total" && $1 >= 800 {print $2 ": " $1 " lines"}')
if [ -n "$long" ]; then
  echo "files of 800 lines or more:" >&2
  echo "$long" >&2
  exit 1
fi
echo "check: all good"
