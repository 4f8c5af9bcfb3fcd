#!/usr/bin/env bash
# Makes a bundle for Operator Lifecycle Manager of this tree. usage: hack/bundle.sh VERSION OUT_DIR [REPLACES]
# REPLACES names the bundle before, such as etcd-operator.v0.7.0.
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd -P)
usage="usage: hack/bundle.sh VERSION OUT_DIR [REPLACES]"
version=${1:?$usage}
mkdir -p "${2:?$usage}"
out=$(cd "$2" && pwd -P)
replaces=${3:-}
kustomize=$top/bin/kustomize

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go -C "$top/hack/packaging" build -o "$work/bundle-tool" ./bundle
mkdir "$work/config"
cp "$top/PROJECT" "$work/"
for part in crd default manager manifests rbac samples scorecard; do cp -r "$top/config/$part" "$work/config/"; done

cd "$work/config/manager"
"$kustomize" edit set image "controller=registry.example/etcd-operator/etcd-operator:v$version"
cd "$work/config/scorecard"
"$kustomize" edit set image "registry.example/etcd-operator/etcd-operator-scorecard:v$version"
cd "$work"
"$kustomize" build config/manifests >rendered.yaml
./bundle-tool prepare -version="$version" -replaces="$replaces" \
  -icon=config/manifests/icon.svg -statuses=config/manifests/statuses.yaml <rendered.yaml >prepared.yaml
# operator-sdk reads from pipes only. The labels name the channels of the catalog's template, which says when a version enters the second.
cat prepared.yaml | "$top/bin/operator-sdk" generate bundle --quiet --overwrite --version="$version" \
  --channels=candidate-v0,stable-v0 --default-channel=stable-v0
./bundle-tool finish -bundle=bundle -prepared=prepared.yaml

for part in manifests metadata tests; do
  rm -rf "${out:?}/$part"
  cp -r "bundle/$part" "$out/"
done
# It copies from a folder named bundle, so that it is of use beside one only.
if [ "$(basename "$out")" = bundle ]; then cp bundle.Dockerfile "$(dirname "$out")/"; fi
