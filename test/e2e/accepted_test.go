// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// acceptedBackups are restored where quorum is lost for good, once a person has accepted that by their name.
func acceptedBackups() {
	var c *v1beta1.EtcdCluster
	var o *operator
	var data map[string]string
	var backup *v1beta1.EtcdBackup
	var accept string

	BeforeAll(func() {
		namespace := newNamespace()
		o = startOperator(namespace)
		c = newCluster(namespace, "doomed")
		Expect(api.Create(ctx, c)).To(Succeed())
		newVolumeStore(namespace, "offsite")
		settles(c)
		data = fill(c)
		backup = back(c, "offsite", "nightly")
		accept = fmt.Sprintf("backup/nightly@%d", backup.Status.Revision)
		put(c, "after", "the backup")
	})

	It("fault 20: are named beside the survivor, with what each loses", func() {
		latest := revision(c)
		lose(c, "doomed-1", "doomed-2")
		says(c, v1beta1.ConditionDegraded, v1beta1.ReasonActionRequired, fmt.Sprintf("set spec.recovery.acceptDataLoss to %q", accept))
		says(c, v1beta1.ConditionDegraded, v1beta1.ReasonActionRequired,
			fmt.Sprintf("set spec.recovery.acceptDataLoss to \"doomed-0@%d\"", latest))
		Eventually(func(g Gomega) {
			loss := read(g, c).Status.QuorumLoss
			g.Expect(loss).To(HaveValue(HaveField("Accept", fmt.Sprintf("doomed-0@%d", latest))))
			g.Expect(loss.Backup).To(HaveValue(And(
				HaveField("Name", "nightly"), HaveField("Revision", backup.Status.Revision), HaveField("Accept", accept),
				HaveField("Lost", HaveValue(Equal(latest-backup.Status.Revision))))))
		}).Should(Succeed())
	})

	It("fault 20: are not restored when another revision or another backup is accepted", func() {
		Eventually(func(g Gomega) { g.Expect(podsOf(g, c.Namespace, ours(c))).To(HaveLen(1)) }).Should(Succeed())
		before := uids(c)
		for _, wrong := range []string{accept + "0", fmt.Sprintf("backup/weekly@%d", backup.Status.Revision)} {
			Expect(edit(c, accepting(wrong))).To(Succeed())
			isSeen(c)
			says(c, v1beta1.ConditionDegraded, v1beta1.ReasonActionRequired, fmt.Sprintf("acceptDataLoss is %q, which is not offered", wrong))
			stays(3*time.Second, func(g Gomega) {
				g.Expect(restoresOf(g, c)).To(BeEmpty(), wrong)
				g.Expect(uids(c)).To(Equal(before), wrong)
			})
		}
		Expect(edit(c, accepting("backup/nightly"))).To(MatchError(ContainSubstring("or what status.quorumLoss.backup.accept says")))
	})

	It("fault 20: are restored in place, once, when that is accepted", func() {
		Expect(edit(c, accepting(accept))).To(Succeed())
		var er *v1beta1.EtcdRestore
		Eventually(func(g Gomega) {
			made := restoresOf(g, c)
			g.Expect(made).To(HaveLen(1))
			er = &made[0]
		}).Should(Succeed())
		tells(c, "RestoreCreated", "RestorePlanned") // before the restart: an operator that goes down takes along the events that it has not sent
		if o.Proxy != nil {
			o.restart()
		}
		reaches(er, v1beta1.RestoreComplete)
		settles(c)
		Expect(namesOf(c)).To(Equal([]string{"doomed-3", "doomed-4", "doomed-5"}))
		Expect(filled(c)).To(Equal(data))
		Expect(now(c).Status.QuorumLoss).To(BeNil())
		Expect(er.Spec.Confirm).To(BeEmpty())
		Expect(er.Status.SetAside).To(Equal([]string{"doomed-0"}))
		tells(c, "VolumesRestored", "MembersRestored", "Restored")
		stays(5*time.Second, func(g Gomega) { g.Expect(restoresOf(g, c)).To(HaveLen(1)) })
		put(c, "after", "the restore")
	})

	It("fault 21: are all that is left when every volume is lost", func() {
		second := back(c, "offsite", "second")
		lose(c, namesOf(c)...)
		accept := fmt.Sprintf("backup/second@%d", second.Status.Revision)
		says(c, v1beta1.ConditionDegraded, v1beta1.ReasonActionRequired, "no voter is left; EtcdBackup second is the newest verified backup")
		Eventually(func(g Gomega) {
			g.Expect(read(g, c).Status.QuorumLoss).To(HaveValue(And(HaveField("Accept", ""), HaveField("Backup.Accept", accept))))
		}).Should(Succeed())
		Expect(edit(c, accepting(accept))).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(conditionOf(read(g, c), v1beta1.ConditionAvailable).Status).To(Equal(metav1.ConditionTrue))
			g.Expect(read(g, c).Status.Restore).To(HaveValue(And(HaveField("Backup", "second"), HaveField("CompletedAt", Not(BeNil())))))
		}).Should(Succeed())
		settles(c)
		Expect(filled(c)).To(Equal(data))
		discard(c)
	})
}

func restoresOf(g Gomega, c *v1beta1.EtcdCluster) []v1beta1.EtcdRestore {
	var all v1beta1.EtcdRestoreList
	g.Expect(api.List(ctx, &all, client.InNamespace(c.Namespace))).To(Succeed())
	return all.Items
}
