// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"maps"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/test/e2e/internal/apiproxy"
)

// ways are those in which a write can go wrong.
var ways = []struct {
	name, prefix string
	fate         apiproxy.Verdict
	dies         bool
}{
	{"dies before", "before", apiproxy.Drop, true},
	{"dies after, without the answer to,", "after", apiproxy.Deafen, true},
	{"hears a timeout after", "timeout", apiproxy.Timeout, false},
}

func faultsOfTheOperator() {
	var o *operator
	var namespace string

	BeforeEach(func() {
		needsOwnOperator()
		namespace = newNamespace()
		o = startOperator(namespace)
	})

	for i, way := range ways {
		It("faults 1, 2: the end is the same when the operator "+way.name+" any write of a creation", Label("matrix"), longAfter(0, i), func() {
			trace := writesOfACreation(o, namespace)
			for _, at := range points(trace) {
				By(fmt.Sprintf("%s write %d: %s", way.name, at, trace[at]))
				c := createBroken(o, namespace, way.prefix, at, way.fate, way.dies)
				if way.dies {
					o.restart()
				}
				settles(c)
				Eventually(belongings).WithArguments(c).Should(ConsistOf(ofThree...))
				Expect(members(c)).To(And(HaveLen(3), HaveKey(c.Name+"-0"), HaveKey(c.Name+"-1"), HaveKey(c.Name+"-2")))
				o.Heal()
				discard(c)
			}
		})
	}

	It("fault 3: an operator that died between listing a learner and making its Pod finishes it", func() {
		c := create(newCluster(namespace, "orphan", func(spec *v1beta1.EtcdClusterSpec) { spec.Size = ptr.To[int32](1) }))
		o.OnRequest(func(asked apiproxy.Request) apiproxy.Verdict {
			if asked.Kind() == "POST pods" {
				return apiproxy.Drop
			}
			return apiproxy.Pass
		})
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.Size = ptr.To[int32](3) })).To(Succeed())
		Eventually(membersOf).WithArguments(c).Should(HaveKey("?"), "a learner that has not started")
		o.restart()
		settles(c)
		Expect(members(c)).To(And(HaveLen(3), HaveKey("orphan-0"), HaveKey("orphan-1"), HaveKey("orphan-2")))
		discard(c)
	})

	const halfRefused = "fault 9: an API server that refuses every other request, and is slow, costs time: " +
		"a member is replaced, a cluster is created"
	It(halfRefused, Label("long"), func() {
		c := create(newCluster(namespace, "throttled"))
		data, known := fill(c), members(c)
		victim, _ := aFollower(c)
		others := uids(c)
		delete(others, victim.Name)
		asked, refused := 0, 0
		o.OnRequest(func(r apiproxy.Request) apiproxy.Verdict {
			if r.Watch {
				return apiproxy.Pass
			}
			if asked++; asked%2 == 0 {
				refused++
				return apiproxy.Refuse
			}
			return apiproxy.Linger
		})
		lose(c, victim.Name)
		second := newCluster(namespace, "beside", oneMember)
		Expect(api.Create(ctx, second)).To(Succeed())
		begun := time.Now()
		Eventually(func(g Gomega) {
			isSettled(g, second)
			g.Expect(membersOf(g, c)).To(And(HaveLen(3), Not(HaveKey(victim.Name))))
			isSettled(g, c)
		}).Should(Succeed())
		o.Heal()
		AddReportEntry("requests", fmt.Sprintf("%d in %s, %d of them refused", asked, time.Since(begun).Round(time.Second), refused))
		Expect(refused).To(BeNumerically(">", 10), "requests that were refused")
		untouched, after := uids(c), members(c)
		for name, uid := range others {
			Expect(untouched).To(HaveKeyWithValue(name, uid))
			Expect(after).To(HaveKeyWithValue(name, known[name]))
		}
		Expect(filled(c)).To(Equal(data))
		discard(c)
		discard(second)
	})

	It("fault 9: an API server that refuses everything is asked as seldom as it says, and then all goes on", Label("long"), func() {
		c := create(newCluster(namespace, "refused", oneMember))
		asked, all := map[apiproxy.Request]int{}, 0
		o.OnRequest(func(r apiproxy.Request) apiproxy.Verdict {
			asked[r]++
			all++
			return apiproxy.Refuse
		})
		setSize(c, 3)
		time.Sleep(time.Minute)
		o.Heal()
		most := slices.Max(slices.Collect(maps.Values(asked)))
		AddReportEntry("requests in a minute", fmt.Sprintf("%d, the same one %d times at most", all, most))
		for r, times := range asked { // the answer says once a second; of a cluster's Secrets some are read by the controller of users, too
			Expect(times).To(BeNumerically("<=", 3*60), "%v", r)
		}
		settles(c)
		Expect(members(c)).To(HaveLen(3))
		discard(c)
	})

	It("fault 45: a size that is raised and at once set back leaves no orphan", Label("long"), func() {
		c := create(newCluster(namespace, "hasty", func(spec *v1beta1.EtcdClusterSpec) { spec.Size = ptr.To[int32](1) }))
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.Size = ptr.To[int32](3) })).To(Succeed())
		Eventually(membersOf).WithArguments(c).ShouldNot(HaveLen(1)) // the third may follow before that is seen
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.Size = ptr.To[int32](1) })).To(Succeed())
		settles(c)
		Expect(members(c)).To(HaveLen(1))
		Eventually(func(g Gomega) { g.Expect(podsOf(g, namespace, ours(c))).To(HaveLen(1)) }).Should(Succeed())
		discard(c)
	})
}
