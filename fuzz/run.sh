#!/usr/bin/env bash
# Fuzzes each target for a while, from the committed corpus. What breaks a target stays in fuzz/artifacts.
#
#   fuzz/run.sh [SECONDS] [--keep]
#
# With --keep the corpus becomes its inputs with names, and as few of the others, old and new, as reach the code that was reached.
# Needs a nightly toolchain; installs cargo-fuzz where it is missing, or is another one.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
version=0.13.2
seconds=60 keep=
for argument; do
  case $argument in
    --keep) keep=yes ;;
    *) seconds=$argument ;;
  esac
done

cargo +nightly --version >/dev/null || rustup toolchain install nightly --profile minimal
[ "$(cargo fuzz --version 2>/dev/null)" = "cargo-fuzz $version" ] || cargo install --quiet --locked --version "=$version" cargo-fuzz
new=$(mktemp -d)
trap 'rm -rf "$new"' EXIT
fuzz() { cargo +nightly fuzz run --fuzz-dir . "$@"; }

passed=0
for target in fuzz_targets/*.rs; do
  target=$(basename "$target" .rs)
  # What is new goes to a folder of its own, so that the committed corpus stays small.
  mkdir "$new/$target" "$new/$target.least"
  fuzz "$target" "$new/$target" "corpus/$target" -- "-max_total_time=$seconds" -timeout=10 -print_final_stats=1
  if [ -n "$keep" ]; then
    # The names that libFuzzer gives are sums of 40 digits.
    find "corpus/$target" -type f ! -regex '.*/[0-9a-f]*' -exec cp {} "$new/$target.least" \;
    fuzz "$target" "$new/$target.least" "corpus/$target" "$new/$target" -- -set_cover_merge=1 -use_counters=0
    rm -r "corpus/$target"
    mv "$new/$target.least" "corpus/$target"
  fi
  passed=$((passed + 1))
done
echo "$passed passed, 0 failed"
