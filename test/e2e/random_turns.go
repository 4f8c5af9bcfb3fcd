// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/test/e2e/internal/apiproxy"
	"github.com/etcd-operator/etcd-operator/test/e2e/internal/netfault"
)

// A turn is one thing that may happen on the way.
type turn struct {
	weight int
	may    func(at place) bool // nil: always
	take   func(w *wanderer, at place) string
}

// place is where a wanderer is when something happens.
type place struct {
	spec    v1beta1.EtcdClusterSpec
	size    int32
	pods    []corev1.Pod
	rest    bool // nothing else is under way
	volumes bool // data does not go with a Pod
	nodes   bool // there are several
}

// What costs a quorum, or data, when something else is under way is done only at rest.
var turns = []turn{
	{4, nil, (*wanderer).version},
	{3, nil, (*wanderer).size},
	{1, nil, (*wanderer).flag},
	{1, nil, (*wanderer).resources},
	{1, nil, (*wanderer).badVersion},
	{1, nil, (*wanderer).pause},
	{1, place.many, (*wanderer).loseOne},
	{1, place.many, (*wanderer).loseQuorum},
	{1, func(at place) bool { return at.volumes }, (*wanderer).loseAllPods},
	{1, func(at place) bool { return at.volumes && at.rest }, (*wanderer).createAgain},
	{1, func(at place) bool { return len(at.pods) > 0 && (at.volumes || at.rest) }, (*wanderer).losePod},
	{1, func(at place) bool { return at.rest && at.size >= 3 }, (*wanderer).removeOne},
	{1, place.isLocal, (*wanderer).moveLeader},
	{1, place.isLocal, (*wanderer).killOne},
	{1, place.isLocal, (*wanderer).stopOne},
	{1, func(at place) bool { return at.isLocal() && len(at.pods) > 1 }, (*wanderer).partOne},
	{1, func(at place) bool { return len(at.pods) > 0 }, (*wanderer).drainOne},
	{1, func(at place) bool { return at.nodes }, (*wanderer).cutNode},
	{1, func(place) bool { return !useDeployed && isLocal() }, (*wanderer).blindOperator},
	{1, func(place) bool { return !useDeployed }, (*wanderer).deafOperator},
	{1, nil, (*wanderer).loseSecrets},
}

func (at place) many() bool { return at.rest && at.volumes && at.size >= 3 }

func (at place) isLocal() bool { return at.rest && isLocal() }

// one takes any turn that may be taken.
func (w *wanderer) one(atRest bool) string {
	GinkgoHelper()
	c := now(w.c)
	at := place{
		spec: c.Spec, size: int32(c.Size()), pods: pods(w.c), rest: atRest, //nolint:gosec // a small number
		volumes: !w.mortal, nodes: w.nodes,
	}
	var all []turn
	for _, t := range turns {
		for range t.weight {
			if t.may == nil || t.may(at) {
				all = append(all, t)
			}
		}
	}
	return all[w.rand.IntN(len(all))].take(w, at)
}

func (w *wanderer) pick(at place) corev1.Pod { return at.pods[w.rand.IntN(len(at.pods))] }

// version asks for any other version. Where there is no way the API server says so, and
// nothing has changed.
func (w *wanderer) version(at place) string {
	return w.toVersion(at, other(w.rand, w.versions, at.spec.Version))
}

// badVersion asks for a patch that there is not.
func (w *wanderer) badVersion(at place) string {
	good := at.spec.Version
	bad := good[:strings.LastIndex(good, ".")] + ".99"
	w.undo(func() {
		if now(w.c).Spec.Version == bad {
			Expect(edit(w.c, ofVersion(good))).To(Succeed())
		}
	})
	return w.toVersion(at, bad)
}

func (w *wanderer) toVersion(at place, to string) string {
	if err := edit(w.c, ofVersion(to)); err != nil {
		Expect(err).To(MatchError(ContainSubstring("version may go")))
		return "version " + to + " is refused"
	}
	return "version " + at.spec.Version + " to " + to
}

func (w *wanderer) size(at place) string {
	to := other(w.rand, w.sizes, at.size)
	setSize(w.c, to)
	return fmt.Sprintf("size %d to %d", at.size, to)
}

func (w *wanderer) flag(place) string {
	Expect(edit(w.c, func(spec *v1beta1.EtcdClusterSpec) { spec.Etcd.SnapshotCount = int64(5000 + w.rand.IntN(1000)) })).To(Succeed())
	return "a flag"
}

func (w *wanderer) resources(place) string {
	share := fmt.Sprintf("%dm", 10+w.rand.IntN(40))
	Expect(edit(w.c, func(spec *v1beta1.EtcdClusterSpec) {
		spec.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(share)}
	})).To(Succeed())
	return share + " of a processor"
}

func (w *wanderer) pause(place) string {
	paused := func(is bool) {
		Expect(edit(w.c, func(spec *v1beta1.EtcdClusterSpec) { spec.Paused = is })).To(Succeed())
	}
	paused(true)
	w.undo(func() { paused(false) })
	return "a pause"
}

func (w *wanderer) loseOne(at place) string {
	victim := w.pick(at).Name
	lose(w.c, victim)
	return "the volume of " + victim + " is lost"
}

func (w *wanderer) loseQuorum(at place) string {
	var victims []string
	for _, i := range w.rand.Perm(len(at.pods))[:at.size/2+1] {
		victims = append(victims, at.pods[i].Name)
	}
	lose(w.c, victims...)
	return "the volumes of " + strings.Join(victims, ", ") + " are lost"
}

func (w *wanderer) loseAllPods(at place) string {
	for _, p := range at.pods {
		Expect(client.IgnoreNotFound(api.Delete(ctx, &p, client.GracePeriodSeconds(0)))).To(Succeed())
	}
	return "all Pods are lost"
}

func (w *wanderer) createAgain(at place) string {
	remove(w.c)
	again := newCluster(w.c.Namespace, w.c.Name, func(s *v1beta1.EtcdClusterSpec) { *s = at.spec })
	Expect(api.Create(ctx, again)).To(Succeed())
	return "it is deleted and created again"
}

func (w *wanderer) losePod(at place) string {
	return "the Pod of " + deletePod(w.c, w.pick(at)).Name + " is lost"
}

func (w *wanderer) removeOne(at place) string {
	victim := w.pick(at).Name
	id, err := strconv.ParseUint(members(w.c)[victim], 16, 64)
	Expect(err).NotTo(HaveOccurred())
	removeByHand(w.c, id)
	return victim + " is removed by hand"
}

func (w *wanderer) moveLeader(place) string {
	return fmt.Sprintf("the leader is moved by hand %d times", moveLeader(w.c, identity(w.c)))
}

func (w *wanderer) killOne(at place) string {
	victim := w.pick(at).Name
	killProcess(w.c, victim)
	return "the etcd of " + victim + " is killed"
}

// stopOne is a process that hangs, until its supervisor kills it, or it continues.
func (w *wanderer) stopOne(at place) string {
	victim := w.pick(at)
	process := processOf(string(victim.UID))
	Expect(syscall.Kill(process, syscall.SIGSTOP)).To(Succeed())
	w.undo(func() {
		if name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", process)); strings.TrimSpace(string(name)) == "etcd" {
			_ = syscall.Kill(process, syscall.SIGCONT)
		}
	})
	return "the etcd of " + victim.Name + " hangs"
}

func (w *wanderer) partOne(at place) string {
	one, others := netfault.Split(networks(w.c), w.pick(at).Name)
	one.CutOff(others...)
	w.undo(one.Heal)
	return one.Member + " is cut off"
}

// drainOne makes a Pod leave its node, if the disruption budget lets it go.
func (w *wanderer) drainOne(at place) string {
	victim := w.pick(at)
	if node := victim.Spec.NodeName; node != "" {
		setCordon(node, true)
		w.undo(func() { uncordon(node) })
	}
	if err := evict(w.c, victim.Name); err != nil {
		return "the node of " + victim.Name + " is cordoned, and that not evicted"
	}
	return "the node of " + victim.Name + " is drained"
}

// cutNode parts a node from all others, for longer than it takes to be noticed or not.
func (w *wanderer) cutNode(place) string {
	node := fmt.Sprintf("node-%d", 2+w.rand.IntN(2)) // this machine is the first
	devcluster("node", "cut", node)
	w.undo(func() { devcluster("node", "join", node) })
	w.idle(noticed)
	return node + " is cut off"
}

func (w *wanderer) blindOperator(place) string {
	here := netfault.Here()
	here.Filter("", fmt.Sprintf("meta skgid %d tcp dport %d drop", operatorGroup, v1beta1.ClientPort))
	w.undo(here.Heal)
	return "the operator does not reach any member"
}

func (w *wanderer) deafOperator(place) string {
	w.operator.OnRequest(func(apiproxy.Request) apiproxy.Verdict { return apiproxy.Drop })
	w.undo(w.operator.Heal)
	return "the operator does not reach the API server"
}

func (w *wanderer) loseSecrets(place) string {
	var list corev1.SecretList
	Expect(api.List(ctx, &list, client.InNamespace(w.c.Namespace), ours(w.c))).To(Succeed())
	for _, secret := range list.Items {
		if secret.Name != w.c.ClientCA() && secret.Name != w.c.PeerCA() {
			Expect(client.IgnoreNotFound(api.Delete(ctx, &secret))).To(Succeed())
		}
	}
	lookAt(w.c) // by itself it looks at the Secrets of a cluster at rest within ten minutes
	return "its Secrets are lost"
}

// write adds to the data that must be there from now on.
func (w *wanderer) write(stop int) {
	GinkgoHelper()
	key, value := fmt.Sprintf("data/stop-%03d", stop), strconv.FormatUint(w.rand.Uint64(), 16)
	ask(w.c, func(ctx context.Context, etcd *clientv3.Client) error {
		_, err := etcd.Put(ctx, key, value)
		return err
	})
	w.data[key] = value
}
