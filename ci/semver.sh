#!/usr/bin/env bash
# Whether the crates still have the interfaces of the last release, the newest tag `v*`, by cargo-semver-checks (`cargo
# install --locked cargo-semver-checks`).
#
#   ci/semver.sh [REVISION]
set -euo pipefail
cd "$(dirname "$0")/.."
base=${1:-$(git describe --tags --abbrev=0 --match 'v*' 2>/dev/null || true)}
if [ -z "$base" ]; then
  echo "semver: no release to compare with"
elif ! cargo semver-checks --version >/dev/null 2>&1; then
  echo "semver: cargo-semver-checks is not installed: not compared with $base" >&2
else
  for crate in fyris-sync fyris-term fyris-files fyris-index fyris-classic fyris-judy fyris-query fyris fyris-segment; do
    cargo semver-checks --baseline-rev "$base" -p "$crate"
  done
fi
