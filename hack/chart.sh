#!/usr/bin/env bash
# Makes the Helm chart of this tree: what hack/render.sh prints, as templates. usage: hack/chart.sh VERSION IMAGE OUT_DIR [ETCD_IMAGES]
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd -P)
usage="usage: hack/chart.sh VERSION IMAGE OUT_DIR [ETCD_IMAGES]"
version=${1:?$usage} image=${2:?$usage}
mkdir -p "${3:?$usage}"
out=$(cd "$3" && pwd -P)

objects=$(mktemp)
trap 'rm -f "$objects"' EXIT
"$top/hack/render.sh" "$image" "${4:-}" >"$objects"
go -C "$top/hack/packaging" run ./chart -version="$version" -out="$out" <"$objects"
