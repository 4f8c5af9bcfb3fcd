// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// Two values of one length: etcd keeps no sum of what is in its database.
const good, bad = "the value of all members", "the value of a bad member"

// differingData gives a follower another value than the others have, and then raises the alarm
// as etcd's own checks do.
func differingData() {
	if !isLocal() {
		Skip("writes to a member's volume: on the local cluster only")
	}
	namespace := newNamespace()
	startOperator(namespace)
	c := create(newCluster(namespace, "differ", unchecked))
	put(c, "key", good+".")
	victim, others := aFollower(c)
	known, before := members(c), uids(c)

	By("exchanging a value in the database of " + victim.Name)
	database := filepath.Join(dataOf(c, victim.Name), "snap", "db")
	Eventually(func(g Gomega) { g.Expect(os.ReadFile(database)).To(ContainSubstring(good)) }).Should(Succeed())
	killAfter(c, victim.Name, func() { exchange(database, good+".", bad) })
	settles(c)

	By("raising the alarm")
	alarm(c, etcdserverpb.AlarmRequest_ACTIVATE, known[victim.Name])
	Eventually(membersOf).WithArguments(c, others[0]).Should(Not(HaveKey(victim.Name)))
	settles(c)
	put(c, "key", "after")
	Expect(value(c, "key")).To(Equal("after"))
	Eventually(quarantined).WithArguments(c).Should(ContainElement(victim.Name))
	Eventually(func(g Gomega) {
		g.Expect(notesOf(g, c)).To(ContainElements(
			ContainSubstring("detach "+victim.Name+" from the client service"),
			ContainSubstring("remove member "+victim.Name+": its data is not that of the other voters"),
			ContainSubstring("disarm CORRUPT of member "+known[victim.Name]),
		))
	}).Should(Succeed())
	after := uids(c)
	for _, name := range others {
		Expect(after).To(HaveKeyWithValue(name, before[name]))
		Expect(members(c)).To(HaveKeyWithValue(name, known[name]))
	}
	alarmWithoutReason(c, others[0])
}

// unchecked has etcd start on any data.
func unchecked(spec *v1beta1.EtcdClusterSpec) {
	spec.Maintenance.CorruptionCheck = v1beta1.CorruptionCheckOff
}

// differingStart gives a follower another value while it restarts: etcd does not start on it.
func differingStart() {
	if !isLocal() {
		Skip("writes to a member's volume: on the local cluster only")
	}
	namespace := newNamespace()
	startOperator(namespace)
	c := create(newCluster(namespace, "checked"))
	put(c, "key", good+".")
	victim, others := aFollower(c)
	database := filepath.Join(dataOf(c, victim.Name), "snap", "db")
	Eventually(func(g Gomega) { g.Expect(os.ReadFile(database)).To(ContainSubstring(good)) }).Should(Succeed())
	killAfter(c, victim.Name, func() { exchange(database, good+".", bad) })
	Eventually(membersOf).WithArguments(c, others[0]).Should(Not(HaveKey(victim.Name)))
	put(c, "key", "after")
	settles(c)
	Eventually(quarantined).WithArguments(c).Should(ContainElement(victim.Name))
	Eventually(func(g Gomega) {
		g.Expect(notesOf(g, c)).To(ContainElement(ContainSubstring("its data is not that of the other voters, which have the same")))
		g.Expect(read(g, c).Status.LastHashCheck).To(And(
			HaveField("Verdict", v1beta1.HashesEqual), HaveField("Members", Not(ContainElement(victim.Name))),
		))
	}).Should(Succeed())
}

// differingWhileItRuns has a member run on other data, which nothing but a comparison shows.
func differingWhileItRuns() {
	if !isLocal() {
		Skip("writes to a member's volume: on the local cluster only")
	}
	namespace := newNamespace()
	startOperator(namespace)
	c := create(newCluster(namespace, "compared", unchecked))
	put(c, "key", good+".")
	victim, others := aFollower(c)
	database := filepath.Join(dataOf(c, victim.Name), "snap", "db")
	Eventually(func(g Gomega) { g.Expect(os.ReadFile(database)).To(ContainSubstring(good)) }).Should(Succeed())
	killAfter(c, victim.Name, func() { exchange(database, good+".", bad) })
	settles(c)
	By("asking for a comparison")
	annotated := now(c)
	metav1.SetMetaDataAnnotation(&annotated.ObjectMeta, v1beta1.AnnotationCheckHashes, "now")
	Expect(api.Update(ctx, annotated)).To(Succeed())
	Eventually(membersOf).WithArguments(c, others[0]).Should(Not(HaveKey(victim.Name)))
	settles(c)
	put(c, "key", "after")
	Eventually(quarantined).WithArguments(c).Should(ContainElement(victim.Name))
}

// alarmWithoutReason raises the alarm for a member whose data is good, and asks for a smaller cluster.
func alarmWithoutReason(c *v1beta1.EtcdCluster, member string) {
	By("raising the alarm for " + member)
	known, before := members(c), uids(c)
	alarm(c, etcdserverpb.AlarmRequest_ACTIVATE, known[member])
	Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.Size = ptr.To[int32](1) })).To(Succeed())
	says(c, v1beta1.ConditionAvailable, v1beta1.ReasonCorrupt, "CORRUPT of "+member)
	says(c, v1beta1.ConditionDegraded, v1beta1.ReasonActionRequired, "all voters have the same data")
	stays(aWhile, func(g Gomega) {
		g.Expect(uidsOf(g, c)).To(Equal(before))
		g.Expect(membersOf(g, c)).To(Equal(known))
	})
	Eventually(func(g Gomega) {
		connection := dialNow(g, c)
		defer connection.Close()
		_, err := connection.Put(ctx, "key", "refused")
		g.Expect(err).To(MatchError(rpctypes.ErrCorrupt))
	}).Should(Succeed())
	alarm(c, etcdserverpb.AlarmRequest_DEACTIVATE, known[member])
	settles(c)
	Expect(members(c)).To(HaveLen(1))
	Expect(value(c, "key")).To(Equal("after"))
}
