#!/usr/bin/env bash
# The first programs of each language, with what is in /dist, in a clean root (ci/trial-dist.sh).
set -euo pipefail
cd /root
for program in cargo rustc; do
  ! command -v $program >/dev/null || { echo "trial: $program is here, so nothing is shown" >&2; exit 1; }
done

fail() {
  echo "trial: $*" >&2
  exit 1
}

expect() { # expect OUTPUT COMMAND...: its last line
  local wanted=$1 got
  shift
  got=$("$@" 2>err | tail -1) || { cat err >&2; fail "$*: failed"; }
  [ "$got" = "$wanted" ] || { cat err >&2; fail "$*: not $wanted but $got"; }
}

quietly() { # quietly COMMAND...: shows what it says if it fails or warns
  "$@" >log 2>&1 || { cat log >&2; fail "$*: failed"; }
  ! grep -i warning log >&2 || fail "warnings from: $*"
}

licensed() { # licensed FOLDER: has it the licences of what is inside?
  [ -s "$1/LICENSE-APACHE" ] && [ -s "$1/LICENSE-MIT" ] && grep -q '^\* libmimalloc-sys ' "$1/LICENSE-THIRD-PARTY" ||
    fail "licences are missing in $1"
}

echo "trial: the program"
tar -xzf /dist/fyris-[0-9]*-linux-gnu.tar.gz --strip-components=1 -C /usr/local
fyris --version
expect 40898 fyris shell /usr/local/share/doc/fyris/otp25-exports.ets -e count
doc=/usr/local/share/doc/fyris
licensed $doc
fyris shell --script $doc/tour.fyris $doc/otp25-exports.ets >log 2>&1 || { cat log >&2; fail "the tour fails"; }
printf 'city,people\nA,3\nB,4\nA,5\n' >cities.csv
expect '["A",8]' fyris shell --format json -e 'load cities.csv key city type bag' \
  -e 'select group by city return {city, sum(people)} sort by sum(people) desc limit 1'
[ -e /usr/local/lib/libfyris_dthreads.so ] || fail "the library of fyris dthreads is missing"
for page in fyris fyris-shell fyris-doctor fyris-dthreads; do
  man -l /usr/local/share/man/man1/$page.1 >page 2>err || fail "no manual page $page"
  [ ! -s err ] || { cat err >&2; fail "the manual page $page has errors"; }
done
man -l /usr/local/share/man/man1/fyris-shell.1 >page
grep -q 'delete_range \[TABLE\]' page || fail "the manual lacks commands"

echo "trial: C"
tar -xzf /dist/libfyris-*.tar.gz -C /
ldconfig
examples=/usr/local/share/doc/libfyris
licensed $examples
for example in tables segment; do
  quietly gcc -Wall -Wextra -Werror -o $example $examples/$example.c $(pkg-config --cflags --libs fyris)
  ldd $example >log
  grep -q 'libfyris.so.0 => /usr/local/lib' log || { cat log >&2; fail "$example does not use the shared library"; }
  quietly ./$example
  quietly gcc -o $example-static $examples/$example.c $(pkg-config --cflags fyris) /usr/local/lib/libfyris.a -lm -lpthread
  quietly ./$example-static
done
mkdir cmake
cat >cmake/CMakeLists.txt <<'PROJECT'
cmake_minimum_required(VERSION 3.20)
project(first C)
find_package(fyris 0.1 REQUIRED)
add_executable(first /usr/local/share/doc/libfyris/tables.c)
target_link_libraries(first PRIVATE fyris::fyris)
PROJECT
quietly cmake -S cmake -B cmake/build
quietly cmake --build cmake/build
quietly cmake/build/first

echo "trial: Python $(python3 -c 'import platform; print(platform.python_version())')"
python3 -m venv env
quietly env/bin/pip install --no-index --disable-pip-version-check --find-links /dist --only-binary :all: fyris
licensed env/lib/python*/site-packages/fyris-*.dist-info/licenses
cat >first.py <<'PROGRAM'
import fyris

towns = fyris.Table("ordered_set")
towns["uppsala"] = {"river": "Fyris", "bridges": 14}
towns.update({"visby": {}, "falun": {"river": "Faluån"}})
print(list(towns))
PROGRAM
expect "['falun', 'uppsala', 'visby']" env/bin/python first.py

otp=$(erl -noshell -eval 'io:put_chars(erlang:system_info(otp_release)), halt().')
echo "trial: Erlang, OTP $otp"
tar -xzf /dist/fyris-erlang-*.tar.gz
mv fyris-erlang-* fyris
licensed fyris
mkdir -p rebar/src rebar/_checkouts
cp -r fyris rebar/_checkouts/fyris
cat >rebar/rebar.config <<'PROJECT'
{deps, [fyris]}.
PROJECT
cat >rebar/src/first.app.src <<'PROJECT'
{application, first, [{description, "a trial"}, {vsn, "1"}, {applications, [kernel, stdlib, fyris]}]}.
PROJECT
cat >rebar/src/first.erl <<'PROJECT'
-module(first).
-export([main/0]).
main() ->
    T = fyris:new(t, [ordered_set]),
    fyris:insert(T, [{{a, 1}, one}, {{b, 1}, two}]),
    io:format("~p~n", [fyris:prefix(T, {a, '_'})]),
    halt().
PROJECT
(cd rebar && DEBUG= rebar3 compile >../log 2>&1) || { cat log >&2; fail "rebar3 compile: failed"; }
grep -q 'as it was prebuilt' log || { cat log >&2; fail "the native part is not the prebuilt one"; }
expect '[{{a,1},one}]' erl -noshell -pa rebar/_build/default/*/*/ebin -run first main

echo "trial: Elixir $(elixir --short-version 2>/dev/null || elixir --version | sed -n 's/^Elixir \([^ ]*\).*/\1/p')"
mix new first_elixir --module First --app first >/dev/null
cat >first_elixir/lib/first.ex <<'PROJECT'
defmodule First do
  def main do
    table = Fyris.new!()
    Fyris.put!(table, 1, :one)
    IO.inspect(:fyris.lookup(table.id, 1))
  end
end
PROJECT
sed -i 's|# {:dep_from_hexpm.*|{:fyris, path: "../fyris"}|' first_elixir/mix.exs
cd first_elixir
mix compile >../log 2>&1 || { cat ../log >&2; fail "mix compile: failed"; }
! grep -i warning ../log >&2 || fail "warnings from mix compile"
expect '[{1, :one}]' mix run -e 'First.main()'
# The same from the folder of a release, as from its address.
cd ../fyris
rm -r priv
FYRIS_PREBUILT=/dist native/build.sh 2>../err
grep -q 'as it was prebuilt' ../err && [ -e priv/fyris_nif.so ] || { cat ../err >&2; fail "nothing was taken from /dist"; }
! FYRIS_PREBUILT=/nowhere native/build.sh 2>../err || [ -e priv/fyris_nif.so ] || fail "a place that is none gave a library"
# A release of ours that is not what its checksum says is refused.
echo x >>"$(echo native/prebuilt/*"$(uname -m)"*.tar.gz)"
rm -r priv
! native/build.sh 2>../err || fail "a damaged library was taken"
grep -q 'has the checksum' ../err || { cat ../err >&2; fail "the checksum is not named"; }
