// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"fmt"
	"slices"
	"time"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobs"
	"github.com/etcd-operator/etcd-operator/internal/rules"
)

// View is one observation of an EtcdRestore and of what it is about.
type View struct {
	Restore *v1beta1.EtcdRestore
	Cluster *v1beta1.EtcdCluster // nil: there is none
	Paused  string               // what says that nothing of the cluster is to be changed; empty if nothing does
	// Forbidden is what the cluster's spec requests and is not allowed, and what to do; empty if all is.
	Forbidden string
	Backups   []v1beta1.EtcdBackup     // of the namespace
	Store     *v1beta1.EtcdBackupStore // that the spec names; nil: there is none
	Others    []v1beta1.EtcdRestore    // of the same cluster
	Volumes   []Volume                 // that have a name which a member could have, by serial number
	// Revision is what etcd answers now to a read that needs a quorum; 0: it was not asked, or cannot be, and Unasked says why.
	Revision int64
	Unasked  string
	// Search is the Job that looks for the target in the log, and NoImage why none can be created.
	Search  jobs.Observed
	NoImage string
	// Task is the Job of a restore of a prefix that TaskOf names.
	Task jobs.Observed
	Now  time.Time
}

// Volume is the volume of a member.
type Volume struct {
	Name        string
	Quarantined bool
	Foreign     bool // it is not ours, or has data of another cluster
}

var rule = rules.New[View, Step]

// The rules are evaluated in order: follow what has begun, preview, wait for the confirmation, secure what there is, begin.
var policy = rules.List[View, Step]{rules.Under("rules of an EtcdRestore",
	rule("leave deleted restores alone", leaveDeleted,
		"decides no more: what has begun is cancelled, or goes on once members may have been stopped"),
	rule("undo", undo, "brings back the members that were replaced, while their volumes are kept, or gives up what is no longer accepted"),
	rule("follow", follow, "says how far a restore is that has begun"),
	rule("stay", stay, "leaves a restore as it ended, once another one has begun"),
	rule("cancel", cancel, "ends a restore that is undone before it has begun"),
	rule("need a cluster", needCluster, "waits for a cluster that can be brought back"),
	rule("find the target", findTarget, "has a Job look through the log for the moment that is meant, and waits for its answer"),
	rule("preview", preview, "writes down what would be done, and again when that is another restore, or the preview has expired"),
	rule("drop the search", dropSearch, "deletes the Job that has found the target, once the preview has that"),
	rule("wait for the confirmation", awaitConfirmation,
		"waits until just what the preview says is confirmed, or accepted by the backup's name"),
	rule("wait for others", awaitOthers, "lets one restore of a cluster end before another begins"),
	rule("wait for the cluster", awaitCluster,
		"waits for the end of a pause, of hibernation, of an adoption, or of a spec that is not allowed"),
	rule("back up first", backUpFirst, "makes a backup of what the cluster has, unless the spec says that none is needed"),
	rule("begin", begin, "freezes what is restored in the status of the cluster, whose rules go on from there"),
)}

// Next is the one step to take now, and the name of the rule that chose it.
func Next(v View) (Step, string) {
	list := policy
	if v.Restore.Spec.IsPartial() {
		list = prefixPolicy
	}
	if step, name := list.Next(v); step != nil {
		return step, name
	}
	return Done{}, "nothing is left to do"
}

func leaveDeleted(v View) Step {
	if v.Restore.DeletionTimestamp.IsZero() {
		return nil
	}
	return Done{}
}

// plan is what the cluster is restored to by this object; nil if it has not begun, or another one has begun since.
func plan(v View) *v1beta1.RestoreStatus {
	if v.Cluster == nil || v.Cluster.Status.Restore == nil || v.Cluster.Status.Restore.RequestUID != string(v.Restore.UID) {
		return nil
	}
	return v.Cluster.Status.Restore
}

// hasBegun says whether the restore has changed anything.
func hasBegun(v View) bool {
	switch v.Restore.Status.Phase {
	case v1beta1.RestoreRunning, v1beta1.RestoreComplete, v1beta1.RestoreUndoing, v1beta1.RestoreUndone:
		return true
	case v1beta1.RestorePending, v1beta1.RestorePreviewed, v1beta1.RestoreBackingUp:
	}
	return false
}

func needCluster(v View) Step {
	c, name := v.Cluster, v.Restore.Spec.Cluster
	switch {
	case c == nil:
		return pending(v, fmt.Sprintf("there is no EtcdCluster %s in this namespace: to begin with a backup, create it with "+
			"bootstrap.restore", name))
	case !c.DeletionTimestamp.IsZero():
		return pending(v, fmt.Sprintf("EtcdCluster %s is being deleted: create it again with bootstrap.restore", name))
	case c.Status.ClusterID == "":
		return pending(v, fmt.Sprintf("EtcdCluster %s has not formed yet: the restore waits for that; to begin with a backup, create it with "+
			"bootstrap.restore", name))
	}
	return nil
}

// awaitConfirmation compares all of it: nothing else is a confirmation.
func awaitConfirmation(v View) Step {
	want, given := v.Restore.Status.Preview.Confirm, v.Restore.Spec.Confirm
	switch {
	case isConfirmed(v):
		return nil
	case given == "" && isOwn(v):
		return wait(v, v1beta1.RestorePreviewed, v1beta1.ReasonUnconfirmed, unaccepted(v))
	case given == "":
		return wait(v, v1beta1.RestorePreviewed, v1beta1.ReasonUnconfirmed, fmt.Sprintf("to restore, set spec.confirm to %q", want))
	}
	return wait(v, v1beta1.RestorePreviewed, v1beta1.ReasonUnconfirmed, fmt.Sprintf("spec.confirm is %q, which is not what the preview "+
		"says now: look at the preview, and to restore set spec.confirm to %q", given, want))
}

// awaitOthers lets the older one of two that are confirmed begin first.
func awaitOthers(v View) Step {
	if isUnderWay(v) {
		return wait(v, v1beta1.RestorePreviewed, v1beta1.ReasonOtherRestore, fmt.Sprintf("the restore to backup %s ends first, "+
			"which the cluster has begun", v.Cluster.Status.Restore.Backup))
	}
	for i := range v.Others {
		o := &v.Others[i]
		if o.UID == v.Restore.UID || !o.DeletionTimestamp.IsZero() || !comesFirst(o, v.Restore) {
			continue
		}
		return wait(v, v1beta1.RestorePreviewed, v1beta1.ReasonOtherRestore, "EtcdRestore "+o.Name+" of the same cluster ends first")
	}
	return nil
}

// isUnderWay says whether the cluster has yet to serve what another restore brings. One that has brought its members, and whose
// object is gone, holds up no other one: it cannot be undone.
func isUnderWay(v View) bool {
	s := v.Cluster.Status.Restore
	switch {
	case s == nil || s.CompletedAt != nil:
		return false
	case s.Request == "" || v.Cluster.IsRestoring() || s.IsCancelled():
		return true
	}
	return slices.ContainsFunc(v.Others, func(o v1beta1.EtcdRestore) bool { return string(o.UID) == s.RequestUID })
}

// comesFirst says whether another restore is about to begin, or was begun and has not written down its end.
func comesFirst(o, r *v1beta1.EtcdRestore) bool {
	switch o.Status.Phase {
	case v1beta1.RestoreRunning, v1beta1.RestoreUndoing:
		return true
	case v1beta1.RestoreBackingUp:
		before := o.CreationTimestamp.Compare(r.CreationTimestamp.Time)
		return before < 0 || before == 0 && o.Name < r.Name
	case v1beta1.RestorePending, v1beta1.RestorePreviewed, v1beta1.RestoreComplete, v1beta1.RestoreUndone:
	}
	return false
}

// awaitCluster restores no cluster that hibernates: spec.size says how many members there are to be. None that adopts
// another one is restored either: of two histories the sources would go on with one.
func awaitCluster(v View) Step {
	switch {
	case v.Paused != "":
		return wait(v, v1beta1.RestorePreviewed, v1beta1.ReasonPaused, "the restore waits for the end of the pause: "+v.Paused)
	case v.Cluster.Size() == 0:
		return wait(v, v1beta1.RestorePreviewed, v1beta1.ReasonHibernated, "spec.size of the cluster is 0, and says how many members "+
			"the restore makes: set it to 1, 3, 5 or 7")
	case v.Cluster.IsAdopting():
		return wait(v, v1beta1.RestorePreviewed, v1beta1.ReasonRefused, "EtcdCluster "+v.Cluster.Name+" adopts a running cluster, and a "+
			"restore would stop members on which the quorum of that depends: wait until the adoption is complete, or undo it")
	case v.Forbidden != "":
		return wait(v, v1beta1.RestorePreviewed, v1beta1.ReasonRefused, "EtcdCluster "+v.Cluster.Name+": "+v.Forbidden)
	}
	return nil
}
