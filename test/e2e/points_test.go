// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// singlePoints are sentences of the guides that no other spec sees in a real cluster. One member is enough for each.
func singlePoints() {
	var c *v1beta1.EtcdCluster
	var store *v1beta1.EtcdBackupStore
	var first *v1beta1.EtcdBackup

	BeforeAll(func() {
		namespace := newNamespace()
		startOperator(namespace)
		DeferCleanup(usersGo, namespace)
		c = newCluster(namespace, "one", oneMember)
		Expect(api.Create(ctx, c)).To(Succeed())
		store = newVolumeStore(namespace, "offsite")
		settles(c)
		put(c, "key", "first")
		first = back(c, "offsite", "first")
	})

	It("a preview counts what was written since the backup", func() {
		put(c, "key", "second")
		er := newRestore(c, "look", "first")
		Expect(api.Create(ctx, er)).To(Succeed())
		reaches(er, v1beta1.RestorePreviewed)
		Expect(er.Status.Preview.LostRevisions).To(HaveValue(BeNumerically(">=", 1)))
		Expect(api.Delete(ctx, er)).To(Succeed())
	})

	It("a Service for clients that was made a NodePort is set back, and an event says what to do instead", func() {
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: c.Name + "-client"}}
		Expect(api.Patch(ctx, service, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"type":"NodePort"}}`)))).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(api.Get(ctx, keyOf(service), service)).To(Succeed())
			g.Expect(service.Spec.Type).To(Equal(corev1.ServiceTypeClusterIP))
		}).Should(Succeed())
		Eventually(notesOf).WithArguments(c, "ObjectsApplied").Should(ContainElement(And(
			ContainSubstring("its type was changed, and is set back"), ContainSubstring("set spec.clientService.type"))))
	})

	It("two clusters that begin with one backup have no revision in common", func() {
		a := create(newCluster(c.Namespace, "a", oneMember, restoring("first")))
		had := revision(a)
		b := create(newCluster(c.Namespace, "b", oneMember, restoring("first")))
		Expect(revision(b)).To(BeNumerically(">", had))
		Expect(value(b, "key")).To(Equal(value(a, "key")))
		discard(a)
		discard(b)
	})

	It("a backup that is put back without its status stands for what the store has, and no other one is made", func() {
		readBackup(Default, first)
		folder := filepath.Dir(filepath.Join(folderOf(c.Namespace, "offsite"), first.Status.Path))
		before, err := os.ReadDir(folder)
		Expect(err).NotTo(HaveOccurred())
		again := &v1beta1.EtcdBackup{
			ObjectMeta: metav1.ObjectMeta{Namespace: first.Namespace, Name: first.Name, Annotations: first.Annotations}, Spec: first.Spec,
		}
		Expect(api.Delete(ctx, first)).To(Succeed())
		Eventually(func() bool { return apierrors.IsNotFound(api.Get(ctx, keyOf(first), &v1beta1.EtcdBackup{})) }).Should(BeTrue())
		Expect(api.Create(ctx, again)).To(Succeed())
		completeIs(again, metav1.ConditionTrue, "")
		Expect(again.Status).To(And(HaveField("Path", first.Status.Path), HaveField("Revision", first.Status.Revision)))
		after, err := os.ReadDir(folder)
		Expect(err).NotTo(HaveOccurred())
		Expect(after).To(HaveLen(len(before)))
	})

	It("a backup of which a part is gone restores nothing, and the cluster says so", func() {
		torn := back(c, "offsite", "torn")
		Expect(os.Remove(partsOf(torn)[0])).To(Succeed())
		bad := newCluster(c.Namespace, "bad", oneMember, restoring("torn"))
		Expect(api.Create(ctx, bad)).To(Succeed())
		says(bad, v1beta1.ConditionDegraded, v1beta1.ReasonActionRequired, "is not in the store, but in the manifest")
		Expect(pods(bad)).To(BeEmpty())
		discard(bad)
	})

	It("what a torn upload has left is deleted a day later, and no file of others", func() {
		top := folderOf(c.Namespace, "offsite")
		part := filepath.Join(top, filepath.Dir(first.Status.Path), "11111111-1111-4111-8111-111111111111", "a.000000.part")
		others := filepath.Join(top, "v1", "team-a", "reports", "2024", "x.csv")
		for _, file := range []string{part, others} {
			Expect(os.MkdirAll(filepath.Dir(file), 0o777)).To(Succeed())
			Expect(os.WriteFile(file, []byte("a;b\n"), 0o600)).To(Succeed())
			Expect(os.Chown(filepath.Dir(file), 65532, 65532)).To(Succeed())
			Expect(os.Chown(file, 65532, 65532)).To(Succeed())
			Expect(os.Chtimes(file, time.Time{}, time.Now().Add(-49*time.Hour))).To(Succeed())
		}
		lookIn(c.Namespace, "offsite")
		Eventually(func(g Gomega) {
			g.Expect(api.Get(ctx, keyOf(store), store)).To(Succeed())
			g.Expect(store.Status.Request).To(Equal(store.Annotations[v1beta1.AnnotationCheck]))
		}).Should(Succeed())
		Expect(part).NotTo(BeAnExistingFile())
		Expect(others).To(BeAnExistingFile())
	})

	It("a user that cannot be made holds back that authentication is enabled, and not that it is disabled", func() {
		isInPlace(newUser(c, "app", v1beta1.PasswordAuthentication))
		switchAuth(c, true)
		quota := allow(c.Namespace, corev1.ResourceSecrets, "1")
		late := newUser(c, "late", v1beta1.PasswordAuthentication)
		Eventually(reasonOf(late)).Should(Equal(v1beta1.ReasonAccessFailed))
		switchAuth(c, false)
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.Auth.Enabled = true })).To(Succeed())
		says(c, v1beta1.ConditionAuthEnabled, v1beta1.ReasonAuthChanging, "exceeded quota")
		Expect(api.Delete(ctx, quota)).To(Succeed())
		authIs(c, metav1.ConditionTrue)
		switchAuth(c, false)
	})

	It("latest means no backup at all where two clusters have had the same name", func() {
		discard(c)
		Eventually(func() bool { return apierrors.IsNotFound(api.Get(ctx, keyOf(c), &v1beta1.EtcdCluster{})) }).Should(BeTrue())
		next := create(newCluster(c.Namespace, c.Name, oneMember))
		back(next, "offsite", "of-the-next")
		unclear := newCluster(c.Namespace, "unclear", oneMember, func(spec *v1beta1.EtcdClusterSpec) {
			spec.Bootstrap = &v1beta1.BootstrapSpec{Restore: &v1beta1.Restore{Store: "offsite", Cluster: c.Name, At: "latest"}}
		})
		Expect(api.Create(ctx, unclear)).To(Succeed())
		says(unclear, v1beta1.ConditionDegraded, v1beta1.ReasonActionRequired, "backups of 2 EtcdClusters that had the name")
		says(unclear, v1beta1.ConditionDegraded, v1beta1.ReasonActionRequired, "EtcdBackup of-the-next")
		Expect(pods(unclear)).To(BeEmpty())
		discard(unclear)
		discard(next)
	})
}
