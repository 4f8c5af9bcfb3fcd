// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// drills are failures that an EtcdDrill simulates, with what it measures of them.
func drills() {
	var c *v1beta1.EtcdCluster
	var data map[string]string

	BeforeAll(func() {
		namespace := newNamespace()
		startOperator(namespace)
		newVolumeStore(namespace, "offsite")
		c = create(newCluster(namespace, "drilled", func(spec *v1beta1.EtcdClusterSpec) { spec.Drills = v1beta1.DrillsAllowed }))
		data = fill(c)
	})

	AfterEach(func() {
		settles(c)
		Expect(filled(c)).To(Equal(data), "and nothing of the drill stays in etcd")
		Eventually(func(g Gomega) {
			var jobs batchv1.JobList
			g.Expect(api.List(ctx, &jobs, client.InNamespace(c.Namespace), client.HasLabels{v1beta1.LabelDrill})).To(Succeed())
			g.Expect(jobs.Items).To(BeEmpty())
		}).Should(Succeed())
	})

	It("are refused where the cluster does not allow them, and touch nothing", func() {
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.Drills = v1beta1.DrillsForbidden })).To(Succeed())
		settles(c)
		before := uids(c)
		d := begin(c, v1beta1.KillAll)
		ends(d, v1beta1.DrillRefused)
		Expect(conditionIn(d.Status.Conditions, v1beta1.ConditionComplete)).To(HaveField("Reason", v1beta1.ReasonDrillsForbidden))
		Expect(uids(c)).To(Equal(before))
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.Drills = v1beta1.DrillsAllowed })).To(Succeed())
	})

	It("kill a follower, and no other member", Label("gate"), func() {
		before := uids(c)
		d := begin(c, v1beta1.KillMember)
		ends(d, v1beta1.DrillRecovered)
		isMeasured(d, 1)
		killed := d.Status.Targets[0].Member
		for name, uid := range uids(c) {
			Expect(uid == before[name]).To(Equal(name != killed), name)
		}
		tells(c, "DrillStarted", "DrillRecovered")
	})

	It("kill the leader, one drill after the other", func() {
		_, leader, _ := standing(c)
		first, second := begin(c, v1beta1.KillLeader), begin(c, v1beta1.KillLeader)
		ends(first, v1beta1.DrillRecovered)
		ends(second, v1beta1.DrillRecovered)
		for _, d := range []*v1beta1.EtcdDrill{first, second} {
			isMeasured(d, 1)
		}
		Expect([]string{first.Status.Targets[0].Member, second.Status.Targets[0].Member}).To(ContainElement(leader))
		apart := first.Status.EndedAt.Before(second.Status.StartedAt) || second.Status.EndedAt.Before(first.Status.StartedAt)
		Expect(apart).To(BeTrue(), "%+v, %+v", first.Status, second.Status)
	})

	It("wait for a backup before all members are killed, and measure how long nothing can be written", func() {
		d := begin(c, v1beta1.KillAll)
		Eventually(func(g Gomega) {
			g.Expect(api.Get(ctx, keyOf(d), d)).To(Succeed())
			g.Expect(conditionIn(d.Status.Conditions, v1beta1.ConditionComplete)).To(HaveField("Reason", v1beta1.ReasonNoRecentBackup))
		}).Should(Succeed())
		back(c, "offsite", "for-drills")
		ends(d, v1beta1.DrillRecovered)
		isMeasured(d, 3)
		Expect(d.Status.DetectedAt).NotTo(BeNil())
	})

	It("lose a volume, and the member is replaced", Label("long"), func() {
		d := begin(c, v1beta1.LoseVolume)
		ends(d, v1beta1.DrillRecovered)
		isMeasured(d, 1)
		Expect(membersOf(Default, c)).NotTo(HaveKey(d.Status.Targets[0].Member))
	})

	It("measure a failure that something else causes", func() {
		d := begin(c, v1beta1.Measure, func(spec *v1beta1.EtcdDrillSpec) { spec.Duration = &metav1.Duration{Duration: 30 * time.Second} })
		Eventually(func(g Gomega) {
			g.Expect(api.Get(ctx, keyOf(d), d)).To(Succeed())
			g.Expect(d.Status.StartedAt).NotTo(BeNil())
		}).Should(Succeed())
		_, leader, _ := standing(c)
		Expect(api.Delete(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: leader}})).To(Succeed())
		ends(d, v1beta1.DrillRecovered)
		isMeasured(d, 0)
		Expect(d.Status.ReleasedAt).NotTo(BeNil())
	})

	It("restore the newest backup into a cluster that is thrown away", func() {
		before := uids(c)
		expected := v1beta1.DrillExpectation{Prefix: "data/", Min: new(int64(len(data))), Max: new(int64(len(data)))}
		d := begin(c, v1beta1.RestoreBackup, func(spec *v1beta1.EtcdDrillSpec) {
			spec.Expect = []v1beta1.DrillExpectation{expected, {Key: "data/007", Value: new("7 squared is 49")}, {Key: "data/199"}}
		})
		ends(d, v1beta1.DrillRecovered)
		GinkgoWriter.Println(d.Status.Report)
		Expect(d.Status.Keys).To(HaveValue(Equal(*d.Status.Backup.Keys)))
		Expect(d.Status.Report).To(ContainSubstring("3 expectations are met"))
		Eventually(func(g Gomega) {
			var all v1beta1.EtcdClusterList
			g.Expect(api.List(ctx, &all, client.InNamespace(c.Namespace))).To(Succeed())
			g.Expect(all.Items).To(HaveLen(1))
			var claims corev1.PersistentVolumeClaimList
			ofRestored := client.MatchingLabels{v1beta1.LabelCluster: d.Status.Restored}
			g.Expect(api.List(ctx, &claims, client.InNamespace(c.Namespace), ofRestored)).To(Succeed())
			g.Expect(claims.Items).To(BeEmpty())
		}).Should(Succeed())
		Expect(uids(c)).To(Equal(before))
	})

	It("say what a restored backup does not have that was expected, and no value", func() {
		d := begin(c, v1beta1.RestoreBackup, func(spec *v1beta1.EtcdDrillSpec) {
			spec.Expect = []v1beta1.DrillExpectation{
				{Prefix: "data/", Min: new(int64(1000))}, {Key: "data/007", Value: new("50")}, {Key: "data/200"}, {Key: "data/000"},
			}
		})
		ends(d, v1beta1.DrillFailed)
		Expect(conditionIn(d.Status.Conditions, v1beta1.ConditionComplete)).To(HaveField("Reason", v1beta1.ReasonNotAsExpected))
		Expect(d.Status.Report).To(And(
			ContainSubstring("prefix data/ has 200 keys, and at least 1000 are expected"), ContainSubstring("key data/007 has another value"),
			ContainSubstring("key data/200 does not exist"), Not(ContainSubstring("squared")), Not(ContainSubstring("data/000")),
		))
		Eventually(func(g Gomega) {
			var all v1beta1.EtcdClusterList
			g.Expect(api.List(ctx, &all, client.InNamespace(c.Namespace))).To(Succeed())
			g.Expect(all.Items).To(HaveLen(1))
		}).Should(Succeed())
	})

	It("lose the quorum of a cluster that is thrown away, and recover it, by a schedule", Label("long"), func() {
		back(c, "offsite", "before-drill")
		before := uids(c)
		at := time.Now().Add(2 * time.Minute).UTC()
		d := begin(c, v1beta1.LoseQuorum, func(spec *v1beta1.EtcdDrillSpec) {
			spec.Schedule = fmt.Sprintf("%d %d * * *", at.Minute(), at.Hour())
		})
		Eventually(func(g Gomega) {
			g.Expect(api.Get(ctx, keyOf(d), d)).To(Succeed())
			g.Expect(d.Status.NextAt).To(HaveValue(HaveField("Time", BeTemporally("~", at, time.Minute))))
			g.Expect(d.Status.Phase).To(Equal(v1beta1.DrillPending))
		}).Should(Succeed())
		ends(d, v1beta1.DrillRecovered)
		GinkgoWriter.Println(d.Status.Report)
		Expect(d.Status.Keys).To(HaveValue(Equal(*d.Status.Backup.Keys)))
		Expect(d.Status.Targets).To(HaveLen(2))
		Eventually(func(g Gomega) {
			g.Expect(api.Get(ctx, keyOf(d), d)).To(Succeed())
			g.Expect(d.Status.NextAt).To(HaveValue(HaveField("Time", BeTemporally("~", at.Add(24*time.Hour), time.Minute))))
			var all v1beta1.EtcdClusterList
			g.Expect(api.List(ctx, &all, client.InNamespace(c.Namespace))).To(Succeed())
			g.Expect(all.Items).To(HaveLen(1))
		}).Should(Succeed())
		Expect(uids(c)).To(Equal(before))
		Expect(api.Delete(ctx, d)).To(Succeed())
	})

	It("that are deleted half way leave nothing behind", Label("long"), func() {
		d := begin(c, v1beta1.Measure, func(spec *v1beta1.EtcdDrillSpec) {
			spec.Duration = &metav1.Duration{Duration: time.Hour}
		})
		Eventually(func(g Gomega) {
			g.Expect(api.Get(ctx, keyOf(d), d)).To(Succeed())
			g.Expect(d.Status.StartedAt).NotTo(BeNil())
		}).Should(Succeed())
		Expect(api.Delete(ctx, d)).To(Succeed())
		Eventually(func() error { return client.IgnoreNotFound(api.Get(ctx, keyOf(d), d)) }).Should(Succeed())
	})

	It("are written by root where etcd answers its users only", Label("long"), func() {
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.Auth.Enabled = true })).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(conditionOf(read(g, c), "AuthEnabled")).To(HaveField("Status", metav1.ConditionTrue))
		}).Should(Succeed())
		settles(c)
		d := begin(c, v1beta1.KillLeader)
		ends(d, v1beta1.DrillRecovered)
		isMeasured(d, 1)
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.Auth.Enabled = false })).To(Succeed())
	})
}

// begin creates a drill.
func begin(c *v1beta1.EtcdCluster, action v1beta1.DrillAction, changes ...func(*v1beta1.EtcdDrillSpec)) *v1beta1.EtcdDrill {
	GinkgoHelper()
	d := &v1beta1.EtcdDrill{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, GenerateName: "drill-"},
		Spec:       v1beta1.EtcdDrillSpec{Cluster: c.Name, Action: action},
	}
	for _, change := range changes {
		change(&d.Spec)
	}
	Expect(api.Create(ctx, d)).To(Succeed())
	return d
}

// ends waits for the end of a drill, in that phase.
func ends(d *v1beta1.EtcdDrill, phase v1beta1.DrillPhase) {
	GinkgoHelper()
	Eventually(func(g Gomega, ctx context.Context) {
		g.Expect(api.Get(ctx, keyOf(d), d)).To(Succeed())
		g.Expect(d.Status.Phase).To(Equal(phase), fmt.Sprintf("%+v", d.Status))
	}).WithContext(ctx).Should(Succeed())
}

// isMeasured wants all figures of a drill that has recovered.
func isMeasured(d *v1beta1.EtcdDrill, targets int) {
	GinkgoHelper()
	s := d.Status
	GinkgoWriter.Println(s.Report)
	Expect(s.Targets).To(HaveLen(targets))
	Expect(s.Writes).To(HaveValue(BeNumerically(">=", 20)))
	Expect(s.LongestGap.Duration).To(BeNumerically(">=", 10*time.Millisecond))
	Expect(s.RecoveredIn.Duration).To(BeNumerically(">=", 0))
	Expect(s.Report).To(ContainSubstring("acknowledged"))
}

// isDrilled kills a member, and restores the newest backup of the cluster into one that is thrown away.
func isDrilled(c *v1beta1.EtcdCluster) {
	GinkgoHelper()
	resize(c, 3)
	Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.Drills = v1beta1.DrillsAllowed })).To(Succeed())
	settles(c)
	kill := begin(c, v1beta1.KillMember)
	ends(kill, v1beta1.DrillRecovered)
	isMeasured(kill, 1)
	back(c, "offsite", "to-drill") // a restore in place has made another cluster of it since the last one
	restore := begin(c, v1beta1.RestoreBackup)
	ends(restore, v1beta1.DrillRecovered)
	Expect(restore.Status.Keys).To(HaveValue(Equal(*restore.Status.Backup.Keys)))
	settles(c)
}
