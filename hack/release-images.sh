#!/usr/bin/env bash
# Builds the image of each release from the commit that releases/VERSION/source names, and pushes it.
# usage: hack/release-images.sh REGISTRY
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd -P)
registry=${1:?usage: hack/release-images.sh REGISTRY}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git() { command git -c safe.directory='*' -C "$top" "$@"; }

for folder in "$top"/releases/v*/; do
  version=$(basename "$folder")
  commit=$(<"$folder/source")
  git cat-file -e "$commit^{commit}" 2>/dev/null || git fetch --quiet --unshallow || true
  git cat-file -e "$commit^{commit}" 2>/dev/null || {
    echo "FAIL: $version was made of commit $commit, which this clone does not have and could not fetch" >&2
    exit 1
  }
  echo "==> $version, from commit $commit"
  mkdir "$work/$version"
  git archive "$commit" | tar -x -C "$work/$version"
  VERSION=${version#v} SOURCE_DATE_EPOCH=$(git log -1 --format=%ct "$commit") \
    go -C "$top/hack/packaging" run ./images -source="$work/$version" -push="$registry/etcd-operator/etcd-operator:$version"
done
