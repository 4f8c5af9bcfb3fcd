package plan

import (
	"cmp"
	"slices"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// discardUnused deletes the volumes of a cluster that never began.
func discardUnused(v cluster.View) Step {
	used := slices.ContainsFunc(v.Volumes, func(volume cluster.Volume) bool { return !volume.Unused })
	if used || v.Count(cluster.HasPod) > 0 {
		return nil
	}
	if len(v.Volumes) > 0 {
		return DeleteVolume{Name: v.Volumes[0].Name, UID: v.Volumes[0].UID, Unused: true}
	}
	return awaitDiscarded(v)
}

// awaitDiscarded waits for unused volumes to be gone, so that their names are free.
func awaitDiscarded(v cluster.View) Step {
	going := v.Select(func(m cluster.Member) bool { return m.Unused && m.Volume == cluster.Going })
	if len(going) == 0 {
		return nil
	}
	return Wait{For: "volume " + going[0].Name + " to be gone: it never held data, and another is made", Look: Soon}
}

// replan obeys a smaller size, and volumes of another class or size, for as long as no first
// member can have run, because no volume of theirs has held data. All Pods end before: they
// were told of the old plan. A larger size is grown to once the cluster has formed.
func replan(v cluster.View) Step {
	if v.Formed() || hasBegun(v) {
		return nil
	}
	unfit := slices.DeleteFunc(slices.Clone(v.Volumes), func(volume cluster.Volume) bool {
		at := slices.Index(v.Record.First, volume.Name)
		return at < 0 || at < v.Want.Size && !volume.Unfit
	})
	smaller := v.Want.Size < len(v.Record.First)
	if len(unfit) == 0 && !smaller {
		return awaitDiscarded(v)
	}
	if pods := v.Select(func(m cluster.Member) bool { return m.Pod.Exists }); len(pods) > 0 {
		return stopUnused(pods[0])
	}
	if len(unfit) > 0 {
		return DeleteVolume{Name: unfit[0].Name, UID: unfit[0].UID, Unused: true}
	}
	return cmp.Or(awaitDiscarded(v), FreezeBootstrap(v, v.Record.First[:v.Want.Size]))
}

// stopUnused ends the Pod of a first member that has not run.
func stopUnused(m cluster.Member) Step {
	if m.Pod.Terminating {
		return Wait{For: "pod " + m.Name + " to be gone"}
	}
	return stop(m, "the spec was changed before any member has run")
}

// hasBegun says whether a first member may have run: one with a volume that is not known to
// be unused, or, if data lives in Pods, one that a node has.
func hasBegun(v cluster.View) bool {
	return slices.ContainsFunc(v.Select(cluster.IsRecorded), func(m cluster.Member) bool {
		if v.Want.Ephemeral {
			return m.Pod.Exists && !m.Pod.Unplaced
		}
		return m.Volume != cluster.NoVolume && !m.Unused || m.Answers
	})
}
