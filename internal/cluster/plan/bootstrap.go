// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// hibernate removes no member: all come back as they were. A Pod is not deleted if its data goes with it.
func hibernate(v cluster.View) Step {
	if v.Want.Size > 0 {
		return nil
	}
	if step := keepPodsWithoutVolume(v); step != nil {
		return step
	}
	pods := v.Select(func(m cluster.Member) bool { return m.Pod.Exists() })
	if step := awaitBackup(v); step != nil {
		return step
	}
	for _, m := range pods {
		if !m.Pod.IsTerminating() {
			return deletePod(m, "the size is 0")
		}
	}
	if len(pods) > 0 {
		return Wait{For: "pod " + pods[0].Name + " to be gone"}
	}
	return Done{}
}

// keepPodsWithoutVolume refuses to delete a Pod whose volume is being deleted and goes with it.
func keepPodsWithoutVolume(v cluster.View) Step {
	ours := func(m cluster.Member) bool { return m.Recorded || cluster.IsListed(m) }
	kept := v.Select(ours, dataGoesWithPod, func(m cluster.Member) bool { return !m.Pod.IsTerminating() })
	if len(kept) == 0 {
		return nil
	}
	if step := detachForeign(v); step != nil {
		return step
	}
	return refuse("size 0 keeps volumes, but that of " + list(cluster.Names(kept)) + " is being deleted and goes with its pod; " +
		"set spec.size to 3 or more, then delete such pods one at a time, each while all members are healthy: they are replaced")
}

// awaitRestore lets nothing begin before the volumes have the data: what begins on an empty volume forms an empty cluster. What members
// need beside their volumes is applied meanwhile, so that they start as soon as the volumes are adopted.
func awaitRestore(v cluster.View) Step {
	switch r := v.Restore; {
	case !r.Wanted || v.Planned():
		return nil
	case r.Done && len(v.Volumes) > 0:
		return nil // they are adopted next
	case r.Problem != "":
		return refuse(r.Problem)
	case r.Progress == "":
		return Wait{For: "the backup to be found that the cluster begins with"}
	default:
		return cmp.Or(ensureObjects(v), Step(Wait{For: r.Progress}))
	}
}

// adoptVolumes takes kept volumes for the data of a cluster of this name. If every volume
// of one bootstrap plan is there and none says that the cluster had formed, the bootstrap
// goes on with that plan. Volumes that all never held data are deleted: they are not of the size and
// the class that are wanted now.
func adoptVolumes(v cluster.View) Step {
	if v.Planned() {
		return nil
	}
	if step := deleteUnused(v); step != nil {
		return step
	}
	if len(v.Volumes) == 0 {
		return nil
	}
	if because := apart(v.Volumes); because != "" {
		return refuse(because)
	}
	var names []string
	formed, token := false, ""
	plan := v.Volumes[0]
	for _, volume := range v.Volumes {
		names, token = append(names, volume.Name), cmp.Or(token, volume.Token)
		samePlan := volume.Token == plan.Token && slices.Equal(volume.First, plan.First)
		formed = formed || volume.ClusterID != "" || volume.Token == "" || !samePlan
	}
	formed = formed || !slices.Equal(names, plan.First)
	return RecordAdoption(v, cmp.Or(token, v.UID), names, formed)
}

// apart says which volumes are of different clusters, by what is written on them; empty if none are.
func apart(volumes []cluster.Volume) string {
	for i, one := range volumes {
		for _, other := range volumes[i+1:] {
			for _, said := range [][2]string{{one.Token, other.Token}, {one.ClusterID, other.ClusterID}} {
				if said[0] != "" && said[1] != "" && said[0] != said[1] {
					return fmt.Sprintf("the volumes are of different clusters: %s is of %s, %s of %s; nothing is changed: copy those that "+
						"belong to another cluster, by a VolumeSnapshot for example, before you free their names",
						one.Name, said[0], other.Name, said[1])
				}
			}
		}
	}
	return ""
}

// chooseFirstMembers does not use the names of volumes of an earlier cluster again.
func chooseFirstMembers(v cluster.View) Step {
	if v.Planned() {
		return nil
	}
	if pods := v.Select(cluster.HasPod); len(pods) > 0 {
		return refuse("pods of members exist (" + list(cluster.Names(pods)) + ") but the record of the cluster is empty; " +
			"if its status was lost, restore it; if the pods are another cluster's, choose another cluster name")
	}
	names := make([]string, 0, v.Want.Size)
	for i := range v.Want.Size {
		names = append(names, cluster.MemberName(v.Name, v.Record.NextSerial+i))
	}
	return RecordFirstMembers(v, names)
}

// Before the cluster ID is known, members that report different ones stop everything: only a person
// knows which is right.
func detachForeign(v cluster.View) Step {
	unclear := disagreeing(v)
	for _, m := range append(unclear, v.Select(cluster.IsForeign)...) {
		if m.Pod.Exists() && !m.Pod.IsTerminating() && !m.Pod.IsDetached() && !m.Denied.Stands() {
			return mark(m, Detach)
		}
	}
	if len(unclear) == 0 {
		return nil
	}
	var all []string
	for _, m := range unclear {
		all = append(all, m.Name+" says it is in cluster "+m.ClusterID)
	}
	return refuse("the members have data of different clusters: " + list(all) +
		"; nothing is changed: copy the volumes of those that belong to another cluster, by a VolumeSnapshot for example, before you " +
		"free their names")
}

// disagreeing are all members that report their cluster ID, if the IDs differ and the
// record has none.
func disagreeing(v cluster.View) []cluster.Member {
	said := v.Select(func(m cluster.Member) bool { return m.ClusterID != "" })
	for _, m := range said {
		if v.Record.ClusterID == "" && m.ClusterID != said[0].ClusterID {
			return said
		}
	}
	return nil
}

// setInitialClusterState lets no container that restarts form the cluster again, or join it with an
// empty log, once the cluster has formed: a member that has data need not join, and a member
// that has none yet joins. A quorum must have answered: else a member
// that never had data could be kept from joining those that have. Learners have no vote, and join as they were made.
// A quorum serves then: members that started together, so that none had peers to compare its data with, compare when they start again.
func setInitialClusterState(v cluster.View) Step {
	if v.Unread != "" {
		return nil
	}
	opens := func(m cluster.Member) bool {
		again := m.Pod.Entry == cluster.Forms || m.Pod.Entry == cluster.Joins && cluster.HasData(m)
		return again && cluster.IsVoter(m)
	}
	unchecked := func(m cluster.Member) bool { return m.Pod.Unchecked && v.Count(cluster.IsVoter) > 1 }
	return cmp.Or(markAll(v, Existing, opens), markAll(v, Comparing, unchecked))
}

// markAll marks the Pods of all of these members that may be changed.
func markAll(v cluster.View, as Mark, which func(cluster.Member) bool) Step {
	var pods []PodRef
	for _, m := range v.Select(cluster.IsListed, cluster.HasPod, which) {
		if !m.Pod.IsTerminating() && !m.Denied.Stands() {
			pods = append(pods, refOf(m))
		}
	}
	if len(pods) == 0 {
		return nil
	}
	return MarkPods{pods, as}
}

// recordClusterID waits a moment for the last member, to save a write, unless a Pod is missing, or data goes
// with Pods: no Pod may be started as new once the cluster has formed.
func recordClusterID(v cluster.View) Step {
	formed := witness(v)
	if v.Record.ClusterID != "" || formed.ClusterID == "" {
		return nil
	}
	first := v.Select(cluster.IsRecorded)
	allHere := v.Count(cluster.IsRecorded, cluster.HasPod) == len(first)
	allHealthy := v.Count(cluster.IsRecorded, cluster.IsHealthy) == len(first)
	if v.Fresh && allHere && !allHealthy && !v.Want.Ephemeral {
		return nil
	}
	on := ""
	if len(v.Volumes) > 0 {
		on = v.Volumes[0].Name
	}
	return RecordFormation(v, formed.ClusterID, on)
}

// witness is a member that shows which cluster has formed: the leader, or any member if
// one that had joined has no Pod, because there may be no leader for that reason. It is empty if there is
// none. Adopted volumes are of a cluster that had formed; only a leader proves its member list.
func witness(v cluster.View) cluster.Member {
	if leader, _ := v.Leader(); leader.ClusterID != "" {
		return leader
	}
	gone := v.Select(cluster.IsRecorded, cluster.Not(cluster.HasPod), func(m cluster.Member) bool { return m.Started })
	said := v.Select(func(m cluster.Member) bool { return m.ClusterID != "" })
	if v.Record.Adopted || len(gone) == 0 || len(said) == 0 {
		return cluster.Member{}
	}
	return said[0]
}

// All volumes are created before the first Pod. If one is missing beside a Pod, or beside a volume that a Pod was
// created for, it was lost, and the cluster may have formed with it. If no Pod is left, the remaining volumes
// count as those of a cluster that has formed: it comes back with their data.
func protectFirstVolumes(v cluster.View) Step {
	pods := v.Select(cluster.HasPod)
	if v.Formed() || v.Want.Ephemeral || len(pods) == 0 && !hasBegun(v) {
		return nil
	}
	for _, m := range v.Select(cluster.IsRecorded, cluster.Not(cluster.HasPod)) {
		switch {
		case m.Volume == cluster.Kept:
		case len(pods) == 0:
			return RecordAdoption(v, v.Record.Token, v.Record.First, true)
		default:
			return refuse("the volume of " + m.Name + " was lost before the cluster was seen to form, and the others may have data: " +
				"create an EtcdCluster of another name if nothing was written; to go on with their data, delete this one with " +
				"deletionPolicy Retain, and create it again")
		}
	}
	return nil
}

func awaitFormation(v cluster.View) Step {
	if v.Formed() || v.Record.ClusterID != "" {
		return nil
	}
	return Wait{For: "members " + list(v.Record.First) + " to form a cluster", Look: soonIf(v.Fresh)}
}

func soonIf(fresh bool) Requeue {
	if fresh {
		return Soon
	}
	return Later
}
