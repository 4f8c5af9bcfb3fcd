// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/test/e2e/internal/witness"
)

// takeover ends the leader of the two replicas that are deployed, as planned and not. How
// long it may take is a matter of the benchmarks.
func takeover() {
	var c *v1beta1.EtcdCluster

	BeforeAll(func() {
		Expect(api.Get(ctx, deployment, &appsv1.Deployment{})).To(Succeed(), "make images deploy")
		runDeployed(2)
		c = create(newCluster(newNamespace(), "led", oneMember))
	})
	BeforeEach(func() { runDeployed(2) })

	It("fault 11: a leader whose Pod is deleted gives its lease away, and another Pod leads", Label("gate"), func() {
		leader, seen := holder(), watchLease()
		old := seen.Holder()
		begun := time.Now()
		Expect(api.Delete(ctx, leader)).To(Succeed())
		seen.PassesFrom(old) // whether it was given away is seen below
		isActedUpon(c)

		all := seen.Tenures()
		Expect(len(all)).To(BeNumerically(">=", 3), "%v", all)
		Expect(witness.HoldersOf(all[:3])).To(HaveExactElements(old, "", Not(HavePrefix(leader.Name+"_"))), "one at a time")
		Expect(witness.HoldersOf(all[3:])).NotTo(ContainElement(old), "a busy machine may have the lease pass on, and not back")
		Expect(all[2].Transitions).To(Equal(all[0].Transitions + 1))
		measured("from the deletion of the leader's Pod to the next leader", all[2].Since.Sub(begun))
		measured("from the lease given away to the next leader", all[2].Since.Sub(all[1].Since))
	})

	It("fault 11: a leader that is killed loses its lease when it runs out, and another process leads", Label("long"), func() {
		if !isLocal() {
			Skip("kills a process: on the local cluster only")
		}
		leader, seen := holder(), watchLease()
		old := seen.Holder()
		Expect(api.Get(ctx, keyOf(leader), leader)).To(Succeed())
		process := processNamed(string(leader.UID), "etcd-operator")
		begun := time.Now()
		Expect(syscall.Kill(process, syscall.SIGKILL)).To(Succeed())
		seen.PassesFrom(old)
		isActedUpon(c)

		all := seen.Tenures() // the container that starts again in the same Pod stands for election too, as a new process
		Expect(witness.HoldersOf(all[:2])).To(HaveExactElements(old, Not(BeEmpty())), "one after the other")
		Expect(witness.HoldersOf(all[2:])).NotTo(ContainElement(old))
		Expect(all[1].Transitions).To(Equal(all[0].Transitions + 1))
		measured("from SIGKILL to the next leader", all[1].Since.Sub(begun))
	})
}
