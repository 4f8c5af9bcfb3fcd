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

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/controllers"
)

// A nightly is a namespace with a cluster that is backed up each hour, in which a reconciler is called by hand.
type nightly struct {
	*backups
	now    time.Time
	events *events.FakeRecorder
}

func newNightly(t *testing.T, namespace string) *nightly {
	n := &nightly{backups: newBackups(t, namespace, v1beta1.RetainBackup), events: events.NewFakeRecorder(1000)}
	n.now = n.cluster.CreationTimestamp.Time
	n.cluster.Spec.Backup = &v1beta1.Backup{Store: "offsite", Schedule: "30 * * * *", Retention: &v1beta1.Retention{Count: 2}}
	if err := server.Update(t.Context(), n.cluster); err != nil {
		t.Fatal(err)
	}
	return n
}

func (n *nightly) operator(through interceptor.Funcs) *controllers.ScheduleReconciler {
	return controllers.NewScheduleReconciler(interceptor.NewClient(live, through), n.events, func() time.Time { return n.now })
}

// settleSchedule calls the reconciler until it waits for the clock.
func (n *nightly) settleSchedule(r *controllers.ScheduleReconciler) error {
	for range 50 {
		result, err := r.Reconcile(n.t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(n.cluster)})
		if err != nil {
			return err
		}
		if result.RequeueAfter == 0 || result.RequeueAfter >= time.Second {
			return nil
		}
	}
	return errors.New("it never settles")
}

// made are the backups that the schedule has made and that are not on their way out.
func (n *nightly) made() (made []v1beta1.EtcdBackup) {
	n.t.Helper()
	var all v1beta1.EtcdBackupList
	if err := server.List(n.t.Context(), &all, client.InNamespace(n.namespace), client.HasLabels{v1beta1.LabelScheduled}); err != nil {
		n.t.Fatal(err)
	}
	return slices.DeleteFunc(all.Items, func(b v1beta1.EtcdBackup) bool { return b.DeletionTimestamp != nil })
}

// finish has each of them be in the store, and verified.
func (n *nightly) finish() {
	n.t.Helper()
	for _, b := range n.made() {
		if meta.IsStatusConditionTrue(b.Status.Conditions, v1beta1.ConditionVerified) {
			continue
		}
		b.Status.Phase, b.Status.Cluster, b.Status.ClusterUID = v1beta1.BackupComplete, "a", string(n.cluster.UID)
		b.Status.ClusterID, b.Status.Revision = "c1", n.now.Unix() // of which the newest has the highest
		b.Status.StartedAt = &metav1.Time{Time: n.now}
		for _, kind := range []string{v1beta1.ConditionComplete, v1beta1.ConditionVerified} {
			meta.SetStatusCondition(&b.Status.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: "So"})
		}
		n.write(&b)
	}
}

func (n *nightly) status() *v1beta1.ClusterBackups {
	n.t.Helper()
	if err := server.Get(n.t.Context(), client.ObjectKeyFromObject(n.cluster), n.cluster); err != nil {
		n.t.Fatal(err)
	}
	if n.cluster.Status.Backup == nil {
		return &v1beta1.ClusterBackups{}
	}
	return n.cluster.Status.Backup
}

func (n *nightly) must(err error) {
	n.t.Helper()
	if err != nil {
		n.t.Fatal(err)
	}
}

// TestScheduleMakesBackupsAndDeletesOldOnes: with the rights of the generated roles; each hour one, of which two stay.
func TestScheduleMakesBackupsAndDeletesOldOnes(t *testing.T) {
	t.Parallel()
	n := newNightly(t, "schedule-life")
	operator := n.operator(interceptor.Funcs{})
	n.must(n.settleSchedule(operator))
	s := n.status()
	c := meta.FindStatusCondition(s.Conditions, v1beta1.ConditionBackedUp)
	if c == nil || c.Reason != v1beta1.ReasonNoneYet || s.Next == nil {
		t.Fatalf("before the first: %+v", s)
	}
	for range 4 {
		n.now = n.now.Add(time.Hour)
		n.must(n.settleSchedule(operator))
		n.must(n.settleSchedule(operator))
		n.finish()
		n.must(n.settleSchedule(operator))
	}
	made := n.made()
	if len(made) != 3 { // one goes at a time, and waits for its store in this test
		t.Fatalf("%d backups stay", len(made))
	}
	var all v1beta1.EtcdBackupList
	n.must(server.List(t.Context(), &all, client.InNamespace(n.namespace), client.HasLabels{v1beta1.LabelScheduled}))
	for _, b := range all.Items {
		held := slices.Contains(b.Finalizers, v1beta1.FinalizerBackup)
		if b.DeletionTimestamp != nil && (b.Spec.DeletionPolicy != v1beta1.DeleteBackup || !held) {
			t.Errorf("%s goes, and what is stored stays: %+v", b.Name, b.Spec)
		}
		if len(b.OwnerReferences) > 0 || b.Annotations[v1beta1.AnnotationClusterUID] != string(n.cluster.UID) || b.Spec.Store != "offsite" {
			t.Errorf("EtcdBackup %+v", b)
		}
	}
	s = n.status()
	if !meta.IsStatusConditionTrue(s.Conditions, v1beta1.ConditionBackedUp) || s.Last == nil || s.Verified == nil ||
		s.Last.Name != made[2].Name || s.Last.Revision != n.now.Unix() || s.Next == nil || !s.Next.After(n.now) {
		t.Errorf("status %+v", s)
	}
	if !strings.Contains(fmt.Sprint(n.told()), "BackupExpired") {
		t.Error("no event says that a backup goes")
	}
	if n.cluster.Status.ClusterID != "c1" {
		t.Errorf("the rest of the status has changed: %+v", n.cluster.Status)
	}
}

func (n *nightly) told() (all []string) {
	for {
		select {
		case event := <-n.events.Events:
			all = append(all, event)
		default:
			return all
		}
	}
}

// TestOperatorDiesInASchedule: no time has two backups, and all that must stay does (fault 1).
func TestOperatorDiesInASchedule(t *testing.T) {
	dies(t, "schedule-dies", 9, func(t *testing.T, namespace string, dying *mortal) {
		n := newNightly(t, namespace)
		operator := n.operator(dying.funcs())
		for range 4 {
			n.now = n.now.Add(time.Hour)
			err := n.settleSchedule(operator)
			if errors.Is(err, errDead) {
				operator = n.operator(interceptor.Funcs{})
				err = n.settleSchedule(operator)
			}
			n.must(err)
			n.finish()
		}
		made := n.made()
		if len(made) < 2 || len(made) > 4 {
			t.Errorf("%d backups", len(made))
		}
		hours := func(at time.Time) string { return at.UTC().Truncate(time.Hour).Format("20060102-15") + "30" }
		newest := made[len(made)-1].Name
		if !strings.HasSuffix(newest, hours(n.now)) && !strings.HasSuffix(newest, hours(n.now.Add(-time.Hour))) {
			t.Errorf("the newest is %s at %s", newest, n.now)
		}
	})
}

// TestScheduleSaysWhyItCannotRun: a store that is missing or not ready, a pause of the schedule, and one that is wrong (faults 56 and 57).
func TestScheduleSaysWhyItCannotRun(t *testing.T) {
	t.Parallel()
	n := newNightly(t, "schedule-why")
	operator := n.operator(interceptor.Funcs{})
	for _, one := range []struct {
		change func(*v1beta1.Backup)
		reason string
		words  string
	}{
		{func(b *v1beta1.Backup) { b.Store = "nowhere" }, v1beta1.ReasonStoreMissing, "EtcdBackupStore nowhere does not exist"},
		{func(b *v1beta1.Backup) { b.Store = "offsite"; b.Suspend = true }, v1beta1.ReasonSuspended, "spec.backup.suspend is true"},
		{func(b *v1beta1.Backup) { b.Suspend = false; b.TimeZone = "Europe/Berlyn" }, v1beta1.ReasonScheduleUnclear, "Europe/Berlyn"},
		{func(b *v1beta1.Backup) { b.TimeZone = ""; b.Schedule = "99 * * * *" }, v1beta1.ReasonScheduleUnclear, "99"},
	} {
		n.status()
		one.change(n.cluster.Spec.Backup)
		n.must(server.Update(t.Context(), n.cluster))
		n.now = n.now.Add(2 * time.Hour)
		n.must(n.settleSchedule(operator))
		c := meta.FindStatusCondition(n.status().Conditions, v1beta1.ConditionBackedUp)
		if c == nil || c.Status != metav1.ConditionFalse || c.Reason != one.reason || !strings.Contains(c.Message, one.words) {
			t.Errorf("want %s, %q; condition %+v", one.reason, one.words, c)
		}
		if made := n.made(); len(made) > 0 {
			t.Errorf("%s: %s was made", one.reason, made[0].Name)
		}
	}
}

// TestScheduleIsWatched: by the manager, for a cluster that needs a backup at once.
func TestScheduleIsWatched(t *testing.T) {
	ctx := t.Context()
	c := create(t, watched, "scheduled-"+strings.Repeat("x", 42), func(spec *v1beta1.EtcdClusterSpec) {
		spec.Backup = &v1beta1.Backup{Store: "schedule-store", Schedule: "* * * * *"}
	})
	reason := func(want string) func() error {
		return func() error {
			if err := server.Get(ctx, client.ObjectKeyFromObject(c), c); err != nil {
				return err
			}
			if b := c.Status.Backup; b == nil || len(b.Conditions) == 0 || b.Conditions[0].Reason != want {
				return fmt.Errorf("status.backup %+v", b)
			}
			return nil
		}
	}
	eventually(t, "the schedule to wait for the cluster", reason(v1beta1.ReasonClusterNotFormed))
}
