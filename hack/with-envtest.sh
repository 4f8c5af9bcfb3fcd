#!/usr/bin/env bash
# Runs a command with KUBEBUILDER_ASSETS set: the kube-apiserver and etcd that tests start by themselves.
# An already set KUBEBUILDER_ASSETS is used as it is; otherwise the binaries of the local cluster are built from source.
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd -P)
cd "$top"

if [ -z "${KUBEBUILDER_ASSETS:-}" ]; then
  echo "building kube-apiserver and etcd (the first time about 6 minutes on 2 idle cores)"
  make -C "$top" "$top/bin/devcluster"
  "$top/bin/devcluster" build --only envtest
  assets=$(eval "$("$top/bin/devcluster" env)" && echo "$KUBEBUILDER_ASSETS")
  export KUBEBUILDER_ASSETS=$assets
fi
echo "KUBEBUILDER_ASSETS=$KUBEBUILDER_ASSETS"
# An API server starts within seconds, but not while others compile: 20 s, which envtest allows, are too few then.
export KUBEBUILDER_CONTROLPLANE_START_TIMEOUT=${KUBEBUILDER_CONTROLPLANE_START_TIMEOUT:-2m}
exec "$@"
