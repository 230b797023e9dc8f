# Shared by the scripts (sourced, not run): goes to the project's root and makes its environment once.
#
#   setup     .venv in the root with torch first, then mlirdev and its tools; redone when pyproject.toml changes.
#             `setup ecosystem` adds the libraries of others that tests/ecosystem runs
#   setup_chromium   Debian's chromium, for the tests of the explorer's page, where we may install it
#   $PY       the environment's python

set -euo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
VENV=$ROOT/.venv
PY=$VENV/bin/python
TORCH="torch==2.13.0"

fail() {
  echo "${0##*/}: $*" >&2
  exit 1
}

# The first python from 3.10 on, or the one that PYTHON names.
find_python() {
  local candidate
  for candidate in ${PYTHON:-python3 python3.13 python3.12 python3.11 python3.10}; do
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
      echo "$candidate"
      return
    fi
  done
  fail "needs Python 3.10 or newer; install the package python3, or set PYTHON to one"
}

make_venv() {
  local python version
  python=$(find_python)
  version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  "$python" -c 'import ensurepip, venv' 2>/dev/null \
    || fail "Python $version has no venv; install it: apt-get install python3-venv (or python$version-venv)"
  echo "Making .venv with Python $version"
  "$python" -m venv "$VENV"
}

# What the environment was installed from: a change of it means installing again.
fingerprint() {
  { cat "$ROOT/pyproject.toml"; echo "$TORCH $ROOT"; "$PY" --version; } | sha256sum | cut -d' ' -f1
}

setup() {
  local extras=dev${1:+,$1} stamp=$VENV/.installed${1:+-$1}
  cd "$ROOT"
  [ -x "$PY" ] && "$PY" -c '' 2>/dev/null || make_venv
  [ "$(cat "$stamp" 2>/dev/null)" = "$(fingerprint)" ] && return
  echo "Installing $TORCH, then mlirdev (once; takes a minute or two)"
  # torch by itself first: what follows must fit it, never replace it.
  "$PY" -m pip install --quiet --disable-pip-version-check "$TORCH" </dev/null
  "$PY" -m pip install --quiet --disable-pip-version-check "$TORCH" -e ".[$extras]" </dev/null
  fingerprint | tee "$stamp" >"$VENV/.installed"
}

setup_chromium() {
  local name
  for name in chromium chromium-browser google-chrome; do
    command -v "$name" >/dev/null && return
  done
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "No Chromium here, so the explorer's page isn't tested in a browser; install the package chromium"
    return
  fi
  echo "Installing chromium, in which the explorer's page is tested (once)"
  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium; } \
    >/dev/null 2>&1 </dev/null || echo "chromium can't be installed; its tests are skipped, or fail in CI"
}
