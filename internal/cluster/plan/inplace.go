package plan

import (
	"cmp"
	"fmt"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/quorum"
)

// restoreInPlace replaces all members by those that are chosen, whose volumes have had the data before this begins. None of
// the chosen starts before every other one has stopped and its volume is set aside: of two histories, clients see one.
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
		return DeletePods{pods, Plainly, because}
	case len(ending) > 0:
		return Wait{For: "pod " + ending[0] + " to be gone: " + because, Look: Soon}
	case len(overdue) > 0 && quorum.Holds(len(overdue), len(others)):
		return refuse(fmt.Sprintf("the nodes of pods %s are silent: their members may still run there, and serve clients what they had; "+
			"when these machines are off, delete the pods with kubectl delete pod --force", list(overdue)))
	}
	return nil
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
