// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build envtest

package controllers_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
)

// TestBackupIsWrittenVerifiedAndDeleted: by three Jobs, with what they are to know, and with the rights of the generated roles.
func TestBackupIsWrittenVerifiedAndDeleted(t *testing.T) {
	t.Parallel()
	b := newBackups(t, "backup-life", v1beta1.DeleteBackup)
	operator := b.reconciler(interceptor.Funcs{})
	if err := b.settle(operator); err != nil {
		t.Fatal(err)
	}
	b.mustBeVerified()
	if len(b.backup.Finalizers) != 1 {
		t.Errorf("finalizers %v", b.backup.Finalizers)
	}
	if err := server.Delete(t.Context(), b.backup); err != nil {
		t.Fatal(err)
	}
	if err := b.settle(operator); err != nil {
		t.Fatal(err)
	}
	if err := server.Get(t.Context(), client.ObjectKeyFromObject(b.backup), b.backup); !apierrors.IsNotFound(err) {
		t.Errorf("the object is still there: %v", err)
	}
	var verbs []jobspec.Verb
	for _, order := range b.orders {
		verbs = append(verbs, order.Verb)
	}
	if want := []jobspec.Verb{jobspec.Backup, jobspec.Unpack, jobspec.Verify, jobspec.Delete}; !slices.Equal(verbs, want) {
		t.Fatalf("orders %v, want %v", verbs, want)
	}
	written, trial, deleted := b.orders[0].Backup, b.orders[1].Trial, b.orders[3].Delete
	var members []string
	for _, m := range written.Members {
		members = append(members, m.Name)
	}
	if got := strings.Join(members, " "); got != "a-2 a-0 a-1" { // the leader after those that answer, and then who does not
		t.Errorf("members are asked in the order %s", got)
	}
	if !strings.Contains(string(written.Spec), `"size":3`) || strings.Contains(string(written.Spec), "clusterID") {
		t.Errorf("spec %s", written.Spec)
	}
	path := "v1/backup-life/a/" + string(b.backup.UID)
	if trial.Path != path || trial.ManifestSHA256 != "m1" || trial.Minor != "3.6" || deleted.Path != path || deleted.ManifestSHA256 != "m1" {
		t.Errorf("trial %+v, delete %+v", trial, deleted)
	}
	if kept := deleted.Log; kept == nil || kept.Lineage != "00000000000000c1-0" || kept.Gone != "00000000000000c1" || len(kept.From) > 0 {
		t.Errorf("of the log stays %+v", kept)
	}
}

// TestOperatorDiesInABackup: there is never a second Job at a time, no Job is made twice, and the backup is verified in the end
// (fault 1).
func TestOperatorDiesInABackup(t *testing.T) {
	dies(t, "backup-dies", 11, func(t *testing.T, namespace string, dying *mortal) {
		b := newBackups(t, namespace, v1beta1.DeleteBackup)
		err := b.settle(b.reconciler(dying.funcs()))
		if errors.Is(err, errDead) {
			b.runJobs()
			err = b.settle(b.reconciler(interceptor.Funcs{}))
		}
		if err != nil {
			t.Fatal(err)
		}
		b.mustBeVerified()
		if len(b.jobs) != 2 {
			t.Errorf("Jobs %v", b.jobs)
		}
	})
}

// TestBackupFollowsWhatItWaitsFor: its store, its Job and its own object are watched by the manager.
func TestBackupFollowsWhatItWaitsFor(t *testing.T) {
	b := &backups{t: t, namespace: watched}
	b.backup = &v1beta1.EtcdBackup{ObjectMeta: b.named("found-one")}
	b.backup.Annotations = map[string]string{
		v1beta1.AnnotationFound: `{"path":"v1/old/a/u","backup":{"cluster":"a","revision":9,"etcdVersion":"3.5.35","manifestSHA256":"m0"}}`,
	}
	b.backup.Spec = v1beta1.EtcdBackupSpec{Found: "v1/old/a/u", Store: "later", Verify: ptr.To(true), DeletionPolicy: v1beta1.DeleteBackup}
	b.create(b.backup)
	b.becomes("its store is missing", func(s v1beta1.EtcdBackupStatus) bool {
		return reasonOf(s, v1beta1.ConditionVerified) == v1beta1.ReasonStoreMissing && s.Revision == 9 && s.Phase == v1beta1.BackupVerifying
	})
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: b.named("backups")}
	claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	b.create(claim)
	store := &v1beta1.EtcdBackupStore{ObjectMeta: b.named("later")}
	store.Spec.Volume = &v1beta1.VolumeStore{Claim: "backups"}
	b.create(store)
	b.becomes("its store is not ready", func(s v1beta1.EtcdBackupStatus) bool {
		return reasonOf(s, v1beta1.ConditionVerified) == v1beta1.ReasonStoreUnready
	})
	eventually(t, "the store to be said to be ready", func() error {
		if err := server.Get(t.Context(), client.ObjectKeyFromObject(store), store); err != nil {
			return err
		}
		store.Status.ObservedGeneration, store.Status.CheckedAt = store.Generation, ptr.To(metav1.Now())
		ready := metav1.Condition{
			Type: v1beta1.ConditionReady, Status: metav1.ConditionTrue, Reason: "Ready", ObservedGeneration: store.Generation,
		}
		meta.SetStatusCondition(&store.Status.Conditions, ready)
		return server.Status().Update(t.Context(), store)
	})
	b.becomes("it is verified by a Job", func(s v1beta1.EtcdBackupStatus) bool { return s.Job != nil && s.Job.UID != "" })
	b.deleteJob()
	b.becomes("its Job is lost", func(s v1beta1.EtcdBackupStatus) bool {
		return s.Failure != nil && s.Failure.Reason == v1beta1.ReasonJobEnded && s.RetryAt != nil && s.Job == nil
	})
	if err := server.Delete(t.Context(), b.backup); err != nil {
		t.Fatal(err)
	}
	b.becomes("it is deleted by a Job", func(s v1beta1.EtcdBackupStatus) bool {
		return s.Phase == v1beta1.BackupDeleting && s.Job != nil && s.Job.Task == "Delete" && s.Job.UID != ""
	})
	if err := server.Delete(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	b.deleteJob()
	eventually(t, "the object to go with its store", func() error {
		err := server.Get(t.Context(), client.ObjectKeyFromObject(b.backup), b.backup)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("status %+v, %w", b.backup.Status, err)
	})
}

// TestSnapshotsThatKubernetesDoesNotHave: without their CRDs a backup by VolumeSnapshot says so, and looks again (fault 132).
func TestSnapshotsThatKubernetesDoesNotHave(t *testing.T) {
	t.Parallel()
	b := newBackups(t, "backup-snapshots", v1beta1.DeleteBackup)
	b.backup = &v1beta1.EtcdBackup{ObjectMeta: b.named("by-snapshot")}
	b.backup.Spec = v1beta1.EtcdBackupSpec{
		Cluster: "a", VolumeSnapshot: &v1beta1.VolumeSnapshotBackup{}, DeletionPolicy: v1beta1.DeleteBackup,
	}
	b.create(b.backup)
	operator := b.reconciler(interceptor.Funcs{})
	for range 3 {
		result, err := operator.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(b.backup)})
		if err != nil || result.RequeueAfter == 0 {
			t.Fatalf("it looks again after %s: %v", result.RequeueAfter, err)
		}
	}
	if err := server.Get(t.Context(), client.ObjectKeyFromObject(b.backup), b.backup); err != nil {
		t.Fatal(err)
	}
	if got := reasonOf(b.backup.Status, v1beta1.ConditionComplete); got != v1beta1.ReasonSnapshotsMissing {
		t.Errorf("%s: %+v", got, b.backup.Status.Conditions)
	}
	if err := server.Delete(t.Context(), b.backup); err != nil {
		t.Fatal(err)
	}
	if _, err := operator.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(b.backup)}); err != nil {
		t.Fatal(err)
	}
	if err := server.Get(t.Context(), client.ObjectKeyFromObject(b.backup), b.backup); !apierrors.IsNotFound(err) {
		t.Errorf("the object is still there: %v", err)
	}
}
