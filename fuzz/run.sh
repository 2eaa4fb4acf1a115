#!/usr/bin/env bash
# Fuzzes each target for a while, from the committed corpus. What is found stays in fuzz/artifacts.
#
#   fuzz/run.sh [SECONDS]
#
# Needs a nightly toolchain; installs cargo-fuzz where it is missing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
seconds=${1:-60}

cargo fuzz --version >/dev/null 2>&1 || cargo install --quiet --locked cargo-fuzz
passed=0
for target in fuzz_targets/*.rs; do
  target=$(basename "$target" .rs)
  # What is new goes to a folder of its own: the committed corpus stays small.
  new=$(mktemp -d)
  cargo +nightly fuzz run --fuzz-dir . "$target" "$new" "corpus/$target" -- "-max_total_time=$seconds" -print_final_stats=1
  rm -rf "$new"
  passed=$((passed + 1))
done
echo "$passed passed, 0 failed"
