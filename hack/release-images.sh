#!/usr/bin/env bash
# Builds the image of an earlier version from the commit that its folder's file source names, and pushes it, under the name that
# the version has for it. usage: hack/release-images.sh REGISTRY FOLDER, such as releases/unpublished/v0.5.0
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd -P)
usage="usage: hack/release-images.sh REGISTRY FOLDER"
registry=${1:?$usage}
folder=$top/${2:?$usage}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git() { command git -c safe.directory='*' -C "$top" "$@"; }

version=$(basename "$folder")
commit=$(<"$folder/source")
git cat-file -e "$commit^{commit}" 2>/dev/null || git fetch --quiet --unshallow || true
git cat-file -e "$commit^{commit}" 2>/dev/null || {
  echo "FAIL: $version was made of commit $commit, which this clone does not have and could not fetch" >&2
  exit 1
}
echo "==> $version, from commit $commit"
git archive "$commit" | tar -x -C "$work"
VERSION=${version#v} SOURCE_DATE_EPOCH=$(git log -1 --format=%ct "$commit") \
  go -C "$top/hack/packaging" run ./images -source="$work" -push="$registry/etcd-operator/etcd-operator:$version"
