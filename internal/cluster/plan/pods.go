// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/quorum"
)

// startMembers starts all at the same time: each is the same member with the same ID, so quorum can only gain. It does
// not start a surplus member, which may be one that cannot start, nor a learner that never started:
// finishLearner does. A member whose Pod Kubernetes has just refused is left for a moment, in which other rules go on.
func startMembers(v cluster.View) Step {
	var names []string
	for _, m := range v.Members {
		if v.Formed() && m.Pod.Denied.Stands() {
			continue
		}
		if volume, of := v.SourceVolume(m.Name); of && volume.InUse {
			continue // two members of one ID would run on it
		}
		if belongs(v, m) && !m.Pod.Exists() && !(v.Formed() && cluster.IsLost(m)) && !neverStarted(v, m) && !isSurplus(v, m) {
			names = append(names, m.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return CreatePods{Names: names}
}

// isSurplus says whether a learner or a voter is more than wanted, and will be removed.
func isSurplus(v cluster.View, m cluster.Member) bool {
	if cluster.IsLearner(m) {
		return v.Unread == "" && v.Count(cluster.IsVoter) >= target(v)
	}
	return v.Unread == "" && slices.Contains(leaving(v), m.Name)
}

// neverStarted says whether a learner has never started. It has no data that
// could help a quorum, and its volume may be refused, so every repair comes first. Only
// etcd's list says that it has not started; without a volume it has no data either way.
func neverStarted(v cluster.View, m cluster.Member) bool {
	return v.Formed() && cluster.IsLearner(m) && !m.Started && (v.Unread == "" || m.Volume == cluster.NoVolume)
}

// Without its labels the operator does not ask a member, and no Service sends clients or peers to it.
func restoreLabels(v cluster.View) Step {
	for _, m := range v.Members {
		if m.Pod.LabelsMissing && !m.Pod.IsTerminating() && !m.Denied.Stands() {
			return mark(m, Attach)
		}
	}
	return nil
}

// belongs says whether the member is one of the cluster: by etcd's list if that
// was read with quorum, else by the record.
func belongs(v cluster.View, m cluster.Member) bool {
	if v.Formed() && v.Unread == "" {
		return cluster.IsListed(m)
	}
	return m.Recorded || cluster.IsListed(m)
}

// Kubernetes leaves finished Pods after an eviction or a node's shutdown, and when a volume is deleted before its
// Pod has found a node.
func deleteFinished(v cluster.View) Step {
	for _, m := range v.Members {
		if !m.Pod.Exists() || cluster.HasPod(m) || m.Pod.IsTerminating() {
			continue
		}
		because := "it has finished and will not run again"
		if m.Pod.Phase != cluster.Finished {
			because = "its volume is gone, and without it no node takes the pod"
		}
		return deletePod(m, because)
	}
	return nil
}

// deleteEnded saves up to a second and a half that the kubelet takes to clean up, in which the member would be
// down. A Pod whose volume is being deleted is left to the kubelet: the volume goes when the Pod is gone, which
// must not be before it is unmounted.
func deleteEnded(v cluster.View) Step {
	var pods []PodRef
	for _, m := range v.Members {
		if m.Pod.Deletion == cluster.Ended && m.Volume != cluster.Going {
			pods = append(pods, refOf(m))
		}
	}
	if len(pods) == 0 {
		return nil
	}
	return DeletePods{Pods: pods, How: AtOnce}
}

// restartBroken deletes a Pod whose etcd has no data and was started with an old list of
// members, or that is not ready and not as the spec wants it: a corrected spec takes effect
// by itself. A Pod stays if its data would go with it, because there is no volume or it is being
// deleted; then only its image changes, in place. The image also changes in place if the Pod is only
// starting.
func restartBroken(v cluster.View) Step {
	for _, m := range v.Select(cluster.HasPod, func(m cluster.Member) bool { return m.Pod.StalePeerList && !m.Pod.IsTerminating() }) {
		return deletePod(m, "it cannot join with the list of members that it was created with, which is old")
	}
	for _, m := range v.Select(cluster.HasPod, cluster.IsOutdated, cluster.Not(cluster.IsHealthy)) {
		if m.Pod.Ready || m.Answers || m.Pod.IsTerminating() || m.Pod.Settling || comesBack(v, m) {
			continue
		}
		holdsData := (v.Want.Ephemeral || dataGoesWithPod(m)) && v.Formed() && cluster.MayHoldData(m)
		switch {
		case m.Pod.Change == cluster.Swap && (holdsData || !m.Pod.Failing):
			return UpdateImage{m.Name, m.Pod.UID, v.Target.Version}
		case !holdsData && m.Pod.Defragments:
			return deletePod(m, "it does not start while it is defragmented")
		case !holdsData:
			return deletePod(m, "it is not ready and the spec has changed")
		}
	}
	return nil
}

// comesBack says whether a member is only restarting with a spec that has worked, for it or
// for another member that runs the same image, while the wanted spec has not worked anywhere yet.
// It is down for seconds, and would stay down if the new spec fails.
func comesBack(v cluster.View, m cluster.Member) bool {
	if healthy, voters := v.Votes(nil, cluster.IsHealthy); isReturning(m) && !quorum.Holds(healthy, voters) {
		return true
	}
	tried := v.Select(cluster.IsListed, cluster.HasPod, cluster.Not(cluster.IsOutdated), cluster.Not(cluster.IsHealthy))
	alike := v.Select(cluster.IsListed, cluster.IsOutdated, func(o cluster.Member) bool { return o.Pod.Proven && o.Pod.Image == m.Pod.Image })
	held := v.Target.Current.Version != "" && v.Target.Current.Version == m.Version // its next Pod would run the same
	return len(alike) > 0 && len(tried) > 0 && (held || !m.Pod.Failing)
}

// isReturning says whether the kubelet is about to restart a container that has worked, and
// only another image is wanted for it. A quorum that waits for it comes first.
func isReturning(m cluster.Member) bool {
	return m.Pod.Change == cluster.Swap && m.Pod.Proven && m.Pod.Phase != cluster.Running && !m.Pod.Failing
}

func cleanUpRemoved(v cluster.View) Step {
	for _, m := range v.Select(cluster.Not(cluster.IsListed)) {
		switch {
		case m.Name == v.Record.Joining, isOfSource(v, m):
			continue
		case m.Pod.Exists() && !m.Pod.IsTerminating():
			return deletePod(m, "etcd no longer lists it")
		case !m.Pod.Exists() && m.Volume == cluster.Kept && !v.Want.Ephemeral && !m.Denied.Stands():
			return Quarantine{Name: m.Name}
		}
	}
	return nil
}

// applyDeletionPolicy comes before almost every other rule, also while the cluster is paused: the EtcdCluster may
// be deleted at any moment, and Kubernetes then deletes what it owns. If Kubernetes has just refused it for a
// volume, that volume is left for a moment and nothing else waits. Without our labels the owner of a volume is not
// seen, so the labels are restored here.
func applyDeletionPolicy(v cluster.View) Step {
	for _, part := range []cluster.Part{cluster.Owner, cluster.Labels} {
		if fits := misfits(v, part); len(fits) > 0 && v.Planned() {
			return Apply{fits}
		}
	}
	return nil
}

func updateVolumes(v cluster.View) Step {
	if v.Deleting || v.Newer != "" || v.Want.Paused != "" || len(halting(v)) > 0 || v.Restore.InPlace != "" || keepWithin(v) != nil {
		return nil
	}
	for _, part := range []cluster.Part{cluster.Mark, cluster.Version, cluster.Size} {
		if fits := misfits(v, part); len(fits) > 0 {
			return Apply{fits}
		}
	}
	return nil
}

func misfits(v cluster.View, part cluster.Part) []cluster.Object {
	var of []cluster.Object
	for _, o := range v.Misfits {
		if o.Part == part && !o.Denied.Stands() {
			of = append(of, o)
		}
	}
	return of
}

// deleteExpired is reached only while every voter is healthy, and never deletes the volume of a listed member.
func deleteExpired(v cluster.View) Step {
	for _, volume := range v.Expired {
		if m, _ := v.Member(volume.Name); !cluster.IsListed(m) && !m.Pod.Exists() && !volume.Denied.Stands() {
			return DeleteVolume{Name: volume.Name, UID: volume.UID}
		}
	}
	return nil
}

func refOf(m cluster.Member) PodRef { return PodRef{m.Name, m.Pod.UID} }

// deletePod deletes the Pod of one member, with its grace period.
func deletePod(m cluster.Member, because string) Step {
	return DeletePods{[]PodRef{refOf(m)}, Plainly, because}
}

func mark(m cluster.Member, as Mark) Step { return MarkPods{[]PodRef{refOf(m)}, as} }
