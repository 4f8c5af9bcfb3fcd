#!/usr/bin/env bash
# What must hold before a release. Every check runs, each ends in one line; the last line is the verdict, which also names what could not be
# checked here. The checks of "quick" are for each change, those of "packaging" for changes of what is published.
# usage: hack/verify.sh [quick|packaging]
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
failed=()
unchecked=()
# Many checks ask git which files there are: without it they would look at none, and find nothing.
git rev-parse --git-dir >/dev/null || { echo "verify: FAILED: this is no checkout of git, so that nothing can be compared" >&2; exit 1; }

# How a check ends that could not look.
not_checked=99

verdict() { # name, what to do, exit code, seconds
  if [ "$3" = 0 ]; then
    echo "ok    $1 ($4 s)"
  elif [ "$3" = $not_checked ]; then
    echo "NOT CHECKED  $1: $2"
    unchecked+=("$1")
  else
    echo "FAIL  $1: $2"
    failed+=("$1")
  fi
}

check() { # name, what to do, command…
  local name=$1 fix=$2 from=$SECONDS rc=0
  shift 2
  "$@" || rc=$?
  verdict "$name" "$fix" $rc $((SECONDS - from))
}

# The state of every file under some paths, tracked or new.
state() { git ls-files -z --cached --others --exclude-standard --deduplicate -- "$@" | xargs -0 -r sha256sum 2>&1; }

# A generator must change nothing: compared with the files as they were, so that it also works on uncommitted work.
generated() { # make target, paths…
  local target=$1 before after
  shift
  before=$(state "$@")
  make "$target" || return 1
  after=$(state "$@")
  [ "$before" = "$after" ] && return 0
  diff <(echo "$before") <(echo "$after") | awk '/^[<>]/ && NF > 2 { print "      changed: " $3 }' | sort -u
  git --no-pager diff --stat -- "$@"
  return 1
}

tidy() {
  local mod rc=0
  while read -r mod; do
    go -C "$(dirname "$mod")" mod tidy -diff || { echo "      not tidy: $mod"; rc=1; }
  done < <(git ls-files --cached --others --exclude-standard --deduplicate -- go.mod '*/go.mod')
  return $rc
}

scripts() {
  local file rc=0
  while read -r file; do
    bash -n "$file" || rc=1
  done < <(git ls-files --cached --others --exclude-standard --deduplicate -- 'hack/*.sh' .ci/run)
  return $rc
}

# The database of known vulnerabilities is on the internet, or where VULNDB says. Where it cannot be reached nothing is looked at.
vulnerabilities() {
  local database=${VULNDB:-https://vuln.go.dev}
  if ! bin/govulncheck -db="$database" -version | grep -q '^DB updated'; then
    echo "      the database of known vulnerabilities, $database, cannot be reached"
    return $not_checked
  fi
  bin/govulncheck -db="$database" ./...
}

dockerfile() {
  if ! command -v buildah >/dev/null || [ "$(id -u)" != 0 ]; then return $not_checked; fi
  go -C hack/packaging test -count=1 -run Dockerfile ./images
}

quick() {
  check "generate" "run 'make generate' and commit api/" generated generate api
  check "manifests" "run 'make manifests' and commit config/" generated manifests config/crd config/rbac
  check "docs" "run 'make docs' and commit docs/" generated docs docs/reference docs/faults.md
  check "bundle" "run 'make bundle' and commit bundle/" generated bundle bundle bundle.Dockerfile config/manifests
  check "release" "the bundle could not be released: each line above says why" go -C test/packaging run ./cmd/check ../../bundle
  check "catalog" "run 'make catalog' and commit catalog/ and docs/upgrade-graph.md" generated catalog catalog docs/upgrade-graph.md
  check "chart" "run 'make helm-chart' and commit charts/" generated helm-chart charts
  check "install manifest" "config/default does not build" make install-manifest
  check "versions" "run 'hack/versions.sh align': what is compiled together has one version of each module" hack/versions.sh check
  check "scripts" "a shell script does not parse" scripts
  check "GitOps" "test/gitops: what Argo CD or Flux makes of an object differs, see the test above" go -C test/gitops test ./...
  check "local cluster" "hack/devcluster: see the test above" go -C hack/devcluster test ./...
}

packaging() {
  check "tidy" "run 'go mod tidy' in the modules named above" tidy
  check "packaging programs" "hack/packaging: see the test above" go -C hack/packaging test -skip TestTheDockerfileBuilds ./...
  check "Dockerfile" "what it builds differs from what ko builds; it takes root and Buildah to see: apt-get install buildah" dockerfile
  check "packaging" "a bundle or the catalog is not fit to be published: each line above says what to do" \
    go -C test/packaging test -count=1 -timeout 25m ./...
}

case "${1:-all}" in
  quick) quick ;;
  packaging) packaging ;;
  all)
    quick
    packaging
    check "vulnerabilities" "the product calls code with a known vulnerability: update that module; VULNDB names a database that can be reached" vulnerabilities
    check "lint" "run 'make lint'; 'make fmt' fixes formatting" make lint
    check "unit tests" "run 'make test-unit'" make test-unit
    ;;
  *) echo "usage: hack/verify.sh [quick|packaging]" >&2; exit 2 ;;
esac

if [ ${#failed[@]} -gt 0 ]; then
  echo "verify: FAILED: ${failed[*]}"
  exit 1
fi
if [ ${#unchecked[@]} -gt 0 ]; then
  printf 'verify: what was checked is ok; NOT CHECKED:'
  printf ' %s;' "${unchecked[@]}"
  echo
  exit 0
fi
echo "verify: all checks passed"
