#!/usr/bin/env bash
# Our bench server (A) against another (B) with the neutral meter; prints a table of ratios. See README.md.
#
#   benches/compare/run.sh [--mount http|tide] [--against peer|floor|BINARY] [compare.py's flags]
#   benches/compare/run.sh --curve [... scaling.py's flags]      draws scaling.svg instead
#
# BINARY is called as `BINARY stdio` and `BINARY http`. BENCH_BIN names a binary to use instead of our example.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(cd "$here/../.." && pwd)
release=${CARGO_TARGET_DIR:-$top/target}/release
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$top/target}

mount=http against=peer script=compare.py flags=()
while [ $# -gt 0 ]; do
  case $1 in
    --mount) mount=$2; shift 2 ;;
    --against) against=$2; shift 2 ;;
    --curve) script=scaling.py; shift ;;
    *) flags+=("$1"); shift ;;
  esac
done

build() { cargo build --release --locked --manifest-path "$1/Cargo.toml" "${@:2}" >&2; }
build "$here/loadgen"
case $against in
  peer)
    build "$here/rmcp-peer"
    b_stdio="$release/rmcp-peer stdio --pipes" b_http="$release/rmcp-peer http --json"
    ;;
  floor)
    build "$here/floor"
    b_stdio="$release/floor stdio" b_http="$release/floor http"
    ;;
  *) b_stdio="$against stdio" b_http="$against http" ;;
esac
if [ -z "${BENCH_BIN:-}" ]; then
  build "$top" --features tide --example bench
fi
ours=${BENCH_BIN:-$release/examples/bench}

exec python3 "$here/$script" --loadgen "$release/loadgen" \
  --a-stdio "$ours stdio" --a-http "$ours $mount" --b-stdio "$b_stdio" --b-http "$b_http" ${flags[@]+"${flags[@]}"}
