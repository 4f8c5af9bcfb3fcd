// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package act_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// strip is what happens to an object that is handed over to another tool.
func strip[T client.Object](object T) T {
	object.SetLabels(map[string]string{
		"app.kubernetes.io/managed-by": "Helm", v1beta1.LabelCluster: "a", "theirs": "stays", specs.InstanceLabel: "a",
	})
	return object
}

func labelsOf(s *scene, object client.Object) map[string]string {
	s.get("a-1", object)
	return object.GetLabels()
}

// TestLabelsAreGivenBack: without ours the operator sees neither a Pod nor a volume, and
// what it makes of that name is there already.
func TestLabelsAreGivenBack(t *testing.T) {
	owned := strip(pod("a-1", "pod-1"))
	owned.OwnerReferences = []metav1.OwnerReference{specs.Owner(example())}
	volume := cluster.Object{Kind: "PersistentVolumeClaim", Name: "a-1", Part: cluster.Labels}
	c, bare := example(), seen()
	bare.Members[1].Pod, bare.Members[1].Volume = cluster.Pod{}, cluster.NoVolume
	for what, test := range map[string]struct {
		step plan.Step
		of   []client.Object
	}{
		"started":  {plan.CreatePods{Names: []string{"a-1"}}, []client.Object{&corev1.Pod{}, &corev1.PersistentVolumeClaim{}}},
		"gathered": {plan.MarkPods{Pods: []plan.PodRef{{Name: "a-1", UID: "pod-1"}}, As: plan.Attach}, []client.Object{&corev1.Pod{}}},
		"fitted":   {plan.Apply{Objects: []cluster.Object{volume}}, []client.Object{&corev1.PersistentVolumeClaim{}}},
	} {
		s := newScene(t, c, bare, owned.DeepCopy(), strip(claim("a-1")))
		s.mustDo(test.step)
		for _, object := range test.of {
			s.get("a-1", object)
			labels := object.GetLabels()
			for label, want := range specs.MemberSelector(c) {
				if labels[label] != want || labels[v1beta1.LabelMember] != "a-1" || labels["theirs"] != "stays" {
					t.Errorf("%s: %T has labels %v", what, object, labels)
				}
			}
		}
		if instance := labelsOf(s, &corev1.PersistentVolumeClaim{})[specs.InstanceLabel]; what == "fitted" && instance != "" {
			t.Errorf("the volume still is an instance of %s", instance)
		}
		if s.mustDo(test.step); what == "started" {
			if n := len(s.api.writes); n > 4 {
				t.Errorf("writes: %v", s.api.writes)
			}
		}
	}
}

// TestWhatNoWatchReports: reads wait until a watch has reported what was written before, but
// none reports an object without our labels.
func TestWhatNoWatchTells(t *testing.T) {
	unlabelled := seen()
	unlabelled.Members[1].Pod.LabelsMissing = true
	ref := plan.PodRef{Name: "a-1", UID: "pod-1"}
	for what, step := range map[string]plan.Step{
		"stopped":   plan.DeletePods{Pods: []plan.PodRef{{Name: ref.Name, UID: ref.UID}}},
		"surplus":   plan.DeletePods{How: plan.Detached, Pods: []plan.PodRef{ref}},
		"ended":     plan.DeletePods{How: plan.AtOnce, Pods: []plan.PodRef{ref}},
		"detached":  plan.MarkPods{Pods: []plan.PodRef{ref}, As: plan.Detach},
		"set aside": plan.Quarantine{Name: ref.Name},
	} {
		stripped := pod(ref.Name, ref.UID)
		stripped.Labels["app.kubernetes.io/managed-by"] = "Helm"
		s := newScene(t, example(), unlabelled, stripped, strip(claim("a-1")))
		if s.mustDo(step); len(s.api.writes) == 0 {
			t.Errorf("%s: nothing was written", what)
		}
	}
}
