#!/usr/bin/env bash
# Makes a first target, whose output is seen at once, and the others beside it, one after the other, whose output is shown at the end. Fails
# when one of them does. For tests of which the first mostly wait, and may not wait for the others: those have a lower priority.
# usage: hack/side-by-side.sh TARGET OTHER…
set -euo pipefail
cd "$(dirname "$0")/.."
first=$1
shift
mkdir -p bin
log=bin/side-by-side.log

setsid nice -n 10 make "$@" >"$log" 2>&1 & # a group of its own: with it ends all that it has started
others=$!
trap 'kill -- -$others 2>/dev/null || true' EXIT
trap 'exit 143' INT TERM
printf '\n==> beside what follows, shown at its end: make %s (%s)\n' "$*" "$log"
rc=0
make "$first" || rc=$?
wait $others || rc=$?
trap - EXIT
cat "$log"
exit $rc
