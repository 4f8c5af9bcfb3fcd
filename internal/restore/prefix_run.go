// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"cmp"
	"fmt"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
)

// What follows is about a restore of a prefix that has begun.

// needSameCluster is about what has begun.
func needSameCluster(v View) Step {
	s := v.Restore.Status
	isBegun := s.Phase == v1beta1.RestoreRunning || s.Phase == v1beta1.RestoreUndoing
	if !isBegun || v.Cluster != nil && v.Cluster.Status.ClusterID == s.Preview.ClusterID {
		return nil
	}
	return wait(v, s.Phase, v1beta1.ReasonReplaced, "the cluster is gone, or is another one of its name: nothing more is changed")
}

// undoPrefix has what was changed taken back, by the safety backup.
func undoPrefix(v View) Step {
	s := v.Restore.Status
	if !v.Restore.Spec.Undo || s.Phase != v1beta1.RestoreRunning && s.Phase != v1beta1.RestoreComplete {
		return nil
	}
	problem := ""
	switch {
	case s.SafetyBackup == "":
		problem = "no safety backup was made"
	case named(s.SafetyBackup, v.Backups) == nil:
		problem = fmt.Sprintf("the safety backup %s has no EtcdBackup any more", s.SafetyBackup)
	case isDroppable(v.Task):
		return DropTask{v.Task.UID, "the restore is undone"}
	case v.Task.Exists && v.Task.Owned:
		return wait(v, s.Phase, v1beta1.ReasonUndoing, "the undo waits for "+applying.job+" to be gone")
	}
	if problem == "" {
		return Record{
			Status: said(v, v1beta1.RestoreUndoing, v1beta1.ReasonUndoing, "the changes are being taken back"),
			Event:  "RestoreUndoing", What: fmt.Sprintf("takes back what was changed below %q", v.Restore.Spec.Prefix),
		}
	}
	if s.Phase == v1beta1.RestoreRunning {
		return nil // it goes on
	}
	return wait(v, s.Phase, v1beta1.ReasonRestored, fmt.Sprintf("%s; it cannot be undone, because %s: restore the prefix as it was by "+
		"another EtcdRestore", done(s.Changes), problem))
}

// applyPrefix obeys the Job: what others have changed since the preview is previewed again.
func applyPrefix(v View) Step {
	if v.Restore.Status.Phase != v1beta1.RestoreRunning {
		return nil
	}
	p := v.Restore.Status.Preview
	s := applying.awaited(v.Task, p.Confirm, v.Now)
	switch {
	case s.done != nil:
		is := changesOf(s.done.Changes)
		status := said(v, v1beta1.RestoreComplete, v1beta1.ReasonRestored, done(is))
		status.Changes = is
		return Record{Status: status, Event: "RestoreComplete", What: fmt.Sprintf("below %q %s", v.Restore.Spec.Prefix, done(is))}
	case s.problem != "" && isOutdated(v):
		return again(v, v.Task.Failed().Message)
	case s.starts:
		return startApply(v, p)
	}
	return obey(v, s, v1beta1.ReasonRestoring)
}

// isOutdated says whether the Job has refused to write, or to go on, because what was compared is not what there is any more.
func isOutdated(v View) bool {
	failed := v.Task.Failed()
	return failed != nil && failed.Reason == jobspec.Outdated
}

// again goes back to a preview that is to be made.
func again(v View, why string) Step {
	status := said(v, v1beta1.RestorePending, v1beta1.ReasonComparing, "the preview is made again: "+why)
	status.Preview = nil
	return Record{Status: status, Event: "RestoreOutdated", What: "the preview is made again: " + why}
}

func startApply(v View, p *v1beta1.RestorePreview) Step {
	b := named(p.Backup, v.Backups)
	if problem := notYet(v, b, p.Backup); problem != "" {
		return wait(v, v1beta1.RestoreRunning, v1beta1.ReasonRestoreFailing, problem)
	}
	return StartTask{For: p.Confirm, Size: databaseSize(b), Order: jobspec.Order{Verb: jobspec.Apply, Apply: &jobspec.ApplyOrder{
		Prefix: []byte(v.Restore.Spec.Prefix), At: momentOf(p, b), Identities: v.Restore.Spec.Decryption != nil, Live: live(v.Cluster),
		Revision: p.Changes.Revision, Digest: p.Changes.Digest,
	}}}
}

// notYet says why no Job is created that changes keys; empty: one is.
func notYet(v View, b *v1beta1.EtcdBackup, name string) string {
	switch {
	case b == nil:
		return fmt.Sprintf("there is no EtcdBackup %s any more: create it again by spec.found, or another EtcdRestore", name)
	case v.Store == nil:
		return storeGone(b)
	case v.NoImage != "":
		return v.NoImage
	case v.Paused != "":
		return "the restore waits for the end of the pause: " + v.Paused
	}
	return ""
}

// revertPrefix makes keys as the safety backup has them, where they are still as the restore has made them.
func revertPrefix(v View) Step {
	if v.Restore.Status.Phase != v1beta1.RestoreUndoing {
		return nil
	}
	p := v.Restore.Status.Preview
	s := reverting.awaited(v.Task, p.Confirm, v.Now)
	switch {
	case s.done != nil:
		is := changesOf(s.done.Changes)
		status := said(v, v1beta1.RestoreUndone, v1beta1.ReasonUndone, undonePrefix(is))
		status.Changes = is
		return Record{Status: status, Event: "RestoreUndone", What: undonePrefix(is)}
	case s.starts:
		return startRevert(v, p)
	}
	return obey(v, s, v1beta1.ReasonUndoing)
}

func startRevert(v View, p *v1beta1.RestorePreview) Step {
	safety := v.Restore.Status.SafetyBackup
	b, before := named(p.Backup, v.Backups), named(safety, v.Backups)
	if problem := cmp.Or(notYet(v, b, p.Backup), notYet(v, before, safety)); problem != "" {
		return wait(v, v1beta1.RestoreUndoing, v1beta1.ReasonRestoreFailing, problem)
	}
	return StartTask{
		For: p.Confirm, Size: max(databaseSize(b), databaseSize(before)),
		Order: jobspec.Order{Verb: jobspec.Revert, Revert: &jobspec.RevertOrder{
			Prefix: []byte(v.Restore.Spec.Prefix), Before: jobspec.Located{Path: before.Status.Path, Revision: before.Status.Revision},
			At: momentOf(p, b), Identities: v.Restore.Spec.Decryption != nil, Live: live(v.Cluster),
		}},
	}
}

// obey is what every Job asks for that has not succeeded.
func obey(v View, s awaited, running string) Step {
	phase := v.Restore.Status.Phase
	if s.drops != "" {
		return DropTask{v.Task.UID, s.drops}
	}
	if s.problem != "" {
		step := wait(v, phase, v1beta1.ReasonRestoreFailing, s.problem)
		step.Until = s.until
		return step
	}
	return wait(v, phase, running, "waiting for "+s.waits)
}

// followPrefix says what was done.
func followPrefix(v View) Step {
	s := v.Restore.Status
	switch {
	case s.Changes == nil || s.Phase != v1beta1.RestoreComplete && s.Phase != v1beta1.RestoreUndone:
		return nil
	case isDroppable(v.Task):
		return DropTask{v.Task.UID, "what it has done is recorded"}
	case s.Phase == v1beta1.RestoreUndone:
		return wait(v, s.Phase, v1beta1.ReasonUndone, undonePrefix(s.Changes))
	}
	return wait(v, s.Phase, v1beta1.ReasonRestored, done(s.Changes))
}

// done says what a restore has changed.
func done(c *v1beta1.KeyChanges) string {
	if isNothing(c) {
		return "all keys are as they were then: nothing was changed"
	}
	what := changed(c)
	if c.Skipped > 0 {
		what += fmt.Sprintf("; %s changed since the preview, and left", count(c.Skipped, "key"))
	}
	return what
}

func undonePrefix(c *v1beta1.KeyChanges) string {
	what := "the keys are as they were before the restore: " + changed(c)
	if c.Skipped > 0 {
		what += fmt.Sprintf("; %s changed since the restore, and left", count(c.Skipped, "key"))
	}
	return what
}
