// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"cmp"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
)

// status is a copy of the status, to be changed.
func (v View) status() v1beta1.EtcdBackupStatus { return *v.Status.DeepCopy() }

// named is the status that names the next Job, which does that task. The Job is created only after it is written.
func (v View) named(task string) Record {
	s := v.status()
	if !v.hasFailed(task) {
		s.Attempts = 0
	}
	s.Attempts++
	s.Jobs++
	s.RetryAt = nil
	s.Store, s.Path = v.Store.Name, v.path()
	s.Job = &v1beta1.JobReference{Name: JobName(v.Name, v.UID, task, s.Jobs), Task: task}
	if task == Backup {
		s.Cluster, s.ClusterUID, s.ClusterID = v.Cluster.Name, v.Cluster.UID, v.Cluster.ID
	}
	return Record{Status: s, What: fmt.Sprintf("%s %s is next, attempt %d", v.work(task), s.Job.Name, s.Attempts)}
}

// unnamed is the status without a Job.
func (v View) unnamed() v1beta1.EtcdBackupStatus {
	s := v.status()
	s.Job = nil
	return s
}

// withdrawn is the status without a Job that was never created.
func (v View) withdrawn() v1beta1.EtcdBackupStatus {
	s := v.unnamed()
	s.Attempts = max(s.Attempts-1, 0)
	return s
}

// ended is how a Job failed that did not say so itself.
func ended(words string) jobspec.Failed {
	return jobspec.Failed{Reason: v1beta1.ReasonJobEnded, Message: words}
}

// failed is the status after the Job has failed like that.
func (v View) failed(f jobspec.Failed) v1beta1.EtcdBackupStatus {
	s := v.status()
	s.Job.Ended = true
	s.Failure = &v1beta1.BackupFailure{
		Task: s.Job.Task, Reason: string(f.Reason), Message: shortened(f.Message), Final: isFinal(s.Job.Task, f),
	}
	if !s.Failure.Final {
		s.RetryAt = ptr.To(moment(v.Now.Add(patience.Pause(int(s.Attempts)))))
	}
	return s
}

// isFinal says whether a task is not tried again after such a failure. What the conditions of the store or of the cluster
// report as well is waited for, whatever the Job says, as is room: it continues once that is corrected. Deletion is
// always tried again, because the object waits for it.
func isFinal(what string, f jobspec.Failed) bool {
	switch f.Reason {
	case jobspec.StoreFailed, jobspec.StoreLocked, jobspec.AuthEnabled, jobspec.NoRoom:
		return false
	default:
		return f.Final && what != Delete
	}
}

// isProof says whether a trial that fails for that reason shows that the backup is not good.
func isProof(reason jobspec.Reason) bool {
	return reason == jobspec.Different || reason == jobspec.Corrupt
}

// failure is the step that writes down such a status.
func failure(s v1beta1.EtcdBackupStatus) Record {
	f := s.Failure
	what := f.Message
	if s.RetryAt != nil && !f.Final {
		what += fmt.Sprintf("; attempt %d failed, the next one begins at %s", s.Attempts, clock(s.RetryAt.Time))
	}
	return Record{Status: s, What: what, Event: f.Task + "Failed", Warns: true}
}

// recordFailure writes down why the Job failed. What an attempt has left in a store that locks objects is in the way of the
// next one until the lock ends.
func (v View) recordFailure(f jobspec.Failed) Record {
	s := v.failed(f)
	switch {
	case s.Job.Task == Delete && f.Reason == jobspec.StoreLocked:
		return v.recordLock(s, f)
	case s.Job.Task == Backup && f.Reason == jobspec.StoreLocked:
		s.Path = v.folder(fmt.Sprintf("%s-%d", v.UID, s.Jobs+1))
		s.Failure.Message = shortened(s.Failure.Message + "; the next attempt writes into a folder of its own")
	case s.Job.Task == Verify && isProof(f.Reason):
		return v.recordDamage(f)
	case s.Job.Task == Verify && s.Failure.Final:
		s.Trial = settled(s.Trial)
	}
	return failure(s)
}

// recordDamage writes down that the backup is not good. What is stored stays: it may be all that there is.
func (v View) recordDamage(f jobspec.Failed) Record {
	s := v.succeeded()
	s.Trial = settled(s.Trial)
	s.Trial.Reason, s.Trial.Message = string(f.Reason), shortened(f.Message)
	s.Verified = nil
	return Record{Status: s, What: s.Trial.Message, Event: "BackupDamaged", Warns: true}
}

// askLockAfter is the pause where the store does not say until when it is locked.
const askLockAfter = time.Hour

func (v View) recordLock(s v1beta1.EtcdBackupStatus, f jobspec.Failed) Record {
	until := f.Until
	if !until.After(v.Now) {
		until = v.Now.Add(askLockAfter)
	}
	s.LockedUntil, s.RetryAt = ptr.To(moment(until)), nil
	what := fmt.Sprintf("the store keeps the backup until %s: %s; it is deleted then, and the object stays until then; "+
		"set deletionPolicy to Retain to delete only the object now", clock(until), s.Failure.Message)
	return Record{Status: s, What: what, Event: "BackupLocked", Warns: true}
}

// settled is the trial after it is over. What an earlier one has proved stays.
func settled(t *v1beta1.BackupTrial) *v1beta1.BackupTrial {
	over := ptr.Deref(t, v1beta1.BackupTrial{})
	over.Wanted = false
	return &over
}

// succeeded is the status after the Job has done its task.
func (v View) succeeded() v1beta1.EtcdBackupStatus {
	s := v.status()
	s.Job.Ended = true
	s.Failure, s.RetryAt, s.Attempts = nil, nil, 0
	return s
}

func (v View) recordBackup(done jobspec.Done) Record {
	if v.isSnapshot() {
		s := v.recordSnapshot(done)
		return Record{Status: s, What: stored(s), Event: "BackupStored"}
	}
	s := v.succeeded()
	putFacts(&s, *done.Backup)
	s.Source, s.Log = done.Source, nil
	if at := done.Log; at != nil {
		s.Log = &v1beta1.LogPosition{Term: int64(at.Term), Index: int64(at.Index)} //nolint:gosec // etcd counts from 1
	}
	if !done.Locked.IsZero() {
		s.LockedUntil = ptr.To(moment(done.Locked))
	}
	s.Trial = &v1beta1.BackupTrial{Wanted: v.wantsTrial(*done.Backup), Request: v.Request}
	return Record{Status: s, What: stored(s), Event: "BackupStored"}
}

// withoutHash is said of a snapshot that even a trial does not prove to be whole.
const withoutHash = "; the snapshot does not end with etcd's sha256, so that it may be a part of what an etcd had"

// stored says what is in the store.
func stored(s v1beta1.EtcdBackupStatus) string {
	what := revision(s)
	if s.VolumeSnapshot != nil && s.Verified == nil {
		what += ", or a later one,"
	}
	if s.Cluster != "" {
		what += " of EtcdCluster " + s.Cluster
	}
	if taken := s.VolumeSnapshot; taken != nil {
		return fmt.Sprintf("%s is in VolumeSnapshot %s of the volume of %s, %s", what, taken.Name, s.Source, &taken.Size)
	}
	what += " is in EtcdBackupStore " + s.Store
	if s.StoredSize != nil {
		what += ", " + s.StoredSize.String()
	}
	if s.Source != "" {
		what += ", sent by " + s.Source
	}
	if s.NoHash {
		what += withoutHash
	}
	return what
}

func revision(s v1beta1.EtcdBackupStatus) string {
	if s.Revision == 0 {
		return "the data"
	}
	return fmt.Sprintf("revision %d", s.Revision)
}

func (v View) recordTrial(t jobspec.Trial) Record {
	s := v.succeeded()
	s.Trial = &v1beta1.BackupTrial{Request: s.Trial.Request}
	s.Verified = &v1beta1.Verification{At: moment(v.Now), Took: metav1.Duration{Duration: t.Took.Round(time.Millisecond)}}
	if s.Program != "" { // only the trial knows what is in it
		s.Revision, s.Keys, s.DatabaseSize = t.Revision, new(t.Keys), v1beta1.SizeOf(t.Database)
		s.EtcdVersion, s.ManifestSHA256, s.NoHash = t.ClusterVersion, t.SHA256, t.NoHash
	}
	if s.VolumeSnapshot != nil {
		s.Revision, s.Keys, s.DatabaseSize = t.Revision, new(t.Keys), v1beta1.SizeOf(t.Database)
	}
	what := fmt.Sprintf("an etcd has served %s with %d keys, after %s", revision(s), t.Keys, s.Verified.Took.Duration)
	if s.NoHash {
		what += withoutHash
	}
	return Record{Status: s, What: what, Event: "BackupVerified"}
}

// putFacts writes down what a manifest says. What it does not say stays as it is known.
func putFacts(s *v1beta1.EtcdBackupStatus, f jobspec.Facts) {
	s.Cluster, s.ClusterUID, s.ClusterID = cmp.Or(f.Cluster, s.Cluster), cmp.Or(f.ClusterUID, s.ClusterUID), cmp.Or(f.ClusterID, s.ClusterID)
	s.Reason, s.EtcdVersion = cmp.Or(f.Reason, s.Reason), cmp.Or(f.EtcdVersion, s.EtcdVersion)
	s.Revision, s.CompactRevision = cmp.Or(f.Revision, s.Revision), cmp.Or(f.CompactRevision, s.CompactRevision)
	s.Recoveries = f.Recoveries
	if f.Keys != nil {
		s.Keys = new(*f.Keys)
	}
	if f.Database > 0 {
		s.DatabaseSize = v1beta1.SizeOf(f.Database)
	}
	if f.Stored > 0 {
		s.StoredSize = v1beta1.SizeOf(f.Stored)
	}
	s.ManifestSHA256, s.Encrypted = cmp.Or(f.ManifestSHA256, s.ManifestSHA256), f.Encrypted
	if !f.StartedAt.IsZero() {
		s.StartedAt = ptr.To(moment(f.StartedAt))
	}
	if !f.FinishedAt.IsZero() {
		s.FinishedAt = ptr.To(moment(f.FinishedAt))
	}
}

// moment is a time as the API server gives it back.
func moment(t time.Time) metav1.Time { return metav1.NewTime(t.UTC().Truncate(time.Second)) }

// clock is a moment for people.
func clock(t time.Time) string { return t.UTC().Format(time.RFC3339) }
