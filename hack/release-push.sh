#!/usr/bin/env bash
# Publishes what hack/release.sh made: pushes the images to where its manifests name them, with lists of what is in them, signatures
# and provenance; sees that everything that the catalog names can be pulled; and keeps the bundle in releases/.
# usage: hack/release-push.sh VERSION KEY
#
# KEY is a file with a private key: of `cosign generate-key-pair`, whose password is in COSIGN_PASSWORD, or of
# `openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256`. The public key is kept with the bundle.
set -euo pipefail
cd "$(dirname "$0")/.."
version=${1:?usage: hack/release-push.sh VERSION KEY}
key=$(realpath "${2:?release-push: which key signs the release? Give SIGN_KEY=file, such as cosign.key}")
out=$PWD/dist/release/$version
[ -f "$out/SHA256SUMS" ] || { echo "release-push: there is no dist/release/$version: run 'make release VERSION=$version IMAGE_REGISTRY=…'" >&2; exit 1; }
(cd "$out" && sha256sum --quiet --check SHA256SUMS)
revision=$(cat "$out/bundle/source" 2>/dev/null || true)
# What people download besides images: the sums are of all files, and archives and lists are also signed one by one.
files=("$out/SHA256SUMS" "$out"/sbom/*.json "$out"/plugin/*.tar.gz "$out"/*.tgz)
for file in "${files[@]}"; do [ -f "$file" ] || { echo "release-push: $file is missing" >&2; exit 1; }; done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go -C hack/packaging build -o "$work/" ./release
release() { "$work/release" "$@"; }

# The catalog goes last: what it names is there before anybody can read it.
for part in operator scorecard bundle catalog; do
  title=etcd-operator-$part
  [ "$part" != operator ] || title=etcd-operator
  image=$(grep "/etcd-operator/$title@" "$out/images.txt")
  [ "$part" != catalog ] || release published -catalog="$out/catalog"
  [ "$part" != bundle ] || published=$image
  release push -layout="$out/images/$part" -to="${image%@*}:v$version"
  release attach -image="$image" -name="$title" -sbom="$out/sbom" -key="$key"
  release sign -image="$image" -key="$key" -public="$work/cosign.pub" -version="$version" -revision="$revision" -platforms="$(<"$out/platforms")"
  release verify -image="$image" -public="$work/cosign.pub" -revision="$revision"
done

# The chart has no list of contents: it holds no program.
chart=$(grep "/charts/etcd-operator@" "$out/images.txt")
release chart -archive="$out/etcd-operator-$version.tgz" -to="${chart%@*}:$version"
release sign -image="$chart" -key="$key" -version="$version" -revision="$revision"
release verify -image="$chart" -public="$work/cosign.pub" -revision="$revision"

release keep -version="$version" -bundle="$out/bundle" -image="$published"
# Operator Lifecycle Manager looks again at the catalog's tag that moves. It moves when all is signed.
tags=$(release tags -version="$version")
for tag in $tags; do release push -layout="$out/images/catalog" -to="${image%@*}:$tag"; done
cp "$work/cosign.pub" "$out/cosign.pub"
release sign-files -key="$key" "${files[@]}"
release verify-files -public="$out/cosign.pub" "${files[@]}"
cp "$work/cosign.pub" "releases/v$version/cosign.pub"
if [ -n "$revision" ] && ! git -c safe.directory='*' rev-parse --quiet --verify "refs/tags/v$version" >/dev/null; then
  git -c safe.directory='*' tag "v$version" "$revision"
  echo "commit $revision has the tag v$version now, which pages refer to: push it"
fi
echo "release $version is published; keep releases/v$version, from which later catalogs are made"
