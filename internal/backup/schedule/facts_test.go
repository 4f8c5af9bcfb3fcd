// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/schedule"
)

// TestBackupThatMayYetBeRestoredStays: an EtcdRestore that shows its preview may be confirmed at any moment.
func TestBackupThatMayYetBeRestoredStays(t *testing.T) {
	for phase, isUsed := range map[v1beta1.RestorePhase]bool{
		v1beta1.RestorePending: true, v1beta1.RestorePreviewed: true, v1beta1.RestoreBackingUp: true, v1beta1.RestoreRunning: true,
		v1beta1.RestoreComplete: false, v1beta1.RestoreUndone: false,
	} {
		c := v1beta1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "u"}}
		c.Spec.Backup = &v1beta1.Backup{Store: "offsite", Schedule: "@daily"}
		b := v1beta1.EtcdBackup{ObjectMeta: metav1.ObjectMeta{
			Name: "a-1", Labels: map[string]string{v1beta1.LabelScheduled: "a"},
			Annotations: map[string]string{v1beta1.AnnotationClusterUID: "u"},
		}}
		b.Spec = v1beta1.EtcdBackupSpec{Cluster: "a", Store: "offsite"}
		r := v1beta1.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Name: "back"}}
		r.Status.Phase, r.Status.Preview = phase, &v1beta1.RestorePreview{Backup: "a-1"}
		view := schedule.Facts(schedule.Seen{
			Cluster: &c, Backups: []v1beta1.EtcdBackup{b}, Restores: []v1beta1.EtcdRestore{r}, Now: time.Now(),
		})
		if len(view.Made) != 1 || strings.Contains(view.Made[0].InUse, "back") != isUsed {
			t.Errorf("%s: %+v", phase, view.Made)
		}
	}
}

// ofSchedule is a backup that the schedule of cluster u has made for that time.
func ofSchedule(name string, due, created, began time.Time, revision int64, phase v1beta1.BackupPhase) v1beta1.EtcdBackup {
	b := v1beta1.EtcdBackup{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{v1beta1.LabelScheduled: "true"}, CreationTimestamp: metav1.NewTime(created),
		Annotations: map[string]string{v1beta1.AnnotationClusterUID: "u", v1beta1.AnnotationScheduledFor: due.Format(time.RFC3339)},
	}}
	b.Spec = v1beta1.EtcdBackupSpec{Cluster: "a", Store: "offsite"}
	b.Status = v1beta1.EtcdBackupStatus{Phase: phase, ClusterUID: "u", ClusterID: "c", Revision: revision}
	complete := metav1.ConditionFalse
	if phase == v1beta1.BackupComplete {
		complete, b.Status.StartedAt = metav1.ConditionTrue, &metav1.Time{Time: began}
	}
	b.Status.Conditions = []metav1.Condition{
		{Type: v1beta1.ConditionComplete, Status: complete, Message: "the disk is full", LastTransitionTime: metav1.NewTime(created)},
		{Type: v1beta1.ConditionVerified, Status: complete},
	}
	return b
}

// TestReportDespiteClocks: a backup for the future is neither the newest for ten years nor hides that all others fail.
func TestReportDespiteClocks(t *testing.T) {
	now, future := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC), time.Date(2036, 11, 24, 12, 0, 0, 0, time.UTC)
	c := v1beta1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "u", CreationTimestamp: metav1.NewTime(now.AddDate(-1, 0, 0))}}
	c.Spec.Backup, c.Status.ClusterID = &v1beta1.Backup{Store: "offsite", Schedule: "@hourly"}, "c"
	store := v1beta1.EtcdBackupStore{}
	store.Status.Conditions = []metav1.Condition{{Type: v1beta1.ConditionReady, Status: metav1.ConditionTrue}}
	hours := func(n time.Duration) time.Time { return now.Add(-n * time.Hour) }
	seen := schedule.Seen{Cluster: &c, Store: &store, Now: now, Backups: []v1beta1.EtcdBackup{
		ofSchedule("ahead", future, hours(4), future, 5, v1beta1.BackupComplete),
		ofSchedule("good", hours(3), hours(3), hours(3), 6, v1beta1.BackupComplete),
		ofSchedule("failed", hours(1), hours(1), hours(1), 0, v1beta1.BackupFailed),
	}}
	status := schedule.Report(seen, schedule.Facts(seen), schedule.Rest{}, nil)
	if status.Last == nil || status.Last.Name != "good" || status.Verified.Name != "good" {
		t.Errorf("newest %+v, verified %+v", status.Last, status.Verified)
	}
	if got := status.Conditions[0]; got.Status != metav1.ConditionFalse || !strings.Contains(got.Message, "failed has failed") {
		t.Errorf("BackedUp is %s: %s", got.Status, got.Message)
	}
	seen.Backups = seen.Backups[:1]
	if status = schedule.Report(seen, schedule.Facts(seen), schedule.Rest{}, nil); !status.Last.Time.Equal(&metav1.Time{Time: hours(4)}) {
		t.Errorf("the one for the future is of %s", status.Last.Time)
	}
}

// refused is a backup that is being deleted, which its store refuses.
func refused(name string, made time.Time) v1beta1.EtcdBackup {
	b := ofSchedule(name, made, made, made, 1, v1beta1.BackupComplete)
	b.DeletionTimestamp = &metav1.Time{Time: made}
	b.Status.Failure = &v1beta1.BackupFailure{Task: "Delete", Message: "delete part 1: denied"}
	return b
}

// TestRefusedDeletions: what a store refuses to delete holds no other deletion, as long as it is a few; and a condition says it. A store
// that deletes nothing at all is not tried again and again.
func TestRefusedDeletions(t *testing.T) {
	now := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	days := func(n int) time.Time { return now.AddDate(0, 0, -n) }
	for about, c := range map[string]struct {
		refused int
		store   string
		going   bool
		next    string
		status  metav1.ConditionStatus
		says    string
	}{
		"none":                   {0, "", false, "delete EtcdBackup d8", "True", "older ones are deleted"},
		"one is on its way":      {0, "", true, "rest", "True", ""},
		"one is refused":         {1, "", false, "delete EtcdBackup d8", "False", "EtcdBackup r0 cannot be deleted: delete part 1: denied"},
		"three are refused":      {3, "", false, "rest", "False", "EtcdBackup r0 and 2 more cannot be deleted"},
		"the store only appends": {0, "DELETE is denied", false, "rest", "False", "EtcdBackupStore offsite deletes nothing: DELETE is denied"},
	} {
		cluster := v1beta1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "u", CreationTimestamp: metav1.NewTime(days(30))}}
		cluster.Spec.Backup = &v1beta1.Backup{Store: "offsite", Schedule: "@yearly", Retention: &v1beta1.Retention{Count: 2}}
		cluster.Status.ClusterID = "c"
		store := v1beta1.EtcdBackupStore{ObjectMeta: metav1.ObjectMeta{Name: "offsite"}}
		store.Status.Conditions = []metav1.Condition{{Type: v1beta1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1beta1.ReasonUsable}}
		if c.store != "" {
			store.Status.Conditions[0].Reason, store.Status.Conditions[0].Message = v1beta1.ReasonAppendOnly, c.store
		}
		seen := schedule.Seen{Cluster: &cluster, Store: &store, Now: now}
		for n := range 9 {
			seen.Backups = append(seen.Backups, ofSchedule(fmt.Sprint("d", n), days(n), days(n), days(n), int64(100-n), v1beta1.BackupComplete))
		}
		for n := range c.refused {
			seen.Backups = append(seen.Backups, refused(fmt.Sprint("r", n), days(20)))
		}
		if c.going {
			seen.Backups[8].DeletionTimestamp = &metav1.Time{Time: now}
		}
		view := schedule.Facts(seen)
		step, _ := schedule.Next(view)
		if !strings.HasPrefix(step.String(), c.next) {
			t.Errorf("%s: %s", about, step)
		}
		got := meta.FindStatusCondition(schedule.Report(seen, view, step, nil).Conditions, v1beta1.ConditionRetentionApplied)
		if got == nil || got.Status != c.status || !strings.Contains(got.Message, c.says) {
			t.Errorf("%s: %+v", about, got)
		}
		cluster.Spec.Backup.Retention = nil
		cluster.Status.Backup = &v1beta1.ClusterBackups{Conditions: []metav1.Condition{{Type: v1beta1.ConditionRetentionApplied}}}
		if all := schedule.Report(seen, schedule.Facts(seen), step, nil).Conditions; len(all) != 1 {
			t.Errorf("%s: without retention %+v", about, all)
		}
	}
}

// TestWanted: when the next backup is due that counts, by the schedule: a day after a nightly one, a week after a weekly one, and from the
// start of a cluster of which none was ever verified. None is where the schedule makes none.
func TestWanted(t *testing.T) {
	at := func(day, hour, minute int) time.Time { return time.Date(2026, 1, day, hour, minute, 5, 0, time.UTC) }
	verified := &v1beta1.ClusterBackups{Verified: &v1beta1.BackupPoint{Time: metav1.NewTime(at(5, 2, 30))}}
	last := &v1beta1.ClusterBackups{Last: &v1beta1.BackupPoint{Time: metav1.NewTime(at(5, 2, 30))}}
	for name, test := range map[string]struct {
		backup v1beta1.Backup
		had    *v1beta1.ClusterBackups
		size   int32
		want   string
	}{
		"nightly":             {v1beta1.Backup{Schedule: "30 2 * * *"}, verified, 3, "2026-01-06T02:30:00Z"},
		"weekly":              {v1beta1.Backup{Schedule: "30 2 * * 1"}, verified, 3, "2026-01-12T02:30:00Z"},
		"every minute":        {v1beta1.Backup{Schedule: "* * * * *"}, verified, 3, "2026-01-06T00:31:00Z"},
		"never verified":      {v1beta1.Backup{Schedule: "30 2 * * 1"}, nil, 3, "2026-01-05T02:30:00Z"},
		"made, none verified": {v1beta1.Backup{Schedule: "30 2 * * *"}, last, 3, "2026-01-03T02:30:00Z"},
		"not to be verified":  {v1beta1.Backup{Schedule: "30 2 * * *", Verify: v1beta1.VerifyNever}, last, 3, "2026-01-06T02:30:00Z"},
		"no schedule":         {v1beta1.Backup{}, verified, 3, ""},
		"suspended":           {v1beta1.Backup{Schedule: "30 2 * * *", Suspend: true}, verified, 3, ""},
		"hibernates":          {v1beta1.Backup{Schedule: "30 2 * * *"}, verified, 0, ""},
		"unclear":             {v1beta1.Backup{Schedule: "30 2 * *"}, verified, 3, ""},
	} {
		c := &v1beta1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(at(1, 12, 0))}}
		c.Spec.Backup, c.Spec.Size, c.Status.Backup = &test.backup, &test.size, test.had
		got := ""
		if due := schedule.Wanted(c); !due.IsZero() {
			got = due.Format(time.RFC3339)
		}
		if got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}
