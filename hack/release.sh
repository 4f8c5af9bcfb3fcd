#!/usr/bin/env bash
# Makes everything that a release consists of, in dist/release/VERSION, and pushes nothing: hack/release-push.sh does.
# usage: hack/release.sh VERSION REGISTRY [PLATFORMS]
#
# REGISTRY, such as registry.example or mirror.example/apps, is where the images will be: manifests, bundle and catalog name them
# there, by digest. Ours need not be there yet, their digests are known; those of etcd are asked for. The catalog has this version, and what
# releases/ keeps of earlier ones: hack/release-earlier.sh brings those along.
#
# PLUGIN_PLATFORMS are those that the plugin for kubectl is made for. PLUGIN_URL, such as https://downloads.example/v0.9.0, is where its
# archives will be: a manifest for krew names them there, and without PLUGIN_URL there is none.
set -euo pipefail
cd "$(dirname "$0")/.."
version=${1:?usage: hack/release.sh VERSION REGISTRY [PLATFORMS]}
registry=${2:?release: in which registry will the images be? Give IMAGE_REGISTRY=host[:port][/path]}
platforms=${3:-linux/amd64,linux/arm64}
plugin_platforms=${PLUGIN_PLATFORMS:-linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64,windows/arm64}
name=registry.example/etcd-operator/etcd-operator # as manifests have it
prefix=$registry/etcd-operator/etcd-operator
REVISION=$(hack/revision.sh)
export VERSION=$version REVISION

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin" "$work/again"
go -C hack/packaging build -o "$work/bin/" ./bundle ./images ./release
PATH=$work/bin:$PATH

# What could stop a release stops it before anything is built.
release notes -version="$version" >"$work/notes.md"
grep -qx "  version: $version" bundle/manifests/*.clusterserviceversion.yaml ||
  { echo "release: bundle/ is not of $version: run 'make bundle VERSION=$version' and commit it" >&2; exit 1; }
# One version, one content: its tag says of which commit.
git() { command git -c safe.directory='*' "$@"; }
tagged=$([ -z "$REVISION" ] || git rev-parse --quiet --verify "v$version^{commit}" || true)
[ -z "$tagged" ] || [ "$tagged" = "$REVISION" ] ||
  { echo "release: v$version was released from commit $tagged: check that out, or set VERSION to the next version" >&2; exit 1; }
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
twice scorecard images -source="$PWD" -main=./test/scorecard-tests -title=etcd-operator-scorecard -platform="$platforms" -layout={}

cp -r bundle "$out/bundle"
printf '%s %s\n' "$name:v$version" "$(digest operator)" "$name-scorecard:v$version" "$(digest scorecard)" >"$work/known"
# What everything is made of, where there is git to ask.
if [ -n "${REVISION:-}" ]; then echo "$REVISION" >"$out/bundle/source"; fi
bundle pin -bundle="$out/bundle" -registry="$registry" -known="$work/known"
# A bundle holds no program: its image is the same for whatever platforms the others are made, and so is its digest.
twice bundle bundle image -source="$out/bundle" -layout={}

release keep -dry -version="$version" -bundle="$out/bundle" -image="$prefix-bundle@$(digest bundle)"

hack/catalog.sh render -bundle="$out/bundle" -repository="$prefix-bundle" -out="$out/catalog" -operatorhub="$out/operatorhub" >"$work/rendered"
grep '^left out' "$work/rendered" || true
twice catalog hack/catalog.sh image -catalog="$out/catalog" -platform="$platforms" -layout={}

for image in operator scorecard bundle catalog; do
  suffix=-$image
  [ "$image" != operator ] || suffix=
  release sbom -name="${name##*/}$suffix" -version="$version" -layout="$out/images/$image" -out="$out/sbom"
done

mkdir "$out/plugin"
for platform in ${plugin_platforms//,/ }; do
  program=$work/plugin/${platform//\//-}/kubectl-etcd
  [[ $platform != windows/* ]] || program+=.exe
  GOOS=${platform%/*} GOARCH=${platform#*/} CGO_ENABLED=0 go build -ldflags="-s -w -X main.version=$version" -o "$program" ./cmd/kubectl-etcd
done
release plugin -version="$version" -binaries="$work/plugin" -out="$out/plugin" -url="${PLUGIN_URL:-}"

# Manifest and chart name etcd's images by digest, as the bundle does.
hack/etcd-images.sh "$out/bundle" >"$work/etcd_images.yaml"
hack/render.sh "$prefix@$(digest operator)" "$work/etcd_images.yaml" >"$out/install.yaml"
cp "$out/install.yaml" dist/install.yaml
hack/chart.sh "$version" "$prefix@$(digest operator)" "$work/etcd-operator" "$work/etcd_images.yaml"
# Not by helm package, in whose archives is the time of day.
tar --sort=name --mtime="@${SOURCE_DATE_EPOCH:-0}" --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX -C "$work" -cf - etcd-operator |
  gzip -n >"$out/etcd-operator-$version.tgz"
chart=$registry/etcd-operator/charts/etcd-operator
chart_digest=$(release chart -archive="$out/etcd-operator-$version.tgz")

{
  cat "$work/notes.md"
  printf '\n### Images\n\n| image | digest |\n|---|---|\n'
  printf '| `%s` | `%s` |\n' "$prefix:v$version" "$(digest operator)" "$prefix-bundle:v$version" "$(digest bundle)" \
    "$prefix-catalog:v$version" "$(digest catalog)" "$prefix-scorecard:v$version" "$(digest scorecard)" "$chart:$version" "$chart_digest"
} >"$out/release-notes.md"
{
  printf '%s@%s\n' "$prefix" "$(digest operator)" "$prefix-bundle" "$(digest bundle)" "$prefix-catalog" "$(digest catalog)" \
    "$prefix-scorecard" "$(digest scorecard)" "$chart" "$chart_digest"
  sed -n 's/^ *-\{0,1\} *image: //p' "$out"/bundle/manifests/*.clusterserviceversion.yaml | sort -u
} | sort -u >"$out/images.txt"

go -C test/packaging run ./cmd/check -digests "$out/bundle"
go -C test/packaging run ./cmd/check -catalog "$out/catalog"
echo "$platforms" >"$out/platforms"
(cd "$out" && find . -type f ! -path './images/*' ! -name SHA256SUMS ! -name '*.sig' -print0 | sort -z | xargs -0 sha256sum >SHA256SUMS)
echo "release $version is in dist/release/$version; 'make release-push VERSION=$version' publishes it"
