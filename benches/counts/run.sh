#!/usr/bin/env bash
# Counts what a call costs, and fails where that is more than the committed table says. See counts.py.
#
#   benches/counts/run.sh [--update] [--only TEXT]
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(cd "$here/../.." && pwd)
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$top/target}
cargo build --quiet --release --locked --manifest-path "$here/Cargo.toml"
exec python3 "$here/counts.py" "$CARGO_TARGET_DIR/release/smol-mcp-counts" "$here/table.txt" "$@"
