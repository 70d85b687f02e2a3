#!/usr/bin/env bash
# What erlang/README.md says of dependencies, done as a new user does it: small projects in a folder of their own, with
# a home of their own and no cargo (the native part is built). rebar3: a checkout, git, a release, an escript. mix: a
# path, git with a subdirectory, a release, an escript. A warning of ours fails it.
set -euo pipefail
cd "$(dirname "$0")/.."
make --no-print-directory -C erlang native
repo=$PWD
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/home" "$folder/bin"
ln -s /usr/bin/* "$folder/bin"
rm -f "$folder/bin/cargo"
export HOME=$folder/home PATH=$folder/bin LC_ALL=C.UTF-8
unset CARGO_TARGET_DIR FYRIS_NIF
# What is here, committed or not.
git init -q "$folder/git"
git ls-files -coz --exclude-standard | xargs -0 cp --parents -t "$folder/git"
git -C "$folder/git" add -A
git -C "$folder/git" -c user.name=trial -c user.email=trial@localhost commit -qm trial
git -C "$folder/git" branch -M main

quietly() { # quietly COMMAND...: shows what it says if it fails or warns
  "$@" >"$folder/log" 2>&1 || { cat "$folder/log" >&2; echo "trial: failed: $*" >&2; exit 1; }
  # A release of an OTP without its sources warns of these.
  ! grep -vE 'Source code not found|Warnings generating release' "$folder/log" | grep -i warning >&2 ||
    { echo "trial: warnings from: $*" >&2; exit 1; }
}

expect() { # expect OUTPUT COMMAND...
  local wanted=$1 got
  shift
  got=$("$@" 2>&1 | tail -1)
  [ "$got" = "$wanted" ] || { echo "trial: $*: not $wanted but $got" >&2; exit 1; }
}

# edoc makes the documentation of functions; whoever builds without it gets none.
has_edoc=$(erl -noshell -eval 'io:format(case code:which(edoc) of non_existing -> ""; _ -> "yes" end), halt().')
[ -n "$has_edoc" ] || echo "no edoc here: what it makes is left out"

erlang_project() { # erlang_project NAME DEPENDENCY FOLDER: with rebar3; FOLDER is where rebar3 puts it
  mkdir -p "$folder/$1/src"
  cd "$folder/$1"
  cat >rebar.config <<PROJECT
{deps, [$2]}.
{relx, [{release, {trial, "1"}, [trial, sasl]}, {include_erts, false}, {dev_mode, false}]}.
{escript_name, trial}.
{escript_incl_apps, [fyris]}.
{escript_incl_extra, [{"fyris/priv/fyris_nif.so", "_build/default/$3/"}]}.
PROJECT
  cat >src/trial.app.src <<'PROJECT'
{application, trial, [{description, "a trial"}, {vsn, "1"}, {applications, [kernel, stdlib, fyris]}]}.
PROJECT
  cat >src/trial.erl <<'PROJECT'
-module(trial).
-export([main/1]).
main(_) ->
    T = fyris:new(t, []),
    fyris:insert(T, {1, one}),
    io:format("~p~n", [fyris:lookup(T, 1)]).
PROJECT
}

run_erlang() {
  quietly rebar3 compile
  [ -z "$has_edoc" ] ||
    expect ok erl -noshell -pa _build/default/*/fyris/ebin -eval 'io:format("~p~n", [element(1, code:get_doc(fyris))]), halt().'
  quietly rebar3 escriptize
  expect "[{1,one}]" _build/default/bin/trial
  quietly rebar3 release
  expect "[{1,one}]" _build/default/rel/trial/bin/trial console -noshell -noinput -eval 'trial:main([]), halt().'
}

elixir_project() { # elixir_project NAME DEPENDENCY
  cd "$folder"
  mix new "$1" --module Trial --app trial >/dev/null
  cd "$1"
  sed -i "s|# {:dep_from_hexpm.*|$2|; s|version: \"0.1.0\",|&\n      escript: [main_module: Trial],|" mix.exs
  cat >lib/trial.ex <<'PROJECT'
defmodule Trial do
  def main(_) do
    table = Fyris.new!()
    Fyris.put!(table, 1, :one)
    IO.inspect(:fyris.lookup(table.id, 1))
  end
end
PROJECT
  rm -r test
}

run_elixir() {
  quietly mix compile
  expect "[{1, :one}]" mix run -e 'Trial.main([])'
  expect "[{1, :one}]" mix run -e 'Trial.main([])'
  [ -z "$has_edoc" ] || expect ":docs_v1" mix run -e 'IO.inspect(elem(Code.fetch_docs(:fyris), 0))'
  quietly env MIX_ENV=prod mix release
  expect "[{1, :one}]" _build/prod/rel/trial/bin/trial eval 'Trial.main([])'
  quietly mix escript.build
  expect "[{1, :one}]" env FYRIS_NIF="$repo/erlang/priv/fyris_nif.so" ./trial
}

if command -v rebar3 >/dev/null; then
  echo "trial: rebar3, _checkouts"
  erlang_project checkout fyris checkouts
  mkdir _checkouts
  ln -s "$repo/erlang" _checkouts/fyris
  run_erlang
  echo "trial: rebar3, git"
  erlang_project git_erlang "{fyris, {git, \"file://$folder/git\", {branch, \"main\"}}}" lib
  rebar3 get-deps >/dev/null 2>&1
  cp -r "$repo/erlang/priv" _build/default/lib/fyris/erlang
  run_erlang
  if [ -n "$has_edoc" ]; then
    echo "trial: rebar3 edoc"
    cp -r "$folder/git" "$folder/edoc"
    cp -r "$repo/erlang/priv" "$folder/edoc/erlang"
    cd "$folder/edoc/erlang"
    quietly rebar3 edoc
    [ -e doc/fyris.html ] || { echo "trial: rebar3 edoc made no pages" >&2; exit 1; }
    if command -v mix >/dev/null; then
      rm -r doc
      quietly mix docs
      [ -e doc/fyris.html ] && grep -q '"Elixir.Fyris.html"' doc/modules-frame.html && [ -e doc/Elixir.Fyris.html ] ||
        { echo "trial: mix docs made no pages of both languages" >&2; exit 1; }
    fi
  fi
else
  echo "no rebar3 here: skipped"
fi

if command -v mix >/dev/null; then
  echo "trial: mix, path"
  elixir_project path_elixir "{:fyris, path: \"$repo/erlang\"}"
  run_elixir
  echo "trial: mix, git"
  elixir_project git_elixir "{:fyris, git: \"file://$folder/git\", branch: \"main\", subdir: \"erlang\"}"
  quietly mix deps.get
  cp -r "$repo/erlang/priv" deps/fyris/erlang
  run_elixir
else
  echo "no mix here: skipped"
fi
echo "trial: all good"
