// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/cluster/report"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

// wrecked is a cluster that has lost two of three volumes, and has a verified backup of revision 60.
func wrecked(t *testing.T) *scene {
	s := newScene(t)
	s.stop("a-0", "a-1", "a-2")
	s.drop("Pod a-1", "PersistentVolumeClaim a-1", "Pod a-2", "PersistentVolumeClaim a-2")
	s.remains = map[string]etcd.Remains{"10.0.0.0:2381": {Revision: 70, Index: 90}}
	s.verified("nightly", 60)
	return s
}

// verified is a backup of the cluster, the later the higher its revision.
func (s *scene) verified(name string, revision int64) *v1beta1.EtcdBackup {
	b := &v1beta1.EtcdBackup{ObjectMeta: metav1.ObjectMeta{Namespace: s.c.Namespace, Name: name}}
	b.Status = said(v1beta1.BackupComplete, "True", "True", v1beta1.ReasonTrialPassed)
	b.Status.Revision, b.Status.EtcdVersion, b.Status.Store = revision, "3.6.16", "offsite"
	b.Status.ClusterUID, b.Status.ClusterID = string(s.c.UID), s.c.Status.ClusterID
	b.Status.StartedAt = &metav1.Time{Time: now.Add(time.Duration(revision) * time.Minute)}
	s.objects = append(s.objects, b)
	return b
}

// TestOfferIsTheNewestVerifiedBackup of the data that the cluster has, whatever lies beside it.
func TestOfferIsTheNewestVerifiedBackup(t *testing.T) {
	s := wrecked(t)
	s.verified("older", 50)
	for what, spoil := range map[string]func(*v1beta1.EtcdBackup){
		"failed":     func(b *v1beta1.EtcdBackup) { b.Status.Conditions[1].Status = "False" },
		"untried":    func(b *v1beta1.EtcdBackup) { b.Status.Conditions = b.Status.Conditions[:1] },
		"incomplete": func(b *v1beta1.EtcdBackup) { b.Status.Conditions[0].Status = "False" },
		"going": func(b *v1beta1.EtcdBackup) {
			b.DeletionTimestamp, b.Finalizers = &metav1.Time{Time: now}, []string{v1beta1.FinalizerBackup}
		},
		"earlier": func(b *v1beta1.EtcdBackup) { b.Status.ClusterUID = "u0" },
		"wrecked": func(b *v1beta1.EtcdBackup) { b.Status.ClusterID = "c0" }, // of before the cluster was restored in place
	} {
		spoil(s.verified(what, 65))
	}
	v := s.look()
	if o := v.Candidate; o.Backup != "nightly" || o.Revision != 60 || o.Begun != now.Add(time.Hour).Unix() || o.Problem != "" || o.Encrypted {
		t.Fatalf("offered: %+v", o)
	}
	step, _ := plan.Next(v)
	for _, want := range []string{`to "a-0@70"`, `to "backup/nightly@60"`, "and 10 revisions after it would be lost"} {
		if !strings.Contains(step.String(), want) {
			t.Errorf("%s, want %s", step, want)
		}
	}
	loss := report.Status(s.c, v, step, nil).QuorumLoss
	if loss == nil || loss.Accept != "a-0@70" || loss.Backup == nil || loss.Backup.Accept != "backup/nightly@60" || *loss.Backup.Lost != 10 {
		t.Errorf("status %+v", loss)
	}
}

// TestOfferIsOfTheHighestRevision: the clock of a node that was late, or ahead, chooses no older data.
func TestOfferIsOfTheHighestRevision(t *testing.T) {
	for about, began := range map[string]time.Time{"late": now.AddDate(-50, 0, 0), "ahead": now.AddDate(10, 0, 0)} {
		s := wrecked(t)
		s.verified("older", 50).Status.StartedAt = &metav1.Time{Time: now.AddDate(10, 0, 0)}
		s.verified("newest", 66).Status.StartedAt = &metav1.Time{Time: began}
		if o := s.look().Candidate; o.Backup != "newest" {
			t.Errorf("%s: offered: %+v", about, o)
		}
	}
}

// TestBackupsAreReadWhereQuorumMayBeLost: a cluster that serves reads none, and nothing is asked of the API server itself.
func TestBackupsAreReadWhereQuorumMayBeLost(t *testing.T) {
	for serves, s := range map[bool]*scene{true: newScene(t), false: wrecked(t)} {
		s.c.Spec.Recovery.AcceptDataLoss = "backup/nightly@60"
		if serves {
			s.verified("nightly", 60)
		}
		listed := 0
		s.arrange = func(list client.ObjectList) {
			if _, is := list.(*v1beta1.EtcdBackupList); is {
				listed++
			}
		}
		v := s.look()
		if (listed == 0) != serves || (v.Candidate.Backup == "") != serves {
			t.Errorf("it serves %t: %d lists, offered %+v", serves, listed, v.Candidate)
		}
		for _, call := range s.calls {
			if strings.Contains(call, "EtcdBackup") || strings.Contains(call, "EtcdRestore") {
				t.Errorf("it serves %t: the API server is asked: %s", serves, call)
			}
		}
	}
}

// TestBackupThatCannotBeRestored is shown, and accepted by nothing.
func TestBackupThatCannotBeRestored(t *testing.T) {
	for what, spoil := range map[string]func(*v1beta1.EtcdBackup){
		"create an EtcdRestore with spec.decryption": func(b *v1beta1.EtcdBackup) { b.Status.Encrypted = true },
		"which etcd 3.6 does not read":               func(b *v1beta1.EtcdBackup) { b.Status.EtcdVersion = "3.7.1" },
	} {
		s := wrecked(t)
		spoil(s.find("*v1beta1.EtcdBackup nightly").(*v1beta1.EtcdBackup))
		s.c.Spec.Recovery.AcceptDataLoss = "backup/nightly@60"
		v := s.look()
		step, _ := plan.Next(v)
		if _, refuses := step.(plan.Refuse); !refuses || !strings.Contains(step.String(), what) {
			t.Errorf("%s: %s", what, step)
		}
		if b := report.Status(s.c, v, step, nil).QuorumLoss.Backup; b == nil || b.Name != "nightly" || b.Accept != "" {
			t.Errorf("%s: %+v", what, b)
		}
	}
}

// TestRequestIsTheEtcdRestoreOfThatLoss: it is made once, and what has become of it is known.
func TestRequestIsTheEtcdRestoreOfThatLoss(t *testing.T) {
	const accepted = "backup/nightly@60"
	for what, test := range map[string]struct {
		change func(*v1beta1.EtcdRestore)
		want   cluster.Request
	}{
		"it is there":      {func(*v1beta1.EtcdRestore) {}, cluster.Request{Exists: true}},
		"of another owner": {func(er *v1beta1.EtcdRestore) { er.Annotations = nil }, cluster.Request{Exists: true, Foreign: true}},
		"of another UID":   {annotated(v1beta1.AnnotationClusterUID, "u0"), cluster.Request{Exists: true, Foreign: true}},
		"for another loss": {annotated(v1beta1.AnnotationAccepted, "backup/nightly@1"), cluster.Request{Exists: true, Foreign: true}},
		"it waits":         {phased(v1beta1.RestorePreviewed), cluster.Request{Exists: true, Message: "why"}},
		"it cannot":        {phased(v1beta1.RestorePending), cluster.Request{Exists: true, Message: "why"}},
		"it runs":          {phased(v1beta1.RestoreRunning), cluster.Request{Exists: true}},
		"it was undone":    {phased(v1beta1.RestoreUndone), cluster.Request{Exists: true, Ended: true}},
	} {
		s := wrecked(t)
		s.c.Spec.Recovery.AcceptDataLoss = accepted
		made, is := first(plan.Next(s.look())).(plan.CreateRestore)
		if !is || made.Backup != "nightly" || made.Accepted != accepted {
			t.Fatalf("%s: %+v", what, made)
		}
		er := specs.Restore(s.c, made.Name, made.Backup, made.Accepted)
		test.change(er)
		s.objects = append(s.objects, er)
		test.want.Name = made.Name
		if got := s.look().Candidate.Request; got != test.want {
			t.Errorf("%s: %+v, want %+v", what, got, test.want)
		}
	}
}

// TestRequestFills: what the status has begun is known without the EtcdRestore, and is no longer that once members are replaced.
func TestRequestFills(t *testing.T) {
	s := wrecked(t)
	s.c.Spec.Recovery.AcceptDataLoss = "backup/nightly@60"
	name := s.look().Candidate.Request.Name
	s.c.Status.Restore = &v1beta1.RestoreStatus{Request: name, RequestUID: "er-1", Members: []string{"a-3", "a-4", "a-5"}}
	if r := s.look().Candidate.Request; !r.Fills || r.Exists {
		t.Errorf("while volumes are filled: %+v", r)
	}
	s.c.Status.Restore.Request = "by-hand"
	if r := s.look().Candidate.Request; r.Fills {
		t.Errorf("another restore: %+v", r)
	}
	s.c.Status.Restore.Request, s.c.Status.Restore.RestoredAt = name, &metav1.Time{Time: now}
	if r := s.look().Candidate.Request; r.Fills {
		t.Errorf("while members are replaced: %+v", r)
	}
}

func annotated(key, value string) func(*v1beta1.EtcdRestore) {
	return func(er *v1beta1.EtcdRestore) { er.Annotations[key] = value }
}

func phased(phase v1beta1.RestorePhase) func(*v1beta1.EtcdRestore) {
	return func(er *v1beta1.EtcdRestore) { er.Status.Phase, er.Status.Message = phase, "why" }
}

func first(step plan.Step, _ string) plan.Step { return step }
