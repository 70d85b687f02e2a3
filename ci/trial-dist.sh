#!/usr/bin/env bash
# Installs what `make dist` made into clean roots of Debian, which have no Rust and get no network, and runs the first
# programs of each language there:
#
#   ci/trial-dist.sh [SUITE...]      bookworm (OTP 25, Python 3.11), trixie (27, 3.13), forky (29, 3.14)
#
# Debian's packages go into a root of each suite in the cache, once (500 MB, three minutes each); what the trial does
# there is thrown away. A root that cannot be made is skipped, and told. As root.
set -euo pipefail
cd "$(dirname "$0")/.."
dist=$PWD/dist
suites=("$@")
[ $# -gt 0 ] || suites=(bookworm trixie forky)
packages=(cmake elixir erlang-base erlang-dev gcc libc6-dev make man-db pkg-config python3-venv rebar3)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/fyris

fail() {
  echo "trial-dist: $*" >&2
  exit 1
}

[ "$(id -u)" = 0 ] || fail "needs root, to mount and chroot"
[ -e "$dist/SHA256SUMS" ] || fail "nothing in dist/: make dist"
(cd "$dist" && sha256sum --quiet -c SHA256SUMS) || fail "dist/ is not what it was"

# Whole or not there: it gets its name at the end.
make_root() { # make_root SUITE ROOT
  local log=$cache/dist-$1.log
  echo "trial-dist: making a root of Debian's $1 in $2 (log: $log)"
  rm -rf "$2.new"
  {
    ci/debootstrap.sh "$1" "$2.new" || return
    DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 chroot "$2.new" \
      apt-get install -y -qq --no-install-recommends "${packages[@]}" || return
  } >"$log" 2>&1
  rm -rf "$2.new"/var/cache/apt/archives/*.deb "$2.new"/var/lib/apt/lists/*
  mv "$2.new" "$2"
}

mkdir -p "$cache"
tried=()
for suite in "${suites[@]}"; do
  root=$cache/dist-$suite
  [ -d "$root" ] || make_root "$suite" "$root" || { echo "no root of $suite can be made here: skipped" >&2; continue; }
  tried+=("$suite")
  echo "trial-dist: $suite"
  export root dist trial=$PWD/ci/trial-dist
  # Mounts, processes and whatever was written end with the command; there is no network in its name space.
  unshare --mount --pid --net --fork --kill-child bash -euo pipefail -c '
    over=$(mktemp -d)
    mount -t tmpfs tmpfs "$over"
    mkdir "$over"/{upper,work,root}
    mount -t overlay overlay -o "lowerdir=$root,upperdir=$over/upper,workdir=$over/work" "$over/root"
    mkdir -p "$over/root/dist" "$over/root/trial"
    mount --bind -o ro "$dist" "$over/root/dist"
    mount --bind -o ro "$trial" "$over/root/trial"
    mount -t proc proc "$over/root/proc"
    mount --rbind /dev "$over/root/dev"
    exec chroot "$over/root" env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
      LC_ALL=C.UTF-8 bash /trial/all.sh' || fail "$suite: failed"
done
echo "trial-dist: all good${tried:+ on ${tried[*]}}"
