// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
)

// A target between two full backups is found by a Job, which has the keys of the store. What it finds is a full backup and a revision:
// both are previewed and restored, so that all members get the same data, whatever is logged meanwhile.

// source is what is restored: a backup, and what the log adds to it.
type source struct {
	backup   *v1beta1.EtcdBackup
	revision int64
	time     *metav1.Time
	keys     *int64
	log      *v1beta1.RestoreLog // nil: no target was given
}

// alone is a backup to which nothing is added.
func alone(b *v1beta1.EtcdBackup) source {
	return source{backup: b, revision: b.Status.Revision, time: b.Status.StartedAt, keys: b.Status.Keys}
}

// located is what a Job has found.
func located(b *v1beta1.EtcdBackup, found jobspec.Located) source {
	s := alone(b)
	s.log = &v1beta1.RestoreLog{Lineage: found.Lineage, BackupRevision: b.Status.Revision, NextRevision: found.LeftRevision}
	if !found.LeftAt.IsZero() {
		s.log.NextAt = ptr.To(metav1.NewMicroTime(found.LeftAt.UTC().Truncate(time.Microsecond)))
	}
	if found.Lineage == "" {
		return s // the backup is the target
	}
	s.revision, s.keys, s.log.Size = found.Revision, nil, resource.NewQuantity(found.Size, resource.BinarySI)
	if !found.At.IsZero() {
		s.log.ChangedAt = ptr.To(metav1.NewMicroTime(found.At.UTC().Truncate(time.Microsecond)))
		s.time = ptr.To(metav1.NewTime(found.At.UTC().Truncate(time.Second)))
	}
	return s
}

// words name what is restored, such as "backup first of revision 100".
func words(backup string, revision int64, log *v1beta1.RestoreLog) string {
	if log == nil || log.Lineage == "" {
		return fmt.Sprintf("backup %s of revision %d", backup, revision)
	}
	return fmt.Sprintf("backup %s of revision %d with the log after it up to revision %d", backup, log.BackupRevision, revision)
}

// unfitForLog says why no log leads on from a backup; empty if one may.
func unfitForLog(b *v1beta1.EtcdBackup) string {
	return unlessOwn(b, "a log leads on from", "leave out target, or name another backup")
}

// unlessOwn says why a backup is none of this operator in a store, of which alone something can be done; empty if it is one.
func unlessOwn(b *v1beta1.EtcdBackup, what, advice string) string {
	switch {
	case b.Status.VolumeSnapshot != nil:
		return fmt.Sprintf("it is a VolumeSnapshot, and %s backups in a store alone: %s", what, advice)
	case sourceOf(b) == "":
		return fmt.Sprintf("%s has made it, and %s backups of this operator alone: %s", cmp.Or(b.Status.Program, "another program"), what, advice)
	}
	return ""
}

// How many full backups a Job gets, beside those that are older than the target: all of them are one argument of 128 KiB.
const (
	mostOlder = 160
	mostNewer = 40
)

// fullBackups are those that a target may begin with, and some newer ones, which say from when on something can be restored; else why
// there are none.
func fullBackups(want Request, all []v1beta1.EtcdBackup, store *v1beta1.EtcdBackupStore) ([]*v1beta1.EtcdBackup, string) {
	if problem := unclear(*want.Target); problem != "" {
		return nil, want.field("target.time") + problem
	}
	want.At = limitOf(*want.Target)
	newest, problem := Choose(want, all, store)
	if want.Backup != "" {
		if newest == nil {
			return nil, problem
		}
		return []*v1beta1.EtcdBackup{newest}, unfit(want, newest)
	}
	var older, newer []*v1beta1.EtcdBackup
	for _, c := range candidates(want, all) { // the newest first
		switch {
		case !want.means(c.Backup) || unfit(want, c.Backup) != "":
		case isNewer(c, want.At):
			newer = append(newer, c.Backup)
		default:
			older = append(older, c.Backup)
		}
	}
	if len(older) == 0 || newest == nil && isAmbiguous(want, all) {
		return nil, problem
	}
	older = slices.DeleteFunc(older, func(b *v1beta1.EtcdBackup) bool { return b.Status.ClusterUID != older[0].Status.ClusterUID })
	newer = slices.DeleteFunc(newer, func(b *v1beta1.EtcdBackup) bool { return b.Status.ClusterUID != older[0].Status.ClusterUID })
	return slices.Concat(newer[max(0, len(newer)-mostNewer):], older[:min(len(older), mostOlder)]), ""
}

// isAmbiguous says whether several EtcdClusters have had the name.
func isAmbiguous(want Request, all []v1beta1.EtcdBackup) bool { return len(newest(want, all)) > 1 }

// unclear says why a target's time cannot be read; empty if it can, or there is none.
func unclear(t v1beta1.RestoreTarget) string {
	if t.Time == "" {
		return ""
	}
	if at, err := time.Parse(time.RFC3339, t.Time); err != nil || at.IsZero() {
		return fmt.Sprintf(" is %q, which is no time", t.Time)
	}
	return ""
}

// limitOf is the newest full backup that a target can begin with, as field at has it.
func limitOf(t v1beta1.RestoreTarget) string {
	if t.Revision > 0 {
		return strconv.FormatInt(t.Revision, 10)
	}
	return t.Time // empty: of a key that was deleted any backup may be it
}

// search is the order of the Job.
func search(want Request, backups []*v1beta1.EtcdBackup) jobspec.LocateOrder {
	t := *want.Target
	o := jobspec.LocateOrder{
		Revision: t.Revision, Exclusive: t.Exclusive, BeforeDelete: t.BeforeDelete, Identities: want.Decryption != nil,
	}
	if t.Time != "" {
		at, _ := time.Parse(time.RFC3339, t.Time) // fullBackups has refused anything else
		o.Time = at.UTC()
	}
	o.End = endOfLog(want.Logged, backups)
	for _, b := range backups {
		// Times of a status are whole seconds: a backup was complete up to a second later.
		finished := began(b)
		if b.Status.FinishedAt != nil {
			finished = b.Status.FinishedAt.Time
		}
		o.Backups = append(o.Backups, jobspec.FullBackup{
			Path: b.Status.Path, Revision: b.Status.Revision, ClusterID: b.Status.ClusterID, Finished: finished.UTC().Add(time.Second),
		})
	}
	return o
}

// Locating is the order of a Job that looks for a moment of a cluster, of which data is only read; else why there is no such moment.
func Locating(
	c *v1beta1.EtcdCluster, store *v1beta1.EtcdBackupStore, all []v1beta1.EtcdBackup, from v1beta1.Restore,
) (jobspec.LocateOrder, string) {
	from.Store = store.Name
	want := Request{Restore: from, Cluster: c, InPlace: true, Logged: c, ByFlags: true}
	backups, problem := fullBackups(want, all, store)
	if problem != "" {
		return jobspec.LocateOrder{}, problem
	}
	return search(want, backups), ""
}

// endOfLog is up to where the log of a cluster had everything, if the backups are of that very cluster. Without a base the status may still
// have the end of another lineage.
func endOfLog(c *v1beta1.EtcdCluster, backups []*v1beta1.EtcdBackup) *jobspec.LogEnd {
	if c == nil || c.Status.Log == nil || len(backups) == 0 || backups[0].Status.ClusterUID != string(c.UID) {
		return nil
	}
	s := c.Status.Log
	if s.Lineage == "" || s.Base == nil || s.Until == nil {
		return nil
	}
	return &jobspec.LogEnd{Lineage: s.Lineage, Revision: s.Until.Revision, Until: s.Until.Time.UTC()}
}

// searchOf is what a Job looks for, so that its answer is about nothing else. Where the log ends is no part of it: it moves all the time.
func searchOf(want Request) string {
	o := search(want, nil)
	text := (jobspec.Order{Verb: jobspec.Locate, Locate: &o}).Encode()
	return fmt.Sprintf("%s %s %s %s", text, want.Store, want.Backup, ptr.Deref(want.Decryption, v1beta1.SecretReference{}).Secret)
}

// FindTarget creates the Job that looks for a target.
type FindTarget struct {
	Order jobspec.LocateOrder
	For   string // what its answer is about
	// Decryption is a Secret with identities; nil: none is given.
	Decryption *v1beta1.SecretReference
}

// DropSearch deletes that Job, whose answer is recorded, or is not wanted any more.
type DropSearch struct{ UID, Because string }

func (FindTarget) step()        {}
func (FindTarget) volumesStep() {}
func (DropSearch) step()        {}
func (DropSearch) volumesStep() {}

func (s FindTarget) String() string {
	return fmt.Sprintf("create a job that looks for the target in the log after %d full backups", len(s.Order.Backups))
}

func (s DropSearch) String() string { return "delete the job that looks for the target: " + s.Because }
