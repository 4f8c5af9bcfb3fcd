// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// scheduledBackups are those that the operator makes by itself: at the times of a schedule, and before what cannot be taken back.
func scheduledBackups() {
	var c *v1beta1.EtcdCluster
	var data map[string]string

	BeforeAll(func() {
		namespace := newNamespace()
		startOperator(namespace)
		newVolumeStore(namespace, "offsite")
		c = create(newCluster(namespace, "planned", oneMember, ofVersion("3.5.35"), func(spec *v1beta1.EtcdClusterSpec) {
			spec.Backup = &v1beta1.Backup{Store: "offsite", Schedule: "* * * * *", Retention: &v1beta1.Retention{Count: 1}}
		}))
		data = fill(c)
	})

	It("are made on time and verified, and the older ones go with what is stored", func() {
		var first v1beta1.EtcdBackup
		Eventually(func(g Gomega) {
			all := verifiedBackups(g, c)
			g.Expect(all).NotTo(BeEmpty())
			first = all[len(all)-1]
		}).Should(Succeed())
		files := partsOf(&first)
		Eventually(func(g Gomega) { // others may be made meanwhile: a busy machine takes longer than a minute for one
			all := verifiedBackups(g, c)
			g.Expect(all).NotTo(BeEmpty())
			g.Expect(all[0].Name > first.Name).To(BeTrue(), all[0].Name)
			newest := read(g, c).Status.Backup.Verified
			g.Expect(newest).NotTo(BeNil())
			g.Expect(newest.Name > first.Name).To(BeTrue(), newest.Name)
		}).Should(Succeed())
		for _, file := range files {
			Expect(file).NotTo(BeAnExistingFile())
		}
		Eventually(func(g Gomega) {
			backedUp := conditionIn(read(g, c).Status.Backup.Conditions, v1beta1.ConditionBackedUp)
			g.Expect(backedUp).To(HaveField("Reason", v1beta1.ReasonBackedUp))
		}).Should(Succeed())
		tells(c, "BackupScheduled", "BackupExpired")
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.Backup.Suspend = true })).To(Succeed())
	})

	It("are waited for before another minor version", func() {
		Expect(edit(c, ofVersion("3.6.16"))).To(Succeed())
		settles(c)
		Expect(running(c)).To(HaveEach("3.6.16"))
		before := onlyBackup(Default, c, "planned-before-3.6-")
		Expect(before.Status.EtcdVersion).To(Equal("3.5.35"))
		isVerified(before)
	})

	It("hold an upgrade for as long as they cannot be made, unless it is told to go on without", func() {
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) {
			spec.Version, spec.Backup = "3.7.3", &v1beta1.Backup{Store: "nowhere"}
		})).To(Succeed())
		says(c, v1beta1.ConditionProgressing, v1beta1.ReasonWaiting, "before the change to etcd 3.7")
		says(c, v1beta1.ConditionProgressing, v1beta1.ReasonWaiting, "nowhere")
		stays(3*time.Second, func(g Gomega) { g.Expect(running(c)).To(HaveEach("3.6.16")) })
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.Upgrade.Backup = v1beta1.SkipBackup })).To(Succeed())
		settles(c)
		Expect(running(c)).To(HaveEach("3.7.3"))
	})

	It("are made before a hibernation", func() {
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) {
			spec.Size, spec.Upgrade.Backup, spec.Backup = ptr.To[int32](0), v1beta1.RequireBackup, &v1beta1.Backup{Store: "offsite"}
		})).To(Succeed())
		sleeps(c, 1)
		isVerified(onlyBackup(Default, c, "planned-before-hibernation-"))
		resize(c, 1)
		Expect(filled(c)).To(Equal(data))
	})

	It("are the last that happens to a cluster whose volumes go with it", func() {
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.Backup, spec.DeletionPolicy = nil, v1beta1.BackupFirst })).
			To(MatchError(ContainSubstring("spec.backup")))
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.DeletionPolicy = v1beta1.BackupFirst })).To(Succeed())
		settles(c)
		Expect(api.Delete(ctx, c)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(client.IgnoreNotFound(api.Get(ctx, keyOf(c), c))).To(Succeed())
			g.Expect(claimsOf(g, c)).To(BeEmpty())
		}).Should(Succeed())
		last := onlyBackup(Default, c, "planned-final-")
		isVerified(last)
		again := create(newCluster(c.Namespace, "again", oneMember, restoring(last.Name), ofVersion("3.7.3")))
		Expect(filled(again)).To(Equal(data))
	})
}

// verifiedBackups are those of the schedule, oldest first: a year is in their names.
func verifiedBackups(g Gomega, c *v1beta1.EtcdCluster) []v1beta1.EtcdBackup {
	all := slices.DeleteFunc(backupsOf(g, c.Namespace), func(b v1beta1.EtcdBackup) bool {
		return !strings.HasPrefix(b.Name, c.Name+"-2") || b.Status.Verified == nil
	})
	slices.SortFunc(all, func(a, b v1beta1.EtcdBackup) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// onlyBackup is the one whose name begins so.
func onlyBackup(g Gomega, c *v1beta1.EtcdCluster, prefix string) *v1beta1.EtcdBackup {
	var found []v1beta1.EtcdBackup
	for _, b := range backupsOf(g, c.Namespace) {
		if strings.HasPrefix(b.Name, prefix) {
			found = append(found, b)
		}
	}
	g.Expect(found).To(HaveLen(1), prefix)
	return &found[0]
}
