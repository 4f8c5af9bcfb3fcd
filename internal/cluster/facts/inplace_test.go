// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"strings"
	"testing"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/facts"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/etcd/etcdtest"
)

// newInPlace is a cluster that runs well, beside which volumes of two members to come have the data of a backup.
func newInPlace(t *testing.T) *scene {
	t.Helper()
	s := newScene(t)
	s.c.Status.Restore = &v1beta1.RestoreStatus{
		Request: "er", RequestUID: "er-1", Path: "p", Members: []string{"a-3", "a-4"}, SetAside: []string{"a-0", "a-1", "a-2"},
		KeepFor: &metav1.Duration{Duration: 48 * time.Hour}, RestoredAt: &metav1.Time{Time: now},
	}
	for _, name := range s.c.Status.Restore.Members {
		s.more(name)
		claim := s.claim(name)
		claim.Annotations = map[string]string{v1beta1.AnnotationClusterID: "c2", v1beta1.AnnotationToken: string(s.c.UID)}
		claim.OwnerReferences = nil // as the deletion policy has it
	}
	return s
}

// TestFillingDisturbsNoMember: before all volumes have the data, the cluster goes on as if they were not there, but for their names.
func TestFillingDisturbsNoMember(t *testing.T) {
	s := newInPlace(t)
	s.c.Status.Restore.RestoredAt = nil
	delete(s.claim("a-4").Annotations, v1beta1.AnnotationClusterID)
	v := s.look()
	if step, because := plan.Next(v); step != (plan.Done{}) || v.Restore.InPlace != "" || v.Record.NextSerial != 5 {
		t.Errorf("%s (%s), %+v, next %d", step, because, v.Restore, v.Record.NextSerial)
	}
}

// TestReplacing: once all volumes have had the data their members replace the others, and that does not end when one is lost.
func TestReplacing(t *testing.T) {
	for what, test := range map[string]struct {
		change func(s *scene)
		gives  bool
		done   bool
	}{
		"all have it":        {func(*scene) {}, true, true},
		"one was lost":       {func(s *scene) { s.drop("PersistentVolumeClaim a-4") }, true, false},
		"one was made again": {func(s *scene) { delete(s.claim("a-4").Annotations, v1beta1.AnnotationClusterID) }, true, false},
		"they were replaced": {func(s *scene) {
			s.c.Status.Bootstrap = &v1beta1.Bootstrap{Token: "u1", Restore: "er-1"}
		}, false, false},
		"an earlier restore was there": {func(s *scene) { s.c.Status.Bootstrap = &v1beta1.Bootstrap{Token: "u1", Restore: "er-0"} }, true, true},
		"undone before": {func(s *scene) {
			s.c.Status.Restore.Undo, s.c.Status.Restore.RestoredAt = true, nil
		}, false, false},
	} {
		s := newInPlace(t)
		test.change(s)
		v := s.look()
		chosen := v.Count(cluster.IsChosen)
		if (v.Restore.InPlace != "") != test.gives || test.gives && v.Restore.Done != test.done || (chosen == 2) != test.gives {
			t.Errorf("%s: %+v, %d are chosen", what, v.Restore, chosen)
		}
		if facts.ByCluster(s.c).Live != test.gives {
			t.Errorf("%s: the API server is asked: %t", what, !test.gives)
		}
	}
}

// TestUndo: members that come back are seen although their volumes are set aside, and these do not expire meanwhile.
func TestUndo(t *testing.T) {
	s := newInPlace(t)
	r := s.c.Status.Restore
	r.Undo, r.Members, r.SetAside = true, r.SetAside, r.Members
	for _, name := range r.Members {
		claim := s.claim(name)
		claim.Labels[v1beta1.LabelQuarantined] = "true"
		claim.Annotations[v1beta1.AnnotationQuarantinedAt] = now.Add(-1000 * time.Hour).Format(time.RFC3339)
	}
	s.drop("Pod a-0", "Pod a-1", "Pod a-2")
	v := s.look()
	aside := v.Count(cluster.IsChosen, func(m cluster.Member) bool { return m.SetAside && m.Volume == cluster.Kept })
	if v.Restore.InPlace != "er-1/undo" || !v.Restore.Undo || !v.Restore.Done || aside != 3 || len(v.Expired) > 0 {
		t.Errorf("%+v, %d come back, %v expired", v.Restore, aside, v.Expired)
	}
}

// TestKeptForLonger: what a restore sets aside is kept for as long as that says, whatever the spec of the cluster says.
func TestKeptForLonger(t *testing.T) {
	for keep, expired := range map[string]int{"": 1, "nonsense": 1, "400h": 0, "1h": 1} {
		s := newScene(t)
		s.more("a-7")
		claim := s.claim("a-7")
		claim.Labels[v1beta1.LabelQuarantined] = "true"
		claim.Annotations = map[string]string{
			v1beta1.AnnotationQuarantinedAt: now.Add(-200 * time.Hour).Format(time.RFC3339), v1beta1.AnnotationKeepFor: keep,
		}
		if v := s.look(); len(v.Expired) != expired {
			t.Errorf("%q: %v", keep, v.Expired)
		}
	}
}

// TestFault103PartGoneWhileFilling: what is gone from the store is a problem for a person, and the message says how to give up; a
// connection that fails is not. Both are reported while the members of today serve, and neither once the restore was cancelled.
func TestFault103PartGoneWhileFilling(t *testing.T) {
	for _, final := range []bool{true, false} {
		s := newInPlace(t)
		r := s.c.Status.Restore
		delete(s.claim("a-3").Annotations, v1beta1.AnnotationClusterID)
		r.RestoredAt, r.Failure = nil, &v1beta1.RestoreFailure{Member: "a-3", Message: "x.part is not in the store", Final: final}
		v := s.look()
		message := v.Restore.Failure
		if final {
			message = v.Restore.Problem
		}
		if !v.Restore.Filling || !strings.Contains(message, "x.part is not in the store") ||
			strings.Contains(message, "to give up, delete EtcdRestore er") != final || strings.Contains(message, "it is tried again") == final {
			t.Errorf("final %t: %+v", final, v.Restore)
		}
		if step, because := plan.Next(v); step != (plan.Done{}) {
			t.Errorf("members do not go on: %s (%s)", step, because)
		}
		r.Undo = true
		if v := s.look(); v.Restore.Filling {
			t.Errorf("cancelled: %+v", v.Restore)
		}
	}
}

// newBeside is that cluster before any member was replaced. The members to come serve beside the others, detached, on data of their own.
func newBeside(t *testing.T) *scene {
	t.Helper()
	s := newInPlace(t)
	s.c.Status.Restore.RestoredAt = nil
	for _, name := range s.c.Status.Restore.Members {
		pod := s.newPod(name)
		pod.Labels[specs.ComponentLabel] = specs.Leaving
		s.objects = append(s.objects, pod)
	}
	s.find("PodDisruptionBudget a").(*policyv1.PodDisruptionBudget).Spec = specs.Budget(s.c, 4).Spec
	return s
}

// TestBesideAreStarted: once the volumes of all have the data.
func TestBesideAreStarted(t *testing.T) {
	s := newInPlace(t)
	s.c.Status.Restore.RestoredAt = nil
	if step, because := plan.Next(s.look()); step.String() != "start a-3, a-4 beside the members that they replace" {
		t.Errorf("%s (%s)", step, because)
	}
	s.c.Status.Restore.Undo = true
	if v := s.look(); len(v.Beside) > 0 {
		t.Errorf("cancelled: %+v", v.Beside)
	}
}

// TestBesideDisturbNoMember: they are no members, whatever becomes of their volumes; but an eviction of old members must count with them.
func TestBesideDisturbNoMember(t *testing.T) {
	for what, change := range map[string]func(*scene){
		"they serve":                  func(*scene) {},
		"a volume is lost":            func(s *scene) { s.drop("PersistentVolumeClaim a-4") },
		"a volume is about to be":     func(s *scene) { s.going("a-4") },
		"paused, and all is as it is": func(s *scene) { s.c.Spec.Paused = true },
	} {
		s := newBeside(t)
		change(s)
		v := s.look()
		if step, because := plan.Next(v); !plan.Rests(step) || len(v.Members) != 3 || len(v.Beside) != 2 || v.MustStay() != 4 {
			t.Errorf("%s: %s (%s), %d members, beside %+v, %d must stay", what, step, because, len(v.Members), v.Beside, v.MustStay())
		}
	}
}

// TestBesideAreGivenUp: if the restore is cancelled, or the cluster is to hibernate, they are as members that were removed.
func TestBesideAreGivenUp(t *testing.T) {
	s := newBeside(t)
	r := s.c.Status.Restore
	r.Undo, r.Members, r.SetAside = true, r.SetAside, r.Members
	if step, because := plan.Next(s.look()); step.String() != "delete pod a-3: etcd no longer lists it" {
		t.Errorf("cancelled: %s (%s)", step, because)
	}
	s.drop("Pod a-3", "Pod a-4")
	if step, because := plan.Next(s.look()); step.String() != "quarantine volume a-3" {
		t.Errorf("cancelled, and the Pods are gone: %s (%s)", step, because)
	}
	s = newBeside(t)
	s.drop("Pod a-0", "Pod a-1", "Pod a-2")
	s.c.Spec.Size = ptr.To[int32](0)
	if step, because := plan.Next(s.look()); step.String() != "delete pod a-3: the size is 0" {
		t.Errorf("hibernated: %s (%s)", step, because)
	}
}

// TestBesideReplace: what they run on is no foreign data, and one whose volume is lost by now is not filled again.
func TestBesideReplace(t *testing.T) {
	s := newBeside(t)
	s.c.Status.Restore.RestoredAt = &metav1.Time{Time: now}
	s.etcd = etcdtest.New("a-0", "a-1", "a-2", "a-3", "a-4")
	s.twist = func(name string, status *etcd.Status) {
		if name == "a-3" || name == "a-4" {
			status.ClusterID = 0xc2
		}
	}
	s.drop("PersistentVolumeClaim a-4")
	v := s.look()
	if v.Restore.InPlace == "" || !v.Restore.Done || len(v.Beside) > 0 || v.Count(cluster.IsChosen, cluster.IsForeign) > 0 {
		t.Errorf("%+v, beside %+v", v.Restore, v.Beside)
	}
	step, because := plan.Next(v)
	if step.String() != "delete pod a-0, a-1, a-2: the cluster is restored to a backup" {
		t.Errorf("%s (%s)", step, because)
	}
}
