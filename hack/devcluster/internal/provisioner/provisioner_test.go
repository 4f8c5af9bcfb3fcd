// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package provisioner

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"

	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/volumes"
)

var (
	first  = provisioner{node: "node-1", store: volumes.Store{Dir: "/state/node-1/volumes"}}
	second = provisioner{node: "node-2", store: volumes.Store{Dir: "/state/node-2/volumes"}}
)

func claim(node string) *corev1.PersistentVolumeClaim {
	made := &corev1.PersistentVolumeClaim{}
	made.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	if node != "" {
		made.Annotations = map[string]string{selected: node}
	}
	return made
}

func TestAClaimIsMadeByTheNodeOfItsPod(t *testing.T) {
	for node, maker := range map[string]string{"node-1": "node-1", "node-2": "node-2", "": "node-1", "node-3": ""} {
		for _, each := range []provisioner{first, second} {
			if got, want := each.ShouldProvision(t.Context(), claim(node)), each.node == maker; got != want {
				t.Errorf("a claim for %q: %s takes it: %v, want %v", node, each.node, got, want)
			}
		}
	}
}

func TestAVolumeStaysAtItsNode(t *testing.T) {
	reclaim := corev1.PersistentVolumeReclaimDelete
	volume := second.volume(controller.ProvisionOptions{
		PVName: "pvc-1", PVC: claim("node-2"), StorageClass: &storagev1.StorageClass{ReclaimPolicy: &reclaim},
	})
	terms := volume.Spec.NodeAffinity.Required.NodeSelectorTerms
	if len(terms) != 1 || len(terms[0].MatchExpressions) != 1 {
		t.Fatalf("want one term, got %v", terms)
	}
	only := terms[0].MatchExpressions[0]
	if only.Key != "kubernetes.io/hostname" || len(only.Values) != 1 || only.Values[0] != "node-2" {
		t.Errorf("want the hostname node-2, got %v", only)
	}
	if !second.ShouldDelete(t.Context(), volume) || first.ShouldDelete(t.Context(), volume) {
		t.Error("a volume is deleted by its own node, and by no other")
	}
	other := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pvc-1"}}
	if second.ShouldDelete(t.Context(), other) {
		t.Error("a volume that is not local passes for ours")
	}
}
