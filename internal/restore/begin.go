// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/quorum"
)

// begin freezes the plan. The new members get the next names, and their revisions begin above all that clients may have seen.
func begin(v View) Step {
	what, _ := chosenSource(v)
	serial := nextSerial(v)
	p := newPlan(inPlaceRequest(v.Restore, v.Cluster), what, startPoint{Serial: serial, Seen: seen(v), Now: v.Now})
	p.Request, p.RequestUID = v.Restore.Name, string(v.Restore.UID)
	p.KeepFor = &metav1.Duration{Duration: v.Restore.Spec.Keep()}
	p.FromRevision = previewed(v)
	for _, volume := range v.Volumes {
		if !volume.Quarantined && !volume.Foreign {
			p.SetAside = append(p.SetAside, volume.Name)
		}
	}
	return Begin{
		Plan: p, NextSerial: int64(serial + len(p.Members)),
		What: fmt.Sprintf("bring %s back to %s", v.Cluster.Name, words(p.Backup, p.Revision, p.Log)),
	}
}

// previewed is the revision that the cluster has as it is restored. If etcd does not answer at this moment, it is at least the one of the
// preview that stands.
func previewed(v View) int64 {
	if p := v.Restore.Status.Preview; p != nil && v.Revision == 0 {
		return max(known(v), p.FromRevision)
	}
	return known(v)
}

// nextSerial is above those of all members and volumes that there are, or were.
func nextSerial(v View) int {
	c := v.Cluster
	next := max(int(c.Status.NextSerial), cluster.Serial(c.Name, c.Status.Joining)+1)
	for _, m := range c.Status.Members {
		next = max(next, cluster.Serial(c.Name, m.Name)+1)
	}
	for _, volume := range v.Volumes {
		next = max(next, cluster.Serial(c.Name, volume.Name)+1)
	}
	return next
}

// seen is the highest revision that clients are known to have seen: also that of an earlier restore, which may have been undone.
func seen(v View) int64 {
	highest := max(previewed(v), v.Cluster.Status.Revision)
	if earlier := v.Cluster.Status.Restore; earlier != nil {
		highest = max(highest, earlier.Revision+earlier.Bump)
	}
	return highest
}

// undo reverses the plan: the members that were replaced, or were to be, are chosen, and replace those of the restore. If clients
// may have seen what those serve, the old data comes back at higher revisions, unless a person says that no client watches.
func undo(v View) Step {
	p := plan(v)
	if p == nil || p.Undo || p.Undoes || !v.Restore.Spec.Undo && !isWithdrawn(v, p) {
		return nil
	}
	if until := undoUntil(p); until != nil && !v.Now.Before(until.Time) {
		return ended(v, p, fmt.Sprintf("it is too late to undo: the volumes of the old members were kept until %s",
			until.UTC().Format(time.RFC3339)))
	}
	if left := left(v, p.SetAside); p.RestoredAt != nil && !quorum.Holds(left, len(p.SetAside)) {
		return ended(v, p, fmt.Sprintf("the restore cannot be undone: of %d volumes of the old members %d are left, which are no quorum",
			len(p.SetAside), left))
	}
	if isServed(v, p) && !v.Restore.Spec.UndoKeepRevisions {
		return rescue(v, p)
	}
	return Begin{
		Plan: reversed(p, "the members to come back with their data"),
		What: fmt.Sprintf("bring %s back to what it had before backup %s was restored", v.Cluster.Name, p.Backup),
	}
}

// left is how many of the volumes that were set aside there still are.
func left(v View, members []string) int {
	n := 0
	for _, volume := range v.Volumes {
		if slices.Contains(members, volume.Name) {
			n++
		}
	}
	return n
}

// undoUntil is until when the volumes of the old members are certain to be there; nil while none has given way.
func undoUntil(p *v1beta1.RestoreStatus) *metav1.Time {
	if p.RestoredAt == nil {
		return nil
	}
	keep := ptr.Deref(p.KeepFor, metav1.Duration{Duration: v1beta1.DefaultQuarantine})
	return ptr.To(metav1.NewTime(p.RestoredAt.Add(keep.Duration)))
}

// cancel is the undo of what has not begun.
func cancel(v View) Step {
	if !v.Restore.Spec.Undo {
		return nil
	}
	return wait(v, v1beta1.RestoreUndone, v1beta1.ReasonUndone,
		"nothing was begun, and nothing will be: create another EtcdRestore to restore")
}
