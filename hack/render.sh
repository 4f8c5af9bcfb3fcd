#!/usr/bin/env bash
# Prints config/default with the manager's image replaced. usage: hack/render.sh IMAGE [ETCD_IMAGES]
# ETCD_IMAGES is a patch with other images of etcd, of the form of config/default/etcd_images.yaml.
# The overlay is made outside the sources, so that deploying leaves no change in the working tree.
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd -P)
image=${1:?usage: hack/render.sh IMAGE [ETCD_IMAGES]}

overlay=$top/dist/overlay
mkdir -p "$overlay"
cp "${2:-$top/config/default/etcd_images.yaml}" "$overlay/etcd_images.yaml"
printf 'resources: [../../config/default]\npatches: [{path: etcd_images.yaml, target: {kind: Deployment, name: etcd-operator-controller-manager}}]\n' >"$overlay/kustomization.yaml"
cd "$overlay"
"$top/bin/kustomize" edit set image "registry.example/etcd-operator/etcd-operator=$image"
"$top/bin/kustomize" build .
