// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build envtest

package controllers_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/controllers"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
)

// answering is an operator whose Jobs end with what each container says.
func (w *inPlace) answering(through interceptor.Funcs, answer func(container string) jobspec.Done) operatorInPlace {
	o := w.operator(through)
	said := func(container string) string {
		done := answer(container)
		text, err := json.Marshal(jobspec.Line{Done: &done})
		if err != nil {
			w.t.Fatal(err)
		}
		return string(text) + "\n"
	}
	writes, recorder := interceptor.NewClient(live, through), events.NewFakeRecorder(1000)
	o.restores, o.volumes = controllers.NewRestoreReconcilers(writes, recorder, time.Now, said)
	return o
}

// seeker is an operator whose Jobs find the target at revision 850 of a log after the backup.
func (w *inPlace) seeker(through interceptor.Funcs) operatorInPlace {
	at := time.Now().Add(-time.Minute)
	return w.answering(through, func(container string) (done jobspec.Done) {
		if container == "locate" {
			done.Located = &jobspec.Located{
				Path: w.backup.Status.Path, Lineage: "00000000000000c1-0", Revision: 850, At: at, Size: 4 << 20, LeftRevision: 851, LeftAt: at,
			}
		}
		return done
	})
}

// located fails unless one Job has looked for the target, and each Job of a member has an order for what it has found.
func (w *inPlace) located() {
	w.t.Helper()
	var verbs []jobspec.Verb
	for _, order := range w.orders {
		verbs = append(verbs, order.Verb)
		if l := order.Locate; l != nil && (l.BeforeDelete != "/a" || len(l.Backups) != 1 || l.Backups[0].Revision != 800) {
			w.t.Errorf("it looks for %+v", l)
		}
		if l := order.Locate; l != nil && (l.End == nil || *l.End != saidEnd) {
			w.t.Errorf("the log ends at %+v", l.End)
		}
		if r := order.Restore; r != nil && (r.Target == nil || *r.Target != jobspec.TargetOrder{Lineage: "00000000000000c1-0", Revision: 850}) {
			w.t.Errorf("a member is restored to %+v", r.Target)
		}
	}
	if want := []jobspec.Verb{jobspec.Locate, jobspec.Restore, jobspec.Restore, jobspec.Restore}; !slices.Equal(verbs, want) {
		w.t.Errorf("Jobs %v", verbs)
	}
	if left := w.left(); len(left) > 0 {
		w.t.Errorf("Jobs %v are left", left)
	}
}

// saidEnd is up to where the log of the cluster has everything.
var saidEnd = jobspec.LogEnd{Lineage: "00000000000000c1-0", Revision: 900, Until: time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)}

// withTarget is the namespace with an EtcdRestore that restores just before a key was deleted.
func withTarget(t *testing.T, namespace string) *inPlace {
	w := &inPlace{newBackedUp(t, namespace), nil}
	w.cluster.Status.Log = &v1beta1.LogStatus{
		Lineage: saidEnd.Lineage, Base: &v1beta1.BackupPoint{Name: "nightly", Time: metav1.Now(), Revision: 800},
		Until: &v1beta1.LogPoint{Time: metav1.NewTime(saidEnd.Until), Revision: saidEnd.Revision},
	}
	w.write(w.cluster)
	w.backup.Status.ClusterUID = string(w.cluster.UID)
	w.write(w.backup)
	w.restore = &v1beta1.EtcdRestore{ObjectMeta: w.named("er")}
	w.restore.Spec = v1beta1.EtcdRestoreSpec{
		Cluster: "a", Backup: "nightly", SkipSafetyBackup: true, Target: &v1beta1.RestoreTarget{BeforeDelete: "/a"},
	}
	w.create(w.restore)
	return w
}

// TestRestoreInPlaceToATarget: a Job looks for it, the preview has what it has found, and all members are restored to that revision.
func TestRestoreInPlaceToATarget(t *testing.T) {
	t.Parallel()
	w := withTarget(t, "in-place-target")
	o := w.seeker(interceptor.Funcs{})
	w.must(w.until(o, "it is previewed", w.is(v1beta1.RestorePreviewed)))
	p := w.restore.Status.Preview
	if p.Confirm != "a@1000?->850" || *p.LostRevisions != 150 || p.Keys != nil || p.Log.BackupRevision != 800 || p.Log.NextRevision != 851 {
		t.Fatalf("preview %+v, log %+v", p, p.Log)
	}
	if w.cluster.Status.Restore != nil {
		t.Errorf("something was begun: %+v", w.cluster.Status.Restore)
	}
	w.change(func(s *v1beta1.EtcdRestoreSpec) { s.Confirm = p.Confirm })
	w.must(w.until(o, "new members run", w.have(restored...)))
	plan := w.cluster.Status.Restore
	if plan.Revision != 850 || plan.Log.Lineage != "00000000000000c1-0" || plan.Log.Size.String() != "4Mi" || plan.Bump <= 150 {
		t.Errorf("plan %+v", plan)
	}
	w.must(w.until(o, "its volumes are kept", func() bool { return w.restore.Status.UndoUntil != nil }))
	w.located()
}

// TestOperatorDiesInASearch: there is one Job that looks for the target (fault 1). Once it is found, that is a restore in place as any
// other.
func TestOperatorDiesInASearch(t *testing.T) {
	dies(t, "in-place-search", 4, func(t *testing.T, namespace string, dying *mortal) {
		w := withTarget(t, namespace)
		w.change(func(s *v1beta1.EtcdRestoreSpec) { s.Confirm = "a@1000?->850" })
		begun := func() bool { return w.cluster.Status.Restore != nil }
		err := w.until(w.seeker(dying.funcs()), "it has begun", begun)
		if errors.Is(err, errDead) {
			w.runJobs()
			err = w.until(w.seeker(interceptor.Funcs{}), "it has begun", begun)
		}
		w.must(err)
		if len(w.orders) != 1 || w.cluster.Status.Restore.Revision != 850 {
			t.Errorf("orders %+v, plan %+v", w.orders, w.cluster.Status.Restore)
		}
	})
}

// TestClusterBeginsAtATarget: a new cluster waits for the Job, and its status has what was found.
func TestClusterBeginsAtATarget(t *testing.T) {
	t.Parallel()
	w := withTarget(t, "begins-at-target")
	w.must(server.Delete(t.Context(), w.restore))
	w.cluster = &v1beta1.EtcdCluster{ObjectMeta: w.named("b")}
	w.cluster.Spec.Size = ptr.To[int32](3)
	w.cluster.Spec.Bootstrap = &v1beta1.BootstrapSpec{
		Restore: &v1beta1.Restore{Backup: "nightly", Target: &v1beta1.RestoreTarget{BeforeDelete: "/a"}},
	}
	w.create(w.cluster)
	o := w.seeker(interceptor.Funcs{})
	w.must(w.until(o, "its volumes have the data", func() bool {
		s := w.cluster.Status.Restore
		return s != nil && s.RestoredAt != nil && len(w.left()) == 0
	}))
	if s := w.cluster.Status.Restore; s.Revision != 850 || s.Log.BackupRevision != 800 || s.Log.NextRevision != 851 || s.Keys != nil {
		t.Errorf("plan %+v", s)
	}
	w.located()
}
