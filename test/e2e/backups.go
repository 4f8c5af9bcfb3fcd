// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// newVolumeStore creates a store on a volume of its own, and waits until it can be used.
func newVolumeStore(namespace, name string) *v1beta1.EtcdBackupStore {
	GinkgoHelper()
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: newClaimSpec()}
	claim.Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("256Mi")
	Expect(api.Create(ctx, claim)).To(Succeed())
	store := &v1beta1.EtcdBackupStore{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       v1beta1.EtcdBackupStoreSpec{Volume: &v1beta1.VolumeStore{Claim: name}},
	}
	Expect(api.Create(ctx, store)).To(Succeed())
	canBeUsed(store)
	return store
}

// canBeUsed waits until a store says so.
func canBeUsed(store *v1beta1.EtcdBackupStore) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(api.Get(ctx, keyOf(store), store)).To(Succeed())
		g.Expect(conditionIn(store.Status.Conditions, v1beta1.ConditionReady)).To(HaveField("Status", metav1.ConditionTrue))
	}).Should(Succeed(), "store %s to be ready", store.Name)
}

// lookIn has a store be looked at now.
func lookIn(namespace, name string) {
	GinkgoHelper()
	store := &v1beta1.EtcdBackupStore{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	Expect(api.Patch(ctx, store, client.RawPatch(types.MergePatchType,
		fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, v1beta1.AnnotationCheck, time.Now().Format(time.RFC3339Nano))))).To(Succeed())
}

// completeIs waits until a backup is Complete, or is not for that reason; any reason will do if none is given.
func completeIs(b *v1beta1.EtcdBackup, status metav1.ConditionStatus, reason string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		readBackup(g, b)
		complete := conditionIn(b.Status.Conditions, v1beta1.ConditionComplete)
		g.Expect(complete).To(And(HaveField("Status", status), HaveField("Reason", ContainSubstring(reason))))
	}).Should(Succeed())
}

// newBackup is one of a cluster.
func newBackup(c *v1beta1.EtcdCluster, store, name string, changes ...func(*v1beta1.EtcdBackupSpec)) *v1beta1.EtcdBackup {
	backup := &v1beta1.EtcdBackup{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: name},
		Spec:       v1beta1.EtcdBackupSpec{Cluster: c.Name, Store: store},
	}
	for _, change := range changes {
		change(&backup.Spec)
	}
	return backup
}

// back makes a backup, and waits until it is verified.
func back(c *v1beta1.EtcdCluster, store, name string, changes ...func(*v1beta1.EtcdBackupSpec)) *v1beta1.EtcdBackup {
	GinkgoHelper()
	backup := newBackup(c, store, name, changes...)
	Expect(api.Create(ctx, backup)).To(Succeed())
	isVerified(backup)
	return backup
}

func isVerified(backup *v1beta1.EtcdBackup) {
	GinkgoHelper()
	isVerifiedIn(2*time.Minute, backup)
}

// isVerifiedIn waits longer: after a failure the next attempt is made after a while.
func isVerifiedIn(limit time.Duration, backup *v1beta1.EtcdBackup) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		readBackup(g, backup)
		g.Expect(conditionIn(backup.Status.Conditions, v1beta1.ConditionVerified)).To(HaveField("Status", metav1.ConditionTrue))
		g.Expect(backup.Status.Phase).To(Equal(v1beta1.BackupComplete))
	}).WithTimeout(limit).Should(Succeed(), "backup %s to be verified", backup.Name)
}

// backupSays waits until a backup says the reason in the condition, with a message that contains the words.
func backupSays(backup *v1beta1.EtcdBackup, kind, reason, words string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		readBackup(g, backup)
		g.Expect(conditionIn(backup.Status.Conditions, kind)).To(And(
			HaveField("Reason", reason), HaveField("Message", ContainSubstring(words))))
	}).Should(Succeed())
}

func readBackup(g Gomega, backup *v1beta1.EtcdBackup) {
	g.Expect(api.Get(ctx, keyOf(backup), backup)).To(Succeed())
}

func conditionIn(all []metav1.Condition, kind string) metav1.Condition {
	if found := meta.FindStatusCondition(all, kind); found != nil {
		return *found
	}
	return metav1.Condition{Type: kind}
}

// jobsOf are the names of all Jobs in a namespace.
func jobsOf(g Gomega, namespace string) []string {
	var list batchv1.JobList
	g.Expect(api.List(ctx, &list, client.InNamespace(namespace))).To(Succeed())
	var names []string
	for _, job := range list.Items {
		names = append(names, job.Name)
	}
	return names
}

// backupsOf are the backups in a namespace that stand for what lies in a store.
func backupsOf(g Gomega, namespace string) []v1beta1.EtcdBackup {
	var list v1beta1.EtcdBackupList
	g.Expect(api.List(ctx, &list, client.InNamespace(namespace))).To(Succeed())
	return list.Items
}

// restoring begins with a backup of the same namespace.
func restoring(backup string) func(*v1beta1.EtcdClusterSpec) {
	return func(spec *v1beta1.EtcdClusterSpec) {
		spec.Bootstrap = &v1beta1.BootstrapSpec{Restore: &v1beta1.Restore{Backup: backup}}
	}
}

// folderOf is where the volume of a claim is on this machine.
func folderOf(namespace, name string) string {
	GinkgoHelper()
	var claim corev1.PersistentVolumeClaim
	Expect(api.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &claim)).To(Succeed())
	var volume corev1.PersistentVolume
	Expect(api.Get(ctx, client.ObjectKey{Name: claim.Spec.VolumeName}, &volume)).To(Succeed())
	Expect(volume.Spec.Local).NotTo(BeNil())
	return volume.Spec.Local.Path
}

// fillVolume leaves no room on the volume of a claim, until makeRoom is called.
func fillVolume(namespace, name string) (makeRoom func()) {
	GinkgoHelper()
	file, err := os.Create(filepath.Join(folderOf(namespace, name), "filler"))
	Expect(err).NotTo(HaveOccurred())
	for err == nil {
		_, err = file.Write(make([]byte, 4096))
	}
	Expect(err).To(MatchError(syscall.ENOSPC))
	Expect(file.Close()).To(Succeed())
	return func() { Expect(os.Remove(file.Name())).To(Succeed()) }
}

// putUnpackable writes so many keys of a MiB that cannot be compressed.
func putUnpackable(c *v1beta1.EtcdCluster, mebibytes int) {
	GinkgoHelper()
	noise := make([]byte, 1<<20)
	for i := range mebibytes {
		_, _ = rand.Read(noise) // never fails
		put(c, fmt.Sprintf("bulk/%03d", i), string(noise))
	}
}

// runningPodOf waits for the Pod that writes a backup.
func runningPodOf(backup *v1beta1.EtcdBackup) *corev1.Pod {
	GinkgoHelper()
	return &runningPods(backup.Namespace, client.MatchingLabels{v1beta1.LabelBackup: backup.Name, v1beta1.LabelTask: "backup"})[0]
}

// fillingPods waits for the Pods that fill the volumes of a cluster.
func fillingPods(c *v1beta1.EtcdCluster) []corev1.Pod {
	GinkgoHelper()
	return runningPods(c.Namespace, client.MatchingLabels{v1beta1.LabelTask: "restore"})
}

func runningPods(namespace string, labels client.MatchingLabels) []corev1.Pod {
	GinkgoHelper()
	var list corev1.PodList
	Eventually(func(g Gomega) {
		g.Expect(api.List(ctx, &list, client.InNamespace(namespace), labels)).To(Succeed())
		g.Expect(list.Items).NotTo(BeEmpty())
		g.Expect(list.Items).To(HaveEach(HaveField("Status.Phase", corev1.PodRunning)))
	}).Should(Succeed())
	return list.Items
}

// partsOf are the files of a backup in a store on a volume: its manifest last.
func partsOf(backup *v1beta1.EtcdBackup) []string {
	GinkgoHelper()
	files, err := filepath.Glob(filepath.Join(folderOf(backup.Namespace, backup.Status.Store), backup.Status.Path, "*"))
	Expect(err).NotTo(HaveOccurred())
	slices.SortFunc(files, func(a, b string) int { return strings.Compare(filepath.Ext(b)+b, filepath.Ext(a)+a) })
	Expect(len(files)).To(BeNumerically(">=", 2))
	return files
}

// damageFile turns a bit over in the middle of a file.
func damageFile(file string) {
	GinkgoHelper()
	info, err := os.Stat(file)
	Expect(err).NotTo(HaveOccurred())
	flipBit(file, info.Size()/2)
}
