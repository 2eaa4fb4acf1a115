#!/usr/bin/env bash
# Prints what the smallest programs weigh, beside the peer's: see size.py.
#
#   benches/size/run.sh            all tables; a quarter of an hour, most of it for clean builds
#   benches/size/run.sh --check    only the sizes that have a bound, and whether they keep it
#   benches/size/run.sh --quick    all tables without clean builds
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(cd "$here/../.." && pwd)
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$top/target}
exec python3 "$here/size.py" "$@"
