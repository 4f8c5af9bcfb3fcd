// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package act_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/internal/cluster/act"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
)

// restOnAnswers are the steps that are not done on answers which are old, with names of their own in the world of aged.
var restOnAnswers = slices.Concat(changes[:4], disturbances, []plan.Step{
	plan.CreatePods{Names: []string{"a-0"}, Forced: true},
	plan.DeleteVolume{Name: "a-7"},
})

// aged is a scene in which members were asked that long ago when the EtcdCluster has been read again.
func aged(t *testing.T, age time.Duration) *scene {
	t.Helper()
	c := example()
	c.Status.Recovering = "a-0"
	s := newScene(t, c, seen(), claim("a-7"), pod("a-1", "pod-1"))
	s.view.Members[0].Pod.Phase = 0
	clock := now
	s.actor.Now = func() time.Time { return clock }
	s.actor.Leads = func(context.Context) error {
		clock = now.Add(age)
		return nil
	}
	return s
}

// TestFault105AnswersGetOld: between what members have answered and a step that disturbs one of them, the API server may take any time.
// Then nothing is done, if a member that was healthy does not answer any more.
func TestFault105AnswersGetOld(t *testing.T) {
	for _, step := range restOnAnswers {
		s := aged(t, 10*time.Second)
		s.etcd.Stop("a-2")
		if err := s.do(step); !errors.Is(err, act.ErrStale) {
			t.Errorf("%s: got %v, want %v", step, err, act.ErrStale)
		}
		writes := slices.DeleteFunc(s.api.writes, func(w string) bool { return w == "create Pod a-1-dry-run" })
		if len(s.etcd.Log())+len(writes) > 0 {
			t.Errorf("%s: etcd did %v; writes %v", step, s.etcd.Log(), writes)
		}
		s = aged(t, time.Second)
		if err := s.do(step); err != nil {
			t.Errorf("%s, a second after members were asked: %v", step, err)
		}
	}
}

// TestFault105AnswersAreAskedForAgain: an API server that is slow each time holds up no step: the members say again that they are as they
// were. Of those that do not answer, on which a forced member rests, nothing is known again.
func TestFault105AnswersAreAskedForAgain(t *testing.T) {
	for _, step := range restOnAnswers {
		s := aged(t, 10*time.Second)
		forces, starts := step.(plan.CreatePods)
		if err := s.do(step); errors.Is(err, act.ErrStale) != (starts && forces.Forced) {
			t.Errorf("%s: %v", step, err)
		}
		s = aged(t, 10*time.Second)
		s.view.Members[0].Leader, s.view.Members[1].Leader = false, true
		if err := s.do(step); !errors.Is(err, act.ErrStale) {
			t.Errorf("%s under another leader: %v", step, err)
		}
	}
}

// TestFault105ClientsKeepTheirMember: a Pod is not detached from the client Service either.
func TestFault105ClientsKeepTheirMember(t *testing.T) {
	pods := []plan.PodRef{{Name: "a-1", UID: "pod-1"}}
	s := newScene(t, example(), seen(), pod("a-1", "pod-1"))
	s.age = 10 * time.Second
	s.etcd.Stop("a-2")
	if err := s.do(plan.MarkPods{Pods: pods, As: plan.Detach}); !errors.Is(err, act.ErrStale) || len(s.api.writes) > 0 {
		t.Errorf("detaching on old answers: %v; writes %v", err, s.api.writes)
	}
	s.mustDo(plan.MarkPods{Pods: pods, As: plan.Existing})
}

// patient is an API server that has a deletion wait for as long as the caller does.
type patient struct{ *api }

func (p patient) Delete(ctx context.Context, _ client.Object, _ ...client.DeleteOption) error {
	<-ctx.Done()
	return ctx.Err()
}

// TestFault105ServerHasTheStepWait: a deletion that the API server does not answer ends when what it rests on is old.
func TestFault105ServerHasTheStepWait(t *testing.T) {
	s := newScene(t, example(), seen(), pod("a-1", "pod-1"))
	s.actor.Client = patient{s.api}
	s.actor.Now = func() time.Time { return now.Add(5*time.Second - 20*time.Millisecond) }
	if err := s.do(disturbances[2]); !errors.Is(err, act.ErrStale) || !s.get("a-1", &corev1.Pod{}) {
		t.Errorf("got %v, want %v", err, act.ErrStale)
	}
}
