package plan

import (
	"slices"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/quorum"
)

// startMembers brings back every member whose data is kept, all at once: it is
// the same member with the same ID, so quorum can only gain. One that is no longer needed
// stays away: it may be one that cannot start. So does a learner that has yet to start for
// the first time: finishLearner starts it. One whose Pod Kubernetes has just refused is left
// for a moment, in which all else goes on.
func startMembers(v cluster.View) Step {
	var names []string
	for _, m := range v.Members {
		if v.Formed() && m.Pod.Denied.Stands() {
			continue
		}
		if belongs(v, m) && !m.Pod.Exists && !(v.Formed() && cluster.IsLost(m)) && !isUnborn(v, m) && !isSuperfluous(v, m) {
			names = append(names, m.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return CreatePods{Names: names}
}

// isSuperfluous says whether a learner will be removed and not promoted, or a voter is too
// many.
func isSuperfluous(v cluster.View, m cluster.Member) bool {
	if cluster.IsLearner(m) {
		return v.Unread == "" && v.Count(cluster.IsVoter) >= target(v)
	}
	return v.Unread == "" && slices.Contains(leaving(v), m.Name)
}

// isUnborn says whether a learner has yet to start for the first time. It has no data that
// could help a quorum, and its volume may be refused, so every repair goes before it. Only
// etcd's list says that it has not started; one without a volume has no data either way.
func isUnborn(v cluster.View, m cluster.Member) bool {
	return v.Formed() && cluster.IsLearner(m) && !m.Started && (v.Unread == "" || m.Volume == cluster.NoVolume)
}

// gather gives Pods their labels back that somebody took off: nobody is asked, and no
// client or peer is sent, where they are.
func gather(v cluster.View) Step {
	for _, m := range v.Members {
		if m.Pod.LabelsMissing && !m.Pod.Terminating && !m.Denied.Stands() {
			return mark(m, Attach)
		}
	}
	return nil
}

// belongs says whether the member is one of the cluster: by etcd's list if it
// was read with quorum, else by the record.
func belongs(v cluster.View, m cluster.Member) bool {
	if v.Formed() && v.Unread == "" {
		return cluster.IsListed(m)
	}
	return m.Recorded || cluster.IsListed(m)
}

// clearFinished deletes Pods that will never run again, so that their members can
// start anew, or count as lost. Kubernetes leaves them after an eviction or a node's shutdown,
// and where a volume is deleted before its Pod has found a node.
func clearFinished(v cluster.View) Step {
	for _, m := range v.Members {
		if !m.Pod.Exists || cluster.HasPod(m) || m.Pod.Terminating {
			continue
		}
		because := "it has finished and will not run again"
		if !m.Pod.Finished {
			because = "its volume is gone, and it will find no node without"
		}
		return stop(m, because)
	}
	return nil
}

// clearEnded deletes Pods for good whose containers have all ended: the kubelet takes up to
// a second and a half more to clean up, for which a member need not be down. A volume that
// is being deleted is left to it: that one goes when its Pod is gone, which must not come
// before it is unmounted.
func clearEnded(v cluster.View) Step {
	var pods []PodRef
	for _, m := range v.Members {
		if m.Pod.Ended && m.Volume != cluster.Going {
			pods = append(pods, refOf(m))
		}
	}
	if len(pods) == 0 {
		return nil
	}
	return DeletePods{Pods: pods, How: AtOnce}
}

// restartBroken replaces a Pod whose etcd has no data and was told of other members than
// there are now, or that is not ready and not as the spec wants it: a corrected spec heals
// by itself. A Pod that holds data which has no volume, or none for long, stays, because its
// data would go with it; only its image can change in place. So does one that is only
// starting, for another image.
func restartBroken(v cluster.View) Step {
	for _, m := range v.Select(cluster.HasPod, func(m cluster.Member) bool { return m.Pod.Misled && !m.Pod.Terminating }) {
		return stop(m, "it cannot join by the list of members that it was made with, which is old")
	}
	for _, m := range v.Select(cluster.HasPod, cluster.IsOutdated, cluster.Not(cluster.IsHealthy)) {
		if m.Pod.Ready || m.Answers || m.Pod.Terminating || m.Pod.Settling || comesBack(v, m) {
			continue
		}
		holdsData := (v.Want.Ephemeral || isMortal(m)) && v.Formed() && cluster.MayHoldData(m)
		switch {
		case m.Pod.Change == cluster.Swap && (holdsData || !m.Pod.Failing):
			return UpdateImage{m.Name, m.Pod.UID, v.Target.Version}
		case !holdsData:
			return stop(m, "it is not ready and the spec has changed")
		}
	}
	return nil
}

// comesBack says whether a member is only restarting with a spec that has worked, there or
// on another that runs the same image, while the one that is wanted has yet to work elsewhere. It is down for seconds, and would stay
// down if the new spec fails.
func comesBack(v cluster.View, m cluster.Member) bool {
	if isReturning(m) && !quorum.Holds(v.Count(cluster.IsVoter, cluster.IsHealthy), v.Count(cluster.IsVoter)) {
		return true
	}
	tried := v.Select(cluster.IsListed, cluster.HasPod, cluster.Not(cluster.IsOutdated), cluster.Not(cluster.IsHealthy))
	alike := v.Select(cluster.IsListed, cluster.IsOutdated, func(o cluster.Member) bool { return o.Pod.Proven && o.Pod.Image == m.Pod.Image })
	held := v.Target.Current.Version != "" && v.Target.Current.Version == m.Version // it would come back with the same
	return len(alike) > 0 && len(tried) > 0 && (held || !m.Pod.Failing)
}

// isReturning says whether the kubelet is about to start a container again that has worked, and
// that only another image is wanted for. A quorum that waits for it comes first.
func isReturning(m cluster.Member) bool {
	return m.Pod.Change == cluster.Swap && m.Pod.Proven && !m.Pod.Running && !m.Pod.Failing
}

// retireRemoved clears away what is left of members that etcd no longer lists.
// Their data is set aside, never deleted.
func retireRemoved(v cluster.View) Step {
	for _, m := range v.Select(cluster.Not(cluster.IsListed)) {
		switch {
		case m.Name == v.Record.Joining:
			continue
		case m.Pod.Exists && !m.Pod.Terminating:
			return stop(m, "etcd no longer lists it")
		case !m.Pod.Exists && m.Volume == cluster.Kept && !v.Want.Ephemeral && !m.Denied.Stands():
			return Quarantine{m.Name}
		}
	}
	return nil
}

// followPolicy has volumes go with the EtcdCluster or stay, as the deletion policy says now.
// It comes before all else, also while the user wants nothing changed: the EtcdCluster may
// be deleted at any moment, and Kubernetes then takes what it owns. A volume of which
// Kubernetes has just refused that is passed over for a moment: nothing else waits for it.
// One without our labels is not seen to have an owner, so it gets them back here.
func followPolicy(v cluster.View) Step {
	for _, part := range []cluster.Part{cluster.Owner, cluster.Labels} {
		if fits := misfits(v, part); len(fits) > 0 && v.Planned() {
			return Apply{fits}
		}
	}
	return nil
}

// fitVolumes grows volumes, and marks them with what their members run, or that they are set
// aside.
func fitVolumes(v cluster.View) Step {
	if v.Deleting || v.Newer != "" || v.Want.Paused != "" || len(halting(v)) > 0 {
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

// discardExpired deletes a volume that was set aside long enough ago. It is asked
// only while every voter is healthy, and never takes the volume of one that etcd
// lists.
func discardExpired(v cluster.View) Step {
	for _, volume := range v.Expired {
		if m, _ := v.Member(volume.Name); !cluster.IsListed(m) && !m.Pod.Exists && !volume.Denied.Stands() {
			return DeleteVolume{Name: volume.Name, UID: volume.UID}
		}
	}
	return nil
}

func refOf(m cluster.Member) PodRef { return PodRef{m.Name, m.Pod.UID} }

// stop tells the Pod of one member to end.
func stop(m cluster.Member, because string) Step {
	return DeletePods{[]PodRef{refOf(m)}, Plainly, because}
}

func mark(m cluster.Member, as Mark) Step { return MarkPods{[]PodRef{refOf(m)}, as} }
