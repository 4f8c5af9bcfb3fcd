// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// theirs is a claim that a StatefulSet has made.
func theirs() *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"},
		ObjectMeta: metav1.ObjectMeta{
			Name: "example-0", Namespace: "default", Labels: map[string]string{"app": "plain"}, Annotations: map[string]string{"is": "theirs"},
		},
		Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "pv-1"},
	}
}

// TestMarksOfAdoptedVolumesComeOff: a claim is again what it was, and what has adopted it is its own cluster while they are on.
func TestMarksOfAdoptedVolumesComeOff(t *testing.T) {
	marked, c := specs.AdoptedVolume(example(), theirs(), "."), example()
	c.Status.ClusterID = "c1" // which is known when volumes are adopted
	if why := specs.Foreign(c, marked); why != "" {
		t.Errorf("it counts as another's: %s", why)
	}
	if released := specs.ReleasedVolume(marked); !equality.Semantic.DeepEqual(released, theirs()) {
		t.Errorf("got %+v", released)
	}
}

// TestDataInTheRootOfAVolume: it is mounted where etcd looks for its data, and a Pod whose volume is its own stays as it is.
func TestDataInTheRootOfAVolume(t *testing.T) {
	pod := specs.OnAdopted(specs.Pod(example(), "example-0", forming()), ".")
	if mount := specs.Etcd(pod).VolumeMounts[0]; mount.MountPath != "/var/lib/etcd/data" || mount.SubPath != "" {
		t.Errorf("got %+v", mount)
	}
	if pod := specs.Pod(example(), "example-0", forming()); !equality.Semantic.DeepEqual(specs.OnAdopted(pod.DeepCopy(), ""), pod) {
		t.Error("a Pod on a volume of its own has changed")
	}
}
