#!/usr/bin/env bash
# The official conformance suite against the example `everything`, over our listener and mounted in tide, at every
# revision that it judges. Ends with `N passed, N failed`.
#
#   tests/conformance/run.sh [--mount plain|tide] [--version V] [--scenario NAME] [--keep]
#
# Needs npm and Python 3.11 or newer; installs the suite, and the Node.js 22 that it asks for, at the versions of
# package-lock.json. EVERYTHING_BIN names a binary to use instead of building the example.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
top=$(cd ../.. && pwd)

sum() { sha256sum "$1" | cut -d' ' -f1; }
if [ "$(cat node_modules/.installed 2>/dev/null)" != "$(sum package-lock.json)" ]; then
  echo "installing the conformance suite" >&2
  # The suite asks for a newer Node.js than npm may be running on; it gets one from the lockfile.
  npm ci --ignore-scripts --no-fund --no-audit --loglevel=error >&2
  sum package-lock.json > node_modules/.installed
fi

everything=${EVERYTHING_BIN:-${CARGO_TARGET_DIR:-$top/target}/release/examples/everything}
if [ -z "${EVERYTHING_BIN:-}" ]; then
  cargo build --release --features tide --example everything --manifest-path "$top/Cargo.toml" >&2
fi
exec python3 judge.py --everything "$everything" "$@"
