// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build envtest

package controllers_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/controllers"
)

// A farewell is a namespace with a cluster that is to be backed up before it goes, in which a reconciler is called by hand.
type farewell struct {
	t    *testing.T
	c    *v1beta1.EtcdCluster
	most int // EtcdBackups that there were
}

func newFarewell(t *testing.T, namespace string) *farewell {
	f := &farewell{t: t, c: &v1beta1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a"}}}
	f.must(server.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))
	f.c.Spec = v1beta1.EtcdClusterSpec{
		Size: ptr.To[int32](1), DeletionPolicy: v1beta1.BackupFirst, Backup: &v1beta1.Backup{Store: "offsite"},
		TLS: v1beta1.TLS{Mode: v1beta1.TLSDisabled},
	}
	f.must(server.Create(t.Context(), f.c))
	return f
}

func (f *farewell) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *farewell) operator(through interceptor.Funcs) *controllers.EtcdClusterReconciler {
	return controllers.NewReconciler(interceptor.NewClient(live, through), "", events.NewFakeRecorder(1000), time.Now)
}

// look calls the reconciler so often, while members and Jobs do what is theirs.
func (f *farewell) look(r *controllers.EtcdClusterReconciler, times int) error {
	f.t.Helper()
	for range times {
		if _, err := r.Reconcile(f.t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(f.c)}); err != nil {
			return err
		}
		f.work()
	}
	return nil
}

// work has the cluster form, and each EtcdBackup be verified.
func (f *farewell) work() {
	f.t.Helper()
	var now v1beta1.EtcdCluster
	if err := server.Get(f.t.Context(), client.ObjectKeyFromObject(f.c), &now); err != nil {
		f.must(client.IgnoreNotFound(err))
		return
	}
	started := server.Get(f.t.Context(), client.ObjectKey{Namespace: f.c.Namespace, Name: "a-0"}, &corev1.Pod{}) == nil
	if started && now.Status.ClusterID == "" {
		now.Status.ClusterID = "c1"
		f.must(server.Status().Update(f.t.Context(), &now))
	}
	for _, b := range f.backups() {
		for _, kind := range []string{v1beta1.ConditionComplete, v1beta1.ConditionVerified} {
			meta.SetStatusCondition(&b.Status.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: "So"})
		}
		f.must(server.Status().Update(f.t.Context(), &b))
	}
}

func (f *farewell) read() error {
	return server.Get(f.t.Context(), client.ObjectKeyFromObject(f.c), f.c)
}

func (f *farewell) backups() []v1beta1.EtcdBackup {
	f.t.Helper()
	var all v1beta1.EtcdBackupList
	f.must(server.List(f.t.Context(), &all, client.InNamespace(f.c.Namespace)))
	f.most = max(f.most, len(all.Items))
	return all.Items
}

// isGone says whether the EtcdCluster is, and that its volume goes with it then and never before.
func (f *farewell) isGone() bool {
	f.t.Helper()
	err := server.Get(f.t.Context(), client.ObjectKeyFromObject(f.c), f.c)
	f.must(client.IgnoreNotFound(err))
	var claims corev1.PersistentVolumeClaimList
	f.must(server.List(f.t.Context(), &claims, client.InNamespace(f.c.Namespace)))
	if len(claims.Items) != 1 {
		f.t.Fatalf("%d volumes", len(claims.Items))
	}
	owned := len(claims.Items[0].OwnerReferences) > 0
	gone := apierrors.IsNotFound(err)
	if gone && !owned {
		f.t.Error("the cluster is gone, and its volume stays")
	}
	backups := f.backups()
	if owned && (len(backups) == 0 || !meta.IsStatusConditionTrue(backups[0].Status.Conditions, v1beta1.ConditionVerified)) {
		f.t.Error("the volume goes before there is a backup")
	}
	return gone
}

// TestOperatorDiesInAFarewell: with deletionPolicy Backup one last backup is made, then the volume goes (fault 1).
func TestOperatorDiesInAFarewell(t *testing.T) {
	dies(t, "farewell-dies", 5, func(t *testing.T, namespace string, dying *mortal) {
		f := newFarewell(t, namespace)
		f.must(f.look(f.operator(interceptor.Funcs{}), 12))
		if f.must(f.read()); !slices.Contains(f.c.Finalizers, v1beta1.FinalizerLastBackup) {
			t.Fatalf("finalizers %v", f.c.Finalizers)
		}
		f.must(server.Delete(t.Context(), f.c))
		if err := f.look(f.operator(dying.funcs()), 12); err != nil && !errors.Is(err, errDead) {
			t.Fatal(err)
		}
		for range 12 {
			if f.isGone() {
				break
			}
			f.must(f.look(f.operator(interceptor.Funcs{}), 1))
		}
		if !f.isGone() || f.most != 1 {
			t.Errorf("status %+v, %d backups", f.c.Status.AwaitedBackup, f.most)
		}
	})
}

// TestHeldClusterIsLetGo: the manager, with the rights of the generated roles, holds a cluster that is to be backed up, and lets it go
// when the policy is another one.
func TestHeldClusterIsLetGo(t *testing.T) {
	ctx := t.Context()
	c := &v1beta1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: watched, Name: "held"}}
	c.Spec.DeletionPolicy, c.Spec.Backup = v1beta1.BackupFirst, &v1beta1.Backup{Store: "nowhere"}
	if err := server.Create(ctx, c); err != nil {
		t.Fatal(err)
	}
	read := func() error { return server.Get(ctx, client.ObjectKeyFromObject(c), c) }
	eventually(t, "the cluster to be held", func() error {
		if err := read(); err != nil || slices.Contains(c.Finalizers, v1beta1.FinalizerLastBackup) {
			return err
		}
		return fmt.Errorf("finalizers %v", c.Finalizers)
	})
	eventually(t, "the cluster to be said to have formed", func() error {
		if err := read(); err != nil {
			return err
		}
		c.Status.ClusterID = "c1"
		return server.Status().Update(ctx, c)
	})
	if err := server.Delete(ctx, c); err != nil {
		t.Fatal(err)
	}
	var name string
	eventually(t, "its last backup to be there", func() error {
		if err := read(); err != nil {
			return err
		}
		if c.Status.AwaitedBackup == nil {
			return fmt.Errorf("status %+v", c.Status)
		}
		name = c.Status.AwaitedBackup.Name
		return server.Get(ctx, client.ObjectKey{Namespace: watched, Name: name}, &v1beta1.EtcdBackup{})
	})
	eventually(t, "the policy to be another one", func() error {
		if err := read(); err != nil {
			return err
		}
		c.Spec.DeletionPolicy = v1beta1.Retain
		return server.Update(ctx, c)
	})
	eventually(t, "the cluster to be gone", func() error {
		switch err := read(); {
		case err == nil:
			return fmt.Errorf("it is there, with finalizers %v", c.Finalizers)
		case !apierrors.IsNotFound(err):
			return err
		}
		return nil
	})
}
