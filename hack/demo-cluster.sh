#!/usr/bin/env bash
# Starts the local cluster for the demo, with Operator Lifecycle Manager. The operator is compiled while Kubernetes starts, which
# leaves the cores idle.
set -euo pipefail
cd "$(dirname "$0")/.."
log=$PWD/dist/compile.log

make "$PWD/bin/devcluster"
bin/devcluster build --only cluster,images,olm
mkdir -p dist
nice make compile >"$log" 2>&1 &
make cluster-up DEVCLUSTER_FLAGS="--olm"
wait $! || { cat "$log" >&2; exit 1; }
