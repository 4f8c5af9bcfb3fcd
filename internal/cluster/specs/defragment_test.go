// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// TestDefragmentingPods: one setting of two, since etcd 3.6 refuses both, none where the user has set it, and no other fingerprint: a
// member that has been defragmented does not restart for it.
func TestDefragmentingPods(t *testing.T) {
	const annotated = "metadata.annotations['etcd-operator.dev/defragments']"
	for version, want := range map[string]string{
		"3.5.35": "ETCD_EXPERIMENTAL_BOOTSTRAP_DEFRAG_THRESHOLD_MEGABYTES", "3.6.16": "ETCD_BOOTSTRAP_DEFRAG_THRESHOLD_MEGABYTES",
		"3.7.3": "ETCD_BOOTSTRAP_DEFRAG_THRESHOLD_MEGABYTES",
	} {
		c := with(func(s *v1beta1.EtcdClusterSpec) { s.Version = version })
		plain := specs.Pod(c, "example-0", forming())
		pod := specs.Defragmenting(c, plain.DeepCopy())
		var set []string
		for _, variable := range pod.Spec.Containers[0].Env {
			if strings.Contains(variable.Name, "DEFRAG") && variable.ValueFrom.FieldRef.FieldPath == annotated {
				set = append(set, variable.Name)
			}
		}
		if !slices.Equal(set, []string{want}) {
			t.Errorf("%s: %v, want %s", version, set, want)
		}
		if change := specs.Change(c, pod); change != specs.Change(c, plain) {
			t.Errorf("%s: another change: %v", version, change)
		}
		if specs.IsDefragmenting(plain) || !specs.IsDefragmenting(pod) {
			t.Errorf("%s: not told from a plain Pod", version)
		}
	}
	for _, flag := range []string{"bootstrap-defrag-threshold-megabytes", "experimental-bootstrap-defrag-threshold-megabytes"} {
		c := with(func(s *v1beta1.EtcdClusterSpec) { s.Etcd.ExtraArgs = map[string]string{flag: "500"} })
		plain := specs.Pod(c, "example-0", forming())
		if pod := specs.Defragmenting(c, plain.DeepCopy()); len(pod.Spec.Containers[0].Env) != len(plain.Spec.Containers[0].Env) {
			t.Errorf("--%s is set twice", flag)
		}
	}
}

// TestDefragmentingOnce: the start that is meant, and no other one of the same container.
func TestDefragmentingOnce(t *testing.T) {
	c := with(func(*v1beta1.EtcdClusterSpec) {})
	pod := specs.Defragmenting(c, specs.Pod(c, "example-0", forming()))
	running := corev1.ContainerStatus{Name: "etcd", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
	failed := corev1.ContainerStatus{Name: "etcd", LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}}
	for _, status := range []corev1.ContainerStatus{{Name: "etcd"}, running, failed} {
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{status}
		if got := specs.DefragmentsAgain(pod); got != (status.State.Running != nil || status.LastTerminationState.Terminated != nil) {
			t.Errorf("%+v: again: %t", status, got)
		}
	}
	specs.StartPlainly(pod)
	if pod.Annotations["etcd-operator.dev/defragments"] != "0" || specs.DefragmentsAgain(pod) || !specs.IsDefragmenting(pod) {
		t.Errorf("it would defragment again: %v", pod.Annotations)
	}
	if pod.Annotations["etcd-operator.dev/defragments"] = "true"; specs.DefragmentsAgain(pod) || !specs.IsDefragmenting(pod) {
		t.Error("a Pod of an earlier release cannot be told otherwise")
	}
}

// TestQuotaWhileDefragmenting: a quota that is less than the database comes once that is defragmented.
func TestQuotaWhileDefragmenting(t *testing.T) {
	c := with(func(s *v1beta1.EtcdClusterSpec) { s.Etcd.Quota = ptr.To(resource.MustParse("64Mi")) })
	for size, want := range map[int64]int64{80 << 20: 80 << 20, 60 << 20: 64 << 20} {
		if got := specs.QuotaOf(specs.Pod(specs.Holding(c, size), "example-0", forming())); got != want {
			t.Errorf("a database of %d: quota %d, want %d", size, got, want)
		}
	}
}
