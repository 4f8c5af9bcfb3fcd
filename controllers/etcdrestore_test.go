// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build envtest

package controllers_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/controllers"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/etcd/etcdtest"
)

// inPlace is a namespace with a cluster whose members have Pods and volumes, a backup of it, and an EtcdRestore. No etcd runs.
type inPlace struct {
	*backups
	restore *v1beta1.EtcdRestore
}

func newInPlace(t *testing.T, namespace string, skip bool) *inPlace {
	w := &inPlace{newBackedUp(t, namespace), nil}
	w.restore = &v1beta1.EtcdRestore{ObjectMeta: w.named("er")}
	w.restore.Spec = v1beta1.EtcdRestoreSpec{Cluster: "a", Backup: "nightly", SkipSafetyBackup: skip}
	w.create(w.restore)
	return w
}

// newBackedUp is the namespace without the EtcdRestore.
func newBackedUp(t *testing.T, namespace string) *backups {
	b := &backups{t: t, namespace: namespace}
	b.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	store := &v1beta1.EtcdBackupStore{ObjectMeta: b.named("offsite")}
	store.Spec.Volume = &v1beta1.VolumeStore{Claim: "backups"}
	b.create(store)
	b.cluster = &v1beta1.EtcdCluster{ObjectMeta: b.named("a")}
	b.create(b.cluster)
	first := &v1beta1.Bootstrap{Token: string(b.cluster.UID), Members: []string{"a-0", "a-1", "a-2"}}
	for _, name := range first.Members {
		b.create(specs.Volume(b.cluster, name, first))
		pod := specs.Pod(b.cluster, name, specs.Joining{})
		pod.Spec.Containers[0].Image = "x"
		b.create(pod)
	}
	b.cluster.Status = v1beta1.EtcdClusterStatus{
		ClusterID: "c1", Version: "3.6.16", Bootstrap: first, NextSerial: 3, Revision: 1000, Format: v1beta1.FormatPlain,
	}
	for i, role := range []string{v1beta1.RoleLeader, v1beta1.RoleVoter, v1beta1.RoleVoter} {
		b.cluster.Status.Members = append(b.cluster.Status.Members,
			v1beta1.MemberStatus{Name: fmt.Sprintf("a-%d", i), ID: fmt.Sprint(10 + i), Role: role, Version: "3.6.16"})
	}
	b.write(b.cluster)
	b.backup = &v1beta1.EtcdBackup{ObjectMeta: b.named("nightly")}
	b.backup.Spec = v1beta1.EtcdBackupSpec{Cluster: "a", Store: "offsite"}
	b.create(b.backup)
	b.backup.Status = v1beta1.EtcdBackupStatus{
		Store: "offsite", Path: "v1/" + namespace + "/a/u", Revision: 800, EtcdVersion: "3.6.16", ManifestSHA256: "m1", ClusterID: "c1",
		Keys: ptr.To[int64](40), StartedAt: ptr.To(metav1.Now()),
	}
	stored := metav1.Condition{Type: v1beta1.ConditionComplete, Status: metav1.ConditionTrue, Reason: v1beta1.ReasonStored}
	meta.SetStatusCondition(&b.backup.Status.Conditions, stored)
	b.write(b.backup)
	return b
}

// An operator is the three reconcilers that a restore in place takes, whose writes go through one place.
type operatorInPlace struct {
	restores *controllers.EtcdRestoreReconciler
	volumes  *controllers.VolumeRestoreReconciler
	clusters *controllers.EtcdClusterReconciler
}

func (w *inPlace) operator(through interceptor.Funcs) operatorInPlace {
	writes := interceptor.NewClient(live, through)
	recorder := events.NewFakeRecorder(10000)
	said := func(string) string { return "{\"done\":{}}\n" }
	var o operatorInPlace
	o.restores, o.volumes = controllers.NewRestoreReconcilers(writes, recorder, time.Now, said)
	o.clusters = controllers.NewReconciler(writes, "", recorder, time.Now)
	return o
}

// until has all reconcilers look in turn, and the Jobs end well, until it is so.
func (w *inPlace) until(o operatorInPlace, what string, is func() bool) error {
	return w.within(60, o, what, is)
}

// not has them look so often that whatever they begin by mistake has begun.
func (w *inPlace) not(o operatorInPlace, what string, is func() bool) {
	w.t.Helper()
	if err := w.within(10, o, what, is); err == nil {
		w.t.Errorf("%s: %+v", what, w.restore.Status)
	}
}

func (w *inPlace) within(looks int, o operatorInPlace, what string, is func() bool) error {
	cluster, restore := client.ObjectKeyFromObject(w.cluster), client.ObjectKeyFromObject(w.restore)
	for range looks {
		if w.read(); is() {
			return nil
		}
		_, one := o.restores.Reconcile(w.t.Context(), ctrl.Request{NamespacedName: restore})
		_, two := o.volumes.Reconcile(w.t.Context(), ctrl.Request{NamespacedName: cluster})
		_, three := o.clusters.Reconcile(w.t.Context(), ctrl.Request{NamespacedName: cluster})
		if err := errors.Join(one, two, three); errors.Is(err, errDead) {
			return err
		}
		w.runJobs()
	}
	return fmt.Errorf("never so that %s: %+v, cluster %+v", what, w.restore.Status, w.cluster.Status)
}

func (w *inPlace) read() {
	w.t.Helper()
	for _, object := range []client.Object{w.restore, w.cluster} {
		if err := server.Get(w.t.Context(), client.ObjectKeyFromObject(object), object); client.IgnoreNotFound(err) != nil {
			w.t.Fatal(err) // an EtcdRestore may be deleted
		}
	}
}

func (w *inPlace) is(phase v1beta1.RestorePhase) func() bool {
	return func() bool { return w.restore.Status.Phase == phase }
}

// have says whether exactly these members have Pods, and the volumes of all others are set aside.
func (w *inPlace) have(members ...string) func() bool {
	return func() bool {
		var pods corev1.PodList
		var claims corev1.PersistentVolumeClaimList
		for _, list := range []client.ObjectList{&pods, &claims} {
			if err := server.List(w.t.Context(), list, client.InNamespace(w.namespace)); err != nil {
				w.t.Fatal(err)
			}
		}
		var running, kept []string
		for _, pod := range pods.Items {
			if pod.Labels[v1beta1.LabelMember] != "" && pod.DeletionTimestamp == nil && !strings.HasSuffix(pod.Name, "-x") {
				running = append(running, pod.Name)
			}
		}
		for _, claim := range claims.Items {
			if claim.Labels[v1beta1.LabelQuarantined] == "" {
				kept = append(kept, claim.Name)
			}
		}
		return slices.Equal(running, members) && slices.Equal(kept, members)
	}
}

func (w *inPlace) change(edit func(*v1beta1.EtcdRestoreSpec)) {
	w.t.Helper()
	w.read()
	edit(&w.restore.Spec)
	if err := server.Update(w.t.Context(), w.restore); err != nil {
		w.t.Fatal(err)
	}
}

func (w *inPlace) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

var old, restored = []string{"a-0", "a-1", "a-2"}, []string{"a-3", "a-4", "a-5"}

// TestRestoreInPlace: nothing happens before the preview is confirmed; then members with the data take the place of the others, and
// an undo brings these back.
func TestRestoreInPlace(t *testing.T) {
	t.Parallel()
	w := newInPlace(t, "in-place", true)
	o := w.operator(interceptor.Funcs{})
	w.must(w.until(o, "it is previewed", w.is(v1beta1.RestorePreviewed)))
	p := w.restore.Status.Preview
	if p == nil || p.Confirm != "a@1000?->800" || p.Backup != "nightly" || *p.LostRevisions != 200 || *p.Keys != 40 {
		t.Fatalf("preview %+v", p)
	}
	w.change(func(s *v1beta1.EtcdRestoreSpec) { s.Confirm = "a@1000?->801" })
	if w.not(o, "it begins without its confirmation", w.is(v1beta1.RestoreRunning)); !w.have(old...)() {
		t.Fatalf("old members are touched: %+v", w.restore.Status)
	}
	w.change(func(s *v1beta1.EtcdRestoreSpec) { s.Confirm = p.Confirm })
	w.must(w.until(o, "new members run", w.have(restored...)))
	plan := w.cluster.Status.Restore
	if plan.Request != "er" || plan.Bump <= 200 || !slices.Equal(plan.SetAside, old) || w.cluster.Status.NextSerial != 6 {
		t.Errorf("plan %+v, next serial %d", plan, w.cluster.Status.NextSerial)
	}
	w.must(w.until(o, "its volumes are kept", func() bool { return w.restore.Status.UndoUntil != nil }))
	for _, order := range w.orders {
		ordered := order.Restore
		if ordered == nil || ordered.Bump != plan.Bump || ordered.ManifestSHA256 != "m1" || len(ordered.InitialCluster) != 3 {
			t.Errorf("order %+v", ordered)
		}
	}
	if len(w.jobs) != 3 || len(w.left()) > 0 {
		t.Errorf("Jobs %v, of which are left %v", w.jobs, w.left())
	}
	w.change(func(s *v1beta1.EtcdRestoreSpec) { s.Undo, s.UndoKeepRevisions = true, true })
	w.must(w.until(o, "old members run", w.have(old...)))
	w.must(w.until(o, "it is being undone", w.is(v1beta1.RestoreUndoing)))
}

// TestUndoRaisesRevisions: what the old members had is restored from backups of their volumes, above what the restored ones have served.
func TestUndoRaisesRevisions(t *testing.T) {
	t.Parallel()
	w := newInPlace(t, "in-place-undo", true)
	o := w.operator(interceptor.Funcs{})
	w.change(func(s *v1beta1.EtcdRestoreSpec) { s.Confirm = "a@1000?->800" })
	w.must(w.until(o, "new members run", w.have(restored...)))
	served := w.cluster.Status.Restore.Revision + w.cluster.Status.Restore.Bump
	w.change(func(s *v1beta1.EtcdRestoreSpec) { s.Undo = true })
	last := &v1beta1.EtcdBackup{ObjectMeta: w.named("er-undo-2")}
	w.must(w.until(o, "volumes are backed up", func() bool {
		return server.Get(t.Context(), client.ObjectKeyFromObject(last), last) == nil
	}))
	for i, index := range []int64{7, 9, 8} {
		b := &v1beta1.EtcdBackup{ObjectMeta: w.named(fmt.Sprintf("er-undo-%d", i))}
		w.must(server.Get(t.Context(), client.ObjectKeyFromObject(b), b))
		if b.Spec.Volume != old[i] || b.Spec.Store != "offsite" || b.Spec.Cluster != "a" {
			t.Errorf("%+v", b.Spec)
		}
		b.Status = *w.backup.Status.DeepCopy()
		b.Status.Revision, b.Status.Log = 1000+index, &v1beta1.LogPosition{Term: 2, Index: index}
		w.write(b)
	}
	undone := []string{"a-6", "a-7", "a-8"}
	w.must(w.until(o, "members with the old data run", w.have(undone...)))
	plan := w.cluster.Status.Restore
	if plan.Backup != "er-undo-1" || plan.Revision != 1009 || plan.Revision+plan.Bump <= served || !slices.Equal(plan.SetAside, restored) {
		t.Errorf("plan %+v, and clients have seen %d", plan, served)
	}
	w.must(w.until(o, "it is being undone", w.is(v1beta1.RestoreUndoing)))
}

// TestSafetyBackupComesFirst: it is made once, and nothing else happens before it is there.
func TestSafetyBackupComesFirst(t *testing.T) {
	t.Parallel()
	w := newInPlace(t, "in-place-safety", false)
	o := w.operator(interceptor.Funcs{})
	w.change(func(s *v1beta1.EtcdRestoreSpec) { s.Confirm = "a@1000?->800" })
	w.must(w.until(o, "it backs up", w.is(v1beta1.RestoreBackingUp)))
	safety := &v1beta1.EtcdBackup{ObjectMeta: w.named("er-safety")}
	w.must(server.Get(t.Context(), client.ObjectKeyFromObject(safety), safety))
	if safety.Spec.Cluster != "a" || safety.Spec.Store != "offsite" || len(safety.OwnerReferences) > 0 || w.cluster.Status.Restore != nil {
		t.Errorf("%+v, %+v", safety.Spec, w.cluster.Status.Restore)
	}
	is := func(kind string) {
		meta.SetStatusCondition(&safety.Status.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: "Good"})
		w.write(safety)
	}
	is(v1beta1.ConditionComplete)
	w.not(o, "it begins before the safety backup is verified", w.is(v1beta1.RestoreRunning))
	is(v1beta1.ConditionVerified)
	w.must(w.until(o, "it begins", w.is(v1beta1.RestoreRunning)))
}

// TestUndoneWhileFilling: no old member is touched.
func TestUndoneWhileFilling(t *testing.T) {
	t.Parallel()
	w := newInPlace(t, "in-place-early", true)
	o := w.operator(interceptor.Funcs{})
	w.change(func(s *v1beta1.EtcdRestoreSpec) { s.Confirm = "a@1000?->800" })
	w.must(w.until(o, "it begins", w.is(v1beta1.RestoreRunning)))
	w.change(func(s *v1beta1.EtcdRestoreSpec) { s.Undo = true })
	w.must(w.until(o, "it is undone", w.is(v1beta1.RestoreUndone)))
	if w.cluster.Status.ClusterID != "c1" || w.cluster.IsRestoring() || len(w.left()) > 0 {
		t.Errorf("cluster %+v, Jobs %v", w.cluster.Status, w.left())
	}
}

// TestDeletedWhileFilling: the restore is cancelled, also when its store is gone for good, no old member is touched, and another restore
// can begin.
func TestDeletedWhileFilling(t *testing.T) {
	t.Parallel()
	w := newInPlace(t, "in-place-deleted", true)
	o := w.operator(interceptor.Funcs{})
	w.change(func(s *v1beta1.EtcdRestoreSpec) { s.Confirm = "a@1000?->800" })
	w.must(w.until(o, "it begins", w.is(v1beta1.RestoreRunning)))
	w.must(server.Delete(t.Context(), &v1beta1.EtcdBackupStore{ObjectMeta: w.named("offsite")}))
	w.must(server.Delete(t.Context(), w.restore))
	w.must(w.until(o, "it is cancelled", func() bool { return w.cluster.Status.Restore.CompletedAt != nil }))
	if !w.cluster.Status.Restore.IsCancelled() || w.cluster.Status.ClusterID != "c1" || w.cluster.IsRestoring() || len(w.left()) > 0 {
		t.Errorf("cluster %+v, Jobs %v", w.cluster.Status, w.left())
	}
	another := &v1beta1.EtcdRestore{ObjectMeta: w.named("er"), Spec: w.restore.Spec}
	w.restore = another
	w.create(another)
	w.must(w.until(o, "another one begins", w.is(v1beta1.RestoreRunning)))
	if plan := w.cluster.Status.Restore; plan.RequestUID != string(another.UID) || plan.Undo {
		t.Errorf("plan %+v", plan)
	}
}

// TestOperatorDiesInARestoreInPlace: the members are replaced once, all new ones have data, and no volume of an old one is lost (fault 1).
func TestOperatorDiesInARestoreInPlace(t *testing.T) {
	dies(t, "in-place-dies", 20, func(t *testing.T, namespace string, dying *mortal) {
		w := newInPlace(t, namespace, true)
		w.change(func(s *v1beta1.EtcdRestoreSpec) { s.Confirm = "a@1000?->800" })
		err := w.until(w.operator(dying.funcs()), "new members run", w.have(restored...))
		if errors.Is(err, errDead) {
			w.runJobs()
			err = w.until(w.operator(interceptor.Funcs{}), "new members run", w.have(restored...))
		}
		w.must(err)
		if len(w.jobs) != 3 || w.cluster.Status.Bootstrap.Restore != string(w.restore.UID) {
			t.Errorf("Jobs %v, members of %+v", w.jobs, w.cluster.Status.Bootstrap)
		}
	})
}

// TestPreviewAsksEtcd: what the status of the cluster says may be minutes old, and what was written since would be lost, too. A preview for
// which no member answers says so, and its confirmation means nothing once one does.
func TestPreviewAsksEtcd(t *testing.T) {
	t.Parallel()
	w := newInPlace(t, "in-place-asks", true)
	o := w.operator(interceptor.Funcs{})
	w.must(w.until(o, "it is previewed", w.is(v1beta1.RestorePreviewed)))
	if p := w.restore.Status.Preview; p.FromRevision != 1000 || !strings.Contains(p.Message, "no member runs") {
		t.Fatalf("preview %+v", p)
	}
	pod := &corev1.Pod{ObjectMeta: w.named("a-0")}
	w.must(server.Get(t.Context(), client.ObjectKeyFromObject(pod), pod))
	pod.Status.Phase, pod.Status.PodIP, pod.Status.PodIPs = corev1.PodRunning, "10.0.0.1", []corev1.PodIP{{IP: "10.0.0.1"}}
	w.write(pod)
	members := &users{t: t, etcd: etcdtest.New("a-0")}
	members.etcd.SetRevision(1003)
	o.restores.Asks(members)
	w.change(func(s *v1beta1.EtcdRestoreSpec) { s.Confirm = "a@1000?->800" })
	w.must(w.until(o, "it is previewed again", func() bool { return w.restore.Status.Preview.Message == "" }))
	p := w.restore.Status.Preview
	if p.FromRevision != 1003 || *p.LostRevisions != 203 {
		t.Errorf("preview %+v", p)
	}
	w.not(o, "it begins by an old confirmation", w.is(v1beta1.RestoreRunning))
	w.change(func(s *v1beta1.EtcdRestoreSpec) { s.Confirm = p.Confirm })
	w.must(w.until(o, "it begins", w.is(v1beta1.RestoreRunning)))
	if w.cluster.Status.Restore.FromRevision != 1003 {
		t.Errorf("plan %+v", w.cluster.Status.Restore)
	}
}
