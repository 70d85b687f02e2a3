#!/usr/bin/env bash
# Installs what the tests can use beyond Rust, from Debian's packages: Erlang (the oracle, and the emulator that the NIF
# runs in), PropEr, Elixir, g++ for the indexes in C++, and compressors of many threads. What cannot be had (not root, or
# no package source) makes its tests skip themselves and say so.
set -euo pipefail

missing=()
command -v erl >/dev/null || missing+=(erlang-base erlang-nox)
command -v c++ >/dev/null || missing+=(g++)
# Programs that deterministic threads are tested with.
for program in pbzip2 lbzip2 pigz plzip zstd; do
  command -v "$program" >/dev/null || missing+=("$program")
done
command -v xz >/dev/null || missing+=(xz-utils)
command -v elixir >/dev/null || missing+=(elixir)
# An Erlang that is here may be a part of Debian's packages only.
for module in proper edoc eunit mnesia dialyzer; do
  erl -noshell -eval "halt(case code:which($module) of non_existing -> 1; _ -> 0 end)" 2>/dev/null ||
    missing+=(erlang-$module)
done
if [ ${#missing[@]} = 0 ]; then
  exit 0
fi
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo "setup: installing ${missing[*]} from Debian's packages" >&2
  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    "${missing[@]}" >/dev/null || true
fi
for program in erl elixir c++; do
  command -v "$program" >/dev/null || echo "setup: no $program: the tests that need it will skip themselves" >&2
done
