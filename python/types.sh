#!/usr/bin/env bash
# What mypy and pyright make of the type stubs: nothing in tests/typed/right.py, an error on each line of
# tests/typed/wrong.py that is marked and on no other. Both come from PyPI, into an environment of their own.
#
#   python/types.sh
set -euo pipefail
cd "$(dirname "$0")"
root=$(cd .. && pwd)
venv=${CARGO_TARGET_DIR:-$root/target}/python/types
[ -x "$venv/bin/python" ] || "${PYTHON:-python3}" -m venv "$venv"
"$venv/bin/python" -m pip install -q --disable-pip-version-check 'mypy>=1.11' 'pyright[nodejs]>=1.1.380' 'numpy>=1.24'
export MYPYPATH=$PWD PATH=$venv/bin:$PATH
said=$(mktemp -d)
trap 'rm -rf "$said"' EXIT
mypy --strict --no-error-summary --cache-dir "$said/mypy" tests/typed/right.py || { echo "types: mypy finds fault" >&2; exit 1; }
(mypy --strict --no-error-summary --cache-dir "$said/mypy" tests/typed/wrong.py || true) |
  sed -n 's/.*wrong\.py:\([0-9]*\): error.*/\1/p' | sort -nu >"$said/mypy.lines"
# From this folder, so that the package is the one here.
pyright --pythonpath "$venv/bin/python" tests/typed/*.py >"$said/pyright" || true
! grep 'right\.py:.* error' "$said/pyright" || { echo "types: pyright finds fault" >&2; exit 1; }
sed -n 's/.*wrong\.py:\([0-9]*\):[0-9]* - error.*/\1/p' "$said/pyright" | sort -nu >"$said/pyright.lines"
grep -n '# wrong$' tests/typed/wrong.py | cut -d : -f 1 >"$said/marked"
for tool in mypy pyright; do
  diff "$said/marked" "$said/$tool.lines" || { echo "types: $tool differs in lines of tests/typed/wrong.py (<: not found)" >&2; exit 1; }
  echo "types: $tool finds the $(wc -l <"$said/marked") mistakes and no others"
done
