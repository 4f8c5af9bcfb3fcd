// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/test/e2e/internal/apiproxy"
)

func faultsOfPods() {
	var c *v1beta1.EtcdCluster
	var o *operator
	var id string
	var known map[string]string

	BeforeAll(func() {
		namespace := newNamespace()
		o = startOperator(namespace)
		c = create(newCluster(namespace, "pods"))
		put(c, "key", "value")
		id, known = now(c).Status.ClusterID, members(c)
	})

	AfterEach(func() {
		settles(c)
		Expect(members(c)).To(Equal(known), "the members are the same")
		Expect(now(c).Status.ClusterID).To(Equal(id))
		Expect(value(c, "key")).To(Equal("value"))
	})

	It("fault 14: a deleted follower's Pod comes back as the same member, and no write fails", func() {
		victim, others := aFollower(c)
		w := startWriter(c, others...)
		deletePod(c, victim)
		comesBack(c, victim)
		Expect(w.end().failed).To(BeEmpty())
	})

	It("fault 15: a deleted leader's Pod comes back as the same member", func() {
		_, leader, _ := standing(c)
		comesBack(c, deletePod(c, leader))
	})

	It("fault 16: when a leader is killed the others elect one, and nothing else happens", func() {
		before := uids(c)
		_, leader, term := standing(c)
		others := slices.DeleteFunc(namesOf(c), func(name string) bool { return name == leader })
		watch, told := watchElections(c), handOvers(c, others...)
		killProcess(c, leader)
		Eventually(func(g Gomega) {
			_, _, newer := standingOf(g, c) // the killed member may be back in time to win it
			g.Expect(newer).To(BeNumerically(">", term))
		}).Should(Succeed())
		settles(c)
		AddReportEntry("elections", watch.end()) // members of a busy machine may elect once more by themselves
		Expect(handOvers(c, others...)).To(Equal(told), "nobody told another member to lead")
		if isLocal() {
			Expect(uids(c)).To(Equal(before), "no Pod was deleted")
		}
	})

	It("fault 17: when all Pods are deleted at once, the same cluster comes back", func() {
		all := pods(c)
		for _, p := range all {
			deletePod(c, p)
		}
		for _, p := range all {
			comesBack(c, p)
		}
	})

	It("a Pod that has failed for good comes back as the same member", func() {
		victim, _ := aFollower(c)
		old := pod(c, victim.Name)
		deadline := client.MergeFrom(old.DeepCopy())
		old.Spec.ActiveDeadlineSeconds = ptr.To[int64](1)
		Expect(api.Patch(ctx, &old, deadline)).To(Succeed())
		comesBack(c, victim)
	})

	It("fault 23: evictions stop at the disruption budget", Label("gate"), func() {
		needsOwnOperator()
		settles(c)
		DeferCleanup(o.Heal)
		o.OnRequest(func(asked apiproxy.Request) apiproxy.Verdict {
			if asked.Kind() == "POST pods" {
				return apiproxy.Drop
			}
			return apiproxy.Pass
		})
		victim, _ := aFollower(c)
		Eventually(func() error { return evict(c, victim.Name) }).Should(Succeed())
		Eventually(func(g Gomega) { g.Expect(podsOf(g, c.Namespace, ours(c))).To(HaveLen(2)) }).Should(Succeed())
		for _, p := range pods(c) {
			Expect(apierrors.IsTooManyRequests(evict(c, p.Name))).To(BeTrue(), "eviction of %s is refused", p.Name)
		}
		put(c, "during", "eviction")
		o.Heal()
		comesBack(c, victim)
	})
}
