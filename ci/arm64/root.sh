#!/usr/bin/env bash
# A command in a root where cargo compiles for AArch64 and runs what it made under qemu:
#
#   ci/arm64/root.sh cargo test -p fyris-index --test ordered_tree
#
# Debian's packages of sid go into a root of their own in the cache, once (4 GB, five minutes): rustc with the standard
# library of arm64, the cross compiler, and qemu with a kernel for it. What is made stays in target/arm64.
set -euo pipefail
repo=$(cd "$(dirname "$0")/../.." && pwd)

fail() {
  echo "arm64: $*" >&2
  exit 1
}

[ $# -gt 0 ] || fail "usage: root.sh COMMAND..."

packages=(ca-certificates cargo libc6-dev libstd-rust-dev:arm64 rustc)
packages+=(gcc-aarch64-linux-gnu libc6-dev:arm64 qemu-user)
packages+=(erlang-base) # asked by tests
packages+=(busybox-static:arm64 cpio linux-image-arm64:arm64 qemu-system-arm) # for vm.sh
cache=${XDG_CACHE_HOME:-$HOME/.cache}/fyris
root=$cache/arm64
log=$cache/arm64.log

[ "$(id -u)" = 0 ] || fail "needs root, to mount and chroot"
command -v cargo >/dev/null || fail "needs cargo"

in_new() {
  DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 chroot "$root.new" "$@" >>"$log" 2>&1 ||
    fail "$1 failed in the root: $log"
}

# It gets its name at the end, so that it is whole or not there.
make_root() {
  echo "arm64: making a root of Debian's sid in $root (log: $log)"
  rm -rf "$root.new"
  "$repo/ci/debootstrap.sh" sid "$root.new" --arch=amd64 >"$log" 2>&1 ||
    fail "debootstrap failed (no network?): $log"
  # A mirror that has not been updated for weeks will do.
  echo 'Acquire::Check-Valid-Until "false";' >"$root.new/etc/apt/apt.conf.d/99fyris"
  in_new dpkg --add-architecture arm64
  in_new apt-get update -qq
  in_new apt-get install -y -qq --no-install-recommends "${packages[@]}"
  rm -rf "$root.new"/var/cache/apt/archives/*.deb "$root.new"/var/lib/apt/lists/* "$root.new"/boot/initrd*
  mv "$root.new" "$root"
}

mkdir -p "$cache"
[ -d "$root" ] || make_root

# The sources of crates come from the cargo outside: the one inside needs no network.
cargo fetch --quiet --locked --manifest-path "$repo/Cargo.toml"

# Mounts and processes end with the command.
export root repo home=${CARGO_HOME:-$HOME/.cargo}
export target=${CARGO_TARGET_DIR:-$repo/target}/arm64
mkdir -p "$target"
exec unshare --mount --pid --fork --kill-child bash -euo pipefail -c '
  mkdir -p "$root$repo" "$root/cargo" "$root/target"
  mount --bind "$repo" "$root$repo"
  mount --bind "$home" "$root/cargo"
  mount --bind "$target" "$root/target"
  mount -t proc proc "$root/proc"
  mount --rbind /dev "$root/dev"
  inside=(HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 CARGO_HOME=/cargo CARGO_NET_OFFLINE=true
    CARGO_TARGET_DIR=/target CARGO_BUILD_TARGET=aarch64-unknown-linux-gnu
    CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
    CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER=qemu-aarch64)
  for name in RUSTFLAGS RUST_BACKTRACE $(compgen -e PROPTEST_ || true) $(compgen -e FYRIS_ || true); do
    [ -z "${!name:-}" ] || inside+=("$name=${!name}")
  done
  exec chroot "$root" env -i "${inside[@]}" bash -c "cd \"\$0\" && exec \"\$@\"" "$repo" "$@"' bash "$@"
