#!/usr/bin/env bash
# Publishes in one registry what releases/unpublished keeps: the operator of each version, built of its own commit by the tools of that commit, and its
# bundle, whose images are named there by digest, both with lists of what is in them, signatures and provenance. Catalogs that are released there
# afterwards have these versions, too. etcd's images must be in the registry already.
# usage: hack/release-earlier.sh REGISTRY KEY [PLATFORMS [VERSIONS]]
#
# VERSIONS, such as "0.8.0 0.9.0", are all that the catalog's template has and does not advise against, unless they are given.
set -euo pipefail
cd "$(dirname "$0")/.."
registry=${1:?release-earlier: in which registry will the images be? Give IMAGE_REGISTRY=host[:port][/path]}
key=$(realpath "${2:?release-earlier: which key signs? Give SIGN_KEY=file, such as cosign.key}")
platforms=${3:-linux/amd64,linux/arm64}
wanted=${4:-}
prefix=$registry/etcd-operator/etcd-operator
unset REVISION
# Of the scripts and of the bundles as they are kept, which are another commit than that of a version.
tools=$(hack/revision.sh)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin"
go -C hack/packaging build -o "$work/bin/" ./bundle ./release
PATH=$work/bin:$PATH
git() { command git -c safe.directory='*' "$@"; }
repository=$(git rev-parse --show-toplevel) || { echo "release-earlier: the sources of earlier versions are in git, and this is no checkout" >&2; exit 1; }

has_commit() { git cat-file -e "$1^{commit}" 2>/dev/null; }

# Whether a commit has a tool that makes what is asked for without a registry. Those of v0.1.0 and v0.2.0 could only push, and that of v0.3.0 wrote
# only images of several platforms to a folder.
has_tool() { # folder of the sources
  [ -d "$1/hack/packaging/images" ] || return 1
  [[ $platforms == *,* ]] || ! grep -rq 'a layout is made of several platforms' "$1/hack/packaging" --include=*.go
}

# The operator as the tools of its own commit build it; where they cannot, as today's do.
build() { # folder of the sources, version, commit
  local images=$1/hack/packaging
  has_tool "$1" || images=hack/packaging
  go -C "$images" build -o "$work/bin/images" ./images
  # The flags of their Makefiles. Later ones take none from outside.
  GOFLAGS=-buildvcs=false VERSION=$2 REVISION=$3 SOURCE_DATE_EPOCH=$(git log -1 --format=%ct "$3") \
    images -source="$1" -platform="$platforms" -layout="$1.layout" >"$work/log" 2>&1 || { cat "$work/log" >&2; return 1; }
}

# What is known of the image that was tested when the version was cut.
compare() { # folder, version, digest
  local cut
  cut=$(awk -v platforms="$platforms" '$1 == "operator" && $2 == platforms { print $3 }' "$1/digests" 2>/dev/null || true)
  if ! has_tool "$work/v$2"; then
    echo "NOT bit for bit the image that was cut: its commit has no tool that makes one for $platforms without a registry, today's made it"
  elif [ -z "$cut" ]; then
    echo "built by the tools of its commit; which digest it had when it was cut for $platforms is not known"
  elif [ "$cut" = "$3" ]; then
    echo "bit for bit the image that was cut"
  else
    echo "NOT bit for bit the image that was cut, which was $cut"
  fi
}

publish() { # layout, name of the image without tag, title, version, commit that it is made of
  local image
  image=$2@$(release same -name=image "$1" "$1" | awk '{ print $2 }')
  release sbom -name="$3" -version="$4" -layout="$1" -out="$work/sbom"
  release push -layout="$1" -to="$2:v$4"
  release attach -image="$image" -name="$3" -sbom="$work/sbom" -key="$key"
  release sign -image="$image" -key="$key" -public="$work/cosign.pub" -version="$4" -revision="$5" -tools="$tools" \
    -script=hack/release-earlier.sh -platforms="$platforms"
  release verify -image="$image" -public="$work/cosign.pub" -revision="$5"
}

if [ -n "$wanted" ]; then
  for version in $wanted; do
    [ -f "releases/unpublished/v$version/source" ] || { echo "release-earlier: releases/unpublished has no v$version" >&2; exit 1; }
    [ ! -e "releases/v$version" ] || { echo "release-earlier: v$version is published already, see releases/v$version" >&2; exit 1; }
  done
  folders=$(printf 'releases/unpublished/v%s\n' $wanted)
else
  folders=$(hack/catalog.sh earlier)
fi
for folder in $folders; do
  version=$(basename "$folder")
  version=${version#v}
  commit=$(<"$folder/source")
  has_commit "$commit" || git fetch --quiet --unshallow || true
  has_commit "$commit" || { echo "release-earlier: v$version was made of commit $commit, which this clone does not have and could not fetch" >&2; exit 1; }
  echo "==> v$version, from commit $commit"
  sources=$work/v$version
  mkdir "$sources"
  git -C "$repository" archive "$commit" | tar -x -C "$sources"
  build "$sources" "$version" "$commit"
  digest=$(release same -name=operator "$sources.layout" "$sources.layout" | awk '{ print $2 }')
  compare "$folder" "$version" "$digest" | tee "$work/built"
  publish "$sources.layout" "$prefix" etcd-operator "$version" "$commit"

  cp -r "$folder" "$work/bundle"
  echo "$(sed -n 's/^    containerImage: //p' "$folder"/manifests/*.clusterserviceversion.yaml) $digest" >"$work/known"
  bundle pin -bundle="$work/bundle" -registry="$registry" -known="$work/known"
  # It is made of what this commit keeps, not of the commit of the version.
  echo "$tools" >"$work/bundle/source"
  bundle image -source="$work/bundle" -layout="$work/bundle.layout" >/dev/null
  publish "$work/bundle.layout" "$prefix-bundle" etcd-operator-bundle "$version" "$tools"
  release keep -version="$version" -bundle="$work/bundle" \
    -image="$prefix-bundle@$(release same -name=bundle "$work/bundle.layout" "$work/bundle.layout" | awk '{ print $2 }')"
  cp "$work/cosign.pub" "$work/built" "releases/v$version/"
  rm -rf "$work"/bundle* "$work"/v* "$work/sbom"
done
echo "published; 'make release release-push' makes the catalog that has them: keep releases/, from which it is made"
