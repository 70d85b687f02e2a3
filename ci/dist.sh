#!/usr/bin/env bash
# Makes what a release needs, in dist/ (`make dist`), with checksums and a manifest. ci/trial-dist.sh installs it into
# clean roots.
#
#   FYRIS_URL=https://... ci/dist.sh
#
# FYRIS_URL is where the project can be seen: packages name it, and link to it (ci/addresses.py). They are made in a
# copy of the tree, in the cache, into which it is written. The native part of Erlang is made for this machine and for
# AArch64, for which the standard library of Rust and a cross compiler (Debian's gcc-aarch64-linux-gnu) are installed if
# they can be had. Programs need a C library as new as the one
# here: build on the oldest system that is to run them. Wheels are for glibc 2.28 and later.
set -euo pipefail
cd "$(dirname "$0")/.."
. ci/steps.sh
root=$PWD
version=$(sed -n '/^\[workspace.package\]/,/^version/s/^version = "\(.*\)"/\1/p' Cargo.toml)
machine=$(uname -m)
here=$machine-unknown-linux-gnu
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
export CARGO_TARGET_DIR=$target
dist=$root/dist
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
tree=${XDG_CACHE_HOME:-$HOME/.cache}/fyris/dist-tree
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
rm -rf "$dist"
mkdir -p "$dist/crates"

fail() {
  echo "dist: $*" >&2
  exit 1
}

pack() { # pack ARCHIVE FOLDER NAME...: the same bytes for the same files
  tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -C "$2" -cf - "${@:3}" |
    gzip -9n >"$dist/$1"
}

licences() { # licences FOLDER MANIFEST TARGET PACKAGE...: ours, and those of what is inside
  install -m 644 LICENSE-APACHE LICENSE-MIT "$1"
  ci/notices.py "${@:2}" >"$1/LICENSE-THIRD-PARTY"
}

step "a copy of the tree with the address of the project"
rm -rf "$tree"
mkdir -p "$tree"
git ls-files -z | xargs -0 cp -dp --parents -t "$tree"
ci/addresses.py "$tree" "${FYRIS_URL:-}"
cd "$tree"

step "the program and the library for C"
name=fyris-$version-$here
make --no-print-directory install DESTDIR="$work" PREFIX="/$name"
doc=$work/$name/share/doc/fyris
install -d "$doc"
install -m 644 crates/cli/README.md CHANGELOG.md data/{otp25-exports.ets,tour.fyris,people.csv} "$doc"
licences "$doc" Cargo.toml "$here" fyris-cli fyris-dthreads-preload
pack "$name.tar.gz" "$work" "$name"

cargo build --release --locked -p fyris-capi
name=libfyris-$version-$here
DESTDIR=$work/$name crates/capi/install.sh /usr/local "$target/release"
install -d "$work/$name/usr/local/share/doc/libfyris"
install -m 644 crates/capi/README.md crates/capi/examples/*.c "$work/$name/usr/local/share/doc/libfyris"
licences "$work/$name/usr/local/share/doc/libfyris" Cargo.toml "$here" fyris-capi
pack "$name.tar.gz" "$work/$name" usr

step "the native part of Erlang, for x86-64 and AArch64"
native() { # native TARGET LIBRARY STRIP
  local name=libfyris_nif-v$version-nif-2.16-$1.so
  mkdir "$work/$1"
  "$3" --strip-unneeded -o "$work/$1/$name" "$2"
  licences "$work/$1" $crate/Cargo.toml "$1" fyris_nif
  pack "$name.tar.gz" "$work/$1" "$name" LICENSE-APACHE LICENSE-MIT LICENSE-THIRD-PARTY
}
crate=erlang/native/fyris_nif
cargo build --locked --release --manifest-path $crate/Cargo.toml --target-dir "$target"
native "$here" "$target/release/libfyris_nif.so" strip
cross=aarch64-unknown-linux-gnu
has_library() { [ -d "$(rustc --print target-libdir --target "$1")" ]; }
can_cross() { command -v aarch64-linux-gnu-gcc >/dev/null && has_library $cross; }
if [ "$here" != $cross ] && ! can_cross; then
  has_library $cross || rustup target add $cross || true
  [ "$(id -u)" != 0 ] || command -v aarch64-linux-gnu-gcc >/dev/null ||
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq gcc-aarch64-linux-gnu; } || true
fi
if [ "$here" != $cross ] && can_cross; then
  CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc \
    cargo build --locked --release --manifest-path $crate/Cargo.toml --target-dir "$target" --target $cross
  native $cross "$target/$cross/release/libfyris_nif.so" aarch64-linux-gnu-strip
elif [ "$here" != $cross ]; then
  echo "dist: none for $cross: no cross compiler, or no standard library of Rust for it" >&2
fi

step "the package for Hex"
# What erlang/mix.exs lists; prebuilt libraries, and the sources to build from.
name=fyris-erlang-$version
package=$work/$name
mkdir -p "$package/native/prebuilt" "$package/native/source"
(cd erlang && git -C "$root/erlang" ls-files -z src elixir/lib native/build.sh | xargs -0 cp --parents -t "$package")
install -m 755 erlang/docs.sh "$package"
install -m 644 erlang/{mix.exs,rebar.config,README.md,FROM_ETS.md,USES.md} CHANGELOG.md "$package"
licences "$package" $crate/Cargo.toml "$here" fyris_nif
(cd "$dist" && sha256sum libfyris_nif-*.tar.gz) >"$package/native/prebuilt/SHA256SUMS"
cp "$dist"/libfyris_nif-*.tar.gz "$package/native/prebuilt"
git -C "$root" ls-files -z Cargo.toml $crate \
  crates/{sync,term,files,index,classic,judy,query,store}/{src,Cargo.toml,README.md,build.rs} |
  xargs -0 cp --parents -t "$package/native/source"
pack "$name.tar.gz" "$work" "$name"

if command -v mix >/dev/null; then
  cp -r "$package" "$work/hex"
  (
    cd "$work/hex"
    if erl -noshell -eval 'halt(case code:which(edoc) of non_existing -> 1; _ -> 0 end).'; then
      mix docs >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "mix docs failed in the package for Hex"; }
      pack "fyris-hexdocs-$version.tar.gz" . doc
    else
      echo "dist: no pages for Hex: edoc is not installed" >&2
    fi
    if mix help hex.build >/dev/null 2>&1; then
      mix hex.build -o "$work/hex.tar" >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "mix hex.build failed"; }
    else
      echo "dist: mix hex.build is not tried: Hex is not installed" >&2
    fi
  )
else
  echo "dist: neither pages for Hex nor mix hex.build: no mix here" >&2
fi

step "crates"
cargo package --locked --workspace --no-verify --allow-dirty --quiet
cp "$target"/package/*-"$version".crate "$dist/crates"
cargo publish --locked --workspace --dry-run --no-verify --allow-dirty --quiet 2>"$work/log" ||
  { cat "$work/log" >&2; fail "the crates cannot be published: cargo publish --dry-run"; }

step "the sources for Python"
venv=$target/python/venv
[ -x "$venv/bin/python" ] || "${PYTHON:-python3}" -m venv "$venv"
"$venv/bin/python" -m pip install -q --disable-pip-version-check 'maturin>=1.9,<2' auditwheel twine ziglang ||
  fail "maturin, ziglang, auditwheel and twine cannot be installed"
PATH=$venv/bin:$PATH
ci/notices.py python/Cargo.toml "$here" fyris-python >python/LICENSE-THIRD-PARTY
maturin sdist -m python/Cargo.toml --out "$dist"

step "wheels for x86-64 and AArch64"
# Linked by zig, which knows older C libraries than the one here. The name promises which systems can load it;
# auditwheel looks at what it asks of them.
wheel() { # wheel TARGET
  local file said tag
  ci/notices.py python/Cargo.toml "$1" fyris-python >python/LICENSE-THIRD-PARTY
  maturin build -q -m python/Cargo.toml --release --locked --out "$dist" \
    --zig --target "$1" --compatibility manylinux_2_28
  file=$(echo "$dist"/fyris-*manylinux_2_28_"${1%%-*}".whl)
  said=$(auditwheel show "$file" | tr -s '\n ' ' ')
  tag=$(basename "$file" .whl)
  tag=${tag##*-}
  [[ $said == *"following platform tag: \"${tag%%.*}\""* || $said == *"\"$tag\""* ]] ||
    fail "the wheel is named for $tag, but auditwheel says: $said"
}
for wanted in x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu; do
  if has_library $wanted; then
    wheel $wanted
  else
    echo "dist: no wheel for $wanted: no standard library of Rust for it" >&2
  fi
done

twine check --strict "$dist"/fyris-*.whl "$dist/fyris-$version.tar.gz" ||
  fail "the index of Python's packages would refuse these"

step "checksums and the manifest"
cd "$dist"
{
  commit=$(git -C "$root" rev-parse --short=12 HEAD)
  echo "Fyris $version, commit $commit, built on $(. /etc/os-release && echo "$PRETTY_NAME")"
  echo
  for file in *.tar.gz *.whl crates/*.crate; do
    case $file in
      libfyris_nif-*) what="native part of Erlang for native/build.sh (NIF 2.16: OTP 24 and later)" ;;
      libfyris-*) what="library for C, under /usr/local: unpack in /, then ldconfig" ;;
      fyris-hexdocs-*) what="pages of the Erlang and Elixir modules, as for Hex" ;;
      fyris-erlang-*) what="OTP application with Elixir's module; a package for Hex" ;;
      fyris-"$version".tar.gz) what="sources of the Python package, with those of the crates in it" ;;
      fyris-*.tar.gz) what="program, what fyris dthreads preloads, manual pages and a dump to look at" ;;
      *.whl) what="Python 3.11 and later, glibc 2.28 and later" ;;
      *.crate) what="crate" ;;
    esac
    printf '%-72s %10d  %s\n' "$file" "$(stat -c %s "$file")" "$what"
  done
} >MANIFEST
sha256sum MANIFEST *.tar.gz *.whl crates/*.crate >SHA256SUMS
cat MANIFEST
