// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup"
)

// bySnapshots needs `devcluster up --snapshots`.
func bySnapshots() {
	var c *v1beta1.EtcdCluster
	var first *v1beta1.EtcdBackup
	var data map[string]string

	BeforeAll(func() {
		if !hasSnapshots() {
			Skip("this Kubernetes has no CSI driver that takes VolumeSnapshots")
		}
		namespace := newNamespace()
		startOperator(namespace)
		c = create(newCluster(namespace, "source", inClass("snapshots")))
		data = fill(c)
	})

	It("are of the volume of a follower, without a store, and an etcd is started on a copy of it", func() {
		_, leader, _ := standing(c)
		first = back(c, "", "first", bySnapshot(""))
		Expect(first.Status.Source).NotTo(Equal(leader))
		Expect(first.Status.Revision).To(BeNumerically(">=", len(data)))
		Expect(first.Status.Keys).To(HaveValue(BeEquivalentTo(len(data))))
		Expect(first.Status.Store).To(BeEmpty())
		taken, err := takenFor(first)
		Expect(err).NotTo(HaveOccurred())
		Expect(taken.GetLabels()).To(And(
			HaveKeyWithValue(v1beta1.LabelMember, first.Status.Source), HaveKeyWithValue(v1beta1.LabelCluster, "source")))
		Expect(taken.GetAnnotations()).To(And(HaveKey(v1beta1.AnnotationRevision), HaveKeyWithValue(v1beta1.AnnotationVersion, "3.6.16")))
		Eventually(jobsOf).WithArguments(c.Namespace).Should(BeEmpty())
	})

	It("are what a new cluster begins with, whatever its StorageClass is", func() {
		put(c, "data/later", "written after the VolumeSnapshot")
		restored := create(newCluster(c.Namespace, "restored", restoring("first")))
		Expect(filled(restored)).To(Equal(data))
		Expect(now(restored).Status.ClusterID).NotTo(Equal(now(c).Status.ClusterID))
		Expect(revisionNow(restored)).To(BeNumerically(">", revisionNow(c)))
		resize(restored, 1)
		discard(restored)
	})

	It("bring a cluster back in place, with a VolumeSnapshot as the safety backup", func() {
		wreck(c)
		er := newRestore(c, "back", "first")
		Expect(api.Create(ctx, er)).To(Succeed())
		confirmed(er)
		reaches(er, v1beta1.RestoreComplete)
		settles(c)
		Expect(filled(c)).To(Equal(data))
		safety := newBackup(c, "", er.Status.SafetyBackup)
		isVerified(safety)
		Expect(safety.Status.VolumeSnapshot).NotTo(BeNil())
	})

	It("fault 130: that fail, or have no class, say why, and are tried again", func() {
		for class, words := range map[string]string{"failing": "the array has no room for snapshots", "no-such-class": "no-such-class"} {
			b := newBackup(c, "", class, bySnapshot(class))
			Expect(api.Create(ctx, b)).To(Succeed())
			Eventually(func(g Gomega) {
				readBackup(g, b)
				complete := conditionIn(b.Status.Conditions, v1beta1.ConditionComplete)
				g.Expect(complete).To(And(HaveField("Reason", v1beta1.ReasonRetrying), HaveField("Message", ContainSubstring(words))))
				g.Expect(b.Status.RetryAt).NotTo(BeNil())
			}).Should(Succeed())
			Expect(api.Delete(ctx, b)).To(Succeed())
		}
	})

	It("fault 131: wait while the CSI driver is gone, and are taken when it is back", func() {
		start := func() { // the sidecar ends with the driver
			devcluster("start", "csi-driver")
			devcluster("start", "csi-snapshotter")
		}
		devcluster("stop", "csi-driver")
		DeferCleanup(start)
		b := newBackup(c, "", "late", bySnapshot(""))
		Expect(api.Create(ctx, b)).To(Succeed())
		backupSays(b, v1beta1.ConditionComplete, v1beta1.ReasonSnapshotPending, "to be ready: ")
		start()
		isVerifiedIn(5*time.Minute, b)
	})

	It("fault 132: are not taken of a cluster without volumes", func() {
		ephemeral := create(newCluster(c.Namespace, "ephemeral", inMemory))
		b := newBackup(ephemeral, "", "of-nothing", bySnapshot(""))
		Expect(api.Create(ctx, b)).To(Succeed())
		backupSays(b, v1beta1.ConditionComplete, v1beta1.ReasonNoVolumes, "storage.ephemeral")
		Expect(api.Delete(ctx, b)).To(Succeed())
		discard(ephemeral)
	})

	It("are deleted with the EtcdBackup if that is asked for, and stay otherwise", func() {
		gone := newBackup(c, "", "gone", bySnapshot(""), func(spec *v1beta1.EtcdBackupSpec) { spec.DeletionPolicy = v1beta1.DeleteBackup })
		Expect(api.Create(ctx, gone)).To(Succeed())
		isVerified(gone)
		for _, b := range []*v1beta1.EtcdBackup{gone, first} {
			Expect(api.Delete(ctx, b)).To(Succeed())
			Eventually(func() bool { return apierrors.IsNotFound(api.Get(ctx, keyOf(b), &v1beta1.EtcdBackup{})) }).Should(BeTrue())
		}
		_, err := takenFor(gone)
		Expect(apierrors.IsNotFound(err)).To(BeTrue())
		_, err = takenFor(first)
		Expect(err).NotTo(HaveOccurred())
	})
}

func inClass(name string) func(*v1beta1.EtcdClusterSpec) {
	return func(spec *v1beta1.EtcdClusterSpec) { spec.Storage.StorageClassName = &name }
}

func bySnapshot(class string) func(*v1beta1.EtcdBackupSpec) {
	return func(spec *v1beta1.EtcdBackupSpec) {
		spec.VolumeSnapshot = &v1beta1.VolumeSnapshotBackup{ClassName: class}
	}
}

// hasSnapshots says whether Kubernetes has VolumeSnapshots.
func hasSnapshots() bool {
	_, err := api.RESTMapper().RESTMapping(backup.SnapshotKind.GroupKind())
	return err == nil
}

// takenFor is the VolumeSnapshot of a backup.
func takenFor(b *v1beta1.EtcdBackup) (*unstructured.Unstructured, error) {
	found := &unstructured.Unstructured{}
	found.SetGroupVersionKind(backup.SnapshotKind)
	return found, api.Get(ctx, client.ObjectKey{Namespace: b.Namespace, Name: b.Status.VolumeSnapshot.Name}, found)
}
