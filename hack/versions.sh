#!/usr/bin/env bash
# One version of every module for what is compiled together: the operator, the local cluster with its programs, what packs images,
# and the tools that know Kubernetes. Go then compiles each package once for all of them. usage: hack/versions.sh check|align
#
# align raises each to the newest version that one of them needs. Programs with versions of their own are elsewhere: etcd, older
# Kubernetes, OLM v1, and Helm 4, which wants newer ones than all others.
set -euo pipefail
cd "$(dirname "$0")/.."
folders=(. hack/components/{cluster,containerd,scorecard} hack/devcluster hack/packaging hack/tools/{controller-gen,crd-ref-docs,helm,operator-sdk} test/packaging)

# Each line is a folder, a module, the version there, the newest one. A tilde makes sort put v1.2.0-rc.1 before v1.2.0.
differing() {
  local folder
  for folder in "${folders[@]}"; do
    awk -v folder="$folder" '
      /^require \(/ { inside = 1; next }
      /^\)/ { inside = 0 }
      inside { sub("-", "~", $2); print folder, $1, $2 }' "$folder/go.mod"
  done | sort -k2,2 -k3,3V | awk '
    { line[NR] = $0; newest[$2] = $3 }
    END { for (i = 1; i <= NR; i++) { split(line[i], f, " "); if (f[3] != newest[f[2]]) print line[i], newest[f[2]] } }' | tr '~' -
}

align() {
  local folder module version round
  for round in 1 2 3 4 5 6; do
    [ -n "$(differing)" ] || return 0
    while read -r folder module _ version; do
      go -C "$folder" mod edit -require="$module@$version"
    done < <(differing)
    # What a newer version needs may be newer, too.
    for folder in "${folders[@]}"; do go -C "$folder" mod tidy; done
  done
  echo "still different after $round rounds" >&2
  return 1
}

case ${1:-} in
check)
  differing | awk '{ printf "      %s/go.mod has %s %s, another has %s\n", $1, $2, $3, $4; found = 1 } END { exit found }'
  ;;
align)
  align
  ;;
*)
  echo "usage: hack/versions.sh check|align" >&2
  exit 2
  ;;
esac
