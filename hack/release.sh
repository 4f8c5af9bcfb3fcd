#!/usr/bin/env bash
# Makes everything that a release consists of, in dist/release/VERSION, and pushes nothing. usage: hack/release.sh VERSION [REGISTRY]
#
# REGISTRY, such as registry.example or mirror.example/apps, is where the images will be: the bundle names them there, by digest.
# Ours need not be there yet, their digests are known; those of etcd are asked for. Without it images keep their names and etcd's
# own registry is asked.
set -euo pipefail
cd "$(dirname "$0")/.."
version=${1:?usage: hack/release.sh VERSION [REGISTRY]}
registry=${2:-}
name=etcd-operator/etcd-operator
prefix=${registry:+$registry/}$name
platforms=linux/amd64,linux/arm64
export VERSION=$version

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin" "$work/again"
go -C hack/packaging build -o "$work/bin/" ./bundle ./images ./release
PATH=$work/bin:$PATH

# What could stop a release stops it before anything is built.
release notes -version="$version" >"$work/notes.md"
grep -qx "  version: $version" bundle/manifests/*.clusterserviceversion.yaml ||
  { echo "release: bundle/ is not of $version: run 'make bundle VERSION=$version' and commit it" >&2; exit 1; }
release keep -dry -version="$version"

out=$PWD/dist/release/$version
rm -rf "$out"
mkdir -p "$out/images"

# Every image is built twice, the second time only to see that nothing of this machine or of today got in.
twice() { # name, command…; {} in it is the folder to write to
  local image=$1 folder
  shift
  for folder in "$out/images" "$work/again"; do
    "${@//\{\}/$folder/$image}" >"$work/log" 2>&1 || { cat "$work/log" >&2; return 1; }
  done
  release same -name="$image" "$out/images/$image" "$work/again/$image" | tee -a "$work/digests"
}
digest() { awk -v image="$1" '$1 == image { print $2 }' "$work/digests"; }

echo "image, its digest, and its digest when built again:"
twice operator images -source="$PWD" -platform="$platforms" -layout={}
twice scorecard images -source="$PWD" -main=./test/scorecard-tests -platform="$platforms" -layout={}

cp -r bundle "$work/pinned"
printf '%s %s\n' "$name:v$version" "$(digest operator)" "$name-scorecard:v$version" "$(digest scorecard)" >"$work/known"
bundle pin -bundle="$work/pinned" -registry="$registry" -known="$work/known"
twice bundle bundle image -source="$work/pinned" -platform="$platforms" -layout={}

hack/catalog.sh render -bundle="$work/pinned" -name="$registry" -out="$out/catalog" >/dev/null
twice catalog hack/catalog.sh image -catalog="$out/catalog" -platform="$platforms" -layout={}

for image in operator scorecard bundle catalog; do
  suffix=-$image
  [ "$image" != operator ] || suffix=
  release sbom -name="${name##*/}$suffix" -version="$version" -layout="$out/images/$image" -out="$out/sbom"
done

hack/render.sh "$prefix@$(digest operator)" >"$out/install.yaml"
cp "$out/install.yaml" dist/install.yaml

pull_request=$out/operatorhub/operators/etcd-operator
mkdir -p "$pull_request/$version"
cp -r "$work"/pinned/{manifests,metadata,tests} "$pull_request/$version/"
cat >"$pull_request/ci.yaml" <<'CI'
---
# A new version names the one that it replaces.
updateGraph: replaces-mode
addReviewers: true
reviewers:
- etcd-operator
CI

{
  cat "$work/notes.md"
  printf '\n### Images\n\n| image | digest |\n|---|---|\n'
  printf '| `%s` | `%s` |\n' "$prefix:v$version" "$(digest operator)" "$prefix-bundle:v$version" "$(digest bundle)" \
    "$prefix-catalog:v$version" "$(digest catalog)" "$prefix-scorecard:v$version" "$(digest scorecard)"
} >"$out/release-notes.md"
{
  printf '%s@%s\n' "$prefix" "$(digest operator)" "$prefix-bundle" "$(digest bundle)" "$prefix-catalog" "$(digest catalog)" \
    "$prefix-scorecard" "$(digest scorecard)"
  sed -n 's/^ *-\{0,1\} *image: //p' "$work"/pinned/manifests/*.clusterserviceversion.yaml | sort -u
} | sort -u >"$out/images.txt"

go -C test/packaging run -tags=containers_image_openpgp ./cmd/check -digests "$work/pinned"
go -C test/packaging run -tags=containers_image_openpgp ./cmd/check -catalog "$out/catalog"
release keep -version="$version"
# What it was made of, where there is git to ask.
if [ ! -e "releases/v$version/source" ] && git -c safe.directory='*' rev-parse HEAD >"$work/source" 2>"$work/log"; then
  cp "$work/source" "releases/v$version/source"
fi
(cd "$out" && find . -type f ! -path './images/*' ! -name SHA256SUMS -print0 | sort -z | xargs -0 sha256sum >SHA256SUMS)
echo "release $version is in dist/release/$version; its bundle is kept in releases/v$version"
