#!/usr/bin/env bash
# Installs the operator of this tree through Operator Lifecycle Manager, as a user of a catalog does: CatalogSource,
# OperatorGroup, Subscription. Needs KUBECONFIG to name the local cluster with OLM; image, bundle and catalog go to its registry.
# usage: hack/olm-install.sh [NAMESPACE]
set -euo pipefail
cd "$(dirname "$0")/.."
namespace=${1:-etcd-operator-system}
registry=${REGISTRY:-127.0.0.1:5000}
version=${VERSION:?run me with make, which knows the version}
csv=etcd-operator.v$version

if kubectl -n "$namespace" get deployment etcd-operator-controller-manager -o jsonpath='{.metadata.labels}' 2>/dev/null | grep -v olm.managed >/dev/null; then
  echo "the operator was installed by manifests: its Deployment goes, clusters stay"
  kubectl -n "$namespace" delete deployment etcd-operator-controller-manager
fi
grep -qx "  version: $version" bundle/manifests/*.clusterserviceversion.yaml ||
  { echo "FAIL: bundle/ is not of $version: run 'make bundle'" >&2; exit 1; }
make images IMG= REGISTRY="$registry"
# The bundle that is checked in, with images by the digests that the registry has.
rm -rf dist/bundle dist/olm && mkdir -p dist/olm && cp -r bundle dist/bundle
go -C hack/packaging run ./bundle pin -bundle="$PWD/dist/bundle" -registry="$registry"
make bundle-build bundle-push REGISTRY="$registry" BUNDLE=dist/bundle
cat >dist/olm/template.yaml <<YAML
schema: olm.template.basic
entries:
- {schema: olm.package, name: etcd-operator, defaultChannel: candidate-v0}
- {schema: olm.channel, package: etcd-operator, name: candidate-v0, entries: [{name: $csv}]}
YAML
# No releases are in that folder: the catalog is of this tree alone.
hack/catalog.sh render -top=dist/olm -template=dist/olm/template.yaml -bundle=dist/bundle -out=dist/olm/catalog \
  -repository="$registry/etcd-operator/etcd-operator-bundle"
catalog=$registry/etcd-operator/etcd-operator-catalog:tree
make catalog-build catalog-push CATALOG=dist/olm/catalog CATALOG_IMG="$catalog"

kubectl apply -f - <<YAML
apiVersion: v1
kind: Namespace
metadata:
  name: $namespace
  labels:
    pod-security.kubernetes.io/enforce: restricted
---
apiVersion: operators.coreos.com/v1alpha1
kind: CatalogSource
metadata:
  name: etcd-operator
  namespace: olm
spec:
  sourceType: grpc
  image: $catalog@$(<bin/catalog.digest)
  displayName: etcd-operator, this tree
  grpcPodConfig:
    securityContextConfig: restricted
---
apiVersion: operators.coreos.com/v1
kind: OperatorGroup
metadata:
  name: all-namespaces
  namespace: $namespace
spec: {}
---
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata:
  name: etcd-operator
  namespace: $namespace
spec:
  channel: candidate-v0
  name: etcd-operator
  source: etcd-operator
  sourceNamespace: olm
YAML

phase() { kubectl -n "$namespace" get csv "$csv" -o jsonpath='{.status.phase}' 2>/dev/null || true; }
begun=$SECONDS
until [ "$(phase)" = Succeeded ]; do
  if [ $((SECONDS - begun)) -ge 240 ]; then
    echo "FAIL: $csv is not installed; see kubectl -n $namespace describe subscription,installplan,csv,catalogsource" >&2
    exit 1
  fi
  printf '\r    %s: %s … %ds   ' "$csv" "$(phase)" $((SECONDS - begun))
  sleep 0.5
done
printf '\r    %s: Succeeded after %ds       \n' "$csv" $((SECONDS - begun))
