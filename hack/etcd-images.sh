#!/usr/bin/env bash
# Prints config/default/etcd_images.yaml with the images that a bundle names, such as by digest. usage: hack/etcd-images.sh BUNDLE
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd -P)
bundle=${1:?usage: hack/etcd-images.sh BUNDLE}

sed '/^ *env:$/q' "$top/config/default/etcd_images.yaml"
sed -n '/- name: RELATED_IMAGE_ETCD_/{N;s/^ *- /        - /;s/\n */\n          /;p}' "$bundle"/manifests/*.clusterserviceversion.yaml
