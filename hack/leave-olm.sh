#!/usr/bin/env bash
# Makes way for an installation by manifests: Operator Lifecycle Manager would undo it. On the local cluster its installation
# of the operator goes and clusters stay; elsewhere that is for a person to do. Needs KUBECONFIG.
set -euo pipefail
cd "$(dirname "$0")/.."
namespace=etcd-operator-system

if ! kubectl -n $namespace get subscriptions.operators.coreos.com etcd-operator >/dev/null 2>&1; then exit 0; fi
if [ "$(realpath "${KUBECONFIG:-}" 2>/dev/null)" != "$PWD/.devcluster/kubeconfig" ]; then
  echo "FAIL: Operator Lifecycle Manager has installed the operator here, and would undo this; remove that first with" \
    "'kubectl -n $namespace delete subscriptions.operators.coreos.com,clusterserviceversions --all': clusters stay" >&2
  exit 1
fi
echo "the operator was installed by Operator Lifecycle Manager: that installation goes, clusters stay"
kubectl -n $namespace delete subscriptions.operators.coreos.com,clusterserviceversions --all
# They belong to the CSV, and Kubernetes takes them away when it finds the time: what is applied before that goes, too.
kubectl -n $namespace wait --for=delete --timeout=60s deployment/etcd-operator-controller-manager \
  serviceaccount/etcd-operator-controller-manager service/etcd-operator-controller-manager-metrics-service \
  poddisruptionbudget/etcd-operator-controller-manager
