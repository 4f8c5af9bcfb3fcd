#!/usr/bin/env bash
# Prints config/default with the manager's image replaced. usage: hack/render.sh IMAGE
# The overlay is made outside the sources, so that deploying leaves no change in the working tree.
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd -P)
image=${1:?usage: hack/render.sh IMAGE}

overlay=$top/dist/overlay
mkdir -p "$overlay"
printf 'resources: [../../config/default]\n' >"$overlay/kustomization.yaml"
cd "$overlay"
"$top/bin/kustomize" edit set image "registry.example/etcd-operator/etcd-operator=$image"
"$top/bin/kustomize" build .
