#!/usr/bin/env bash
# Our bench server (A) against another (B) with the neutral meter; prints a table of ratios. See README.md.
#
#   benches/compare/run.sh [--mount http|tide] [--against peer|floor|BINARY] [compare.py's flags]
#   benches/compare/run.sh --listeners [listener.py's flags]     our listener beside tide's own and the peer's
#   benches/compare/run.sh --curve [... scaling.py's flags]      draws scaling.svg
#
# BINARY is called as `BINARY stdio` and `BINARY http`. BENCH_BIN names a binary to use instead of our example.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(cd "$here/../.." && pwd)
release=${CARGO_TARGET_DIR:-$top/target}/release
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$top/target}

mount=http against=peer script=compare.py listeners= flags=()
while [ $# -gt 0 ]; do
  case $1 in
    --mount) mount=$2; shift 2 ;;
    --against) against=$2; shift 2 ;;
    --listeners) listeners=yes; shift ;;
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
  # As the peer's manifest says, and without tide where nothing is mounted in it.
  features=()
  [ "$mount$listeners" = http ] || features=(--features tide)
  CARGO_PROFILE_RELEASE_LTO=thin CARGO_PROFILE_RELEASE_STRIP=true \
    build "$top" --example bench ${features[@]+"${features[@]}"}
fi
ours=${BENCH_BIN:-$release/examples/bench}

if [ -n "$listeners" ]; then
  build "$here/tide-stock"
  exec python3 "$here/listener.py" --loadgen "$release/loadgen" \
    --server ours both "$ours http" --server 'ours, Unix' both "$ours unix" --server 'ours in tide' both "$ours tide" \
    --server "tide's own" both "$release/tide-stock" --server 'peer, JSON' json "$release/rmcp-peer http --json --nodelay" \
    --server 'peer, streams' streams "$release/rmcp-peer http --nodelay" ${flags[@]+"${flags[@]}"}
fi
exec python3 "$here/$script" --loadgen "$release/loadgen" \
  --a-stdio "$ours stdio" --a-http "$ours $mount" --b-stdio "$b_stdio" --b-http "$b_http" ${flags[@]+"${flags[@]}"}
