// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build envtest

package v1beta1_test

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// A size that volumes were never given may be taken back, as far as they have it.
func TestVolumeSizeMayBeTakenBack(t *testing.T) {
	create(t, "grown", "{storage: {size: 10Gi}}")
	wantRefused(t, tryUpdate(t, "grown", "{storage: {size: 4Gi}}"), "before it is known what volumes have", "storage.size cannot shrink")
	c := get(t, "grown")
	c.Status.VolumeSize = ptr.To(resource.MustParse("4Gi"))
	if err := server.Status().Update(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	for _, size := range []string{"4Gi", "4096Mi", "9Gi", "10Gi", "11Gi"} {
		wantAccepted(t, tryUpdate(t, "grown", "{storage: {size: "+size+"}}"), size)
	}
	for _, size := range []string{"4095Mi", "1Gi"} {
		wantRefused(t, tryUpdate(t, "grown", "{storage: {size: "+size+"}}"), size,
			"spec.storage: Invalid value", "storage.size cannot shrink", "it may be set back to status.volumeSize")
	}
	wantAccepted(t, tryUpdate(t, "grown", "{}"), "the default of 8Gi")
}

// A class may be changed to another name at any time: members are exchanged for it. It may not be removed.
func TestClassMayBeChangedAndNotRemoved(t *testing.T) {
	const fast, slow, none = "{storage: {storageClassName: fast}}", "{storage: {storageClassName: slow}}", "{}"
	rule := []string{"spec.storage: Invalid value", "storage.storageClassName cannot be removed", "write another name"}
	setStatus := func(status v1beta1.EtcdClusterStatus) {
		c := get(t, "classy")
		c.Status = status
		if err := server.Status().Update(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	plan := &v1beta1.Bootstrap{Token: "u1", Members: []string{"classy-0"}}
	adopted := &v1beta1.Bootstrap{Token: "u1", Members: []string{"classy-0"}, Adopted: true}
	create(t, "classy", none)
	wantAccepted(t, tryUpdate(t, "classy", fast), "before anything is known")
	change := func(spec, what string) {
		changed := written(t, "classy", spec)
		changed.SetResourceVersion(get(t, "classy").ResourceVersion)
		wantAccepted(t, server.Update(t.Context(), changed, strict), what)
	}
	for what, status := range map[string]v1beta1.EtcdClusterStatus{
		"while the first members start": {Bootstrap: plan}, "formed": {Bootstrap: plan, ClusterID: "c1"},
		"adopted": {Bootstrap: adopted},
	} {
		setStatus(status)
		change(slow, what)
		wantRefused(t, tryUpdate(t, "classy", none), "fault 54: whichever is the default, "+what, rule...)
		wantRefused(t, tryUpdate(t, "classy", "{storage: {size: 9Gi}}"), "fault 54: beside a size, "+what, rule...)
		change(fast, what)
	}
}

// What the operator waits for no longer: the API server forbids that a volume grows whose
// class does not let it, in words that name the class.
func TestClassThatRefusesGrowth(t *testing.T) {
	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "fixed"}, Provisioner: "example.com/none"}
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "fixed-0"},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: ptr.To("fixed"), VolumeName: "fixed",
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
	for _, object := range []client.Object{class, claim} {
		if err := server.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := server.Delete(context.Background(), object); err != nil {
				t.Error(err)
			}
		})
	}
	claim.Status.Phase = corev1.ClaimBound
	if err := server.Status().Update(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	claim.Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("2Gi")
	if err := server.Update(t.Context(), claim); !apierrors.IsForbidden(err) {
		t.Errorf("got %v, want that it is forbidden", err)
	}

	if err := server.Get(t.Context(), client.ObjectKeyFromObject(claim), claim); err != nil {
		t.Fatal(err)
	}
	class.AllowVolumeExpansion = ptr.To(true)
	if err := server.Update(t.Context(), class); err != nil {
		t.Fatal(err)
	}
	claim.Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("2Gi")
	for { // the API server hears of the class a moment later
		err := server.Update(t.Context(), claim.DeepCopy(), client.DryRunAll)
		if err == nil {
			return
		}
		if !apierrors.IsForbidden(err) {
			t.Fatalf("a class that lets volumes grow: %v", err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}
