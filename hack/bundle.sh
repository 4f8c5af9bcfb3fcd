#!/usr/bin/env bash
# Makes a bundle for Operator Lifecycle Manager of a source tree. usage: hack/bundle.sh VERSION SOURCE_DIR OUT_DIR [REPLACES]
#
# CRDs, roles, Deployment and examples are those of SOURCE_DIR, which may hold an earlier release. What is said about the operator
# and the bundle's tests come from config/manifests and config/scorecard of this tree, and config/manifests/releases/vVERSION.yaml,
# if it is there, corrects them for that release. REPLACES names the bundle before, such as etcd-operator.v0.2.0.
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd -P)
usage="usage: hack/bundle.sh VERSION SOURCE_DIR OUT_DIR [REPLACES]"
version=${1:?$usage}
source=$(cd "${2:?$usage}" && pwd -P)
mkdir -p "${3:?$usage}"
out=$(cd "$3" && pwd -P)
replaces=${4:-}
kustomize=$top/bin/kustomize

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go -C "$top/hack/packaging" build -o "$work/bundle-tool" ./bundle
mkdir "$work/config"
cp "$top/PROJECT" "$work/"
for part in crd default manager rbac samples; do cp -r "$source/config/$part" "$work/config/"; done
for part in manifests scorecard; do cp -r "$top/config/$part" "$work/config/"; done

cd "$work/config/manager"
"$kustomize" edit set image "controller=etcd-operator/etcd-operator:v$version"
cd "$work/config/scorecard"
"$kustomize" edit set image "etcd-operator/etcd-operator-scorecard:v$version"
if [ ! -d "$source/config/scorecard" ]; then
  # A release before there was an image of such tests: only those of operator-sdk.
  "$kustomize" edit add patch --kind Configuration --patch '[{"op": "remove", "path": "/stages/1"}]'
fi
cd "$work/config/manifests"
if [ -f "releases/v$version.yaml" ]; then
  "$kustomize" edit add patch --path "releases/v$version.yaml"
fi

cd "$work"
"$kustomize" build config/manifests >rendered.yaml
./bundle-tool prepare -version="$version" -replaces="$replaces" \
  -icon=config/manifests/icon.svg -statuses=config/manifests/statuses.yaml <rendered.yaml >prepared.yaml
# operator-sdk reads from pipes only.
cat prepared.yaml | "$top/bin/operator-sdk" generate bundle --quiet --overwrite --version="$version" \
  --channels=candidate-v0,stable-v0 --default-channel=stable-v0
./bundle-tool finish -bundle=bundle -prepared=prepared.yaml

for part in manifests metadata tests; do
  rm -rf "${out:?}/$part"
  cp -r "bundle/$part" "$out/"
done
# It copies from a folder named bundle, so that it is of use beside one only.
if [ "$(basename "$out")" = bundle ]; then cp bundle.Dockerfile "$(dirname "$out")/"; fi
