// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"fmt"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/quorum"
)

// serveBeside starts the members that are to replace the others once all their volumes have the data. The others serve on: loading the data
// takes no time from clients, and the restore can still be cancelled. Nothing waits here: whether they serve is for the reconciler of
// restores, which knows for how long to wait. A Pod that Kubernetes has just refused is left for a moment.
func serveBeside(v cluster.View) Step {
	var names []string
	for _, m := range v.Beside {
		if m.Volume != cluster.Kept {
			return nil // it has yet to get the data
		}
		if !m.Pod.Exists() && !m.Pod.Denied.Stands() {
			names = append(names, m.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return CreatePods{Names: names, Beside: true}
}

// attachRestored sends clients to members that have served beside those that they have replaced, as soon as the record says that they are
// the cluster's: an undo goes by it. Others that are detached have data that is not their own, or are attached when they are well.
func attachRestored(v cluster.View) Step {
	if !v.Unproven() || v.Record.Restore == "" {
		return nil
	}
	var pods []PodRef
	for _, m := range v.Select(cluster.IsRecorded, cluster.HasPod) {
		if m.Pod.IsDetached() && !m.Pod.IsTerminating() && !m.Denied.Stands() {
			pods = append(pods, refOf(m))
		}
	}
	if len(pods) == 0 {
		return nil
	}
	return MarkPods{pods, Attach}
}

// restoreInPlace replaces all members by those that are chosen, whose volumes have had the data before this begins. No client is sent to
// one of the chosen before every other one has stopped and its volume is set aside: of two histories, clients see one.
// Then the cluster adopts the chosen as it adopts volumes that were kept. An undo chooses those that were replaced.
func restoreInPlace(v cluster.View) Step {
	if v.Restore.InPlace == "" {
		return nil
	}
	others := v.Select(cluster.Not(cluster.IsChosen))
	return cmp.Or(keepData(others), stopOthers(v, others), setAside(v, others), bringBack(v), awaitChosen(v), adoptChosen(v))
}

// keepData stops no member whose data goes with its Pod: it could not come back.
func keepData(others []cluster.Member) Step {
	for _, m := range others {
		if dataGoesWithPod(m) && m.Volume == cluster.Going && !m.Pod.IsTerminating() {
			return refuse(cannotOutlive([]string{m.Name}))
		}
	}
	return nil
}

// stopOthers deletes all Pods at the same time. It does not wait for those whose nodes are silent, unless they could still be a quorum.
func stopOthers(v cluster.View, others []cluster.Member) Step {
	var pods []PodRef
	var ending, overdue []string
	for _, m := range others {
		switch {
		case !m.Pod.Exists():
		case !m.Pod.IsTerminating():
			pods = append(pods, refOf(m))
		case m.Pod.Overdue:
			overdue = append(overdue, m.Name)
		default:
			ending = append(ending, m.Name)
		}
	}
	because := choose(v.Restore.Undo, "the restore is undone", "the cluster is restored to a backup")
	switch {
	case len(pods) > 0:
		return DeletePods{append(pods, idle(v)...), Plainly, because}
	case len(ending) > 0:
		return Wait{For: "pod " + ending[0] + " to be gone: " + because, Look: Soon}
	case len(overdue) > 0 && quorum.Holds(len(overdue), len(others)):
		return refuse(fmt.Sprintf("the nodes of pods %s are silent: their members may still run there, and serve clients what they had; "+
			"when these machines are off, delete the pods with kubectl delete pod --force", list(overdue)))
	}
	return nil
}

// idle are the Pods of the chosen in which etcd does not run beside the others. They have found no room or no node, and start anew when
// the others are gone.
func idle(v cluster.View) []PodRef {
	var pods []PodRef
	for _, m := range v.Select(cluster.IsChosen) {
		if starts := m.Pod.Phase == cluster.Unplaced || m.Pod.Phase == cluster.Placed; starts && !m.Pod.IsTerminating() && !v.Restore.Undo {
			pods = append(pods, refOf(m))
		}
	}
	return pods
}

func setAside(v cluster.View, others []cluster.Member) Step {
	for _, m := range others {
		if m.Volume == cluster.Kept {
			return Quarantine{Name: m.Name, KeepFor: v.Restore.KeepFor}
		}
	}
	return nil
}

// bringBack lifts the quarantine of volumes that come back by an undo.
func bringBack(v cluster.View) Step {
	for _, m := range v.Select(cluster.IsChosen) {
		if m.SetAside && m.Volume == cluster.Kept {
			return LiftQuarantine{m.Name}
		}
	}
	return nil
}

// awaitChosen waits for a volume that was lost after it had the data: it is filled again.
func awaitChosen(v cluster.View) Step {
	switch r := v.Restore; {
	case r.Done:
		return nil
	case r.Problem != "":
		return refuse(r.Problem)
	default:
		return Wait{For: cmp.Or(r.Progress, "the volumes to have the data of the backup")}
	}
}

// adoptChosen begins with the chosen as if their volumes had been kept.
func adoptChosen(v cluster.View) Step {
	names := cluster.Names(v.Select(cluster.IsChosen))
	fact := v.Record
	fact.Token, fact.First, fact.Adopted, fact.Restore = v.UID, names, true, v.Restore.InPlace
	fact.ClusterID, fact.Joining, fact.Recovering, fact.Revision = "", "", "", 0
	what := choose(v.Restore.Undo, "bring back members ", "go on with members ") + list(names)
	return Record{Fact: passed(v.Name, fact, names), What: what, Event: choose(v.Restore.Undo, "RestoreUndone", "MembersRestored")}
}
