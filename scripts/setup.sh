#!/usr/bin/env bash
# Makes .venv and installs veridical with the given extras into it, at the versions of constraints.txt.
# Usage: scripts/setup.sh EXTRAS          (such as build,offline,dev)
set -euo pipefail
cd "$(dirname "$0")/.."
extras=$1
stamp=".venv/.installed-${extras//,/-}"
wanted=$(cat pyproject.toml constraints.txt scripts/setup.sh | sha256sum)
if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ]; then
  exit 0
fi

say() { printf '\n== %s\n' "$*" >&2; }

python=""
for candidate in "${PYTHON:-}" python3 python3.13 python3.12 python3.11; do
  if [ -n "$candidate" ] && "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    python=$candidate
    break
  fi
done
needs=()
[ -n "$python" ] || needs+=(python3 python3-venv)
[ -z "$python" ] || "$python" -c 'import ensurepip, venv' 2>/dev/null || needs+=(python3-venv)
if [ ${#needs[@]} -gt 0 ]; then
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    say "Installing system packages: ${needs[*]}"
    apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 install -y -q "${needs[@]}"
    python=${python:-python3}
  else
    say "Python 3.11 or later with venv is needed. Run this one command, then try again:"
    echo "    sudo apt-get install -y ${needs[*]}" >&2
    exit 1
  fi
fi
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
  say "Python 3.11 or later is needed; $("$python" --version) was found. Set PYTHON to a newer one and try again."
  exit 1
fi

if ! .venv/bin/python -c '' 2>/dev/null; then
  say "Creating .venv with $("$python" --version)"
  rm -rf .venv
  "$python" -m venv .venv
fi
# What tests and documentation look at pages with, and a database for the board; users of the demo need neither.
if [[ ",$extras," == *,dev,* ]]; then
  missing=()
  command -v chromium >/dev/null || missing+=(chromium)
  compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null || command -v postgres >/dev/null || missing+=(postgresql)
  if [ ${#missing[@]} -gt 0 ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    say "Installing system packages: ${missing[*]}"
    { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 install -y -q "${missing[@]}"; } >/dev/null
  elif [ ${#missing[@]} -gt 0 ]; then
    say "Some tests are skipped. To run them: sudo apt-get install -y ${missing[*]}"
  fi
fi
say "Installing veridical[$extras] into .venv (a few minutes the first time)"
# While packages are unpacked pip says nothing for minutes.
(while sleep 15 </dev/null >/dev/null 2>&1; do echo "   still installing, $SECONDS s so far" >&2; done) &
alive=$!
trap 'kill "$alive" 2>/dev/null || true' EXIT
.venv/bin/python -m pip install --disable-pip-version-check --progress-bar on -c constraints.txt -e ".[$extras]" |
  grep --line-buffered -E '^(Collecting|Downloading|Installing|Successfully)' | cut -c1-100 >&2
echo "$wanted" >"$stamp"
