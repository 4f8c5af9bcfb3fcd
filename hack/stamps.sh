#!/usr/bin/env bash
# Sourced, or run as a command: what was checked, and was ok, is remembered by the state of the files that it depends on.
# usage: hack/stamps.sh NAME "PATHS" COMMAND…    runs the command unless it was ok for these files before; VERIFY=all: runs it
# shellcheck shell=bash

# The state of every file under some paths, tracked or new.
state() { git ls-files -z --cached --others --exclude-standard --deduplicate -- "$@" | xargs -0 -r sha256sum 2>&1; }

# The file that is there if a check was ok: its name, its paths in one word, its command.
stamp_of() {
  local name=$1 paths=$2
  shift 2
  # shellcheck disable=SC2086 # several paths
  echo "${XDG_CACHE_HOME:-$HOME/.cache}/etcd-operator/checked/$({ echo "$name $*"; go version; state hack/stamps.sh hack/verify.sh $paths; } |
    sha256sum | cut -d' ' -f1)"
}

was_checked() { [ "${VERIFY:-}" != all ] && [ -e "$1" ]; }

remember() { mkdir -p "$(dirname "$1")" && touch "$1"; }

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
  set -euo pipefail
  cd "$(dirname "$0")/.."
  stamp=$(stamp_of "$@")
  name=$1 paths=$2
  shift 2
  if was_checked "$stamp"; then
    echo "ok    $name (as before: $paths have not changed since; VERIFY=all: checked all the same)"
    exit
  fi
  "$@"
  remember "$stamp"
fi
