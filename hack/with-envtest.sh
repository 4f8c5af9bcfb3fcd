#!/usr/bin/env bash
# Runs a command with KUBEBUILDER_ASSETS set: the kube-apiserver and etcd that tests start by themselves.
# An already set KUBEBUILDER_ASSETS is used as it is; otherwise the binaries of the local cluster are built from source.
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd -P)

if [ -z "${KUBEBUILDER_ASSETS:-}" ]; then
  echo "building kube-apiserver and etcd (the first time about 7 minutes on 2 cores)"
  make -C "$top" "$top/bin/devcluster"
  "$top/bin/devcluster" build --only envtest
  assets=$("$top/bin/devcluster" env | sed -nE 's/^(export )?KUBEBUILDER_ASSETS="?([^"]*)"?$/\2/p')
  [ -n "$assets" ] || { echo "FAIL: bin/devcluster env names no KUBEBUILDER_ASSETS" >&2; exit 1; }
  export KUBEBUILDER_ASSETS=$assets
fi
echo "KUBEBUILDER_ASSETS=$KUBEBUILDER_ASSETS"
exec "$@"
