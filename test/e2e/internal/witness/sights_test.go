// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package witness

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// What becomes of a Pod in a roll, in short.
const (
	old     = "old"     // ready, with the spec from before
	swapped = "swapped" // ready, because the container from before has yet to end
	ending  = "ending"  // told to end
	gone    = "gone"
	begun   = "begun"  // made, and not running
	back    = "back"   // running with the new spec, not found ready
	proven  = "proven" // found ready with the new spec
)

// A roll is told Pod by Pod, second by second.
type moment struct{ pod, becomes string }

func TestOneReadyPodIsEnoughInTheLastHandOverAlone(t *testing.T) {
	for name, test := range map[string]struct {
		roll               []moment
		fewest, fewestElse int
	}{
		"each waits until the one before is ready": {
			[]moment{
				{"a", ending},
				{"a", gone},
				{"a", begun},
				{"a", back},
				{"a", proven},
				{"b", ending},
				{"b", gone},
				{"b", begun},
				{"b", back},
				{"b", proven},
				{"c", ending},
				{"c", gone},
				{"c", begun},
				{"c", back},
				{"c", proven},
			}, 2, 2,
		},
		"the last does not wait": {
			[]moment{
				{"a", ending},
				{"a", gone},
				{"a", begun},
				{"a", back},
				{"a", proven},
				{"b", ending},
				{"b", gone},
				{"b", begun},
				{"b", back},
				{"c", ending},
				{"c", gone},
				{"c", begun},
				{"b", proven},
				{"c", back},
				{"c", proven},
			}, 1, 2,
		},
		"the last does not wait, in place": {
			[]moment{
				{"a", swapped}, {"a", back}, {"a", proven}, {"b", swapped}, {"b", back}, {"c", swapped}, {"c", back}, {"b", proven}, {"c", proven},
			}, 1, 2,
		},
		"the second does not wait for the first": {
			[]moment{{"a", ending}, {"a", gone}, {"a", begun}, {"a", back}, {"b", ending}}, 1, 1,
		},
		"the second does not wait for the first, in place": {
			[]moment{{"a", swapped}, {"a", back}, {"b", swapped}, {"b", back}}, 1, 1,
		},
		"the last goes while the one before does not run": {
			[]moment{
				{"a", ending}, {"a", gone}, {"a", begun}, {"a", back}, {"a", proven}, {"b", ending}, {"b", gone}, {"b", begun}, {"c", ending},
			}, 1, 1,
		},
		"two fall when the roll is over": {
			[]moment{
				{"a", ending},
				{"a", gone},
				{"a", begun},
				{"a", back},
				{"a", proven},
				{"b", ending},
				{"b", gone},
				{"b", begun},
				{"b", back},
				{"b", proven},
				{"c", ending},
				{"c", gone},
				{"c", begun},
				{"c", back},
				{"c", proven},
				{"b", back},
				{"c", back},
				{"c", back},
			}, 1, 1,
		},
		"nobody is left": {
			[]moment{
				{"a", ending},
				{"a", gone},
				{"a", begun},
				{"a", back},
				{"a", proven},
				{"b", ending},
				{"b", gone},
				{"b", begun},
				{"b", back},
				{"c", ending},
				{"a", ending},
			}, 0, 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := begin([]corev1.Pod{pod("a", old), pod("b", old), pod("c", old)})
			at := time.Now()
			for _, m := range test.roll {
				at = at.Add(2 * wavering)
				p, kind := pod(m.pod, m.becomes), watch.Modified
				if m.becomes == gone {
					kind = watch.Deleted
				}
				s.see(kind, &p, at)
			}
			if s.fewest != test.fewest || s.fewestElse != test.fewestElse {
				t.Errorf("%d, %d but in the last hand-over; want %d, %d", s.fewest, s.fewestElse, test.fewest, test.fewestElse)
			}
			if len(s.cut) > 0 {
				t.Error(s.cut)
			}
		})
	}
}

// TestAWordThatIsTakenBackCounts: for as long as the kubelet wavers, and no longer; not of a member that is told to end, or that gets
// another container.
func TestAWordThatIsTakenBackCounts(t *testing.T) {
	for _, test := range []struct {
		is, then string
		after    time.Duration
		want     int
	}{
		{proven, back, wavering / 2, 2},
		{proven, back, 2 * wavering, 1},
		{old, back, wavering / 2, 1},
		{proven, ending, wavering / 2, 1},
	} {
		s := begin([]corev1.Pod{pod("a", test.is), pod("b", old)})
		at := time.Now()
		first, second := pod("a", back), pod("a", test.then)
		s.see(watch.Modified, &first, at)
		at = at.Add(test.after)
		s.see(watch.Modified, &second, at)
		if got := s.ready(at); got != test.want {
			t.Errorf("%s, and %s for %s: %d ready, want %d", test.is, test.then, test.after, got, test.want)
		}
	}
}

// TestAPodThatIsCutIsTold: one that is gone while its container runs.
func TestAPodThatIsCutIsTold(t *testing.T) {
	s := begin([]corev1.Pod{pod("a", old)})
	p := pod("a", old)
	s.see(watch.Deleted, &p, time.Now())
	if len(s.cut) != 1 || s.fewest != 0 {
		t.Errorf("cut: %v, fewest: %d", s.cut, s.fewest)
	}
}

func pod(name, is string) corev1.Pod {
	image, ready, state := "new", corev1.ConditionFalse, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: "example-" + name, UID: types.UID(name + "-" + is),
		Labels: map[string]string{
			v1beta1.LabelMember: "example-" + name, "app.kubernetes.io/component": is, corev1.LabelTopologyZone: "zone-of-" + name,
		},
	}}
	switch is {
	case old:
		image, ready = "old", corev1.ConditionTrue
	case swapped, proven:
		ready = corev1.ConditionTrue
	case ending:
		image, ready, p.DeletionTimestamp = "old", corev1.ConditionTrue, &metav1.Time{Time: time.Now()}
	case gone:
		image, p.DeletionTimestamp = "old", &metav1.Time{Time: time.Now()}
		state = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}
	case begun:
		state = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}
	}
	p.Spec = corev1.PodSpec{
		NodeName: "node-of-" + name, Hostname: p.Name, Containers: []corev1.Container{{Image: image, Args: []string{"--name=" + p.Name}}},
	}
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{State: state}}
	return p
}
