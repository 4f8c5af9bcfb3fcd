// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// Report is status.backup of the EtcdCluster after the step, given the error that it ended with. It is nil where nothing is said of
// backups.
func Report(seen Seen, v View, step Step, err error) *v1beta1.ClusterBackups {
	c := seen.Cluster
	s := &v1beta1.ClusterBackups{Last: newest(seen, isComplete), Verified: newest(seen, isVerified)}
	if v.Schedule == "" {
		if s.Last == nil {
			return nil
		}
		return s
	}
	if was := c.Status.Backup; was != nil {
		s.Conditions = slices.Clone(was.Conditions)
	}
	if next := Coming(v); !next.IsZero() {
		s.Next = &metav1.Time{Time: next}
	}
	now := backedUp(seen, v, step, err)
	now.Type, now.ObservedGeneration = v1beta1.ConditionBackedUp, c.Generation
	now.Message = strings.ToValidUTF8(now.Message[:min(len(now.Message), longest)], "")
	meta.SetStatusCondition(&s.Conditions, now)
	if v.Keep == (Keep{}) {
		meta.RemoveStatusCondition(&s.Conditions, v1beta1.ConditionRetentionApplied)
		return s
	}
	applied := v.applied(seen.Cluster.Spec.Backup.Store)
	applied.Type, applied.ObservedGeneration = v1beta1.ConditionRetentionApplied, c.Generation
	applied.Message = strings.ToValidUTF8(applied.Message[:min(len(applied.Message), longest)], "")
	meta.SetStatusCondition(&s.Conditions, applied)
	return s
}

// often is how far apart backups are of which each has to be verified: a day, less what clocks are put forward. Of those that are made more
// often one a day may be (verify: Daily).
const often = 22 * time.Hour

// Wanted is when the schedule of a cluster wants a backup that is newer than the one that counts: than the newest verified one, or with
// verify: Never than the newest; while there is none, than the cluster. It is zero where the schedule is to make none: there is none, it
// cannot be read or is suspended, or the cluster hibernates or is being deleted.
func Wanted(c *v1beta1.EtcdCluster) time.Time {
	b, had := c.Spec.Backup, c.Status.Backup
	if b == nil || b.Schedule == "" || b.Suspend || c.Size() == 0 || c.DeletionTimestamp != nil {
		return time.Time{}
	}
	s, err := Parse(b.Schedule, b.TimeZone)
	if err != nil {
		return time.Time{}
	}
	counts := &v1beta1.BackupPoint{Time: c.CreationTimestamp}
	switch {
	case had != nil && had.Verified != nil:
		counts = had.Verified
	case had != nil && had.Last != nil && b.Verify == v1beta1.VerifyNever:
		counts = had.Last
	}
	return s.Next(counts.Time.Add(often))
}

// longest is the limit of the API conventions for a message.
const longest = 1024

// newest is the backup of the cluster with the newest data for which that is so.
func newest(seen Seen, is func(*v1beta1.EtcdBackup) bool) *v1beta1.BackupPoint {
	var all []*v1beta1.EtcdBackup
	for i := range seen.Backups {
		b := &seen.Backups[i]
		ours := b.Status.ClusterUID == string(seen.Cluster.UID) && b.DeletionTimestamp == nil && b.Status.StartedAt != nil
		if ours && is(b) {
			all = append(all, b)
		}
	}
	if len(all) == 0 {
		return nil
	}
	best := v1beta1.NewestFirst(all, v1beta1.AgeOf)[0]
	return &v1beta1.BackupPoint{Name: best.Backup.Name, Time: metav1.NewTime(best.Time), Revision: best.Backup.Status.Revision}
}

func backedUp(seen Seen, v View, step Step, err error) metav1.Condition {
	is := func(status metav1.ConditionStatus, reason, format string, args ...any) metav1.Condition {
		return metav1.Condition{Status: status, Reason: reason, Message: fmt.Sprintf(format, args...)}
	}
	rest, _ := step.(Rest)
	switch {
	case err != nil:
		return is(metav1.ConditionFalse, v1beta1.ReasonStepFailed, "trying again: %v", err)
	case rest.Reason != "":
		return is(metav1.ConditionFalse, rest.Reason, "%s", rest.Because)
	case v.Obstacle != Obstacle{}:
		return is(metav1.ConditionFalse, v.Obstacle.Reason, "%s", v.Obstacle.Message)
	}
	last, ended := v.ended()
	switch {
	case !ended:
		return is(metav1.ConditionUnknown, v1beta1.ReasonNoneYet, "the schedule has made no backup yet%s", v.coming())
	case last.Failed:
		return is(metav1.ConditionFalse, v1beta1.ReasonLastFailed, "EtcdBackup %s has failed: %s%s",
			last.Name, said(seen, last, v1beta1.ConditionComplete), v.coming())
	case last.Proof == Unproven && last.InUse == "":
		return is(metav1.ConditionFalse, v1beta1.ReasonUnverified, "EtcdBackup %s is in the store, and is not verified: %s; none is deleted%s",
			last.Name, said(seen, last, v1beta1.ConditionVerified), v.coming())
	default:
		return is(metav1.ConditionTrue, v1beta1.ReasonBackedUp, "EtcdBackup %s is in the store%s", last.Name, v.coming())
	}
}

func notApplied(reason, message string) metav1.Condition {
	return metav1.Condition{Status: metav1.ConditionFalse, Reason: reason, Message: message}
}

// applied says whether the store deletes what retention does not keep.
func (v View) applied(store string) metav1.Condition {
	refused := v.refused()
	switch {
	case v.Kept != "":
		return notApplied(v1beta1.ReasonAppendOnly, fmt.Sprintf("EtcdBackupStore %s deletes "+
			"nothing: %s; allow its keys to delete, or have the store itself delete what is old and remove spec.backup.retention", store, v.Kept))
	case len(refused) > 0:
		more := ""
		if n := len(refused) - 1; n > 0 {
			more = fmt.Sprintf(" and %d more", n)
		}
		return notApplied(v1beta1.ReasonDeletionRefused, fmt.Sprintf("EtcdBackup %s%s cannot be "+
			"deleted: %s; others are deleted while fewer than %d cannot", refused[0].Name, more, refused[0].Refused, mostRefused))
	}
	return metav1.Condition{
		Status: metav1.ConditionTrue, Reason: v1beta1.ReasonRetentionApplied,
		Message: "older ones are deleted as spec.backup.retention says, while the newest is verified",
	}
}

// ended is the newest backup that is in the store or has failed, and whether there is one.
func (v View) ended() (Made, bool) {
	all := slices.DeleteFunc(slices.Clone(v.Made), func(m Made) bool { return !m.Complete && !m.Failed || m.Deleting })
	if len(all) == 0 {
		return Made{}, false
	}
	return newestFirst(all, v.Now)[0].Backup, true
}

// coming says what is next.
func (v View) coming() string {
	if running := v.running(); running != "" {
		return fmt.Sprintf("; EtcdBackup %s is being made", running)
	}
	next := Coming(v)
	if next.IsZero() {
		return "; the schedule names no time to come"
	}
	return "; the next one is due at " + next.UTC().Format(time.RFC3339)
}

// said is the message of a condition of that backup.
func said(seen Seen, m Made, about string) string {
	for i := range seen.Backups {
		if b := &seen.Backups[i]; b.Name == m.Name {
			if c := meta.FindStatusCondition(b.Status.Conditions, about); c != nil {
				return c.Message
			}
		}
	}
	return "it does not say why"
}

// New is the EtcdBackup that a step creates. It has no owner: it outlives the cluster.
func New(c *v1beta1.EtcdCluster, step Create) *v1beta1.EtcdBackup {
	b := &v1beta1.EtcdBackup{}
	b.Namespace, b.Name = c.Namespace, step.Name
	b.Labels = map[string]string{v1beta1.LabelScheduled: "true", v1beta1.LabelCluster: c.Name}
	b.Annotations = map[string]string{
		v1beta1.AnnotationScheduledFor: step.For.UTC().Format(time.RFC3339),
		v1beta1.AnnotationClusterUID:   string(c.UID), v1beta1.AnnotationReason: "schedule",
	}
	b.Spec = v1beta1.EtcdBackupSpec{Cluster: c.Name, Store: c.Spec.Backup.Store, DeletionPolicy: v1beta1.RetainBackup}
	return b
}
