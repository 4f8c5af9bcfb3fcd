#!/usr/bin/env bash
# Tests on older versions of Kubernetes, before a release: validation and wiring on the API server of each minor version from 1.30
# on, then the end-to-end tests on a whole Kubernetes 1.30. usage: hack/test-kubernetes.sh [VERSION…]
#
# The local cluster is brought down for it, and stays down. A version alone leaves the end-to-end tests out.
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd -P)
cd "$top"
whole=1.30.14
versions=("$@")
[ ${#versions[@]} -gt 0 ] || versions=($whole 1.31.14 1.32.10 1.33.6 1.34.2 1.35.3 1.36.3)
failed=()

for version in "${versions[@]}"; do
  echo "==> kube-apiserver $version"
  bin/devcluster build --only "kubernetes-$version,etcd-3.6.16"
  assets=$(eval "$(bin/devcluster env --kubernetes "$version")" && echo "$KUBEBUILDER_ASSETS")
  KUBEBUILDER_ASSETS=$assets go test -count=1 -tags envtest -timeout 15m ./api/... ./controllers/... || failed+=("kube-apiserver $version")
done

if [ $# -eq 0 ]; then
  echo "==> end to end on Kubernetes $whole"
  bin/devcluster down
  unset KUBECONFIG
  bin/devcluster up --kubernetes "$whole"
  KUBECONFIG=$(bin/devcluster kubeconfig) make test-e2e || failed+=("end to end on $whole")
  bin/devcluster down
fi

if [ ${#failed[@]} -gt 0 ]; then
  printf 'test-kubernetes: FAILED: %s\n' "${failed[@]}"
  exit 1
fi
echo "test-kubernetes: all passed: ${versions[*]}"
[ $# -eq 0 ] || echo "NOT TESTED: end to end, which takes a run without versions"
