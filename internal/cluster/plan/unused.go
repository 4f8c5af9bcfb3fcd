// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"slices"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// deleteUnused deletes the volumes of a cluster whose members never ran.
func deleteUnused(v cluster.View) Step {
	used := slices.ContainsFunc(v.Volumes, func(volume cluster.Volume) bool { return !volume.Unused })
	if used || v.Count(cluster.HasPod) > 0 {
		return nil
	}
	if len(v.Volumes) > 0 {
		return DeleteVolume{Name: v.Volumes[0].Name, UID: v.Volumes[0].UID, Unused: true}
	}
	return awaitUnusedGone(v)
}

// awaitUnusedGone waits for unused volumes to be gone, so that their names are free.
func awaitUnusedGone(v cluster.View) Step {
	going := v.Select(func(m cluster.Member) bool { return m.Unused && m.Volume == cluster.Going })
	if len(going) == 0 {
		return nil
	}
	return Wait{For: "volume " + going[0].Name + " to be gone: it never held data, and another is created", Look: Soon}
}

// chooseAgain follows a smaller size, and volumes of another class or size, for as long as no first
// member can have run, because none of their volumes has held data. All Pods are deleted first: they
// have the old list of members. A larger size is reached by grow, after the cluster has formed.
func chooseAgain(v cluster.View) Step {
	if v.Formed() || hasBegun(v) {
		return nil
	}
	unfit := slices.DeleteFunc(slices.Clone(v.Volumes), func(volume cluster.Volume) bool {
		at := slices.Index(v.Record.First, volume.Name)
		return at < 0 || at < v.Want.Size && !volume.Unfit
	})
	smaller := v.Want.Size < len(v.Record.First)
	if len(unfit) == 0 && !smaller {
		return awaitUnusedGone(v)
	}
	if pods := v.Select(func(m cluster.Member) bool { return m.Pod.Exists() }); len(pods) > 0 {
		return deletePodOfUnused(pods[0])
	}
	if len(unfit) > 0 {
		return DeleteVolume{Name: unfit[0].Name, UID: unfit[0].UID, Unused: true}
	}
	return cmp.Or(awaitUnusedGone(v), RecordFirstMembers(v, v.Record.First[:v.Want.Size]))
}

// deletePodOfUnused deletes the Pod of a first member that has not run.
func deletePodOfUnused(m cluster.Member) Step {
	if m.Pod.IsTerminating() {
		return Wait{For: "pod " + m.Name + " to be gone"}
	}
	return deletePod(m, "the spec was changed before any member has run")
}

// hasBegun says whether a first member may have run: it has a volume that is not known to
// be unused, or, if data is ephemeral, a Pod on a node.
func hasBegun(v cluster.View) bool {
	return slices.ContainsFunc(v.Select(cluster.IsRecorded), func(m cluster.Member) bool {
		if v.Want.Ephemeral {
			return m.Pod.Exists() && m.Pod.Phase != cluster.Unplaced
		}
		return m.Volume != cluster.NoVolume && !m.Unused || m.Answers
	})
}
