#!/usr/bin/env bash
# The main job, told as it happens: install the operator, make an etcd cluster, write to it, kill a member, watch it heal,
# upgrade it, lose a volume, watch the member being replaced, back it up, wreck its data, bring the data back, fill the database and watch it
# make room.
# Expects KUBECONFIG to name a cluster that answers. On the local one, which hack/demo-cluster.sh starts, Operator Lifecycle Manager
# installs the operator. IMG names an image that a cluster elsewhere can pull; there the manifests install it.
set -euo pipefail
cd "$(dirname "$0")/.."
namespace=etcd-demo
name=example-etcd-cluster
start=$SECONDS

say() { printf '\n\033[1m[%3ds] %s\033[0m\n' $((SECONDS - start)) "$*"; }
show() { printf '  $ kubectl %s\n' "$*" && kubectl "$@" 2>&1 | sed 's/^/    /'; }
k() { kubectl -n "$namespace" "$@"; }
etcdctl() { k exec "$1" -c etcd -- etcdctl "${@:2}"; }

fail() {
  echo "the demo stopped; this is what the cluster says:" >&2
  k describe ec "$name" >&2 || true
  kubectl -n etcd-operator-system logs deployment/etcd-operator-controller-manager --all-pods --tail=20 >&2 || true
}
trap fail ERR

wait_for() { # what, seconds, command… that succeeds when it is there
  local what=$1 end=$((SECONDS + $2)) from=$SECONDS
  shift 2
  until "$@" >/dev/null 2>&1; do
    if [ $SECONDS -ge $end ]; then
      echo "gave up waiting for $what" >&2
      return 1
    fi
    printf '\r    waiting for %s … %ds ' "$what" $((SECONDS - from))
    sleep 0.3
  done
  printf '\r    %s: there after %ds            \n' "$what" $((SECONDS - from))
}

healthy() {
  [ "$(k get etcdcluster "$name" -o jsonpath='{.status.readyMembers}/{.status.conditions[?(@.type=="Available")].reason}')" = 3/Healthy ]
}
member_id() { k get etcdcluster "$name" -o jsonpath="{.status.members[?(@.name==\"$1\")].id}"; }
# Both look at what has changed first: healthy would say of the time before.
upgraded() { [ "$(k get etcdcluster "$name" -o jsonpath='{.status.version}')" = "$1" ] && healthy; }
joined() { [ -n "$(member_id "$1")" ] && healthy; }
new_pod() { [ "$(k get pod "$1" -o jsonpath='{.metadata.uid}')" != "$2" ]; }

local_cluster() { [ "$(realpath "$KUBECONFIG")" = "$PWD/.devcluster/kubeconfig" ]; }

if local_cluster; then
  say "Make the operator's image, its bundle's and a catalog's, and install it by Operator Lifecycle Manager"
  kubectl get crd subscriptions.operators.coreos.com >/dev/null 2>&1 || hack/demo-cluster.sh
  make olm-install
  show -n etcd-operator-system get subscriptions.operators.coreos.com,clusterserviceversions,pods
else
  say "Build the operator's image and install it"
  make images
  make deploy
fi

say "Make an etcd cluster of three members"
kubectl create namespace "$namespace" --dry-run=client -o yaml | kubectl apply -f - >/dev/null
kubectl label namespace "$namespace" pod-security.kubernetes.io/enforce=restricted --overwrite >/dev/null
sed 's/^/    /' config/samples/etcd-operator.dev_v1beta1_etcdcluster.yaml
created=$(date +%s%N)
k apply -f config/samples/etcd-operator.dev_v1beta1_etcdcluster.yaml
k wait --for=condition=Available "etcdcluster/$name" --timeout=180s
available=$((($(date +%s%N) - created) / 1000000))
wait_for "three healthy members" 60 healthy
show -n "$namespace" get etcdclusters,pods,persistentvolumeclaims

say "Write a key, read it from another member"
etcdctl "$name-0" put greeting "hello from $name" | sed 's/^/    /'
etcdctl "$name-2" get greeting | sed 's/^/    /'

victim=$name-1
before_id=$(member_id "$victim")
before_uid=$(k get pod "$victim" -o jsonpath='{.metadata.uid}')
say "Kill member $victim (ID $before_id)"
killed=$(date +%s%N)
k delete pod "$victim" --wait=false | sed 's/^/    /'
wait_for "a new pod of $victim" 60 new_pod "$victim" "$before_uid"
wait_for "its container" 60 k wait --for=jsonpath='{.status.containerStatuses[0].ready}'=true "pod/$victim" --timeout=1s
wait_for "three healthy members" 60 healthy
healed=$((($(date +%s%N) - killed) / 1000000))

say "It came back with its data: the same member, no change of membership"
after_id=$(member_id "$victim")
[ "$before_id" = "$after_id" ]
etcdctl "$victim" get greeting | sed 's/^/    /'
[ "$(etcdctl "$victim" get greeting --print-value-only)" = "hello from $name" ]
show -n "$namespace" get etcdclusters

say "Upgrade it: one member at a time, the leader last, images exchanged in place"
pods_before=$(k get pods -o jsonpath='{.items[*].metadata.uid}')
asked=$(date +%s%N)
k patch etcdcluster "$name" --type=merge -p '{"spec":{"version":"3.7.3"}}' | sed 's/^/    /'
wait_for "three healthy members of 3.7.3" 180 upgraded 3.7.3
upgrade=$((($(date +%s%N) - asked) / 1000000))
[ "$pods_before" = "$(k get pods -o jsonpath='{.items[*].metadata.uid}')" ] && echo "    the pods are the same as before"
etcdctl "$victim" get greeting | sed 's/^/    /'

say "Lose the volume of $victim: its data is gone for good"
k delete persistentvolumeclaim "$victim" --wait=false | sed 's/^/    /'
lost=$(date +%s%N)
k delete pod "$victim" --wait=false | sed 's/^/    /'
wait_for "another member in its place" 180 joined "$name-3"
replacing=$((($(date +%s%N) - lost) / 1000000))
show -n "$namespace" get etcdclusters,pods
[ "$(etcdctl "$name-3" get greeting --print-value-only)" = "hello from $name" ]
echo "    $name-3 is a new member, and has the data of the others"

say "Back it up, to a volume here; S3, Google and Azure are as short"
sed 's/^/    /' hack/demo/backup.yaml
k apply -f hack/demo/backup.yaml
backed=$(date +%s%N)
k wait --for=condition=Verified etcdbackup/example-backup --timeout=180s
backup=$((($(date +%s%N) - backed) / 1000000))
show -n "$namespace" get ebs,eb
echo "    verified: an etcd was started on it, and has the same keys, revision and hash"

say "A bad client deletes every key"
etcdctl "$name-3" del "" --from-key | sed 's/^/    /'
[ -z "$(etcdctl "$name-3" get greeting --print-value-only)" ]

say "Begin a cluster with the backup"
sed 's/^/    /' hack/demo/restore.yaml
asked=$(date +%s%N)
k apply -f hack/demo/restore.yaml
k wait --for=condition=Available etcdcluster/restored-etcd-cluster --timeout=180s
restore=$((($(date +%s%N) - asked) / 1000000))
etcdctl restored-etcd-cluster-0 get greeting | sed 's/^/    /'
[ "$(etcdctl restored-etcd-cluster-0 get greeting --print-value-only)" = "hello from $name" ]
show -n "$namespace" get etcdclusters

full=restored-etcd-cluster
say "Fill its database: a client writes the same key over and over, up to the quota of 64 MiB"
value=$(head -c 1000000 /dev/zero | tr '\0' x)
until ! said=$(k exec -i "$full-0" -c etcd -- etcdctl put big <<<"$value" 2>&1); do printf .; done
echo && grep -o 'etcdserver: .*' <<<"$said" | head -n 1 | sed 's/^/    /'
filled=$(date +%s%N)
wait_for "etcd to take writes again" 180 etcdctl "$full-0" put greeting "hello again"
room=$((($(date +%s%N) - filled) / 1000000))
show -n "$namespace" get etcdcluster "$full" -o custom-columns='MEMBER:.status.members[*].name,BEFORE:.status.members[*].lastDefragmentation.before,AFTER:.status.members[*].lastDefragmentation.after'
echo "    the operator did it: history was compacted, members were defragmented one at a time, the alarm was disarmed"

say "What the operator says it did"
show -n "$namespace" get events --field-selector "involvedObject.kind=EtcdCluster" -o custom-columns=REASON:.reason,NOTE:.message

trap - ERR
say "Done"
cat <<EOF
    from kubectl apply to Available   $available ms
    from kill to three healthy        $healed ms
    upgrade 3.6.16 to 3.7.3           $upgrade ms
    lost volume to three healthy      $replacing ms
    backup, written and verified      $backup ms
    restore to a new cluster          $restore ms
    full database to writable         $room ms
    member ID of $victim   $before_id before, $after_id after

    Look around:  export KUBECONFIG=$KUBECONFIG
                  kubectl -n $namespace get ec,pods
                  kubectl -n $namespace exec $name-0 -- etcdctl member list -w table
    Clean up:     kubectl delete namespace $namespace; make undeploy; make cluster-down
EOF
