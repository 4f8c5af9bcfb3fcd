package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/quorum"
)

// adoptCluster writes down whose members a running cluster has. From then on the cluster counts as formed, and its first member of ours
// joins as every later one does.
func adoptCluster(v cluster.View) Step {
	if !v.Adoption.Wanted || v.Planned() {
		return nil
	}
	switch {
	case len(v.Volumes) > 0:
		return refuse("volume " + v.Volumes[0].Name + " of an earlier cluster of this name is there: delete it, or choose another name for " +
			"the EtcdCluster that adopts a running cluster")
	case v.Adoption.Undo:
		return Wait{For: "the end of the annotation that undoes the adoption"}
	case v.Adoption.Unreachable != "":
		return Wait{For: "the cluster that is adopted to answer: " + v.Adoption.Unreachable}
	case v.Adoption.Unfit != "":
		return refuse("the running cluster cannot be adopted as it is: " + v.Adoption.Unfit)
	}
	return RecordSources(v)
}

// beside is what keeps a learner from joining a running cluster if nothing else does.
func beside(v cluster.View, m cluster.Member) string {
	if !v.Adoption.Wanted || v.Fresh || m.Answers || why(m) != "" {
		return ""
	}
	return "; members of the cluster that is adopted have to reach it at its peer port, and it has to reach them: look for NetworkPolicies"
}

// awaitSources lets no member join while a source is away: with it the cluster would need more members for a quorum than it has.
func awaitSources(v cluster.View) Step {
	for _, m := range v.Sources() {
		if !m.Healthy {
			return Wait{For: "member " + m.Name + " of the cluster that is adopted to answer, before another one joins"}
		}
	}
	return nil
}

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

// holdAdoption keeps the EtcdCluster, if it is deleted, while its members and the sources are one cluster: all of them would end at once, and
// not count. Where volumes are kept there is no way back, and the way on ends here before the deletion policy takes effect: volumes stay.
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
	return refuse("spec.size is 0, and the members that have joined go on: the quorum of the cluster that is adopted needs them; set spec.size " +
		"to 3 to go on, or the annotation etcd-operator.dev/undo-adoption to true to have them leave")
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
	voters := v.Count(cluster.IsVoter, cluster.Except(m.Name)) + v.UnknownVoters()
	steady := v.Count(cluster.IsVoter, cluster.IsSteady, cluster.Except(m.Name)) + v.HealthySources()
	if !quorum.Holds(steady, voters) {
		return Wait{For: fmt.Sprintf("more healthy voters before %s leaves: %d of %d would be healthy without it", m.Name, steady, voters)}
	}
	return RemoveMember{m.Name, "the adoption is undone"}
}

// removeSources takes over from the sources once all members of ours are well: clients, then leadership, then one source after the other,
// the one first whose Pod a StatefulSet would delete first. A source that does not answer goes before all others.
func removeSources(v cluster.View) Step {
	if !v.Adoption.Wanted {
		return nil
	}
	sources := v.Sources()
	if step := scaleDown(v, sources); step != nil {
		return step
	}
	if len(sources) == 0 {
		return RecordAdopted(v)
	}
	if v.Adoption.Keeps {
		return nil
	}
	if step := routeServices(v); step != nil {
		return step
	}
	slices.SortStableFunc(sources, func(a, b cluster.UnknownMember) int {
		return cmp.Or(last(a.Healthy, b.Healthy), cluster.Ordinal(b.Name)-cluster.Ordinal(a.Name), strings.Compare(b.Name, a.Name))
	})
	if leader, led := v.SourceLeader(); led {
		return takeOver(v, leader)
	}
	if _, led := v.Leader(); !led {
		return Wait{For: "the leader of the cluster that is adopted to answer at a URL that it advertises", Look: Soon}
	}
	return removeSource(v, sources[0])
}

// routeServices has clients that go on by the old names come to members of ours.
func routeServices(v cluster.View) Step {
	for _, service := range v.Adoption.Services {
		if !service.Switched && !service.Missing && service.Refused == "" {
			return RouteService{Name: service.Name}
		}
	}
	return nil
}

// takeOver moves leadership to a member of ours that serves and is not far behind.
func takeOver(v cluster.View, leader cluster.UnknownMember) Step {
	heirs := v.Select(cluster.IsVoter, cluster.IsServing, isNear)
	if len(heirs) == 0 {
		return Wait{For: "a member that serves clients and is not far behind to take over leadership from " + leader.Name, Look: Soon}
	}
	return MoveLeader{leader.Name, best(heirs).Name}
}

// stopSource has a StatefulSet stop the source before it is removed, if the others are a quorum: its clients then come to other members at
// once, while a member that is removed keeps them waiting for seconds.
func stopSource(v cluster.View, m cluster.UnknownMember) Step {
	w, ordinal := v.Adoption.Workload, cluster.Ordinal(m.Name)
	steady := v.Count(cluster.IsVoter, cluster.IsSteady) + v.HealthySources() - 1
	if w.Name == "" || w.Missing || w.Refused != "" || !runs(w, m) || !m.Healthy ||
		!quorum.Holds(steady, v.Count(cluster.IsVoter)+v.UnknownVoters()) {
		return nil
	}
	if w.Replicas > ordinal {
		return ScaleStatefulSet{w.Name, ordinal, m.Name + " leaves the cluster"}
	}
	return Wait{For: "source " + m.Name + " to stop", Look: Soon}
}

// removeSource judges the membership as it is after the removal.
func removeSource(v cluster.View, m cluster.UnknownMember) Step {
	if step := stopSource(v, m); step != nil {
		return step
	}
	voters, healthy := v.Count(cluster.IsVoter)+v.UnknownVoters(), v.Count(cluster.IsVoter, cluster.IsSteady)+v.HealthySources()
	if m.Voter {
		voters--
	}
	if m.Voter && m.Healthy {
		healthy--
	}
	if !quorum.Holds(healthy, voters) {
		return Wait{For: fmt.Sprintf("more healthy voters before source %s is removed: %d of %d would be healthy without "+
			"it", m.Name, healthy, voters)}
	}
	return cmp.Or(askAnother(v), Step(RemoveMember{m.Name, "members of the operator have taken over from it"}))
}

// scaleDown keeps a source that was removed from starting again: some images would join the cluster again.
func scaleDown(v cluster.View, left []cluster.UnknownMember) Step {
	w := v.Adoption.Workload
	wanted := replicasFor(w, left)
	if w.Name == "" || w.Missing || w.Refused != "" || w.Replicas <= wanted || len(left) == len(v.Record.Adopting.Sources) {
		return nil
	}
	return ScaleStatefulSet{w.Name, wanted, "its other members have left the cluster"}
}

// runs says whether the name of a source is that of a Pod of the StatefulSet.
func runs(w cluster.Workload, m cluster.UnknownMember) bool {
	return m.Name == cluster.MemberName(w.Name, cluster.Ordinal(m.Name))
}

// replicasFor is how many Pods a StatefulSet must have to run all of the members. Where one has another name than its Pod, it is not known
// which Pod that is, and the StatefulSet keeps what it has.
func replicasFor(w cluster.Workload, members []cluster.UnknownMember) int {
	wanted := 0
	for _, m := range members {
		if !runs(w, m) {
			return w.Replicas
		}
		wanted = max(wanted, cluster.Ordinal(m.Name)+1)
	}
	return wanted
}
