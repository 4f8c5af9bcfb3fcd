// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/memory"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

// autoscaled is a cluster whose members may have up to four times the memory of the spec, and have what is given.
func autoscaled(t *testing.T, given string) *scene {
	s := newScene(t)
	s.c.Spec.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("256Mi")}
	s.c.Spec.Autoscale = &v1beta1.Autoscale{Max: v1beta1.AutoscaleMax{Memory: ptr.To(resource.MustParse("1Gi"))}}
	if given != "" {
		s.c.Status.Autoscale = &v1beta1.AutoscaleStatus{Memory: ptr.To(resource.MustParse(given)), Since: metav1.NewTime(now.Add(-time.Minute))}
	}
	s.timings = map[string]etcd.Timings{}
	for _, name := range []string{"a-0", "a-1", "a-2"} {
		pod := s.pod(name)
		had := corev1.ResourceRequirements{Limits: maps.Clone(s.c.MemberResources().Limits)}
		specs.Etcd(pod).Resources = had
		pod.Annotations[v1beta1.AnnotationTemplate] = specs.Fingerprint(s.c, name)
		pod.Status.ContainerStatuses[0].Resources = &had
	}
	return s
}

// scaling is what is decided after looks for two minutes at which members use that many MiB of memory.
func (s *scene) scaling(remembered *memory.Cluster, used float64) (last string) {
	for _, name := range []string{"a-0", "a-1", "a-2"} {
		s.timings[s.pod(name).Status.PodIP+":2381"] = etcd.Timings{Memory: used * (1 << 20)}
	}
	for looks := range 5 {
		if text := scaled(s.timedLook(remembered, time.Duration(looks)*30*time.Second)); text != "" {
			last = text
		}
	}
	return last
}

// scaled is what is decided about compute resources; empty if that is nothing.
func scaled(v cluster.View) string {
	step, because := plan.Next(v)
	if because != "scale members" {
		return ""
	}
	return strings.TrimPrefix(step.String(), "give members ")
}

func TestScalingByUse(t *testing.T) {
	for what, test := range map[string]struct {
		given string
		used  float64
		spoil func(*scene)
		want  string
	}{
		"little is used":              {"", 100, nil, ""},
		"much is used":                {"", 230, nil, "384 MiB of memory: the etcd of a-0 uses 230 of 256 MiB of memory"},
		"all that is allowed is used": {"1Gi", 1000, nil, ""},
		"it is not wanted":            {"", 230, func(s *scene) { s.c.Spec.Autoscale = nil }, ""},
		"Kubernetes cannot do it":     {"", 230, func(s *scene) { s.resizes = ptr.To(specs.ResizesNothing) }, ""},
		"a member cannot have it yet": {"512Mi", 500, func(s *scene) {
			s.c.Status.Autoscale.Refused = "no room"
			s.pod("a-1").Status.Conditions = append(s.pod("a-1").Status.Conditions, corev1.PodCondition{
				Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: corev1.PodReasonInfeasible, Message: "no room",
			})
		}, ""},
		"all have what was refused once": {"512Mi", 100, func(s *scene) {
			s.c.Status.Autoscale.Refused = "no room"
		}, "512 MiB of memory: every member has it now"},
		"a member was killed": {
			"", 0, func(s *scene) { s.pod("a-1").Status.ContainerStatuses[0].LastTerminationState = killedAt(now) },
			"384 MiB of memory: a-1 was killed for want of memory: it had 256 MiB",
		},
		"a member was killed before it had more": {"384Mi", 0, func(s *scene) {
			s.pod("a-1").Status.ContainerStatuses[0].LastTerminationState = killedAt(now.Add(-2 * time.Minute))
		}, ""},
		"a member was killed long ago": {"", 0, func(s *scene) {
			s.pod("a-1").Status.ContainerStatuses[0].LastTerminationState = killedAt(now.Add(-20 * time.Minute))
		}, ""},
	} {
		t.Run(what, func(t *testing.T) {
			s := autoscaled(t, test.given)
			if test.spoil != nil {
				test.spoil(s)
			}
			if got := s.scaling(&memory.Cluster{}, test.used); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

func killedAt(at time.Time) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "OOMKilled", FinishedAt: metav1.NewTime(at)}}
}

// TestScalingRefused: what a node, the scheduler, the kubelet or the API server refuses one member is said, and nothing else changes: the
// others keep what they have, no member gets a new Pod, and nothing waits.
func TestScalingRefused(t *testing.T) {
	type spoil func(*scene, *memory.Cluster)
	pending := func(kind corev1.PodConditionType, status corev1.ConditionStatus, reason string, ago time.Duration) spoil {
		return func(s *scene, _ *memory.Cluster) {
			pod := s.pod("a-1")
			pod.Status.ContainerStatuses[0].Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("256Mi")}
			pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
				Type: kind, Status: status, Reason: reason, Message: "no room", LastTransitionTime: metav1.NewTime(now.Add(-ago)),
			})
		}
	}
	for what, test := range map[string]struct {
		spoil func(*scene, *memory.Cluster)
		want  string
	}{
		"its node never has room": {
			pending(corev1.PodResizePending, corev1.ConditionTrue, corev1.PodReasonInfeasible, 0), "a-1 cannot have it where it runs: its node " +
				"never has room",
		},
		"its node has no room now": {pending(corev1.PodResizePending, corev1.ConditionTrue, corev1.PodReasonDeferred, time.Minute), ""},
		"its node has no room for minutes": {
			pending(corev1.PodResizePending, corev1.ConditionTrue, corev1.PodReasonDeferred, 3*time.Minute),
			"a-1 cannot have it where it runs: its node has no room now",
		},
		"the kubelet fails": {
			pending(corev1.PodResizeInProgress, corev1.ConditionTrue, corev1.PodReasonError, 3*time.Minute),
			"a-1 cannot have it where it runs: the kubelet cannot do it",
		},
		"no node takes its pod": {
			pending(corev1.PodScheduled, corev1.ConditionFalse, corev1.PodReasonUnschedulable, 3*time.Minute), "no node has room for a-1: no room",
		},
		"the API server refuses": {func(s *scene, remembered *memory.Cluster) {
			s.small("a-1")
			denied := memory.Ending{Err: errors.New("forbidden"), Denied: "exceeded quota"}
			remembered.Note(s.timedLook(remembered, 0), plan.ResizePod{Name: "a-1"}, denied, now)
		}, "Kubernetes refuses to resize pod a-1: exceeded quota"},
	} {
		t.Run(what, func(t *testing.T) {
			s, remembered := autoscaled(t, "384Mi"), &memory.Cluster{}
			test.spoil(s, remembered)
			v := s.timedLook(remembered, 0)
			why, refused := strings.CutPrefix(scaled(v), "no more than 384 MiB of memory: ")
			if refused != (test.want != "") || !strings.HasPrefix(why, test.want) {
				t.Errorf("%q, want %q", scaled(v), test.want)
			}
			for _, m := range v.Members {
				if m.Pod.Change != cluster.Same || test.want != "" && m.Pod.Resizing != "" {
					t.Errorf("%s is to change: %v, %s", m.Name, m.Pod.Change, m.Pod.Resizing)
				}
			}
		})
	}
}

// TestScalingIsRefusedOnce: what Kubernetes refuses is recorded once and asked for again after an hour, or at once for another size.
func TestScalingIsRefusedOnce(t *testing.T) {
	s, remembered := autoscaled(t, "512Mi"), &memory.Cluster{}
	s.small("a-1")
	denied := memory.Ending{Err: errors.New("forbidden"), Denied: "exceeded quota"}
	remembered.Note(s.timedLook(remembered, 0), plan.ResizePod{Name: "a-1"}, denied, now)
	if got := scaled(s.timedLook(remembered, 0)); !strings.HasPrefix(got, "no more than 512 MiB of memory: ") {
		t.Fatal(got)
	}
	s.c.Status.Autoscale.Refused = "exceeded quota"
	change := func(after time.Duration, want cluster.Change) {
		t.Helper()
		v := s.timedLook(remembered, after)
		if m, _ := v.Member("a-1"); m.Pod.Change != want || scaled(v) != "" {
			t.Errorf("after %s: %v, %s", after, m.Pod.Change, scaled(v))
		}
	}
	change(59*time.Minute, cluster.Same)
	change(61*time.Minute, cluster.Resize)
	s.c.Status.Autoscale.Memory = ptr.To(resource.MustParse("384Mi"))
	change(0, cluster.Resize)
}

// small has a Pod be as it was before its member was given more.
func (s *scene) small(name string) {
	pod, given := s.pod(name), s.c.Status.Autoscale
	s.c.Status.Autoscale = nil
	specs.Etcd(pod).Resources.Limits = maps.Clone(s.c.MemberResources().Limits)
	pod.Annotations[v1beta1.AnnotationTemplate] = specs.Fingerprint(s.c, name)
	s.c.Status.Autoscale = given
	pod.Status.ContainerStatuses[0].Resources = specs.Etcd(pod).Resources.DeepCopy()
}

// TestOldClustersAreTold: that their members ask for nothing is said, and changes no Pod.
func TestOldClustersAreTold(t *testing.T) {
	s := newScene(t)
	s.c.Spec.Resources = v1beta1.Resources{}
	s.c.Status.Recommendations = []v1beta1.Recommendation{{
		Setting: v1beta1.SettingRequests, Now: "none", Wanted: v1beta1.DefaultRequestsText, Since: metav1.NewTime(now.Add(-time.Hour)),
	}}
	v := s.timedLook(&memory.Cluster{}, 0)
	if len(v.Advice) != 1 || v.Advice[0].Setting != v1beta1.SettingRequests {
		t.Errorf("advice %v", v.Advice)
	}
	if change := s.member("a-1").Pod.Change; change != cluster.Same {
		t.Errorf("a-1 is to change: %v", change)
	}
}

// TestScaledPodsAreResized: what members are given beyond the spec is no reason for a new Pod, even where Kubernetes cannot resize; what
// the spec itself changes is.
func TestScaledPodsAreResized(t *testing.T) {
	for what, test := range map[string]struct {
		resizes specs.Resizes
		spoil   func(*scene)
		want    cluster.Change
	}{
		"more":                    {specs.ResizesAll, nil, cluster.Resize},
		"more, where nothing can": {specs.ResizesNothing, nil, cluster.Same},
		"another class, where all can": {specs.ResizesAll, func(s *scene) {
			s.c.Spec.Resources.Limits[corev1.ResourceCPU] = resource.MustParse("1")
			s.c.Spec.Resources.Requests = s.c.Spec.Resources.Limits
		}, cluster.Rebuild},
	} {
		t.Run(what, func(t *testing.T) {
			s := autoscaled(t, "")
			s.resizes = &test.resizes
			s.c.Status.Autoscale = &v1beta1.AutoscaleStatus{Memory: ptr.To(resource.MustParse("384Mi"))}
			if test.spoil != nil {
				test.spoil(s)
			}
			if got := s.member("a-1").Pod.Change; got != test.want {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}
