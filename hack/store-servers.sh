#!/usr/bin/env bash
# Builds the servers that the store's tests run, as pinned in hack/components: versitygw for S3, fake-gcs-server for Google, azurite
# for Azure, which needs Node 20 or newer. What is there already is not built again. They are put into bin/store-servers.
set -euo pipefail
cd "$(dirname "$0")/.."
to=$PWD/bin/store-servers
mkdir -p "$to"

# Whether something was built of exactly these files.
is_current() { [ -e "$to/$1" ] && (cd "hack/components/$2" && sha256sum -- *) | cmp -s - "$to/$2.sum"; }
built() { (cd "hack/components/$1" && sha256sum -- *) >"$to/$1.sum"; }

from_go() { # program
  if is_current "$1" "$1"; then
    echo "$1: there already"
    return
  fi
  echo "$1: building"
  local began=$SECONDS
  GOGC=400 CGO_ENABLED=0 go -C "hack/components/$1" build -ldflags="-s -w" -o "$to/" tool
  built "$1"
  echo "$1: built in $((SECONDS - began)) s"
}

azurite() {
  if is_current azurite/node_modules azurite; then
    echo "azurite: there already"
    return
  fi
  local began=$SECONDS
  if ! [ "$(node -p 'parseInt(process.versions.node)' 2>/dev/null || echo 0)" -ge 20 ]; then
    echo "azurite: NOT INSTALLED, as there is no Node 20; its tests say so and fail" >&2
    return
  fi
  echo "azurite: installing"
  mkdir -p "$to/azurite"
  cp hack/components/azurite/package*.json "$to/azurite/"
  npm --prefix "$to/azurite" ci --ignore-scripts --no-audit --no-fund --loglevel=error
  built azurite
  echo "azurite: installed in $((SECONDS - began)) s"
}

from_go versitygw
from_go fake-gcs-server
azurite
