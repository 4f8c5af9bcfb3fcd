#!/usr/bin/env bash
# Prints the commit of this checkout, for provenance: only if nothing differs from it. A copy of the sources that is no checkout of its own, even
# one inside another checkout, has no commit, and nothing is printed. What a release keeps in releases/vVERSION is no source: catalogs name it by
# its digest.
set -euo pipefail
cd "$(dirname "$0")/.."
git() { command git -c safe.directory='*' "$@"; }

[ "$(git rev-parse --show-toplevel 2>/dev/null || true)" = "$(pwd -P)" ] || exit 0
changed=$(git status --porcelain -- . ':!releases/v*')
if [ -n "$changed" ]; then
  echo "there are changes that are in no commit: commit them first, since what is built is said to be of its commit" >&2
  echo "$changed" | head -n 10 >&2
  exit 1
fi
git rev-parse HEAD
