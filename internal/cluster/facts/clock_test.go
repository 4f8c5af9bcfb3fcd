// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// TestFault38ClockThatIsBehind: certificates that live for minutes are judged by the later clock, by which they are made: by the other one
// they would live for too long, and be made again for ever, or be taken for good when they have expired.
func TestFault38ClockThatIsBehind(t *testing.T) {
	s := newScene(t)
	s.ahead = -2 * v1beta1.DefaultCertificateLifetime
	if v := s.look(); len(v.Objects) == 0 {
		t.Error("certificates that have expired by the API server's clock are not made again")
	}
}

// TestFault38ClockThatIsAhead: what another clock has written down, a node's or that of the
// replica that led before, may lie in the future. It is not waited for until then.
func TestFault38ClockThatIsAhead(t *testing.T) {
	for _, test := range []struct {
		ago                        time.Duration
		fresh, shaky, calm, barred bool
	}{
		{ago: 3 * time.Hour, calm: true},
		{ago: 30 * time.Second, calm: true, barred: true},
		{ago: 29 * time.Second, fresh: true, calm: true, barred: true},
		{ago: 10 * time.Second, fresh: true, calm: true, barred: true},
		{ago: 9 * time.Second, fresh: true, shaky: true, calm: true, barred: true},
		{ago: time.Second, fresh: true, shaky: true, calm: true, barred: true},
		{ago: 999 * time.Millisecond, fresh: true, shaky: true, barred: true},
		{ago: -999 * time.Millisecond, fresh: true, shaky: true, barred: true},
		{ago: -9 * time.Second, fresh: true, shaky: true, calm: true, barred: true},
		{ago: -29 * time.Second, fresh: true, calm: true, barred: true},
		{ago: -10 * time.Minute, calm: true, barred: true},
		{ago: -3 * time.Hour, calm: true},
	} {
		s := newScene(t)
		pod, at := s.pod("a-1"), now.Add(-test.ago)
		pod.Status.ContainerStatuses[0].State.Running.StartedAt = metav1.NewTime(at)
		pod.Status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1}
		metav1.SetMetaDataLabel(&pod.ObjectMeta, specs.ComponentLabel, specs.Leaving)
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, v1beta1.AnnotationDetachedAt, at.Format(time.RFC3339Nano))
		s.c.Spec.Storage.Size.Set(4 << 30)
		metav1.SetMetaDataAnnotation(&s.claim("a-1").ObjectMeta, v1beta1.AnnotationGrowthRefused, "4Gi "+at.Format(time.RFC3339)+" no")
		v := s.look()
		m, _ := v.Member("a-1")
		calm := m.Pod.Clients == cluster.Gone
		if v.Fresh != test.fresh || m.Pod.RecentlyRestarted != test.shaky || calm != test.calm || (len(v.Refused) > 0) != test.barred {
			t.Errorf("%s ago: fresh %t, shaky %t, quiet %t, barred %t",
				test.ago, v.Fresh, m.Pod.RecentlyRestarted, calm, len(v.Refused) > 0)
		}
	}
}

// TestDetachedByAnEarlierRelease: clients get their second to leave a Pod that an operator of release 0.6 has detached, by the name that
// the annotation had there.
func TestDetachedByAnEarlierRelease(t *testing.T) {
	s := newScene(t)
	pod := s.pod("a-1")
	metav1.SetMetaDataLabel(&pod.ObjectMeta, specs.ComponentLabel, specs.Leaving)
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, "etcd-operator.dev/withdrawn-at", now.Format(time.RFC3339Nano))
	if m, _ := s.look().Member("a-1"); m.Pod.Clients != cluster.Leaving {
		t.Errorf("clients are %v, not leaving", m.Pod.Clients)
	}
}

// TestFault38ClockAheadOfTheServer: what would be deleted or replaced by this machine's clock
// alone is not.
func TestFault38ClockAheadOfTheServer(t *testing.T) {
	for ahead, over := range map[time.Duration]bool{0: true, time.Hour: false} {
		s := newScene(t)
		s.ahead = ahead
		onNode(s, corev1.ConditionUnknown, 6*time.Minute)
		ends := s.pod("a-0")
		ends.DeletionTimestamp, ends.Finalizers = &metav1.Time{Time: now.Add(-6 * time.Minute)}, []string{"example.com/held"}
		aside := s.claim("a-2")
		aside.Labels[v1beta1.LabelQuarantined] = "true"
		since := now.Add(-s.c.Spec.Storage.KeepFor()).Format(time.RFC3339)
		metav1.SetMetaDataAnnotation(&aside.ObjectMeta, v1beta1.AnnotationQuarantinedAt, since)
		v := s.look()
		silent, _ := v.Member("a-1")
		ending, _ := v.Member("a-0")
		if (len(v.Expired) > 0) != over || (silent.NodeUnreachable != "") != over || ending.Pod.Overdue != over {
			t.Errorf("ahead by %s: expired %v, stranded %q, overdue %t", ahead, v.Expired, silent.NodeUnreachable, ending.Pod.Overdue)
		}
	}
}
