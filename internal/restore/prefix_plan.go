// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"fmt"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/rules"
)

// The rules are evaluated in order: end what has begun, compare, preview, wait for the confirmation, secure what there is, begin.
var prefixPolicy = rules.List[View, Step]{rules.Under("rules of an EtcdRestore with a prefix",
	rule("leave deleted restores alone", leaveDeleted, "decides no more: its Jobs go with it"),
	rule("need the same cluster", needSameCluster, "changes nothing more once the cluster is gone"),
	rule("undo", undoPrefix, "stops the Job that changes keys, if it runs, and has another one take the changes back"),
	rule("change the keys", applyPrefix,
		"has a Job change the keys as it was previewed, waits for it, and goes back to the preview if others have changed them since"),
	rule("take the changes back", revertPrefix, "has a Job make keys as they were before that are still as the restore has made them"),
	rule("follow", followPrefix, "deletes the Job that has ended, and says what was changed"),
	rule("cancel", cancelPrefix, "ends a restore that is undone before it has begun"),
	rule("need a cluster", needCluster, "waits for a cluster that serves"),
	rule("compare the keys", comparePrefix, "has a Job compare the keys below the prefix as they were with those that the cluster has"),
	rule("preview", previewPrefix, "writes down what would be changed, and again when the backup or the cluster is another one"),
	rule("drop the comparison", dropComparison, "deletes the Job that has compared, once the preview has what it said"),
	rule("wait for the confirmation", awaitConfirmation, "waits until just what the preview says is confirmed"),
	rule("wait for others", awaitOthers, "lets one restore of a cluster end before another begins"),
	rule("wait for the cluster", awaitServing, "waits for the end of a pause, or of hibernation"),
	rule("back up first", backUpFirst, "makes a backup of what the cluster has, unless the spec says that none is needed"),
	rule("begin", beginPrefix, "writes down that keys are changed from now on"),
)}

// isPreviewed says whether the preview is about the backup and the cluster that there are.
func isPreviewed(v View) bool {
	p := v.Restore.Status.Preview
	b := named(p.Backup, v.Backups)
	return b != nil && b.Status.ManifestSHA256 == p.ManifestSHA256 && p.ClusterID == v.Cluster.Status.ClusterID
}

// comparePrefix has the keys compared, unless the preview has that.
func comparePrefix(v View) Step {
	if p := v.Restore.Status.Preview; p != nil {
		if isPreviewed(v) {
			return nil
		}
		return again(v, "the backup, or the cluster, is not the one that was previewed")
	}
	step, problem := comparison(v)
	if problem != "" {
		return pending(v, problem)
	}
	s := comparing.awaited(v.Task, step.For, v.Now)
	switch {
	case s.done != nil:
		return nil
	case s.starts:
		return step
	case s.drops != "":
		return DropTask{v.Task.UID, s.drops}
	case s.problem != "":
		refused := wait(v, v1beta1.RestorePending, v1beta1.ReasonRefused, s.problem)
		refused.Until = s.until
		return refused
	}
	return wait(v, v1beta1.RestorePending, v1beta1.ReasonComparing, "waiting for "+s.waits)
}

// previewPrefix writes down what was compared.
func previewPrefix(v View) Step {
	if v.Restore.Status.Preview != nil {
		return nil
	}
	found, problem := comparedSource(v)
	if problem != "" {
		return DropTask{v.Task.UID, problem}
	}
	p := compared(v, found, v.Task.Done().Changes)
	if isNothing(p.Changes) {
		return nothingToDo(v, p)
	}
	s := said(v, v1beta1.RestorePreviewed, v1beta1.ReasonUnconfirmed, fmt.Sprintf("to restore, set spec.confirm to %q", p.Confirm))
	s.Preview = p
	what := fmt.Sprintf("below %q there would be %s, to be as at revision %d", v.Restore.Spec.Prefix, changed(p.Changes), p.Revision)
	return Record{Status: s, Event: "RestorePreviewed", What: what}
}

// nothingToDo ends a restore of keys that are as they were.
func nothingToDo(v View, p *v1beta1.RestorePreview) Step {
	is := &v1beta1.KeyChanges{Revision: p.Changes.Revision}
	s := said(v, v1beta1.RestoreComplete, v1beta1.ReasonRestored, done(is))
	s.Preview, s.Changes = p, is
	return Record{Status: s, Event: "RestoreComplete", What: done(is)}
}

// comparedSource is the backup that was read, and what the log adds to it; else why the comparison means nothing.
func comparedSource(v View) (source, string) {
	if v.Restore.Spec.Target != nil {
		return foundIn(prefixRequest(v), v.Backups, v.Task)
	}
	b, problem := Choose(prefixRequest(v), v.Backups, v.Store)
	if problem != "" {
		return source{}, problem
	}
	return alone(b), ""
}

// cancelPrefix is the undo of what is to be confirmed.
func cancelPrefix(v View) Step {
	s := v.Restore.Status
	if !v.Restore.Spec.Undo || s.FromRevision == 0 {
		return cancel(v)
	}
	has := "there is no backup of the keys as they were before"
	if s.SafetyBackup != "" {
		has = fmt.Sprintf("EtcdBackup %s has the keys as they were before", s.SafetyBackup)
	}
	return wait(v, v1beta1.RestoreUndone, v1beta1.ReasonUndone, "the restore has ended before all of it was done, because keys had changed "+
		"since the preview; what it has changed until then stays, and "+has)
}

func dropComparison(v View) Step {
	if TaskOf(v.Restore) != jobspec.Compare || !isDroppable(v.Task) {
		return nil
	}
	return DropTask{v.Task.UID, "the preview has what it has compared"}
}

// awaitServing writes to no cluster that is not to be changed.
func awaitServing(v View) Step {
	switch {
	case v.Paused != "":
		return wait(v, v1beta1.RestorePreviewed, v1beta1.ReasonPaused, "the restore waits for the end of the pause: "+v.Paused)
	case v.Cluster.Size() == 0:
		return wait(v, v1beta1.RestorePreviewed, v1beta1.ReasonHibernated, "spec.size of the cluster is 0, and no member serves: set it to "+
			"1, 3, 5 or 7")
	}
	return nil
}

func beginPrefix(v View) Step {
	p := v.Restore.Status.Preview
	s := said(v, v1beta1.RestoreRunning, v1beta1.ReasonRestoring, "the keys are being changed")
	s.FromRevision = p.FromRevision
	what := fmt.Sprintf("makes the keys below %q as they were at revision %d", v.Restore.Spec.Prefix, p.Revision)
	return Record{Status: s, Event: "RestoreRestoring", What: what}
}
