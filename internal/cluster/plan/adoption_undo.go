// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/quorum"
)

// undoAdoption is the way back while a source is left: members of ours leave, the newest first, and clients go back to the sources.
func undoAdoption(v cluster.View) Step {
	sources := v.Sources()
	if !v.Adoption.Undo || !v.Planned() || len(sources) == 0 {
		return nil
	}
	if v.Adoption.Keeps {
		return undoKeeping(v)
	}
	for _, service := range v.Adoption.Services {
		if service.Switched {
			return RouteService{Name: service.Name, Back: true}
		}
	}
	if w := v.Adoption.Workload; w.Name != "" && !w.Missing && w.Refused == "" && w.Replicas < replicasFor(w, sources) {
		return ScaleStatefulSet{w.Name, replicasFor(w, sources), "the adoption is undone, and it runs what is left of the cluster"}
	}
	ours := v.Select(cluster.IsListed)
	if len(ours) == 0 {
		return undone
	}
	if leader, led := v.Leader(); led {
		return backTo(leader, sources)
	}
	return removeOurs(v, ours[len(ours)-1])
}

// holdAdoption keeps the EtcdCluster, if it is deleted, while its members and the sources are one cluster: all of them would end at once,
// and not count. Where volumes are kept there is no way back, and the way on ends here before the deletion policy takes effect: they stay.
func holdAdoption(v cluster.View) Step {
	a, b := v.Adoption, v.Backup
	goesOn := a.Wanted && v.Planned()
	release := func(because string) Step { return Hold{Adoption: true, Because: because} }
	switch {
	case !b.Leaving && goesOn != a.Held:
		return Hold{Adoption: true, Held: goesOn, Because: "the adoption is complete"}
	case !b.Leaving || !a.Held:
		return nil
	case b.Orphans:
		return release("it was deleted without what it owns (cascade=orphan), which stays as it is")
	case !goesOn, v.Unread == "" && len(v.Sources()) == 0:
		return release("none of the members is left that were there before")
	case isUndone(v):
		return release("its adoption is undone")
	case b.Cascades:
		return Hold{Adoption: true, Held: true}
	}
	return nil
}

// isUndone says whether no member of ours is left in the running cluster, and all else is as it was.
func isUndone(v cluster.View) bool { return v.Unread == "" && undoAdoption(v) == undone }

// stayAwake is what of the size 0 takes effect before the adoption is complete.
func stayAwake(v cluster.View) Step {
	if !v.Adoption.Sleepy || len(v.Sources()) == 0 {
		return nil
	}
	return refuse("spec.size is 0, and the members that have joined go on: the quorum of the cluster that is adopted needs them; set " +
		"spec.size to 3 to go on, or the annotation etcd-operator.dev/undo-adoption to true to have them leave")
}

// undone is the end of the way back.
var undone = Wait{For: "the EtcdCluster to be deleted: its adoption is undone, and none of its members is left in the running cluster"}

// backTo gives leadership back to a source.
func backTo(leader cluster.Member, sources []cluster.UnknownMember) Step {
	for _, m := range sources {
		if m.Voter && m.Healthy {
			return MoveLeader{leader.Name, m.Name}
		}
	}
	return Wait{For: "a member of the cluster that is adopted to be healthy, to take over leadership from " + leader.Name}
}

// removeOurs judges the membership as it is after the removal.
func removeOurs(v cluster.View, m cluster.Member) Step {
	steady, voters := v.Votes([]string{m.Name}, cluster.IsSteady)
	if !quorum.Holds(steady, voters) {
		return Wait{For: fmt.Sprintf("more healthy voters before %s leaves: %d of %d would be healthy without it", m.Name, steady, voters)}
	}
	return RemoveMember{m.Name, "the adoption is undone"}
}
