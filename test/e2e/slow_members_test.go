// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/test/e2e/internal/netfault"
)

// standstill is longer than three elections, and shorter than what the kubelet
// takes for a process that is dead.
const standstill = 30 * time.Second

// slowProcesses stand still, and do not know it afterwards.
func slowProcesses(u *undisturbed) {
	for _, role := range roles {
		It("fault 33: "+role+" that stands still for half a minute and goes on is not replaced", func() {
			member := u.chosen(role)
			_, others := netfault.Split(networks(u.c), member)
			process := processOf(u.before[member])
			resume := func() { _ = syscall.Kill(process, syscall.SIGCONT) }
			DeferCleanup(resume)
			restarted := restarts(u.c)
			elections := u.during(func() {
				Expect(syscall.Kill(process, syscall.SIGSTOP)).To(Succeed())
				begun := time.Now()
				u.stays(others...)
				says(u.c, v1beta1.ConditionDegraded, v1beta1.ReasonMemberDown, member+" not healthy")
				time.Sleep(standstill - time.Since(begun))
				resume()
			})
			u.costsLittle(role, elections)
			Expect(restarts(u.c)).To(Equal(restarted), "no container was restarted")
		})
	}
}

// leavesSlow waits until the member is found slow and does not lead. One that has begun to run a moment ago is not compared for two
// minutes.
func leavesSlow(c *v1beta1.EtcdCluster, member string) {
	GinkgoHelper()
	begun := time.Now()
	Eventually(func(g Gomega) {
		g.Expect(read(g, c).Status.Anomalies).To(ContainElement(HaveField("Member", member)))
		g.Expect(leaderOf(g, c)).NotTo(Equal(member))
	}).Should(Succeed())
	AddReportEntry("another one leads", time.Since(begun).Round(time.Second).String())
	says(c, v1beta1.ConditionPerformanceDegraded, v1beta1.ReasonSlowMember, member+" is slower than the others: fsync")
}

// slowDisks make every write to a log wait.
func slowDisks(u *undisturbed) {
	for i, role := range []string{oneFollower, theLeader} {
		It(fmt.Sprintf("fault %d: ", 31+i)+role+" whose disk takes half a second a write is not replaced", func() {
			member := u.chosen(role)
			_, others := netfault.Split(networks(u.c), member)
			address := pod(u.c, member).Status.PodIP
			slow := diskOf(processOf(u.before[member]))
			DeferCleanup(slow, 0)
			elections := u.during(func() {
				count, sum := syncs(address)
				slow(operationsPerSecond)
				u.stays(others...)
				after, total := syncs(address)
				mean := (total - sum) / (after - count)
				AddReportEntry("each write to the log", fmt.Sprintf("%.3f s, %.0f of them", mean, after-count))
				Expect(after).To(BeNumerically(">", count), "the disk is slow, not dead")
				Expect(mean).To(BeNumerically(">", 0.3), "the disk is as slow as it should be")
				slow(0)
			})
			AddReportEntry("longest time without a write", u.gap.String())
			if role == oneFollower { // a leader leads on, or loses an election: both is etcd's
				u.costsLittle(oneFollower, elections)
			}
		})
	}

	It("fault 32: the leader whose disk takes a tenth of a second a write does not lead on", func() {
		member := u.chosen(theLeader)
		slow := diskOf(processOf(u.before[member]))
		DeferCleanup(slow, 0)
		u.during(func() {
			slow(10 * operationsPerSecond)
			leavesSlow(u.c, member)
			slow(0)
		})
	})
}
