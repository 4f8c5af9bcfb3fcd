// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

func backups() {
	var c *v1beta1.EtcdCluster
	var first *v1beta1.EtcdBackup
	var data map[string]string

	BeforeAll(func() {
		namespace := newNamespace()
		startOperator(namespace)
		c = newCluster(namespace, "source")
		Expect(api.Create(ctx, c)).To(Succeed())
		newVolumeStore(namespace, "offsite")
		settles(c)
		data = fill(c)
	})

	It("are written by a follower, verified, and say what is in them", Label("gate"), func() {
		_, leader, _ := standing(c)
		first = back(c, "offsite", "first")
		Expect(first.Status.Source).NotTo(Equal(leader))
		Expect(first.Status.Revision).To(BeNumerically(">=", len(data)))
		Expect(first.Status.Keys).To(HaveValue(BeEquivalentTo(len(data))))
		Expect(first.Status.EtcdVersion).To(Equal("3.6.16"))
		Expect(first.Status.ClusterUID).To(BeEquivalentTo(c.UID))
		Expect(first.Status.Verified.Took.Duration).To(BeNumerically(">", 0))
	})

	It("are shown by kubectl get with their columns", func() {
		table := asTable("etcdbackups", first)
		Expect(table.column("Cluster")).To(Equal("source"))
		Expect(table.column("Revision")).To(BeEquivalentTo(first.Status.Revision))
		Expect(table.column("Size")).NotTo(BeEmpty())
		Expect(table.column("Verified")).To(Equal("True"))
	})

	It("leave no Job behind", func() {
		Eventually(jobsOf).WithArguments(c.Namespace).Should(BeEmpty())
	})

	It("are what a new cluster begins with: keys, users, roles and leases", Label("gate"), func() {
		ask(c, func(ctx context.Context, etcd *clientv3.Client) error {
			_, err := etcd.UserAdd(ctx, "reader", "password")
			return err
		})
		lease := leased(c, "data/leased", time.Hour)
		full := back(c, "offsite", "second")

		restored := create(newCluster(c.Namespace, "restored", restoring("second")))
		Expect(filled(restored)).To(And(HaveLen(len(data)+1), HaveKeyWithValue("data/leased", "leased")))
		Eventually(func(g Gomega) { // it is written down a moment after the cluster serves
			g.Expect(read(g, restored).Status.Restore).To(And(
				HaveField("Backup", "second"), HaveField("Revision", full.Status.Revision), HaveField("CompletedAt", Not(BeNil()))))
		}).Should(Succeed())
		Expect(now(restored).Status.ClusterID).NotTo(Equal(now(c).Status.ClusterID))
		ask(restored, func(ctx context.Context, etcd *clientv3.Client) error {
			users, err := etcd.UserList(ctx)
			if err != nil {
				return err
			}
			Expect(users.Users).To(Equal([]string{"reader"}))
			answer, err := etcd.TimeToLive(ctx, lease)
			if err != nil {
				return err
			}
			Expect(answer.TTL).To(BeNumerically(">", 0))
			Expect(answer.ResponseHeader.Revision).To(BeNumerically(">", full.Status.Revision))
			return nil
		})
		resize(restored, 1)
		resize(restored, 3)
		Expect(filled(restored)).To(HaveLen(len(data) + 1))
		tells(restored, "Restored")
		discard(restored)
	})

	It("fault 58: that somebody has deleted from the store are told to be gone, are not restored, and are back when their content is", func() {
		lost := first
		complete := conditionIn(lost.Status.Conditions, v1beta1.ConditionComplete)
		time.Sleep(time.Until(complete.LastTransitionTime.Add(65 * time.Second))) // of a younger one no list proves that it is gone
		content := filepath.Join(folderOf(c.Namespace, "offsite"), lost.Status.Path)
		Expect(os.Rename(content, content+".away")).To(Succeed())
		lookIn(c.Namespace, "offsite")
		completeIs(lost, metav1.ConditionFalse, v1beta1.ReasonContentGone)
		nothing := newCluster(c.Namespace, "from-lost", restoring(lost.Name), oneMember)
		Expect(api.Create(ctx, nothing)).To(Succeed())
		says(nothing, v1beta1.ConditionDegraded, v1beta1.ReasonActionRequired, lost.Name)
		Expect(pods(nothing)).To(BeEmpty())
		discard(nothing)
		Expect(os.Rename(content+".away", content)).To(Succeed())
		lookIn(c.Namespace, "offsite")
		completeIs(lost, metav1.ConditionTrue, "")
	})

	It("are found again by whoever has nothing but the store", func() {
		Expect(api.Delete(ctx, first)).To(Succeed())
		Eventually(func() bool { return apierrors.IsNotFound(api.Get(ctx, keyOf(first), &v1beta1.EtcdBackup{})) }).Should(BeTrue())
		lookIn(c.Namespace, "offsite")
		var again *v1beta1.EtcdBackup
		Eventually(func(g Gomega) {
			again = nil
			for _, b := range backupsOf(g, c.Namespace) {
				if b.Status.Path == first.Status.Path && b.UID != first.UID {
					again = &b
				}
			}
			g.Expect(again).NotTo(BeNil())
			g.Expect(again.Spec.Found).To(Equal(first.Status.Path))
			g.Expect(again.Status).To(And(HaveField("Revision", first.Status.Revision), HaveField("Cluster", "source")))
		}).WithTimeout(6 * time.Minute).Should(Succeed())
		first = again
	})

	It("fault 58: that were damaged are found out before anything is restored from them", func() {
		bad := back(c, "offsite", "bad")
		damageFile(partsOf(bad)[0])
		restored := newCluster(c.Namespace, "unharmed", restoring("bad"), oneMember)
		Expect(api.Create(ctx, restored)).To(Succeed())
		says(restored, v1beta1.ConditionDegraded, v1beta1.ReasonActionRequired, "corrupt")
		Expect(pods(restored)).To(BeEmpty())
		verifyAgain(bad)
		backupSays(bad, v1beta1.ConditionVerified, v1beta1.ReasonJobCorrupt, "corrupt")
		discard(restored)
	})

	It("are deleted from the store if that is asked for", func() {
		gone := back(c, "offsite", "gone", func(spec *v1beta1.EtcdBackupSpec) { spec.DeletionPolicy = v1beta1.DeleteBackup })
		Expect(partsOf(gone)).NotTo(BeEmpty())
		files := partsOf(gone)
		Expect(api.Delete(ctx, gone)).To(Succeed())
		Eventually(func() error { return api.Get(ctx, keyOf(gone), gone) }).ShouldNot(Succeed())
		for _, file := range files {
			Expect(file).NotTo(BeAnExistingFile())
		}
	})

	It("quote what they wait for", func() {
		waiting := newBackup(c, "nowhere", "waiting")
		Expect(api.Create(ctx, waiting)).To(Succeed())
		backupSays(waiting, v1beta1.ConditionComplete, v1beta1.ReasonStoreMissing, "nowhere")
		Expect(api.Delete(ctx, waiting)).To(Succeed())
		Eventually(func() error { return api.Get(ctx, keyOf(waiting), waiting) }).ShouldNot(Succeed())

		nothing := newCluster(c.Namespace, "nothing", restoring("no-such-backup"), oneMember)
		Expect(api.Create(ctx, nothing)).To(Succeed())
		says(nothing, v1beta1.ConditionDegraded, v1beta1.ReasonActionRequired, "no-such-backup")
		Expect(pods(nothing)).To(BeEmpty())
		Expect(claims(nothing)).To(BeEmpty())
		discard(nothing)
	})
}

// leased writes a key that ends with a lease.
func leased(c *v1beta1.EtcdCluster, key string, lasts time.Duration) clientv3.LeaseID {
	GinkgoHelper()
	var id clientv3.LeaseID
	ask(c, func(ctx context.Context, etcd *clientv3.Client) error {
		lease, err := etcd.Grant(ctx, int64(lasts/time.Second))
		if err != nil {
			return err
		}
		id = lease.ID
		_, err = etcd.Put(ctx, key, key[strings.LastIndex(key, "/")+1:], clientv3.WithLease(id))
		return err
	})
	return id
}

// verifyAgain asks for another trial.
func verifyAgain(backup *v1beta1.EtcdBackup) {
	GinkgoHelper()
	readBackup(Default, backup)
	before := client.MergeFrom(backup.DeepCopy())
	backup.Annotations = map[string]string{v1beta1.AnnotationVerifyOnce: time.Now().Format(time.RFC3339)}
	Expect(api.Patch(ctx, backup, before)).To(Succeed())
}
