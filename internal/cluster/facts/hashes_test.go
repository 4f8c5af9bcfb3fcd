// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/etcd/etcdtest"
)

// TestFault27Compared: when the data of members is compared without an alarm, and what follows. A difference that was found once is looked
// for again before anything is done.
func TestFault27Compared(t *testing.T) {
	check := func(change func(*v1beta1.HashCheck)) func(*scene) {
		return func(s *scene) { change(s.c.Status.LastHashCheck) }
	}
	ago := func(d time.Duration) func(*v1beta1.HashCheck) {
		return func(c *v1beta1.HashCheck) { c.Time = metav1.NewTime(now.Add(-d)) }
	}
	different := func(s *scene) { s.c.Status.LastHashCheck.Verdict = v1beta1.HashesDifferent }
	odd := func(s *scene) { s.etcd.Corrupt("a-1") }
	never := func(s *scene) { s.c.Status.LastHashCheck = nil }
	large := func(s *scene) {
		s.twist = func(_ string, status *etcd.Status) { status.DBSize, status.DBSizeInUse = 200<<20, 200<<20 }
	}
	window := func(opens string) func(*scene) {
		return func(s *scene) {
			s.c.Spec.Maintenance.Defragmentation.Window = &v1beta1.MaintenanceWindow{
				Opens: opens, Duration: metav1.Duration{Duration: time.Hour},
			}
		}
	}
	open, closed := window(fmt.Sprintf("%d %d * * *", now.UTC().Minute(), now.UTC().Hour())), window("0 0 29 2 *")
	for what, test := range map[string]struct {
		spoil []func(*scene)
		want  string // made, first, differs; who is odd; step
	}{
		"an hour ago":    {nil, "false false false; done"},
		"six hours ago":  {[]func(*scene){check(ago(6 * time.Hour)), inTurn}, "true false false; done"},
		"never":          {[]func(*scene){never, inTurn}, "true false false; done"},
		"never, and old": {[]func(*scene){never}, "false false false; done"},
		"never, and new": {
			[]func(*scene){func(s *scene) { s.c.Status.LastHashCheck, s.c.CreationTimestamp = nil, metav1.NewTime(made) }}, "true false false; done",
		},
		"not its turn": {[]func(*scene){check(ago(7 * time.Hour))}, "false false false; done"},
		"tried in vain": {
			[]func(*scene){check(func(c *v1beta1.HashCheck) { c.Verdict = v1beta1.HashesUnknown })}, "true false false; done",
		},
		"tried a moment ago": {
			[]func(*scene){check(func(c *v1beta1.HashCheck) { ago(time.Minute)(c); c.Verdict = v1beta1.HashesUnknown })},
			"false false false; done",
		},
		"a member was replaced": {
			[]func(*scene){check(func(c *v1beta1.HashCheck) { c.Members = []string{"a-0", "a-1", "a-9"} })}, "true false false; done",
		},
		"asked for": {
			[]func(*scene){func(s *scene) { s.c.Annotations = map[string]string{v1beta1.AnnotationCheckHashes: "now"} }}, "true false false; done",
		},
		"asked for, and done": {
			[]func(*scene){
				func(s *scene) { s.c.Annotations = map[string]string{v1beta1.AnnotationCheckHashes: "now"} },
				check(func(c *v1beta1.HashCheck) { c.Request = "now" }),
			}, "false false false; done",
		},
		"so large that writes wait": {[]func(*scene){check(ago(7 * time.Hour)), large, inTurn}, "false false false; done"},
		"large, and never":          {[]func(*scene){never, large, inTurn}, "false false false; done"},
		"large, in the window":      {[]func(*scene){check(ago(7 * time.Hour)), large, inTurn, open}, "true false false; done"},
		"large, out of the window":  {[]func(*scene){check(ago(7 * time.Hour)), large, inTurn, closed}, "false false false; done"},
		"small, out of the window":  {[]func(*scene){check(ago(7 * time.Hour)), inTurn, closed}, "false false false; done"},
		"large, and asked for": {
			[]func(*scene){large, func(s *scene) { s.c.Annotations = map[string]string{v1beta1.AnnotationCheckHashes: "now"} }},
			"true false false; done",
		},
		"large, and found different": {[]func(*scene){different, odd, large}, "true false true; a-1; detach a-1 from the client service"},
		"off": {
			[]func(*scene){check(ago(7 * time.Hour)), inTurn, func(s *scene) { s.c.Spec.Maintenance.CorruptionCheck = v1beta1.CorruptionCheckOff }},
			"false false false; done",
		},
		"one is down": {[]func(*scene){check(ago(7 * time.Hour)), inTurn, func(s *scene) { s.stop("a-2") }}, "false false false; wait for a-2"},
		"one cannot say": {
			[]func(*scene){check(ago(7 * time.Hour)), inTurn, func(s *scene) { s.etcd.FailBefore(etcdtest.HashKV, errors.New("compacted")) }},
			"true false false; done",
		},
		"found different":       {[]func(*scene){check(ago(7 * time.Hour)), inTurn, odd}, "true true true; done"},
		"found different again": {[]func(*scene){different, odd}, "true false true; a-1; detach a-1 from the client service"},
		"found equal then":      {[]func(*scene){different}, "true false false; done"},
		"all different": {
			[]func(*scene){different, odd, func(s *scene) { s.etcd.Corrupt("a-2") }}, "true false true; refuse: members do not have the same data",
		},
	} {
		t.Run(what, func(t *testing.T) {
			s := newScene(t)
			for _, spoil := range test.spoil {
				spoil(s)
			}
			v := s.look()
			step, _ := plan.Next(v)
			got := strings.Join([]string{word(v.Hashes.IsMade()), word(v.Hashes.First), word(v.Hashes.Differ)}, " ") + "; "
			for _, m := range v.Select(cluster.HasHashMismatch) {
				got += m.Name + "; "
			}
			if got += step.String(); !strings.HasPrefix(got, test.want) {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

func word(is bool) string {
	if is {
		return "true"
	}
	return "false"
}

// TestFault27DoesNotStart: a member whose etcd does not start on data that differs is replaced if all others have the same. Whose data is
// good is not known if they do not.
func TestFault27DoesNotStart(t *testing.T) {
	for what, test := range map[string]struct {
		spoil func(*scene)
		want  string
	}{
		"the others agree": {func(*scene) {}, "remove member a-1: its data is not that of the other voters, which have the same"},
		"they do not": {
			func(s *scene) { s.etcd.Corrupt("a-2") }, "refuse: members do not have the same data, and nothing is changed, because it is not known " +
				"whose differs: etcd of a-1 does not start because other members have other data, and no majority",
		},
		"one of them cannot be asked": {
			func(s *scene) { s.etcd.FailBefore(etcdtest.HashKV, errors.New("compacted")) }, "refuse: members do not have the same data",
		},
	} {
		t.Run(what, func(t *testing.T) {
			s := newScene(t)
			s.stop("a-1")
			pod := s.pod("a-1")
			pod.Status.Phase = corev1.PodRunning
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
				Name: "etcd", RestartCount: 2,
				State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
				LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
					ExitCode: 1, Reason: "Error",
					Message: `{"level":"fatal","msg":"discovery failed","error":"8e9e05c52164694d found data inconsistency with peers"}`,
				}},
			}}
			test.spoil(s)
			if step, _ := plan.Next(s.look()); !strings.HasPrefix(step.String(), test.want) {
				t.Errorf("%s, want %s", step, test.want)
			}
		})
	}
}
