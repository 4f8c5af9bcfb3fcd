// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// A wanderer is a cluster and what must stay true of it.
type wanderer struct {
	rand     *rand.Rand
	operator *operator
	amends   []func() // what takes back faults that do not end by themselves
	nodes    bool     // that there are several of
	mortal   bool     // data goes with a Pod
	sizes    []int32  // that it may get
	versions []string // and these
	c        *v1beta1.EtcdCluster
	id       string
	data     map[string]string
}

func wander(w *wanderer, edits ...func(*v1beta1.EtcdClusterSpec)) {
	GinkgoHelper()
	namespace := newNamespace()
	w.rand = rand.New(rand.NewPCG(uint64(GinkgoRandomSeed()), 0)) //nolint:gosec // repeatable
	w.nodes = hasThreeNodes()
	w.operator = startOperator(namespace)
	DeferCleanup(w.amend)
	w.c = create(newCluster(namespace, "wandering", append(edits, ofVersion("3.5.35"), w.temper)...))
	w.id, w.data = now(w.c).Status.ClusterID, fill(w.c)
	stops, err := strconv.Atoi(cmp.Or(os.Getenv("WANDER"), "12"))
	Expect(err).NotTo(HaveOccurred())
	for i := range stops {
		By(fmt.Sprintf("stop %d of %d: %s", i+1, stops, w.leave()))
		w.arrive()
		w.write(i + 1)
	}
}

// temper is what a cluster has all its life.
func (w *wanderer) temper(spec *v1beta1.EtcdClusterSpec) {
	pick := func() bool { return w.rand.IntN(2) == 0 }
	if pick() {
		spec.TLS.Mode = v1beta1.TLSDisabled
	}
	if pick() {
		spec.Recovery.QuorumLoss = v1beta1.Automatic
	}
	if pick() {
		spec.Upgrade.OnFailure = v1beta1.RollBack
	}
	spec.Recovery.MemberTimeout.Duration = 30 * time.Second
	AddReportEntry("temper", fmt.Sprintf("%s, %s, %s", spec.TLS.Mode, spec.Recovery.QuorumLoss, spec.Upgrade.OnFailure))
}

// leave does one thing, or more before that is over, and says which.
func (w *wanderer) leave() string {
	GinkgoHelper()
	did := w.one(true)
	for w.rand.IntN(2) == 0 {
		w.idle(8 * time.Second)
		did += ", and then " + w.one(false)
	}
	if len(w.amends) > 0 {
		w.idle(20 * time.Second)
	}
	if w.rand.IntN(4) == 0 && !useDeployed {
		w.idle(4 * time.Second)
		w.operator.restart()
		did += ", and then the operator is killed"
	}
	return did
}

// idle waits for any time up to that.
func (w *wanderer) idle(most time.Duration) {
	time.Sleep(time.Duration(w.rand.Int64N(int64(most))))
}

// undo is called at the end of the stop.
func (w *wanderer) undo(this func()) { w.amends = append(w.amends, this) }

func (w *wanderer) amend() {
	GinkgoHelper()
	for len(w.amends) > 0 {
		last := len(w.amends) - 1
		this := w.amends[last]
		w.amends = w.amends[:last]
		this()
	}
}

// accept is a person who does what the status asks for.
func (w *wanderer) accept(g Gomega) {
	c := read(g, w.c)
	if loss := c.Status.QuorumLoss; loss != nil && loss.Accept != "" && loss.Accept != c.Spec.Recovery.AcceptDataLoss {
		g.Expect(edit(w.c, accepting(loss.Accept))).To(Succeed())
		AddReportEntry("accepted", loss.Accept)
	}
}

// arrive waits until the cluster is as wanted, awake, and looks at what must be true.
func (w *wanderer) arrive() {
	GinkgoHelper()
	w.amend()
	begin := time.Now()
	if now(w.c).Size() == 0 {
		Eventually(func(g Gomega) { g.Expect(podsOf(g, w.c.Namespace, ours(w.c))).To(BeEmpty()) }).Should(Succeed())
		setSize(w.c, 3)
	}
	Eventually(func(g Gomega) {
		w.accept(g)
		isSettled(g, w.c)
	}).Should(Succeed())
	c := now(w.c)
	Expect(running(c)).To(HaveEach(c.Spec.Version))
	Expect(c.Status.ClusterID).To(Equal(w.id))
	Expect(filled(c)).To(Equal(w.data))
	if !w.mortal {
		Expect(inUse(Default, c)).To(HaveLen(c.Size()))
	}
	AddReportEntry(fmt.Sprintf("%d of %s after %s", c.Size(), c.Spec.Version, time.Since(begin).Round(100*time.Millisecond)))
}

// other is any of all but one.
func other[T comparable](rand *rand.Rand, all []T, but T) T {
	rest := slices.DeleteFunc(slices.Clone(all), func(one T) bool { return one == but })
	return rest[rand.IntN(len(rest))]
}
