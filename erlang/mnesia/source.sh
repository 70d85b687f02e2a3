#!/usr/bin/env bash
# Prints a folder with the sources of OTP's Mnesia and of its test suites, of the release that is installed.
#
# They come from Debian's source package of the erlang that is installed, by apt, with lists of its own, into the cache,
# once. Elsewhere: OTP_SOURCE=/path/to/otp (of the same release) erlang/mnesia/run.sh
set -euo pipefail

if [ -n "${OTP_SOURCE:-}" ]; then
  [ -d "$OTP_SOURCE/lib/mnesia/test" ] || { echo "source.sh: no lib/mnesia/test in $OTP_SOURCE" >&2; exit 1; }
  cd "$OTP_SOURCE" && pwd
  exit
fi

version=$(dpkg-query -W -f '${source:Version}' erlang-base 2>/dev/null) ||
  { echo "source.sh: erlang is not a package of Debian here: set OTP_SOURCE" >&2; exit 1; }
cache=${XDG_CACHE_HOME:-$HOME/.cache}/fyris/mnesia
source=$cache/otp-$version

# Whole or not there: it gets its name at the end.
fetch() {
  local apt=$cache/apt archive
  mkdir -p "$apt"/{lists,cache,download}/partial "$source.new"
  # The sources beside the packages of Debian that apt knows here.
  apt-get indextargets 'Created-By: Packages' 'Origin: Debian' --format \
    'deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $(REPO_URI) $(RELEASE) $(COMPONENT)' |
    sort -u >"$apt/sources.list"
  local options=(-qq -o "Dir::Etc::sourcelist=$apt/sources.list" -o Dir::Etc::sourceparts=- -o "Dir::State::lists=$apt/lists"
    -o "Dir::Cache=$apt/cache" -o "APT::Sandbox::User=$(id -un)")
  apt-get "${options[@]}" update
  (cd "$apt/download" && apt-get "${options[@]}" source --download-only "erlang=$version")
  archive=$(ls "$apt"/download/erlang_*.orig.tar.*)
  tar -xf "$archive" --strip-components=1 -C "$source.new" --wildcards '*/lib/mnesia/src/*' '*/lib/mnesia/test/*' \
    '*/lib/common_test/include/*'
  rm -rf "$apt"
  mv "$source.new" "$source"
}

if [ ! -d "$source" ]; then
  rm -rf "$source.new"
  mkdir -p "$cache"
  fetch >"$cache/source.log" 2>&1 || { echo "source.sh: no source of erlang $version (no network?): $cache/source.log" >&2; exit 1; }
fi
echo "$source"
