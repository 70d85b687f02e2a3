#!/usr/bin/env bash
# Builds the wheel (into dist/), installs it into an environment of its own, runs the tests against it.
#
#   python/test.sh [ARGUMENTS OF PYTEST]        python/test.sh --wheel      only the wheel
set -euo pipefail
cd "$(dirname "$0")"
root=$(cd .. && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
venv=$target/python/venv
python=${PYTHON:-python3}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "python: needs Python 3.11 or later" >&2; exit 1; }
[ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
"$venv/bin/python" -m pip install -q --disable-pip-version-check 'maturin>=1.9,<2' 'numpy>=1.24' 'pytest>=8' 'hypothesis>=6'
# Where there is a wheel of it; the tests of columns are left out without.
"$venv/bin/python" -m pip install -q --disable-pip-version-check --only-binary :all: 'pyarrow>=14' || true
profile=$([ "${1:-}" = --wheel ] && echo release || echo quick)
rm -f "$root"/dist/fyris-*.whl
"$root/ci/notices.py" Cargo.toml "$(uname -m)-unknown-linux-gnu" fyris-python >LICENSE-THIRD-PARTY
CARGO_TARGET_DIR=$target PATH=$venv/bin:$PATH "$venv/bin/maturin" build --profile "$profile" --locked -q --interpreter "$venv/bin/python" --out "$root/dist"
[ "${1:-}" != --wheel ] || exit 0
"$venv/bin/python" -m pip install -q --disable-pip-version-check --force-reinstall --no-deps "$root"/dist/fyris-*.whl
# From a folder without the sources, so that the wheel is what is tested.
cd tests
"$venv/bin/python" -m pytest -q -p no:cacheprovider --rootdir . "$@" .
