#!/usr/bin/env bash
# Licences and sources of all crates from elsewhere, by deny.toml: with cargo-deny where it is installed (`cargo install
# --locked cargo-deny`), which also looks for advisories if ADVISORIES=1; else with what cargo says of them.
set -euo pipefail
cd "$(dirname "$0")/.."
manifests=(Cargo.toml bench/Cargo.toml fuzz/Cargo.toml erlang/native/fyris_nif/Cargo.toml python/Cargo.toml)

if cargo deny --version >/dev/null 2>&1; then
  for manifest in "${manifests[@]}"; do
    cargo deny --locked --manifest-path "$manifest" --config "$PWD/deny.toml" check \
      bans licenses sources ${ADVISORIES:+advisories}
  done
  exit
fi
for manifest in "${manifests[@]}"; do
  cargo metadata --locked --format-version 1 --all-features --manifest-path "$manifest" 2>/dev/null | python3 -c '
import json, re, sys, tomllib

allowed = set(tomllib.load(open("deny.toml", "rb"))["licenses"]["allow"])

def fits(licence):
    """One choice of each part that is asked for; older manifests write / for OR."""
    parts = re.sub(r"[()]", "", licence.replace("/", " OR ")).split(" AND ")
    return all(allowed & {choice.strip() for choice in part.split(" OR ")} for part in parts)

bad = 0
for package in json.load(sys.stdin)["packages"]:
    name = "{name} {version}".format(**package)
    if not fits(package["license"] or ""):
        bad = 1
        print(name, "has the licence", package["license"], "which deny.toml does not allow", file=sys.stderr)
    # A registry is named where it is not the default one.
    for needed in package["dependencies"]:
        source = needed["registry"] or needed["source"]
        if needed["registry"] or not (source or "registry+").startswith("registry+"):
            bad = 1
            print(name, "takes", needed["name"], "from", source, file=sys.stderr)
sys.exit(bad)'
done
echo "dependencies: licences and sources are good (by cargo metadata: cargo-deny is not installed)"
