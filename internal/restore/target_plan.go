// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobs"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
)

// isLocated says whether the preview has what was found for the target, and the backup is still that one. It is not looked for again: a
// confirmation is for what was found.
func isLocated(v View) bool {
	p := v.Restore.Status.Preview
	if v.Restore.Spec.Target == nil || p == nil || p.Log == nil {
		return false
	}
	b := named(p.Backup, v.Backups)
	return b != nil && b.Status.ManifestSHA256 == p.ManifestSHA256
}

const goneBackup = "the backup that it has found is gone, and another one is looked for"

// isGone says whether the backup that was found is not known any more.
func isGone(want Request, all []v1beta1.EtcdBackup, s awaited) bool {
	return s.done != nil && s.done.Located != nil && indexOf(want, all, s.done.Located.Path) < 0
}

// indexOf is where a backup is among all, by its path in the store that is meant.
func indexOf(want Request, all []v1beta1.EtcdBackup, path string) int {
	return slices.IndexFunc(all, func(b v1beta1.EtcdBackup) bool { return b.Status.Path == path && isIn(want, all, &b) })
}

// foundIn is what the Job has found, as a backup that is known and fits.
func foundIn(want Request, all []v1beta1.EtcdBackup, job jobs.Observed) (source, string) {
	done := job.Done()
	if done == nil || done.Located == nil {
		return source{}, "the target is not found yet"
	}
	found := *done.Located
	i := indexOf(want, all, found.Path)
	if i < 0 {
		return source{}, fmt.Sprintf("the backup %s, which leads to the target, has no EtcdBackup any more", found.Path)
	}
	what := located(&all[i], found)
	if problem := unfit(want, what.backup); problem != "" {
		return source{}, fmt.Sprintf("EtcdBackup %s cannot be restored: %s", what.backup.Name, problem)
	}
	if problem := tooLarge(want, what); problem != "" {
		return source{}, fmt.Sprintf("EtcdBackup %s cannot be restored: %s", what.backup.Name, problem)
	}
	return what, ""
}

// isIn says whether a backup lies in the store that is meant.
func isIn(want Request, all []v1beta1.EtcdBackup, b *v1beta1.EtcdBackup) bool {
	if want.Backup == "" {
		return b.Status.Store == want.Store
	}
	by := named(want.Backup, all)
	return by != nil && by.Status.Store == b.Status.Store
}

// jobStep is about the Job that looks for a target, whatever it is of: an EtcdRestore, or a cluster that begins with one.
type jobStep interface {
	Step
	VolumesStep
}

// searching is what is to be done about that Job; nil: it is awaited, has failed, or has found what there still is.
func searching(want Request, all []v1beta1.EtcdBackup, backups []*v1beta1.EtcdBackup, job jobs.Observed, s awaited) jobStep {
	switch {
	case s.starts:
		return FindTarget{Order: search(want, backups), For: searchOf(want), Decryption: want.Decryption}
	case s.drops != "":
		return DropSearch{job.UID, s.drops}
	case isGone(want, all, s):
		return DropSearch{job.UID, goneBackup}
	}
	return nil
}

// findTarget has the target of an EtcdRestore looked for, unless the preview has it.
func findTarget(v View) Step {
	if v.Restore.Spec.Target == nil || isLocated(v) {
		return nil
	}
	want := inPlaceRequest(v.Restore, v.Cluster)
	backups, problem := searchable(want, v.Backups, v.Store, v.NoImage)
	if problem != "" {
		return pending(v, problem)
	}
	s := locating.awaited(v.Search, searchOf(want), v.Now)
	if step := searching(want, v.Backups, backups, v.Search, s); step != nil {
		return step
	}
	switch {
	case s.problem != "":
		step := wait(v, v1beta1.RestorePending, v1beta1.ReasonRefused, s.problem)
		step.Until = s.until
		return step
	case s.waits != "":
		return wait(v, v1beta1.RestorePending, v1beta1.ReasonSearching, "waiting for "+s.waits)
	}
	return nil
}

// searchable are the full backups that a Job gets, or what else it lacks.
func searchable(
	want Request, all []v1beta1.EtcdBackup, store *v1beta1.EtcdBackupStore, noImage string,
) ([]*v1beta1.EtcdBackup, string) {
	backups, problem := fullBackups(want, all, store)
	switch {
	case problem != "":
		return nil, problem
	case noImage != "":
		return nil, noImage
	case store == nil:
		return nil, storeGone(backups[0])
	}
	return backups, ""
}

func storeGone(b *v1beta1.EtcdBackup) string {
	return fmt.Sprintf("EtcdBackupStore %s, in which backup %s lies, does not exist any more: create it again", b.Status.Store, b.Name)
}

// dropSearch deletes the Job once its answer is in the preview.
func dropSearch(v View) Step {
	if v.Restore.Spec.Target == nil || !isDroppable(v.Search) {
		return nil
	}
	return DropSearch{v.Search.UID, "the preview has what it has found"}
}

func isDroppable(job jobs.Observed) bool { return job.Exists && job.Owned && !job.Deleting }

// findBootstrapTarget has the target of a new cluster looked for, until the plan has it.
func findBootstrapTarget(v VolumesView) VolumesStep {
	if s := v.Cluster.Status.Restore; s != nil && s.Path != "" || !IsWanted(v.Cluster) || v.Cluster.Spec.Bootstrap.Restore.Target == nil {
		return nil
	}
	want := bootstrapRequest(v.Cluster)
	want.Logged = v.Logged
	backups, problem := searchable(want, v.Backups, v.Store, v.NoImage)
	if problem != "" {
		return refuse(v, "bootstrap.restore: "+problem)
	}
	s := locating.awaited(v.Search, searchOf(want), v.Now)
	if step := searching(want, v.Backups, backups, v.Search, s); step != nil {
		return step
	}
	switch {
	case s.problem != "":
		return VolumesWait{Status: Refused(v, "bootstrap.restore: "+s.problem), Until: s.until}
	case s.waits != "":
		return VolumesWait{Status: status(v, s.waits, "")}
	}
	return nil
}

// LoggedBy is the name of the EtcdCluster, in the namespace of a new one, whose log may lead to the target that it begins with; empty:
// none is there.
func LoggedBy(c *v1beta1.EtcdCluster, all []v1beta1.EtcdBackup) string {
	want := bootstrapRequest(c)
	source := want.source()
	if want.Backup != "" {
		b := named(want.Backup, all)
		if b == nil {
			return ""
		}
		source = sourceOf(b)
	}
	name, isHere := strings.CutPrefix(source, c.Namespace+"/")
	if !isHere {
		return ""
	}
	return name
}

// dropBootstrapSearch deletes the Job once its answer is in the plan.
func dropBootstrapSearch(v VolumesView) VolumesStep {
	if !isDroppable(v.Search) {
		return nil
	}
	return DropSearch{v.Search.UID, "the plan has what it has found"}
}

// NeedsSearch says whether the Job that looks for the target matters: until the restore has begun.
func NeedsSearch(v View) bool {
	spec := v.Restore.Spec
	return spec.Target != nil && !spec.IsPartial() && v.Restore.DeletionTimestamp.IsZero() && !hasBegun(v) && plan(v) == nil
}

// TargetOf is what the members are restored to by the log; nil: the backup alone is restored.
func TargetOf(s *v1beta1.RestoreStatus) *jobspec.TargetOrder {
	if s.Log == nil || s.Log.Lineage == "" {
		return nil
	}
	return &jobspec.TargetOrder{Lineage: s.Log.Lineage, Revision: s.Revision}
}

// FormatOf is the oldest format of a status that an operator must understand to carry out a plan.
func FormatOf(s v1beta1.RestoreStatus) int32 {
	if s.Log != nil {
		return v1beta1.FormatReplaying
	}
	return v1beta1.FormatRestoring
}
