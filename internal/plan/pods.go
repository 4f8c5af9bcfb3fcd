package plan

import (
	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// startMembers brings back every member whose data is kept, all at once: it is
// the same member with the same ID, so quorum can only gain. A learner that is no
// longer needed stays away: it may be one that cannot start.
func startMembers(v cluster.View) Step {
	var names []string
	for _, m := range v.Members {
		if belongs(v, m) && !m.Pod.Exists && !(v.Formed() && cluster.IsLost(m)) && !isSuperfluous(v, m) {
			names = append(names, m.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return Start{names}
}

// isSuperfluous says whether a learner will be removed and not promoted.
func isSuperfluous(v cluster.View, m cluster.Member) bool {
	return v.Unread == "" && cluster.IsLearner(m) && len(v.Select(cluster.IsVoter)) >= target(v)
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
// start anew. Kubernetes leaves them after an eviction or a node's shutdown.
func clearFinished(v cluster.View) Step {
	for _, m := range v.Members {
		if m.Pod.Exists && m.Pod.Finished && !m.Pod.Terminating {
			return Stop{m.Name, m.Pod.UID, "it has finished and will not run again"}
		}
	}
	return nil
}

// restartBroken replaces a Pod that is not ready and not as the spec wants it: a
// corrected spec heals by itself. A Pod that holds data which has no volume, or
// none for long, stays, because its data would go with it; only its image can change in place. So does one
// that is only starting, for another image.
func restartBroken(v cluster.View) Step {
	for _, m := range v.Select(cluster.HasPod, cluster.IsOutdated, cluster.Not(cluster.IsHealthy)) {
		if m.Pod.Ready || m.Answers || m.Pod.Terminating || m.Pod.Settling || comesBack(v, m) {
			continue
		}
		holdsData := (v.Want.Ephemeral || isMortal(m)) && v.Formed() && cluster.MayHoldData(m)
		switch {
		case m.Pod.Change == cluster.Swap && (holdsData || !m.Pod.Failing):
			return Swap{m.Name, m.Pod.UID, v.Target.Version}
		case !holdsData:
			return Stop{m.Name, m.Pod.UID, "it is not ready and the spec has changed"}
		}
	}
	return nil
}

// comesBack says whether a member is only restarting with a spec that has worked, while the
// one that is wanted has yet to work elsewhere. It is down for seconds, and would stay
// down if the new spec fails.
func comesBack(v cluster.View, m cluster.Member) bool {
	tried := v.Select(cluster.IsListed, cluster.HasPod, cluster.Not(cluster.IsOutdated), cluster.Not(cluster.IsHealthy))
	return m.Pod.Proven && !m.Pod.Failing && len(tried) > 0
}

// retireRemoved clears away what is left of members that etcd no longer lists.
// Their data is set aside, never deleted.
func retireRemoved(v cluster.View) Step {
	for _, m := range v.Select(cluster.Not(cluster.IsListed)) {
		switch {
		case m.Name == v.Record.Joining:
			continue
		case m.Pod.Exists && !m.Pod.Terminating:
			return Stop{m.Name, m.Pod.UID, "etcd no longer lists it"}
		case !m.Pod.Exists && m.Volume == cluster.Kept && !v.Want.Ephemeral:
			return Quarantine{m.Name}
		}
	}
	return nil
}

// fitVolumes hands volumes over when the deletion policy changes, and grows them. Who
// owns them follows the policy also while the user wants nothing else changed: it says
// what a deletion takes, which a pause does not hold up.
func fitVolumes(v cluster.View) Step {
	if v.Deleting || v.Newer != "" || len(v.Foreign) > 0 {
		return nil
	}
	for _, part := range []cluster.Part{cluster.Owner, cluster.Mark, cluster.Size} {
		fits := misfits(v, part)
		if len(fits) > 0 && (part == cluster.Owner || v.Want.Paused == "") {
			return Furnish{fits}
		}
	}
	return nil
}

func misfits(v cluster.View, part cluster.Part) []cluster.Object {
	var of []cluster.Object
	for _, o := range v.Misfits {
		if o.Part == part {
			of = append(of, o)
		}
	}
	return of
}

// discardExpired deletes a volume that was set aside long enough ago. It is reached
// only while every member is healthy, and never takes the volume of one that etcd
// lists.
func discardExpired(v cluster.View) Step {
	for _, volume := range v.Expired {
		if m, _ := v.Member(volume.Name); !cluster.IsListed(m) && !m.Pod.Exists {
			return Discard{volume.Name, volume.UID}
		}
	}
	return nil
}
