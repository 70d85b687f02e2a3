#!/bin/sh
# Builds priv/fyris_nif.so with cargo. Does nothing, and needs no cargo, while the one that is there was built from the
# sources that are here (priv/fyris_nif.sources has their checksum), or where there are no sources.
#
#   CARGO=cargo PROFILE=release native/build.sh
#
# The Makefile, rebar.config and mix.exs all come here. Symbols are left out; the library as cargo made it, with what
# debuggers need, stays in cargo's folder.
set -eu
cd -P "$(dirname "$0")/.."
crate=native/fyris_nif
library=priv/fyris_nif.so
profile=${PROFILE:-release}
target=${CARGO_TARGET_DIR:-$crate/target}

say() { echo "fyris: $*" >&2; }

if [ ! -e ../crates/store/Cargo.toml ]; then
  [ -e $library ] && exit 0
  say "there is no $library, and no sources to build it from: this folder needs crates/ of the repository beside it"
  exit 1
fi

sources=$({
  echo "$profile"
  for folder in $crate ../crates/sync ../crates/term ../crates/index ../crates/query ../crates/store; do
    find $folder/src $folder/Cargo.toml -type f | LC_ALL=C sort
  done | xargs sha256sum ../Cargo.toml $crate/Cargo.lock
} | sha256sum)
[ -e $library ] && [ "$(cat priv/fyris_nif.sources 2>/dev/null)" = "$sources" ] && exit 0

if ! command -v "${CARGO:-cargo}" >/dev/null; then
  say "needs cargo to build $library, once: Rust 1.95 or later, from https://rustup.rs"
  exit 1
fi
say "building the native part with cargo: some minutes, once; its last crate, fyris_nif, takes half of them"
begun=$(date +%s)
case $profile in
  release) "${CARGO:-cargo}" build --locked --manifest-path $crate/Cargo.toml --release ;;
  *) "${CARGO:-cargo}" build --locked --manifest-path $crate/Cargo.toml ;;
esac
mkdir -p priv
# Whole or not there, also when two builds are under way.
new=$library.$$
strip --strip-unneeded -o $new "$target/$profile/libfyris_nif.so" 2>/dev/null ||
  cp "$target/$profile/libfyris_nif.so" $new
mv $new $library
echo "$sources" >priv/fyris_nif.sources
say "built $library ($(($(wc -c <$library) / 1024)) KiB) in $(($(date +%s) - begun)) s"
