#!/usr/bin/env bash
# Whether dialyzer finds a wrong argument by the specifications of `fyris` and `Fyris` alone: every function of
# test/dialyzer/wrong.{erl,ex} has one, and right.{erl,ex} have none. Seconds: of OTP only the types that they name are
# known.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v dialyzer >/dev/null || { echo "no dialyzer here: skipped"; exit 0; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
stdlib=$(erl -noshell -eval 'io:put_chars(code:lib_dir(stdlib)), halt().')
dialyzer --quiet --build_plt --output_plt "$folder/plt" "$stdlib"/ebin/{ets,lists,maps,proplists}.beam || [ -e "$folder/plt" ]

# check WRONG BEAM...: something is said of each function of test/dialyzer/WRONG, by the line where it begins, and nothing
# of right ones.
check() {
  local wrong=$1 missing
  shift
  dialyzer --quiet --plt "$folder/plt" "${@/#/$folder/}" >"$folder/said" 2>&1 || true
  ! grep '^right' "$folder/said" || { echo "dialyzer: finds fault with right calls" >&2; exit 1; }
  sed -n "s/^$wrong:\([0-9]*\).*/\1/p" "$folder/said" | sort -u >"$folder/found"
  grep -nE '^([a-z_]+\(\) ->|  def )' "test/dialyzer/$wrong" | grep -v beyond_ | cut -d : -f 1 | sort >"$folder/wrong"
  missing=$(comm -23 "$folder/wrong" "$folder/found")
  [ -z "$missing" ] || { echo "dialyzer: finds nothing in $wrong at lines" $missing >&2; exit 1; }
  echo "dialyzer: $(wc -l <"$folder/wrong") wrong calls found in $wrong, none in right ones"
}

erlc +debug_info -o "$folder" src/fyris.erl test/dialyzer/{wrong,right}.erl
check wrong.erl {fyris,wrong,right}.beam

command -v elixirc >/dev/null || { echo "no Elixir here: its calls are left out"; exit 0; }
# The modules that `mix test` has built; dialyzer asks Elixir for what they are made of.
ERL_LIBS=$(elixir -e 'IO.puts(Path.dirname(:code.lib_dir(:elixir)))'):$PWD/_build/test/lib
export ERL_LIBS
elixirc -o "$folder" test/dialyzer/{wrong,right}.ex
cp _build/test/lib/fyris/ebin/Elixir.Fyris{,.Table,.Error}.beam "$folder"
check wrong.ex {fyris,Elixir.Fyris,Elixir.Fyris.Table,Elixir.Fyris.Error,Elixir.Wrong,Elixir.Right}.beam
