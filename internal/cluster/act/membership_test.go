// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package act_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster/act"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/etcd/etcdtest"
)

// changes are the steps that change the membership.
var changes = []plan.Step{
	plan.AddLearner{Name: "a-3"},
	plan.UpdatePeerURLs{Name: "a-2"},
	plan.Promote{Name: "a-2"},
	plan.RemoveMember{Name: "a-2"},
	plan.MoveLeader{From: "a-0", To: "a-1"},
	plan.Downgrade{To: "3.5"},
}

// disturbances are the steps that end what a member runs.
var disturbances = []plan.Step{
	plan.UpdateImage{Name: "a-1", UID: "pod-1", Version: "3.7.3"},
	plan.DeletePods{How: plan.Detached, Pods: []plan.PodRef{{Name: "a-1", UID: "pod-1"}}},
	plan.DeletePods{Pods: []plan.PodRef{{Name: "a-1", UID: "pod-1"}}},
	plan.DeletePods{Pods: []plan.PodRef{{Name: "a-1", UID: "pod-1"}}, How: plan.DryRun},
}

// TestFault5FenceHoldsBackMembership: when the EtcdCluster is no longer the one
// that was observed, etcd is not even dialled, and no Pod is disturbed.
func TestFault5FenceHoldsBackMembership(t *testing.T) {
	for what, change := range map[string]func(*v1beta1.EtcdCluster){
		"the generation has changed": func(c *v1beta1.EtcdCluster) { c.Generation++ },
		"the UID has changed":        func(c *v1beta1.EtcdCluster) { c.UID = "u2" },
		"another installation has taken it over": func(c *v1beta1.EtcdCluster) {
			c.Status.Operator = "theirs/etcd-operator.dev"
		},
		"deletion is under way": func(c *v1beta1.EtcdCluster) {
			c.DeletionTimestamp, c.Finalizers = &metav1.Time{Time: now}, []string{"example.com/wait"}
		},
	} {
		t.Run(what, func(t *testing.T) {
			truth := example()
			change(truth)
			s := newScene(t, truth, seen(), pod("a-1", "pod-1"))
			s.c = example()
			for _, step := range append(slices.Clone(changes), disturbances...) {
				if err := s.do(step); !errors.Is(err, act.ErrChanged) {
					t.Errorf("%s: got %v, want %v", step, err, act.ErrChanged)
				}
			}
			if s.dials.Load() > 0 || len(s.etcd.Log()) > 0 || !s.get("a-1", &corev1.Pod{}) {
				t.Errorf("%d dials; etcd did %v; writes %v", s.dials.Load(), s.etcd.Log(), s.api.writes)
			}
		})
	}
}

// TestFault11LeaseIsLost: an operator that no longer holds the lease changes nothing in
// etcd, ends no Pod, exchanges no image, forces no member and deletes no volume.
func TestFault11LeaseIsLost(t *testing.T) {
	lost := errors.New("another replica holds the lease")
	c := example()
	c.Status.Recovering = "a-0"
	s := newScene(t, c, seen(), claim("a-7"), pod("a-1", "pod-1"))
	s.actor.Leads = func(context.Context) error { return lost }
	others := []plan.Step{
		plan.Downgrade{},
		plan.DisarmAlarm{Kind: "CORRUPT", ID: 9},
		plan.CreatePods{Names: []string{"a-0"}, Forced: true},
		plan.DeleteVolume{Name: "a-7"},
	}
	for _, step := range slices.Concat(changes, disturbances, others) {
		if err := s.do(step); !errors.Is(err, lost) {
			t.Errorf("%s: got %v, want %v", step, err, lost)
		}
	}
	left := slices.DeleteFunc(s.api.writes, func(w string) bool { return strings.Contains(w, "-dry-run") })
	if s.dials.Load() > 0 || len(s.etcd.Log()) > 0 || len(left) > 0 {
		t.Errorf("%d dials; etcd did %v; writes %v", s.dials.Load(), s.etcd.Log(), s.api.writes)
	}
}

// TestForceOnlyWhileRecovering: once quorum is recovered others may have joined, and a
// member that forces a new cluster would remove them.
func TestForceOnlyWhileRecovering(t *testing.T) {
	s := newScene(t, example(), seen())
	if err := s.do(plan.CreatePods{Names: []string{"a-0"}, Forced: true}); !errors.Is(err, act.ErrChanged) || len(s.api.writes) > 0 {
		t.Errorf("got %v, writes %v", err, s.api.writes)
	}
}

// TestFenceWithoutAnswerHoldsBackMembership: an API server that does not answer, or
// that no longer has the EtcdCluster, is no leave to act.
func TestFenceWithoutAnswerHoldsBackMembership(t *testing.T) {
	s := newScene(t, example(), seen())
	s.actor.Live = hiding{s.api, "*v1beta1.EtcdCluster a"}
	for _, step := range changes {
		if err := s.do(step); err == nil || errors.Is(err, act.ErrChanged) {
			t.Errorf("%s: got %v, want the error of the read", step, err)
		}
	}
	if s.dials.Load() > 0 || len(s.etcd.Log()) > 0 {
		t.Errorf("%d dials; etcd did %v", s.dials.Load(), s.etcd.Log())
	}
}

// TestOnlyTheLeaderIsAsked: without a leader no member is asked.
func TestOnlyTheLeaderIsAsked(t *testing.T) {
	s := newScene(t, example(), seen())
	s.view.Members[0].Leader = false
	for _, step := range changes {
		if err := s.do(step); err == nil {
			t.Errorf("%s succeeded without a leader", step)
		}
	}
	if s.dials.Load() > 0 {
		t.Errorf("%d dials", s.dials.Load())
	}
}

// TestMembershipTakesItsCourse: what etcd did for each step, in its own words.
func TestMembershipTakesItsCourse(t *testing.T) {
	s := newScene(t, example(), seen())
	s.mustDo(plan.AddLearner{Name: "a-4"})
	if got, want := s.etcd.Log(), []string{"add learner https://a-4.a.default.svc:2380"}; !slices.Equal(got, want) {
		t.Errorf("etcd did %v, want %v", got, want)
	}
	s.mustDo(plan.MoveLeader{From: "a-0", To: "a-1"})
	s.view.Members[0].Leader, s.view.Members[1].Leader = false, true
	s.etcd.Stop("a-0")
	s.mustDo(plan.RemoveMember{Name: "a-0"})
	if got, want := s.etcd.Log()[1:], []string{"move leadership to a-1", "remove https://a-0:2380"}; !slices.Equal(got, want) {
		t.Errorf("etcd did %v, want %v", got, want)
	}
}

// TestNotReadyIsReturned: etcd's "not now" must reach the caller, which then asks
// again soon.
func TestNotReadyIsReturned(t *testing.T) {
	s := newScene(t, example(), seen())
	withLearner(s)
	s.etcd.FailBefore(etcdtest.Promote, etcd.ErrNotReady)
	if err := s.do(plan.Promote{Name: "a-3"}); !errors.Is(err, etcd.ErrNotReady) {
		t.Errorf("got %v, want %v", err, etcd.ErrNotReady)
	}
	if err := s.do(plan.AddLearner{Name: "a-4"}); !errors.Is(err, etcd.ErrNotReady) {
		t.Errorf("a second learner: got %v, want %v", err, etcd.ErrNotReady)
	}
}
