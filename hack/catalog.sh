#!/usr/bin/env bash
# The catalog of Operator Lifecycle Manager, with the programs that make it. usage: hack/catalog.sh render|image FLAGS…
# The flags are those of hack/packaging/catalog; paths in them are below the top of the checkout.
set -euo pipefail
cd "$(dirname "$0")/.."
umask 022 # opm's cache in the image is read by other users
command=${1:?usage: hack/catalog.sh render|image FLAGS…}
shift

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go -C hack/packaging build -o "$work/catalog" ./catalog

case $command in
render)
  "$work/catalog" render -opm=bin/opm "$@"
  ;;
image)
  # The flag -platform is needed here, too: the programs in the image are built for each.
  platforms=linux/$(go env GOARCH)
  for flag in "$@"; do case $flag in -platform=*) platforms=${flag#-platform=} ;; esac; done
  for platform in ${platforms//,/ }; do
    export CGO_ENABLED=0 GOOS=${platform%/*} GOARCH=${platform#*/}
    mkdir -p "$work/$platform"
    go -C hack/components/opm build -trimpath -tags=json1,containers_image_openpgp -ldflags='-s -w' -o "$work/$platform/opm" \
      github.com/operator-framework/operator-registry/cmd/opm
    go -C hack/components/grpc-health-probe build -trimpath -ldflags='-s -w' -o "$work/$platform/grpc_health_probe" \
      github.com/grpc-ecosystem/grpc-health-probe
  done
  unset GOOS GOARCH
  "$work/catalog" image -opm=bin/opm -programs="$work" -platform="$platforms" "$@"
  ;;
*)
  echo "hack/catalog.sh: unknown command $command" >&2
  exit 1
  ;;
esac
