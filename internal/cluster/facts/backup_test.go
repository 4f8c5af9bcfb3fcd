// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/cluster/report"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// newGuarded is a cluster with a store, for which that EtcdBackup was made before something.
func newGuarded(t *testing.T, before string) *scene {
	s := newScene(t)
	s.c.Spec.Backup = &v1beta1.Backup{Store: "offsite"}
	if before != "" {
		s.c.Status.AwaitedBackup = &v1beta1.AwaitedBackup{Name: "b", Before: before}
		s.objects = append(s.objects, specs.Backup(s.c, "b", before))
	}
	return s
}

func (s *scene) backup() *v1beta1.EtcdBackup {
	return s.find("*v1beta1.EtcdBackup b").(*v1beta1.EtcdBackup)
}

// said is the status of the EtcdBackup.
func said(phase v1beta1.BackupPhase, complete, verified metav1.ConditionStatus, reason string) v1beta1.EtcdBackupStatus {
	return v1beta1.EtcdBackupStatus{Phase: phase, Conditions: []metav1.Condition{
		{Type: v1beta1.ConditionComplete, Status: complete, Reason: reason, Message: "complete or not"},
		{Type: v1beta1.ConditionVerified, Status: verified, Reason: reason, Message: "verified or not"},
	}}
}

// TestAwaitedBackup: when it is good, and when it never will be.
func TestAwaitedBackup(t *testing.T) {
	for what, test := range map[string]struct {
		status v1beta1.EtcdBackupStatus
		spoil  func(*v1beta1.EtcdBackup)
		want   cluster.Backup
	}{
		"nothing is said yet": {want: cluster.Backup{Exists: true, Why: "it is about to begin"}},
		"it is written": {
			status: said(v1beta1.BackupRunning, "False", "Unknown", "Running"), want: cluster.Backup{Exists: true, Why: "complete or not"},
		},
		"it failed": {
			status: said(v1beta1.BackupFailed, "False", "Unknown", "StoreFailed"),
			want:   cluster.Backup{Exists: true, Failed: true, Why: "complete or not"},
		},
		"it is being verified": {
			status: said(v1beta1.BackupVerifying, "True", "Unknown", "VerificationPending"), want: cluster.Backup{
				Exists: true,
				Why:    "verified or not",
			},
		},
		"it is not good": {
			status: said(v1beta1.BackupComplete, "True", "False", "Different"),
			want:   cluster.Backup{Exists: true, Failed: true, Why: "verified or not"},
		},
		"it is not to be verified": {
			status: said(v1beta1.BackupComplete, "True", "Unknown", v1beta1.ReasonNotWanted), want: cluster.Backup{Exists: true, Good: true},
		},
		"it is verified": {
			status: said(v1beta1.BackupComplete, "True", "True", "TrialPassed"), want: cluster.Backup{Exists: true, Good: true},
		},
		"it is of an earlier cluster of that name": {
			status: said(v1beta1.BackupComplete, "True", "True", "TrialPassed"), want: cluster.Backup{},
			spoil: func(b *v1beta1.EtcdBackup) { b.Annotations[v1beta1.AnnotationClusterUID] = "u0" },
		},
	} {
		s := newGuarded(t, "3.7")
		s.c.Spec.Version = "3.7.3"
		s.backup().Status = test.status
		if test.spoil != nil {
			test.spoil(s.backup())
		}
		v := s.look()
		got := v.Backup
		if test.want.Before = "3.7"; got.Good {
			got.Why = ""
		}
		if got != test.want {
			t.Errorf("%s: %+v, want %+v", what, got, test.want)
		}
		if v.Target.Version != "3.6.16" {
			t.Errorf("%s: members are brought to %s", what, v.Target.Version)
		}
	}
}

// TestBackupThatWaited: once it is in the record the version changes, whatever becomes of the EtcdBackup. Skip waits for none.
func TestBackupThatWaited(t *testing.T) {
	s := newGuarded(t, "3.7")
	s.c.Spec.Version = "3.7.3"
	s.c.Status.AwaitedBackup.Done = true
	s.drop("*v1beta1.EtcdBackup b")
	if v := s.look(); v.Target.Version != "3.7.3" || v.Backup.Before != "3.7" {
		t.Errorf("target %+v, before %s", v.Target, v.Backup.Before)
	}
	s = newGuarded(t, "")
	s.c.Spec.Version, s.c.Spec.Upgrade.Backup = "3.7.3", v1beta1.SkipBackup
	if v := s.look(); v.Target.Version != "3.7.3" || v.Backup.Before != "" {
		t.Errorf("skipped: target %+v, before %s", v.Target, v.Backup.Before)
	}
}

// TestBackupBeforeHibernation: the record keeps it while the cluster sleeps, and not once it is awake.
func TestBackupBeforeHibernation(t *testing.T) {
	s := newGuarded(t, "")
	s.c.Spec.Size = ptr.To[int32](0)
	if v := s.look(); v.Backup.Before != cluster.BeforeHibernation {
		t.Errorf("members run: before %q", v.Backup.Before)
	}
	s.drop("Pod a-0", "Pod a-1", "Pod a-2")
	if v := s.look(); v.Backup.Before != "" {
		t.Errorf("no member ever ran since: before %q", v.Backup.Before)
	}
	s.c.Status.AwaitedBackup = &v1beta1.AwaitedBackup{Name: "b", Before: cluster.BeforeHibernation, Done: true}
	if v := s.look(); v.Backup.Before != cluster.BeforeHibernation {
		t.Errorf("it sleeps: before %q", v.Backup.Before)
	}
	s.c.Spec.Size = ptr.To[int32](3)
	if step, because := plan.Next(s.look()); because != "back up first" || !strings.HasPrefix(step.String(), "nothing waits") {
		t.Errorf("it wakes: %s (%s)", step, because)
	}
}

// TestLastBackup: a cluster that is being deleted is reconciled until its last backup is good; then its volumes go with it.
func TestLastBackup(t *testing.T) {
	s := newGuarded(t, "")
	s.c.Spec.DeletionPolicy = v1beta1.BackupFirst
	if step, _ := plan.Next(s.look()); step != (plan.Hold{Held: true, Because: "deletionPolicy is no longer Backup"}) {
		t.Fatalf("first: %#v", step)
	}
	s.c.Finalizers = []string{v1beta1.FinalizerLastBackup}
	s.c.DeletionTimestamp = &metav1.Time{Time: now}
	step, _ := plan.Next(s.look())
	s.c.Status = report.Status(s.c, s.look(), step, nil)
	if b := s.c.Status.AwaitedBackup; b == nil || b.Before != v1beta1.BeforeDeletion || !strings.HasPrefix(b.Name, "a-final-") {
		t.Fatalf("status %+v after %s", b, step)
	}
	made, _ := plan.Next(s.look())
	if made != (plan.CreateBackup{Name: s.c.Status.AwaitedBackup.Name, Before: v1beta1.BeforeDeletion, LetGo: true}) {
		t.Fatalf("then %s", made)
	}
	s.objects = append(s.objects, specs.Backup(s.c, s.c.Status.AwaitedBackup.Name, v1beta1.BeforeDeletion))
	s.objects[len(s.objects)-1].(*v1beta1.EtcdBackup).Status = said(v1beta1.BackupComplete, "True", "True", "TrialPassed")
	step, _ = plan.Next(s.look())
	s.c.Status = report.Status(s.c, s.look(), step, nil)
	step, _ = plan.Next(s.look())
	if !s.c.GoesWithVolumes() || !strings.HasPrefix(step.String(), "apply owner of PersistentVolumeClaim a-0") {
		t.Fatalf("it is good, and then: %s", step)
	}
	for _, name := range []string{"a-0", "a-1", "a-2"} {
		s.claim(name).OwnerReferences = specs.VolumeOwners(s.c)
	}
	if step, _ := plan.Next(s.look()); !strings.HasPrefix(step.String(), "remove the finalizer: ") {
		t.Errorf("its volumes go with it, and then: %s", step)
	}
	s.c.Finalizers = nil
	if v := s.look(); !v.Deleting || len(v.Members) > 0 {
		t.Errorf("it is let go, and looked at: %+v", v.Members)
	}
}

// TestOrphansStay: Kubernetes may have taken its finalizer off already, and not the owner of every Pod.
func TestOrphansStay(t *testing.T) {
	for what, spoil := range map[string]func(*scene){
		"the finalizer": func(s *scene) { s.c.Finalizers = append(s.c.Finalizers, metav1.FinalizerOrphanDependents) },
		"a Pod":         func(s *scene) { s.pod("a-1").OwnerReferences = nil },
	} {
		s := newGuarded(t, "")
		s.c.Spec.DeletionPolicy, s.c.Finalizers = v1beta1.BackupFirst, []string{v1beta1.FinalizerLastBackup}
		s.c.DeletionTimestamp = &metav1.Time{Time: now}
		spoil(s)
		if step, _ := plan.Next(s.look()); !strings.HasPrefix(step.String(), "remove the finalizer: it was deleted without") {
			t.Errorf("%s says so, and then: %s", what, step)
		}
	}
}
