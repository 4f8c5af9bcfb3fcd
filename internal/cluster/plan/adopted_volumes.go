// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/quorum"
)

// becoming is how many sources are yet to become members of ours, because their volumes are kept: no other member joins in their place.
func becoming(v cluster.View) int {
	if !v.Adoption.Wanted || !v.Adoption.Keeps {
		return 0
	}
	return len(v.Sources())
}

// isOfSource says whether the volume of an unlisted member is that of a source, which may run on it.
func isOfSource(v cluster.View, m cluster.Member) bool {
	volume, of := v.SourceVolume(m.Name)
	return of && slices.ContainsFunc(v.Sources(), func(s cluster.UnknownMember) bool { return s.Name == volume.Source })
}

// takeVolumes has the source with the highest number become a member of ours with its volume, while all others run: its StatefulSet can
// stop no other one. The volume is marked before etcd lists the member as ours: rules about members know it then as one that has data.
func takeVolumes(v cluster.View) Step {
	if becoming(v) == 0 {
		return nil
	}
	sources := v.Sources()
	slices.SortFunc(sources, func(a, b cluster.UnknownMember) int { return cluster.Ordinal(b.Name) - cluster.Ordinal(a.Name) })
	m := sources[0]
	volume := volumeOf(v, m)
	if step := mayTake(v, m, volume); step != nil {
		return step
	}
	if len(sources) == 1 {
		if step := cmp.Or(awaitConsent(v), routeServices(v)); step != nil {
			return step
		}
	}
	if step := leaveSource(v, m, sources[1:]); step != nil {
		return step
	}
	if ours, _ := v.Member(volume.Member); ours.Volume != cluster.Kept {
		return AdoptVolume{Name: volume.Member, Directory: volume.Directory}
	}
	return UpdatePeerURLs{Name: volume.Member, Of: m.Name}
}

func volumeOf(v cluster.View, m cluster.UnknownMember) cluster.SourceVolume {
	for _, volume := range v.Adoption.Volumes {
		if volume.Source == m.Name {
			return volume
		}
	}
	return cluster.SourceVolume{Unfit: "nothing is known of the volume of " + m.Name}
}

// mayTake says what a source waits for before its volume is taken over; nil if nothing. All of ours are healthy: an earlier rule waits for
// that.
func mayTake(v cluster.View, m cluster.UnknownMember, volume cluster.SourceVolume) Step {
	for _, s := range v.Sources() {
		if !s.Healthy {
			return Wait{For: "member " + s.Name + " of the cluster that is adopted to answer, before the volume of " + m.Name + " is taken over"}
		}
	}
	for _, ours := range v.Select(cluster.IsVoter, cluster.Not(cluster.IsServing)) {
		return Wait{For: ours.Name + " to serve clients, before the volume of " + m.Name + " is taken over", Look: Soon}
	}
	w := v.Adoption.Workload
	steady, voters := v.Votes(nil, cluster.IsSteady)
	switch steady--; {
	case w.Missing:
		return refuse("StatefulSet " + w.Name + ", which runs the sources, is gone: create it again")
	case w.Refused != "":
		return refuse(w.Refused)
	case volume.Unfit != "":
		return refuse("the volume of " + m.Name + " cannot be taken over: " + volume.Unfit)
	case !quorum.Holds(steady, voters):
		return Wait{For: fmt.Sprintf("more healthy voters before the volume of %s is taken over: %d of %d would be healthy "+
			"meanwhile", m.Name, steady, voters)}
	default:
		return nil
	}
}

// leaveSource moves leadership away from the source that stops next: to a member of ours, which goes on, or to another source.
func leaveSource(v cluster.View, m cluster.UnknownMember, others []cluster.UnknownMember) Step {
	leader, led := v.SourceLeader()
	switch _, ours := v.Leader(); {
	case !led && !ours:
		return Wait{For: "the leader of the cluster that is adopted to answer at a URL that it advertises", Look: Soon}
	case !led || leader.ID != m.ID:
		return nil
	}
	if heirs := v.Select(cluster.IsVoter, cluster.IsServing, isNear); len(heirs) > 0 {
		return MoveLeader{m.Name, best(heirs).Name}
	}
	if len(others) == 0 {
		return takeOver(v, leader)
	}
	return MoveLeader{m.Name, others[len(others)-1].Name}
}

// handOverVolumes stops a source whose volume is that of a member by now, and waits until its Pod is gone: the member starts then. If
// something scales the StatefulSet up again, its Pod is stopped again.
func handOverVolumes(v cluster.View) Step {
	w, wanted := v.Adoption.Workload, replicasFor(v.Adoption.Workload, v.Sources())
	for _, volume := range v.Adoption.Volumes {
		m, _ := v.Member(volume.Member)
		switch steady, voters := v.Votes(nil, cluster.IsSteady); {
		case !volume.InUse || !cluster.IsListed(m):
			continue
		case w.Refused != "":
			return refuse(w.Refused)
		case !w.Missing && w.Replicas > wanted && !m.Pod.Exists() && !quorum.Holds(steady, voters):
			return Wait{For: fmt.Sprintf("more healthy voters before %s hands its volume over: %d of %d would be healthy "+
				"meanwhile", volume.Source, steady, voters)}
		case !w.Missing && w.Replicas > wanted:
			return ScaleStatefulSet{w.Name, wanted, volume.Source + " hands its volume over to " + m.Name}
		default:
			return Wait{For: "Pod " + volume.Source + " to be gone, whose volume " + m.Name + " has next", Look: Soon}
		}
	}
	return nil
}

// undoKeeping is the way back before the first volume is taken over. Later there is none: etcd lists members of ours.
func undoKeeping(v cluster.View) Step {
	if v.Count(cluster.IsListed) > 0 {
		return nil
	}
	for _, volume := range v.Adoption.Volumes {
		if m, _ := v.Member(volume.Member); m.Volume != cluster.NoVolume {
			return AdoptVolume{Name: volume.Member, Back: true}
		}
	}
	return undone
}
