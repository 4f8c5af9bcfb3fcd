package backupstore

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/internal/task"
)

// record is what the answer of a Job that has ended means.
func record(v View, status v1alpha1.EtcdBackupStoreStatus) Step {
	status.CheckedBy, status.CheckedAt = v.Job.UID, ptr.To(metav1.NewTime(v.Now))
	status.Request = v.Store.Annotations[v1alpha1.AnnotationCheck]
	asked := isTryDue(v)
	status.ObservedGeneration = v.Store.Generation
	var found []task.Found
	var end task.Line
	for _, line := range v.Job.Lines {
		if line.Found != nil {
			found = append(found, *line.Found)
		}
		end = line
	}
	switch {
	case end.Failed != nil:
		status.Failures++
		return Record{Status: unusable(v, status, reasonOf(*end.Failed), end.Failed.Message)}
	case end.Done == nil || end.Done.Check == nil:
		status.Failures++
		return Record{Status: unusable(v, status, v1alpha1.ReasonCheckFailed, "the Job that looks at the store failed: "+v.Job.Trouble)}
	}
	status.Failures = 0
	if asked {
		status.TriedAt = status.CheckedAt
		status.ClockSkew = nil
		if skew := end.Done.Check.Skew; skew != 0 {
			status.ClockSkew = &metav1.Duration{Duration: skew}
		}
	}
	summary(&status, found)
	message := fmt.Sprintf("the store can be listed, written and read; it has %d backups", status.Backups)
	set(v, &status, metav1.ConditionTrue, v1alpha1.ReasonUsable, message)
	step := changes(v, found)
	step.Status = status
	if step.Status.Newest != nil {
		step.Status.Newest.Name = nameFor(v, step, newest(found).Path)
	}
	return step
}

func summary(status *v1alpha1.EtcdBackupStoreStatus, found []task.Found) {
	var stored int64
	for _, f := range found {
		stored += f.Backup.Stored
	}
	status.Backups, status.StoredSize, status.Newest = int32(min(len(found), 1<<31-1)), resource.NewQuantity(stored, resource.BinarySI), nil
	if last := newest(found); last != nil {
		status.Newest = &v1alpha1.NewestBackup{Revision: last.Backup.Revision, Time: metav1.NewTime(last.Backup.StartedAt)}
	}
}

// newest is the backup that was begun last among those that can be restored; nil if there is none.
func newest(found []task.Found) *task.Found {
	var last *task.Found
	for i, f := range found {
		if f.Problem == "" && (last == nil || f.Backup.StartedAt.After(last.Backup.StartedAt)) {
			last = &found[i]
		}
	}
	return last
}

// running says what keeps the Job, if Kubernetes says something; the store is as usable meanwhile as it was.
func running(v View, status v1alpha1.EtcdBackupStoreStatus) v1alpha1.EtcdBackupStoreStatus {
	switch {
	case v.Job.Trouble != "":
		return unusable(v, status, v1alpha1.ReasonCheckBlocked, "the Job that looks at the store does not run: "+v.Job.Trouble)
	case status.CheckedAt == nil || status.ObservedGeneration != v.Store.Generation:
		set(v, &status, metav1.ConditionUnknown, v1alpha1.ReasonFirstCheck, "the store is being looked at for the first time with this spec")
	}
	return status
}

func unusable(v View, status v1alpha1.EtcdBackupStoreStatus, reason, message string) v1alpha1.EtcdBackupStoreStatus {
	set(v, &status, metav1.ConditionFalse, reason, message)
	return status
}

func set(v View, status *v1alpha1.EtcdBackupStoreStatus, is metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&status.Conditions, metav1.Condition{
		Type: v1alpha1.ConditionReady, Status: is, Reason: reason, Message: message, ObservedGeneration: v.Store.Generation,
		LastTransitionTime: metav1.NewTime(v.Now),
	})
}

// reasonOf is the kind of the store's answer as a reason: "wrong region" is WrongRegion. It is in the message's first words.
func reasonOf(failed task.Failed) string {
	if failed.Kind == "" {
		return string(failed.Reason)
	}
	reason := ""
	for _, word := range strings.Fields(failed.Kind) {
		reason += strings.ToUpper(word[:1]) + word[1:]
	}
	return reason
}
