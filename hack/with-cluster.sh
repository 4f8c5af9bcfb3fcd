#!/usr/bin/env bash
# Runs a command with KUBECONFIG naming a cluster that answers: the one that KUBECONFIG already names, or else the local
# cluster, which is started, by CLUSTER_UP if that is set. A kubeconfig in the home folder is never used: tests must not surprise
# someone's production.
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd -P)
cd "$top"

answers() { kubectl --request-timeout=5s get --raw /readyz >/dev/null 2>&1; }

if [ -n "${KUBECONFIG:-}" ]; then
  command -v kubectl >/dev/null || { echo "FAIL: KUBECONFIG is set but there is no kubectl to reach its cluster" >&2; exit 1; }
  if answers; then
    echo "using the cluster of KUBECONFIG=$KUBECONFIG"
    if [ "$(realpath "$KUBECONFIG" 2>/dev/null)" != "$top/.devcluster/kubeconfig" ] && [ -z "${IMG:-}" ]; then
      echo "FAIL: set IMG to an image name that this cluster can pull, such as IMG=registry.example/etcd-operator:dev;" \
        "the operator is built and pushed there" >&2
      exit 1
    fi
    exec "$@"
  fi
  echo "the cluster of KUBECONFIG=$KUBECONFIG does not answer; using the local cluster"
fi
unset KUBECONFIG
${CLUSTER_UP:-make cluster-up}
KUBECONFIG=$("$top/bin/devcluster" kubeconfig)
export KUBECONFIG
exec "$@"
