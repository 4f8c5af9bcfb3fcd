#!/usr/bin/env bash
# Installs the operator of this tree through Operator Lifecycle Manager, as a user of a catalog does: CatalogSource,
# OperatorGroup, Subscription. Needs KUBECONFIG to name the local cluster with OLM; image, bundle and catalog go to its registry.
# usage: hack/olm-install.sh [NAMESPACE]
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd -P)
cd "$top"
namespace=${1:-etcd-operator-system}
registry=${REGISTRY:-127.0.0.1:5000}
version=${VERSION:?run me with make, which knows the version}
csv=etcd-operator.v$version

if kubectl -n "$namespace" get deployment etcd-operator-controller-manager -o jsonpath='{.metadata.labels}' 2>/dev/null | grep -v olm.managed >/dev/null; then
  echo "the operator was installed by manifests: its Deployment goes, clusters stay"
  kubectl -n "$namespace" delete deployment etcd-operator-controller-manager
fi
make images bundle bundle-build IMG= REGISTRY="$registry" IMAGE_REGISTRY="$registry"
folder=dist/olm/catalog/etcd-operator
rm -rf dist/olm && mkdir -p "$folder" dist/olm/home/.config/containers
echo '{"default":[{"type":"insecureAcceptAnything"}]}' >dist/olm/home/.config/containers/policy.json
{
  printf 'schema: olm.package\nname: etcd-operator\ndefaultChannel: stable-v0\n---\n'
  printf 'schema: olm.channel\npackage: etcd-operator\nname: stable-v0\nentries:\n- name: %s\n' "$csv"
  HOME=$top/dist/olm/home bin/opm render "$registry/etcd-operator/etcd-operator-bundle@$(<bin/bundle.digest)" \
    --use-http --output=yaml --migrate-level=bundle-object-to-csv-metadata
} >"$folder/catalog.yaml"
catalog=$registry/etcd-operator/etcd-operator-catalog:tree
make catalog-build CATALOG=dist/olm/catalog CATALOG_IMG="$catalog"

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
  channel: stable-v0
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
