#!/usr/bin/env bash
# The catalog of Operator Lifecycle Manager, with the programs that serve it. usage: hack/catalog.sh render|image FLAGS…
# The flags are those of hack/packaging/catalog; paths in them are below the top of the checkout.
set -euo pipefail
cd "$(dirname "$0")/.."
umask 022 # the cache in the image is read by other users
command=${1:?usage: hack/catalog.sh render|image FLAGS…}
shift
# The Makefile's.
export CGO_ENABLED=0 GOFLAGS='-trimpath -buildvcs=false -gcflags=all=-dwarf=false -tags=containers_image_openpgp'

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go -C hack/packaging build -o "$work/catalog" ./catalog

if [ "$command" = image ]; then
  # The flag -platform is needed here, too: the programs in the image are built for each.
  platforms=linux/$(go env GOARCH)
  for flag in "$@"; do case $flag in -platform=*) platforms=${flag#-platform=} ;; esac; done
  for platform in ${platforms//,/ }; do
    GOOS=${platform%/*} GOARCH=${platform#*/} go -C hack/components/cluster build -ldflags='-s -w' -o "$work/$platform/" \
      github.com/grpc-ecosystem/grpc-health-probe github.com/operator-framework/operator-registry/cmd/opm
  done
  set -- -programs="$work" -platform="$platforms" "$@"
fi
"$work/catalog" "$command" "$@"
