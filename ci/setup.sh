#!/usr/bin/env bash
# Installs what the tests can use beyond Rust: Debian's Erlang (the oracle). Without it (not root, or
# no package source) the tests that need Erlang skip themselves and say so.
set -euo pipefail
if command -v erl >/dev/null; then
  exit 0
fi
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo "setup: installing Erlang from Debian's packages" >&2
  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    erlang-base erlang-nox >/dev/null || true
fi
command -v erl >/dev/null || echo "setup: no Erlang: the oracle tests will skip themselves" >&2
