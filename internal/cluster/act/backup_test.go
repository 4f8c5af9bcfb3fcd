// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package act_test

import (
	"context"
	"net/http"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
)

// TestBackupOfClusterHasNoOwner: it outlives the cluster, and names it.
func TestBackupOfClusterHasNoOwner(t *testing.T) {
	c := example()
	c.Spec.Backup = &v1beta1.Backup{Store: "offsite", Verify: v1beta1.VerifyDaily}
	s := newScene(t, c, seen())
	s.mustDo(plan.CreateBackup{Name: "a-before-3.7-1", Before: "3.7"})
	var b v1beta1.EtcdBackup
	if !s.get("a-before-3.7-1", &b) {
		t.Fatal("it is not there")
	}
	if len(b.OwnerReferences) > 0 || b.Spec.Store != "offsite" || b.Spec.Verify == nil || !*b.Spec.Verify ||
		b.Labels[v1beta1.LabelAwaited] == "" || b.Annotations[v1beta1.AnnotationClusterUID] != "u1" ||
		b.Annotations[v1beta1.AnnotationReason] != "before etcd 3.7" {
		t.Errorf("it is %+v", b)
	}
}

// TestRestoreThatWasAccepted says which loss a person has accepted, and goes with its cluster.
func TestRestoreThatWasAccepted(t *testing.T) {
	s := newScene(t, example(), seen())
	s.mustDo(plan.CreateRestore{Name: "a-accepted-1", Backup: "nightly", Accepted: "backup/nightly@60"})
	var r v1beta1.EtcdRestore
	if !s.get("a-accepted-1", &r) {
		t.Fatal("it is not there")
	}
	if !metav1.IsControlledBy(&r, example()) || r.Annotations[v1beta1.AnnotationAccepted] != "backup/nightly@60" ||
		r.Annotations[v1beta1.AnnotationClusterUID] != "u1" || r.Labels[v1beta1.LabelCluster] != "a" {
		t.Errorf("it is %+v", r.ObjectMeta)
	}
	if want := (v1beta1.EtcdRestoreSpec{Cluster: "a", Backup: "nightly", SkipSafetyBackup: true}); r.Spec != want {
		t.Errorf("it wants %+v", r.Spec)
	}
}

// TestClusterInANamespaceThatEndsIsLetGo: no backup can be made there, and the namespace takes all that there are.
func TestClusterInANamespaceThatEndsIsLetGo(t *testing.T) {
	for _, leaves := range []bool{false, true} {
		c := example()
		c.Finalizers = []string{v1beta1.FinalizerLastBackup}
		if leaves {
			c.DeletionTimestamp = &metav1.Time{Time: now}
		}
		s := newScene(t, c, seen())
		ends := apierrors.NewForbidden(schema.GroupResource{Resource: "etcdbackups"}, "b", nil)
		ends.ErrStatus.Code = http.StatusForbidden
		ends.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
		s.actor.Client = interceptor.NewClient(s.api, interceptor.Funcs{
			Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error { return ends },
		})
		err := s.do(plan.CreateBackup{Name: "b", Before: v1beta1.BeforeDeletion, LetGo: leaves})
		var left v1beta1.EtcdCluster
		held := s.get("a", &left) && slices.Contains(left.Finalizers, v1beta1.FinalizerLastBackup)
		if held == leaves || (err == nil) != leaves {
			t.Errorf("it is being deleted: %t, and held: %t; error %v", leaves, held, err)
		}
	}
}

// TestAdoptionIsHeld: what the EtcdCluster owns goes after it, and not before its members have left (cascade=foreground); and in a
// namespace that ends it is let go, because its members cannot come back there.
func TestAdoptionIsHeld(t *testing.T) {
	c, v := example(), seen()
	c.Finalizers, c.DeletionTimestamp = []string{v1beta1.FinalizerAdoption, metav1.FinalizerDeleteDependents}, &metav1.Time{Time: now}
	v.Adoption.Held = true
	s := newScene(t, c, v)
	left := func() []string {
		var left v1beta1.EtcdCluster
		s.get("a", &left)
		return left.Finalizers
	}
	s.mustDo(plan.Hold{Held: true, Adoption: true})
	if got := left(); !slices.Equal(got, []string{v1beta1.FinalizerAdoption}) {
		t.Fatalf("finalizers %v", got)
	}
	ends := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "a-0", nil)
	ends.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	s.actor.Client = interceptor.NewClient(s.api, interceptor.Funcs{
		Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error { return ends },
	})
	if err := s.do(plan.CreateBackup{Name: "b", Before: v1beta1.BeforeDeletion}); err != nil {
		t.Error(err)
	}
	if got := left(); len(got) > 0 {
		t.Errorf("finalizers %v in a namespace that ends", got)
	}
}
