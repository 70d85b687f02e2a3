#!/usr/bin/env bash
# The tests of this folder, or another command in it, on another release of OTP than the one installed:
#
#   erlang/otp.sh 29                    make test
#   erlang/otp.sh 27 make bench N=100000
#
# Debian's packages of that release go into a root of their own in the cache, once (400 MB, two minutes). The native
# part is built outside, with the cargo that is here, and loaded there; what erlc and mix make stays out of this folder.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

fail() {
  echo "otp.sh: $*" >&2
  exit 1
}

# Debian's release with that OTP.
release=${1:-}
case $release in
  27) suite=trixie ;;
  29) suite=forky ;;
  *) fail "usage: otp.sh 27|29 [COMMAND...] (releases of OTP that Debian has packages of)" ;;
esac
shift
[ $# -gt 0 ] || set -- make test

packages=(elixir make)
packages+=(erlang-{dev,eunit,mnesia,proper,runtime-tools,snmp,syntax-tools})
cache=${XDG_CACHE_HOME:-$HOME/.cache}/fyris
root=$cache/otp-$release
built=$cache/otp-$release-built
log=$cache/otp-$release.log

[ "$(id -u)" = 0 ] || fail "needs root, to mount and chroot"
command -v cargo >/dev/null || fail "needs cargo"

# Whole or not there: it gets its name at the end.
make_root() {
  echo "otp.sh: making a root with OTP $release of Debian's $suite in $root (log: $log)"
  rm -rf "$root.new"
  "$here/../ci/debootstrap.sh" "$suite" "$root.new" >"$log" 2>&1 ||
    fail "debootstrap failed (no network?): $log"
  DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 chroot "$root.new" \
    apt-get install -y -qq --no-install-recommends "${packages[@]}" >>"$log" 2>&1 ||
    fail "apt-get failed in the root: $log"
  rm -rf "$root.new"/var/cache/apt/archives/*.deb "$root.new"/var/lib/apt/lists/*
  mv "$root.new" "$root"
}

mkdir -p "$cache"
[ -d "$root" ] || make_root

target=${CARGO_TARGET_DIR:-$(dirname "$here")/target}
cargo build --quiet --locked --profile "${PROFILE:-release}" --manifest-path "$here/native/fyris_nif/Cargo.toml" --target-dir "$target"

# Mounts and processes end with the command.
export here root built
export target
exec unshare --mount --pid --fork --kill-child bash -euo pipefail -c '
  repo=$(dirname "$here")
  mkdir -p "$root$repo" "$root/fyris-target"
  mount --bind "$repo" "$root$repo"
  mount --bind "$target" "$root/fyris-target"
  for made in ebin priv test/ebin bench/ebin _build; do
    mkdir -p "$built/$made" "$here/$made"
    mount --bind "$built/$made" "$root$here/$made"
  done
  mount -t proc proc "$root/proc"
  mount --rbind /dev "$root/dev"
  inside=(HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 CARGO=true PROFILE="${PROFILE:-release}"
    CARGO_TARGET_DIR=/fyris-target)
  for name in $(compgen -e FYRIS_ || true); do inside+=("$name=${!name}"); done
  exec chroot "$root" env -i "${inside[@]}" bash -c "cd \"\$0\" && exec \"\$@\"" "$here" "$@"' bash "$@"
