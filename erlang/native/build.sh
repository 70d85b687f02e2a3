#!/bin/sh
# Makes priv/fyris_nif.so: from a prebuilt library if there is one for this machine, else with cargo. Does nothing, and
# needs neither, while the one that is there is of that library or of the sources that are here (priv/fyris_nif.sources
# says which).
#
#   CARGO=cargo PROFILE=release native/build.sh
#   FYRIS_BUILD=1            builds with cargo, also where there is a prebuilt library
#   FYRIS_PREBUILT=PLACE     the prebuilt library comes from PLACE, a folder or a URL that `make dist` has filled
#
# A package of a release has prebuilt libraries in native/prebuilt, with their checksums, and its sources in
# native/source; the repository has its sources around this folder. The Makefile, rebar.config and mix.exs all come here.
# Symbols are left out; the library as cargo made it, with what debuggers need, stays in cargo's folder.
set -eu
case ${FYRIS_PREBUILT:-} in
  '' | /* | http://* | https://*) ;;
  *) FYRIS_PREBUILT=$PWD/$FYRIS_PREBUILT ;;
esac
cd -P "$(dirname "$0")/.."
library=priv/fyris_nif.so
profile=${PROFILE:-release}

say() { echo "fyris: $*" >&2; }

fail() {
  say "$@"
  exit 1
}

# is SOURCES: is the library there, and of these?
is() { [ -e $library ] && [ "$(cat priv/fyris_nif.sources 2>/dev/null)" = "$1" ]; }

# put FILE SOURCES: whole or not there, also when two builds are under way.
put() {
  mv "$1" $library
  echo "$2" >priv/fyris_nif.sources
}

# ---- a prebuilt library

place=${FYRIS_PREBUILT:-native/prebuilt}
sums=native/prebuilt/SHA256SUMS
system=$(uname -m)-$(uname -s)
case $system in
  x86_64-Linux | aarch64-Linux) target=$(uname -m)-unknown-linux-gnu ;;
  *) target=$system ;;
esac
# A C library that is not GNU's says so.
case $(ldd --version 2>&1 || true) in *musl*) target=${target%gnu}musl ;; esac
version=$(sed -n 's/.*{vsn, "\(.*\)"}.*/\1/p' src/fyris.app.src)
name=libfyris_nif-v$version-nif-2.16-$target.so

fetch() { # fetch NAME FILE
  case $place in
    http://* | https://*) curl -fsSL -o "$2" "$place/$1" ;;
    *) cp "$place/$1" "$2" ;;
  esac
}

# The archive's checksum is the package's, if this is one; else that of the place it comes from.
take_prebuilt() {
  mkdir -p priv
  new=$(mktemp -d priv/prebuilt.XXXXXX)
  trap 'rm -rf "$new"' EXIT
  [ -e $sums ] && cp $sums "$new/sums" || fetch SHA256SUMS "$new/sums" || fail "no SHA256SUMS in $place"
  sum=$(sed -n "s/^\([0-9a-f]\{64\}\) [ *]\(.*\/\)\{0,1\}$name\.tar\.gz$/\1/p" "$new/sums" | head -1)
  [ -n "$sum" ] || return 1
  is "prebuilt $sum" && exit 0
  fetch "$name.tar.gz" "$new/archive" || fail "no $name.tar.gz in $place"
  found=$(sha256sum "$new/archive" | cut -d ' ' -f 1)
  [ "$found" = "$sum" ] || fail "$name.tar.gz of $place has the checksum $found, not $sum"
  tar -xzf "$new/archive" -C "$new" "$name" || fail "$name.tar.gz of $place does not unpack"
  put "$new/$name" "prebuilt $sum" || fail "cannot write $library"
  say "$library is $name, as it was prebuilt (FYRIS_BUILD=1 builds it here)"
}

case ${FYRIS_BUILD:-} in
  1 | true) ;;
  *)
    if [ -n "${FYRIS_PREBUILT:-}" ] || [ -e $sums ]; then
      take_prebuilt && exit 0
      [ -z "${FYRIS_PREBUILT:-}" ] || fail "$place has no prebuilt library $name"
      say "there is no prebuilt library for $target"
    fi
    ;;
esac

# ---- a library of our own

repo=..
crate=native/fyris_nif
if [ ! -e $repo/crates/store/Cargo.toml ]; then
  repo=native/source
  crate=$repo/erlang/native/fyris_nif
fi
# The repository's, so that what its other parts have built serves here too.
target=${CARGO_TARGET_DIR:-$repo/target}

if [ ! -e $repo/crates/store/Cargo.toml ]; then
  [ -e $library ] && exit 0
  fail "there is no $library, and no sources to build it from: this folder needs crates/ of the repository beside it"
fi

sources=$({
  echo "$profile"
  for folder in $crate $(printf "$repo/crates/%s " sync term index classic judy query store); do
    find $folder/src $folder/Cargo.toml -type f | LC_ALL=C sort
  done | xargs sha256sum $repo/Cargo.toml $crate/Cargo.lock
} | sha256sum)
is "$sources" && exit 0

command -v "${CARGO:-cargo}" >/dev/null ||
  fail "needs cargo to build $library, once: Rust 1.95 or later, from https://rustup.rs"
say "building the native part with cargo: some minutes, once; its last crate, fyris_nif, takes half of them"
begun=$(date +%s)
"${CARGO:-cargo}" build --locked --manifest-path $crate/Cargo.toml --profile "$profile" --target-dir "$target"
mkdir -p priv
new=$library.$$
strip --strip-unneeded -o $new "$target/$profile/libfyris_nif.so" 2>/dev/null ||
  cp "$target/$profile/libfyris_nif.so" $new
put $new "$sources"
say "built $library ($(($(wc -c <$library) / 1024)) KiB) in $(($(date +%s) - begun)) s"
