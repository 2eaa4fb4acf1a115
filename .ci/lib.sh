# What .ci/run and .ci/full share: named, timed steps; the first that fails ends the run; the last line counts them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export CARGO_TERM_COLOR=never
[ -z "${CI:-}" ] || export CARGO_INCREMENTAL=0

passed=0 skipped=0 current=''

# step NAME COMMAND [ARG...]
step() {
  current=$1
  local since=$SECONDS
  printf '\n=== %s\n' "$1"
  "${@:2}"
  printf -- '--- %s: %s s\n' "$1" $((SECONDS - since))
  passed=$((passed + 1)) current=''
}

skip() {
  printf '\n=== %s: skipped, %s\n' "$1" "$2"
  skipped=$((skipped + 1))
}

tally() {
  local failed=$(($? != 0))
  [ "$failed" = 0 ] || printf '\nFAILED: %s\n' "${current:-between two steps}"
  printf '\nsteps, %s s:\n%s passed, %s failed, %s skipped\n' "$SECONDS" "$passed" "$failed" "$skipped"
}
trap tally EXIT

# The features of the manifest, so that a new one is checked without being named here.
features() {
  cargo metadata --no-deps --format-version 1 |
    python3 -c 'import json, sys; print(*sorted(json.load(sys.stdin)["packages"][0]["features"].keys() - {"default"}))'
}

# Whether the example is there, as a file or as a folder.
example() { [ -e "examples/$1.rs" ] || [ -e "examples/$1/main.rs" ]; }

# need COMMAND PACKAGE: the command, from the distribution's package where it is missing.
need() {
  command -v "$1" >/dev/null && return
  command -v apt-get >/dev/null || { echo "$1 is missing: install $2" >&2; return 1; }
  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$2"
}
