#!/usr/bin/env bash
# The official clients against the example `files`, over stdio and over HTTP. Ends with `N passed, N failed`.
#
#   tests/interop/run.sh [--only TEXT]... [--list] [--keep]
#
# Needs Node.js 20 or newer and Python 3.11 or newer; installs the clients at the versions of package-lock.json and
# python/*.txt, into node_modules here and into a cache directory. FILES_BIN names a binary to use instead of
# building the example. To move a Python pin: pip-compile --generate-hashes --no-header --strip-extras.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
top=$(cd ../.. && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/smol-mcp-interop

node -e 'process.exit(process.versions.node.split(".")[0] < 20 ? 1 : 0)' || {
  echo "Node.js 20 or newer is needed" >&2
  exit 1
}

say() { printf '%s\n' "$*" >&2; }
# Whether $1 is what was installed last, according to the mark in $2.
fresh() { [ -f "$2" ] && [ "$(cat "$2")" = "$(sum "$1")" ]; }
sum() { cat "$@" | sha256sum | cut -d' ' -f1; }

if ! fresh package-lock.json node_modules/.installed; then
  say "installing the npm clients"
  npm ci --ignore-scripts --no-fund --no-audit --loglevel=error >&2
  sum package-lock.json > node_modules/.installed
fi
for requirements in python/*.txt; do
  venv=$cache/$(basename "$requirements" .txt)
  if ! fresh "$requirements" "$venv/.installed"; then
    say "installing $(basename "$requirements" .txt)"
    rm -rf "$venv"
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check --require-hashes --no-deps -r "$requirements" >&2
    sum "$requirements" > "$venv/.installed"
  fi
done

files=${FILES_BIN:-${CARGO_TARGET_DIR:-$top/target}/release/examples/files}
if [ -z "${FILES_BIN:-}" ]; then
  cargo build --release --features tide --example files --manifest-path "$top/Cargo.toml" >&2
fi
exec python3 drive.py --files "$files" --venvs "$cache" "$@"
