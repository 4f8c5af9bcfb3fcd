// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/test/e2e/internal/apiproxy"
	"github.com/etcd-operator/etcd-operator/test/e2e/internal/netfault"
)

func faultsOfTheNetwork() {
	u := &undisturbed{}

	BeforeAll(func() {
		needsService()
		namespace := newNamespace()
		u.o = startOperator(namespace)
		u.c = create(newCluster(namespace, "parted"))
	})

	BeforeEach(func() {
		settles(u.c)
		u.known, u.before = members(u.c), uids(u.c)
	})

	AfterEach(func() {
		if u.c == nil {
			return // skipped
		}
		settles(u.c)
		Expect(members(u.c)).To(Equal(u.known), "the members are the same")
		Expect(uids(u.c)).To(Equal(u.before), "no Pod was replaced")
	})

	minorities(u)
	badNetworks(u)
	slowNetworks(u)
	blindness(u)
	slowProcesses(u)
	slowDisks(u)
}

// minorities are cut off from the rest, but not from clients, the operator and
// the kubelet.
func minorities(u *undisturbed) {
	for _, role := range roles {
		It("fault 34: the majority serves without "+role+" that is cut off, who is not replaced", func() {
			one, others := netfault.Split(networks(u.c), u.chosen(role))
			elections := u.during(func() {
				one.CutOff(others...)
				says(u.c, v1beta1.ConditionDegraded, v1beta1.ReasonMemberDown, one.Member+" not healthy")
				u.stays(others...)
				one.Heal()
			})
			u.costsLittle(role, elections)
		})
	}

	It("fault 36: a network that splits two and two while a fourth member joins has a majority, and the member joins when it heals", func() {
		needsOwnOperator()
		DeferCleanup(u.o.Heal)
		_, leader, _ := standing(u.c)
		lead, followers := netfault.Split(networks(u.c), leader)
		near := followers[0]
		u.o.OnRequest(func(asked apiproxy.Request) apiproxy.Verdict {
			if asked.Kind() == "POST pods" {
				return apiproxy.Drop
			}
			return apiproxy.Pass
		})
		Expect(edit(u.c, func(spec *v1beta1.EtcdClusterSpec) { spec.Size = ptr.To[int32](5) })).To(Succeed())
		Eventually(membersOf).WithArguments(u.c).Should(HaveKey("?"))
		elections := u.during(func() {
			lead.OnlyWith(near)
			near.OnlyWith(lead)
			u.o.Heal()
			Eventually(uidsOf).WithArguments(u.c).Should(HaveLen(4))
			begun := time.Now()
			for time.Since(begun) < aWhile {
				listed := members(u.c, lead.Member, near.Member)
				Expect(listed).To(HaveLen(4))
				for name, id := range u.known {
					Expect(listed).To(HaveKeyWithValue(name, id))
				}
				time.Sleep(time.Second)
			}
			lead.Heal()
			near.Heal()
			Eventually(func(g Gomega) {
				listed := membersOf(g, u.c)
				g.Expect(len(listed)).To(BeNumerically(">", 3))
				g.Expect(learners(listed)).To(BeZero())
			}).Should(Succeed(), "the learner to join")
			setSize(u.c, 3)
		})
		Expect(elections).To(BeNumerically("<=", 1), "the leader may be the one that leaves")
		Expect(u.gap).To(BeNumerically("<", outage))
	})
}

// badNetworks carry some packets and not others.
func badNetworks(u *undisturbed) {
	for _, fault := range []struct {
		name, on string
		begin    func(one *netfault.Network, others ...*netfault.Network)
	}{
		{"nobody hears a follower", oneFollower, (*netfault.Network).Silence},
		{"nobody hears the leader", theLeader, (*netfault.Network).Silence},
		{"half of a follower's packets are lost", oneFollower, (*netfault.Network).Lossy},
		{"half of the leader's packets are lost", theLeader, (*netfault.Network).Lossy},
	} {
		It("fault 37: at most one election when "+fault.name, func() {
			one, others := netfault.Split(networks(u.c), u.chosen(fault.on))
			if u.o.Proxy != nil {
				u.o.Forget()
			}
			elections := u.during(func() {
				fault.begin(one, others...)
				u.stays(others...)
				one.Heal()
			})
			Expect(elections).To(BeNumerically("<=", 1))
			if u.o.Proxy != nil {
				AddReportEntry("writes of the operator", strings.Join(u.o.Written(), "\n"))
			}
		})
	}
}

// slowNetworks deliver every packet, but late.
func slowNetworks(u *undisturbed) {
	It("fault 37: no election when packets between members take 75 ms", func() {
		all := networks(u.c)
		elections := u.during(func() {
			for _, n := range all {
				_, others := netfault.Split(all, n.Member)
				n.Delay(75*time.Millisecond, others...)
			}
			u.stays(all...)
			for _, n := range all {
				n.Heal()
			}
		})
		Expect(elections).To(BeZero())
	})
}

// blindness is a fault between the operator and etcd, and nowhere else.
func blindness(u *undisturbed) {
	It("fault 35: an operator that reaches no member, while their Pods are ready, waits and says that it does not know", func() {
		needsOwnOperator()
		here := netfault.Here()
		DeferCleanup(here.Heal)
		u.during(func() {
			here.Filter("", fmt.Sprintf("meta skgid %d tcp dport %d drop", operatorGroup, v1beta1.ClientPort))
			u.o.Forget()
			Expect(edit(u.c, func(spec *v1beta1.EtcdClusterSpec) { spec.Size = ptr.To[int32](5) })).To(Succeed())
			says(u.c, v1beta1.ConditionAvailable, v1beta1.ReasonUnreachable, "")
			stays(aWhile, func(g Gomega) {
				available := conditionOf(read(g, u.c), v1beta1.ConditionAvailable)
				g.Expect(available.Status).To(Equal(metav1.ConditionUnknown))
				g.Expect(members(u.c)).To(Equal(u.known))
			})
			Expect(u.o.Written()).To(HaveEach(ContainSubstring("etcdclusters/status")), "nothing is written but what it says")
			Expect(edit(u.c, func(spec *v1beta1.EtcdClusterSpec) { spec.Size = ptr.To[int32](3) })).To(Succeed())
			here.Heal()
			settles(u.c)
		})
	})
}
