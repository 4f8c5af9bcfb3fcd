// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"fmt"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobs"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
)

// A restore of a prefix changes keys of a cluster that serves. Three Jobs do it, one after the other: the first compares, and its answer is
// the preview; the second makes the changes that were compared, and no others; the third takes them back.

// StartTask creates one of them.
type StartTask struct {
	Order jobspec.Order // without the store
	For   string        // what its answer is about
	// Size is of the database of the largest full backup that it reads, in bytes; 0: it is not known.
	Size int64
}

// DropTask deletes it, because its answer is recorded, or is not wanted any more.
type DropTask struct{ UID, Because string }

func (StartTask) step() {}
func (DropTask) step()  {}

func (s StartTask) String() string {
	switch o := s.Order; {
	case o.Apply != nil:
		return fmt.Sprintf("create a job that makes the keys below %q as they were at revision %d", o.Apply.Prefix, o.Apply.At.Revision)
	case o.Revert != nil:
		return fmt.Sprintf("create a job that makes the keys below %q as they were before the restore", o.Revert.Prefix)
	default:
		return fmt.Sprintf("create a job that compares the keys below %q", o.Compare.Prefix)
	}
}

func (s DropTask) String() string { return "delete the job: " + s.Because }

// TaskOf is which Job of a restore of a prefix matters; empty: it is no such restore.
func TaskOf(r *v1beta1.EtcdRestore) jobspec.Verb {
	switch {
	case !r.Spec.IsPartial():
		return ""
	case r.Status.Preview != nil && isNothing(r.Status.Preview.Changes):
		return jobspec.Compare
	case r.Status.Phase == v1beta1.RestoreRunning, r.Status.Phase == v1beta1.RestoreComplete:
		return jobspec.Apply
	case r.Status.Phase == v1beta1.RestoreUndoing, r.Status.Phase == v1beta1.RestoreUndone && r.Status.Changes != nil:
		return jobspec.Revert
	}
	return jobspec.Compare
}

// errands of the three Jobs.
var (
	comparing = errand{
		job: "the job that compares the keys below the prefix", other: "it compares something else", fails: "the keys cannot be compared",
		again: "it has not compared the keys, and another one tries again", answers: hasChanges,
	}
	applying = errand{
		job: "the job that changes the keys below the prefix", other: "it is for another preview", fails: "the keys cannot be changed",
		again: "it has not changed all keys, and another one goes on", answers: hasChanges,
	}
	reverting = errand{
		job: "the job that takes the changes back", other: "it is for something else", fails: "the changes cannot be taken back",
		again: "it has not taken all changes back, and another one goes on", answers: hasChanges,
	}
)

func hasChanges(d *jobspec.Done) bool { return d.Changes != nil }

// live is the cluster as its Jobs reach it.
func live(c *v1beta1.EtcdCluster) jobspec.Live {
	return jobspec.Live{ClusterID: c.Status.ClusterID, Members: jobs.Voters(c), Secure: c.IsSecure()}
}

// prefixRequest is what a restore of a prefix requests: once there is a preview, its backup.
func prefixRequest(v View) Request {
	want := inPlaceRequest(v.Restore, v.Cluster)
	if p := v.Restore.Status.Preview; p != nil {
		want.Backup = p.Backup
	}
	return want
}

// momentOf is the moment of a preview, for a Job.
func momentOf(p *v1beta1.RestorePreview, b *v1beta1.EtcdBackup) jobspec.Located {
	at := jobspec.Located{Path: b.Status.Path, Revision: p.Revision}
	if p.Log != nil {
		at.Lineage = p.Log.Lineage
	}
	return at
}

// comparison has the first Job created, or says why there is none.
func comparison(v View) (step StartTask, problem string) {
	want := prefixRequest(v)
	o := jobspec.CompareOrder{Prefix: []byte(v.Restore.Spec.Prefix), Identities: want.Decryption != nil, Live: live(v.Cluster)}
	backups, about, problem := momentsFor(want, v)
	switch {
	case problem != "":
		return StartTask{}, problem
	case want.Target != nil:
		order := search(want, backups)
		o.Target = &order
	default:
		o.At = &jobspec.Located{Path: backups[0].Status.Path, Revision: backups[0].Status.Revision}
	}
	step = StartTask{Order: jobspec.Order{Verb: jobspec.Compare, Compare: &o}, For: strconv.Quote(v.Restore.Spec.Prefix) + " of " + about}
	for _, b := range backups {
		step.Size = max(step.Size, databaseSize(b))
	}
	return step, ""
}

// momentsFor are the full backups that may be read: those that may lead to the target, or else the one that is meant; and what the answer
// of the Job is about, which is no member and not where the log ends: these change all the time.
func momentsFor(want Request, v View) (backups []*v1beta1.EtcdBackup, about, problem string) {
	if want.Target != nil {
		backups, problem = searchable(want, v.Backups, v.Store, v.NoImage)
		return backups, searchOf(want), problem
	}
	b, problem := Choose(want, v.Backups, v.Store)
	switch {
	case problem != "":
		return nil, "", problem
	case v.NoImage != "":
		return nil, "", v.NoImage
	case v.Store == nil:
		return nil, "", storeGone(b)
	}
	return []*v1beta1.EtcdBackup{b}, b.Status.Path, ""
}

// databaseSize is what is to be unpacked of a backup, in bytes; 0: it is not known.
func databaseSize(b *v1beta1.EtcdBackup) int64 {
	if b.Status.DatabaseSize == nil {
		return 0
	}
	return b.Status.DatabaseSize.Value()
}

// changesOf is what a Job has said, for the status.
func changesOf(c *jobspec.Changes) *v1beta1.KeyChanges {
	all := &v1beta1.KeyChanges{
		Revision: c.Revision, Created: c.Create, Updated: c.Update, Deleted: c.Delete, Leased: c.Leased, Skipped: c.Skipped, Digest: c.Digest,
	}
	for _, e := range c.Examples {
		all.Examples = append(all.Examples, fmt.Sprintf("%s %q", e.What, e.Key))
	}
	return all
}

// compared is the preview that follows from what was compared.
func compared(v View, what source, c *jobspec.Changes) *v1beta1.RestorePreview {
	p := &v1beta1.RestorePreview{
		Backup: what.backup.Name, Revision: what.revision, Time: what.time, Log: what.log.DeepCopy(), FromRevision: c.Revision,
		Changes: changesOf(c), ManifestSHA256: what.backup.Status.ManifestSHA256, ClusterID: v.Cluster.Status.ClusterID,
		MadeAt: metav1.NewTime(v.Now.UTC().Truncate(time.Second)),
	}
	p.Changes.Unchanged = &c.Same
	p.Confirm = fmt.Sprintf("%s@%d->%d/%.8s", v.Cluster.Name, p.FromRevision, p.Revision, c.Digest)
	return p
}

// isNothing says whether all keys are as they are to be.
func isNothing(c *v1beta1.KeyChanges) bool { return c.Created+c.Updated+c.Deleted+c.Skipped == 0 }

// changed says what was done, or would be, for people.
func changed(c *v1beta1.KeyChanges) string {
	return fmt.Sprintf("%s created, %d updated, %d deleted", count(c.Created, "key"), c.Updated, c.Deleted)
}

func count(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
