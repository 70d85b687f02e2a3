#!/usr/bin/env bash
# Makes a root of a suite of Debian, from the mirror that the machine's own apt uses. As root:
#
#   ci/debootstrap.sh SUITE ROOT [OPTION OF DEBOOTSTRAP...]
set -euo pipefail
suite=$1 root=$2
shift 2

command -v debootstrap >/dev/null || {
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq debootstrap
}

# Nothing where apt has no lists, or has none of Debian's: then debootstrap knows a mirror.
mirror() {
  apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Label: Debian' | sed -n 1p
}
from=$(mirror)
[ -n "$from" ] || { apt-get update -qq && from=$(mirror); }

# Every suite is made alike; an older debootstrap does not know the newest by name.
debootstrap --variant=minbase "$@" "$suite" "$root" "$from" /usr/share/debootstrap/scripts/sid
