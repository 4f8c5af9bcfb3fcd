// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster/facts"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// newRestored is a cluster whose volumes have just got the data of a backup; no member has a Pod.
func newRestored(t *testing.T) *scene {
	t.Helper()
	s := newScene(t)
	s.drop("Pod a-0", "Pod a-1", "Pod a-2")
	s.c.Spec.Bootstrap = &v1beta1.BootstrapSpec{Restore: &v1beta1.Restore{Backup: "first"}}
	s.c.Status = v1beta1.EtcdClusterStatus{Restore: &v1beta1.RestoreStatus{
		Path: "p", Members: []string{"a-0", "a-1", "a-2"}, RestoredAt: &metav1.Time{Time: now},
	}}
	for _, name := range s.c.Status.Restore.Members {
		claim := s.claim(name)
		claim.Annotations[v1beta1.AnnotationClusterID] = "c1"
		claim.OwnerReferences = []metav1.OwnerReference{specs.Owner(s.c)}
	}
	return s
}

// TestRestored: what the status says of volumes counts for as long as they are as it says.
func TestRestored(t *testing.T) {
	s := newRestored(t)
	if step, because := plan.Next(s.look()); step.String() != "adopt members a-0, a-1, a-2 with their data" {
		t.Errorf("%s (%s)", step, because)
	}
	for what, spoil := range map[string]func(s *scene){
		"a volume is gone": func(s *scene) { s.drop("PersistentVolumeClaim a-1") },
		"all are": func(s *scene) {
			s.drop("PersistentVolumeClaim a-0", "PersistentVolumeClaim a-1", "PersistentVolumeClaim a-2")
		},
		"one is being deleted":       func(s *scene) { s.going("a-1") },
		"one was made again":         func(s *scene) { delete(s.claim("a-1").Annotations, v1beta1.AnnotationClusterID) },
		"one is of another plan":     func(s *scene) { s.claim("a-1").Annotations[v1beta1.AnnotationToken] = "u0" },
		"one more is there":          func(s *scene) { s.more("a-7") },
		"the status does not say so": func(s *scene) { s.c.Status.Restore.RestoredAt = nil },
		"nothing was chosen yet":     func(s *scene) { s.c.Status.Restore = nil },
	} {
		s := newRestored(t)
		spoil(s)
		if step, because := plan.Next(s.look()); because != "wait for the restore" {
			t.Errorf("%s: %s (%s)", what, step, because)
		}
	}
}

// going has the volume of a member be deleted while something holds it.
func (s *scene) going(name string) {
	claim := s.claim(name)
	claim.DeletionTimestamp, claim.Finalizers = &metav1.Time{Time: now}, []string{"kubernetes.io/pvc-protection"}
}

// more adds a volume of ours that is no first member's.
func (s *scene) more(name string) {
	claim := s.claim("a-1").DeepCopy()
	claim.Name = name
	s.objects = append(s.objects, claim)
}

// TestRestoreFailures: what a person must fix is a problem, and what another try may fix is not.
func TestRestoreFailures(t *testing.T) {
	for _, test := range []struct {
		failure          v1beta1.RestoreFailure
		problem, failing string
	}{
		{
			v1beta1.RestoreFailure{Member: "a-1", Message: "part 3 is corrupt", Final: true},
			"the data of a-1 cannot be restored: part 3 is corrupt", "",
		},
		{v1beta1.RestoreFailure{Member: "a-1", Message: "connection refused"}, "", "the data of a-1 cannot be restored: connection refused"},
	} {
		s := newRestored(t)
		s.c.Status.Restore.RestoredAt, s.c.Status.Restore.Failure = nil, &test.failure
		r := s.look().Restore
		said := strings.HasPrefix(r.Problem, test.problem) && strings.HasPrefix(r.Failure, test.failing)
		if !said || (r.Problem == "") != (test.problem == "") || (r.Failure == "") != (test.failing == "") {
			t.Errorf("%+v: %+v", test.failure, r)
		}
	}
}

// TestPaused: a restore stops for the same words as everything else.
func TestPaused(t *testing.T) {
	c := newScene(t).c
	for value, paused := range map[string]bool{"true": true, "false": false, "yes": true} {
		c.Annotations = map[string]string{v1beta1.AnnotationPaused: value}
		if (facts.Paused(c) != "") != paused {
			t.Errorf("%q: %q", value, facts.Paused(c))
		}
	}
}
