// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// Seen is what was read for the schedule of one EtcdCluster, and nothing concluded from it.
type Seen struct {
	Cluster  *v1beta1.EtcdCluster     // with spec.backup
	Store    *v1beta1.EtcdBackupStore // that it names; nil: there is none
	Backups  []v1beta1.EtcdBackup     // of the cluster, and of others that had its name
	Clusters []v1beta1.EtcdCluster    // of the namespace: some may be restored from one of these
	Restores []v1beta1.EtcdRestore    // of the namespace: some may be about to restore one of these
	Now      time.Time
}

// Facts turns what was read into facts.
func Facts(seen Seen) View {
	c, b := seen.Cluster, seen.Cluster.Spec.Backup
	v := View{
		Cluster: c.Name, Created: c.CreationTimestamp.Time, Schedule: b.Schedule, TimeZone: b.TimeZone, Suspended: b.Suspend,
		Obstacle: obstacle(seen), Now: seen.Now,
	}
	if r := b.Retention; r != nil {
		v.Keep = Keep{
			Count: int(r.Count), Daily: int(r.Daily), Weekly: int(r.Weekly), Monthly: int(r.Monthly), Yearly: int(r.Yearly),
		}
		if r.Age != nil {
			v.Keep.Age = r.Age.Duration
		}
	}
	if ready := readiness(seen); ready != nil && ready.Reason == v1beta1.ReasonAppendOnly {
		v.Kept = ready.Message
	}
	for i := range seen.Backups {
		if one := &seen.Backups[i]; isMade(c, one) && one.Spec.Store == b.Store {
			v.Made = append(v.Made, made(seen, one))
		}
	}
	return v
}

// isMade says whether the schedule of the cluster has made the backup.
func isMade(c *v1beta1.EtcdCluster, b *v1beta1.EtcdBackup) bool {
	return b.Labels[v1beta1.LabelScheduled] != "" && b.Spec.Found == "" && b.Annotations[v1beta1.AnnotationClusterUID] == string(c.UID)
}

// obstacle is why no backup can be made now. A backup that was made nevertheless would be given up some hours later.
func obstacle(seen Seen) Obstacle {
	c, name := seen.Cluster, seen.Cluster.Spec.Backup.Store
	if c.Status.ClusterID == "" {
		return Obstacle{v1beta1.ReasonClusterNotFormed, "no backup is made before the cluster has formed"}
	}
	if seen.Store == nil {
		return Obstacle{v1beta1.ReasonStoreMissing, fmt.Sprintf("no backup is made: EtcdBackupStore %s does not exist; create it", name)}
	}
	ready := readiness(seen)
	if ready == nil || ready.Status != metav1.ConditionTrue {
		why := "it has not been looked at yet"
		if ready != nil {
			why = ready.Message
		}
		return Obstacle{v1beta1.ReasonStoreUnready, fmt.Sprintf("no backup is made: EtcdBackupStore %s is not ready: %s", name, why)}
	}
	if c.Size() == 0 {
		return Obstacle{v1beta1.ReasonClusterHibernated, "no backup is made while spec.size is 0: the data does not change"}
	}
	return Obstacle{}
}

// readiness is the condition Ready of the store; nil if there is none.
func readiness(seen Seen) *metav1.Condition {
	if seen.Store == nil {
		return nil
	}
	return meta.FindStatusCondition(seen.Store.Status.Conditions, v1beta1.ConditionReady)
}

func made(seen Seen, b *v1beta1.EtcdBackup) Made {
	s := b.Status
	m := Made{
		Name: b.Name, For: b.CreationTimestamp.Time, Created: b.CreationTimestamp.Time, Deleting: b.DeletionTimestamp != nil,
		Complete: isComplete(b), Failed: s.Phase == v1beta1.BackupFailed, Proof: proof(b), InUse: use(seen, b),
	}
	if due, err := time.Parse(time.RFC3339, b.Annotations[v1beta1.AnnotationScheduledFor]); err == nil {
		m.For = due
	}
	if m.Complete {
		m.Started = m.For
		if s.StartedAt != nil {
			m.Started = v1beta1.BegunAt(b)
		}
	}
	if s.LockedUntil != nil {
		m.Locked = s.LockedUntil.Time
	}
	m.Refused = refusal(b, seen.Now)
	return m
}

// deletion is the task of a Job that deletes a backup, as the status has it.
const deletion = "Delete"

// refusal is why the store does not delete a backup whose object is being deleted; empty if no reason is known.
func refusal(b *v1beta1.EtcdBackup, now time.Time) string {
	s := b.Status
	switch {
	case s.LockedUntil != nil && s.LockedUntil.After(now):
		return "the store keeps it until " + s.LockedUntil.UTC().Format(time.RFC3339)
	case s.Failure != nil && s.Failure.Task == deletion:
		return s.Failure.Message
	}
	return ""
}

func isComplete(b *v1beta1.EtcdBackup) bool {
	return meta.IsStatusConditionTrue(b.Status.Conditions, v1beta1.ConditionComplete)
}

func isVerified(b *v1beta1.EtcdBackup) bool {
	return meta.IsStatusConditionTrue(b.Status.Conditions, v1beta1.ConditionVerified)
}

func proof(b *v1beta1.EtcdBackup) Proof {
	verified := meta.FindStatusCondition(b.Status.Conditions, v1beta1.ConditionVerified)
	switch {
	case verified == nil:
		return Unproven
	case verified.Status == metav1.ConditionTrue:
		return Verified
	case verified.Reason == v1beta1.ReasonNotWanted:
		return Untried
	default:
		return Unproven
	}
}

// use is what needs a backup now; empty if nothing does.
func use(seen Seen, b *v1beta1.EtcdBackup) string {
	if b.Status.Phase == v1beta1.BackupVerifying {
		return "it is being verified"
	}
	if i := slices.IndexFunc(seen.Clusters, func(c v1beta1.EtcdCluster) bool { return isRestored(&c, b) }); i >= 0 {
		return "EtcdCluster " + seen.Clusters[i].Name + " is restored from it"
	}
	if i := slices.IndexFunc(seen.Restores, func(r v1beta1.EtcdRestore) bool { return mayRestore(&r, b) }); i >= 0 {
		return "EtcdRestore " + seen.Restores[i].Name + " may yet restore it"
	}
	return ""
}

// isRestored says whether a cluster begins with that backup, or is about to.
func isRestored(c *v1beta1.EtcdCluster, b *v1beta1.EtcdBackup) bool {
	if s := c.Status.Restore; s != nil && s.Path != "" {
		return s.CompletedAt == nil && (s.Backup == b.Name || s.Path == b.Status.Path)
	}
	return c.Spec.Bootstrap != nil && c.Spec.Bootstrap.Restore != nil && c.Spec.Bootstrap.Restore.Backup == b.Name && c.Status.ClusterID == ""
}

// mayRestore says whether an EtcdRestore that has not ended means that backup: a user who has read its preview may confirm it.
func mayRestore(r *v1beta1.EtcdRestore, b *v1beta1.EtcdBackup) bool {
	if r.Status.Phase == v1beta1.RestoreComplete || r.Status.Phase == v1beta1.RestoreUndone || !r.DeletionTimestamp.IsZero() {
		return false
	}
	return r.Spec.Backup == b.Name || r.Status.Preview != nil && r.Status.Preview.Backup == b.Name
}
