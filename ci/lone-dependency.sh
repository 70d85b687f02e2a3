#!/usr/bin/env bash
# A program of somebody who depends on `fyris` alone: its own crate, outside of the workspace, with the first example's
# terms, without and with the default features.
set -euo pipefail
cd "$(dirname "$0")/.."
project=$PWD
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/src"
cat >"$folder/Cargo.toml" <<EOF
[package]
name = "lone"
version = "0.1.0"
edition = "2024"

[dependencies]
fyris = { path = "$project/crates/store", default-features = false }

[features]
default = ["fyris/default"]
EOF
cat >"$folder/src/main.rs" <<'EOF'
use fyris::{Options, Store, Term, term};

fn main() -> Result<(), fyris::Error> {
    let owner = Store::new().owner();
    let squares = owner.new_table("squares", &Options::ordered_set())?;
    for n in 0..10 {
        squares.insert(&term!({n, n * n, :square, "text", [1.5, #{:root => n}]}))?;
    }
    let found: Vec<Term> = squares.lookup(&term!(7))?;
    println!("{}", found[0]);
    assert_eq!(found[0].to_string(), "{7,49,square,<<\"text\">>,[1.5,#{root => 7}]}");
    Ok(())
}
EOF
# The same versions as in the workspace.
cp Cargo.lock "$folder"
for features in "" --no-default-features; do
  cargo run --quiet --manifest-path "$folder/Cargo.toml" --target-dir "$project/target/lone" $features
done
