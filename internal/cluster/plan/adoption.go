// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

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
	switch kept := slices.DeleteFunc(slices.Clone(v.Volumes), func(o cluster.Volume) bool { return o.Unused }); {
	case len(kept) > 0 && v.Adoption.Unreachable != "":
		return nil // an adoption that was completed is over: its volumes are taken up, as those of any cluster of the name
	case len(kept) > 0:
		return refuse(carries(kept) + ", and the cluster that bootstrap.adopt names answers: to take the volumes up, create the " +
			"EtcdCluster without bootstrap.adopt; to adopt the running cluster, create one of another name")
	case v.Adoption.Undo:
		return Wait{For: "the end of the annotation that undoes the adoption"}
	case v.Adoption.Unreachable != "":
		return Wait{For: "the cluster that is adopted to answer: " + v.Adoption.Unreachable}
	case v.Adoption.Unfit != "":
		return refuse("the running cluster cannot be adopted as it is: " + v.Adoption.Unfit)
	}
	return RecordSources(v)
}

// carries says what is on volumes that were kept, by what is written on them.
func carries(volumes []cluster.Volume) string {
	var names []string
	id := ""
	for _, volume := range volumes {
		names, id = append(names, volume.Name), cmp.Or(id, volume.ClusterID)
	}
	return "the volumes " + list(names) + " have the data of an earlier cluster of this name" +
		choose(id != "", " (cluster ID "+id+")", "")
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

// removeSources takes over from the sources once all members of ours are well: clients, then leadership, then one source after the other,
// the one first whose Pod a StatefulSet would delete first. A source that does not answer goes before all others.
func removeSources(v cluster.View) Step {
	if !v.Adoption.Wanted {
		return keepSources(v)
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
	if step := cmp.Or(awaitConsent(v), routeServices(v)); step != nil {
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

// keepSources leaves nothing to what runs the sources when they are gone: an old chart that is applied again routes clients back to Pods
// that begin with an empty etcd.
func keepSources(v cluster.View) Step {
	if v.Record.Adopting.Ended == 0 {
		return nil
	}
	return cmp.Or(scaleDown(v, nil), routeServices(v))
}

// awaitConsent removes no source whose clients cannot follow, or that may start again.
func awaitConsent(v cluster.View) Step {
	for _, service := range v.Adoption.Services {
		if why := Astray(service); why != "" {
			return refuse(why + "; members that were there before stay until then")
		}
	}
	if w := v.Adoption.Workload; w.Refused != "" {
		return refuse(w.Refused + "; members that were there before stay until then")
	}
	return nil
}

// Astray says why clients do not come to members by a Service of the sources, and what to do; empty if they do, or are about to.
func Astray(service cluster.AdoptedService) string {
	switch {
	case service.Missing:
		return "Service " + service.Name + ", by which clients reached the members that were there before, is gone: create it again, with " +
			"the annotation etcd-operator.dev/adopted-by that it had"
	case !service.Switched && service.Refused != "":
		return "Service " + service.Name + " does not lead to members of this EtcdCluster: " + service.Refused
	default:
		return ""
	}
}

// unroutable says which Service that is there keeps clients from members when the adoption is complete; empty if none does.
func unroutable(v cluster.View) string {
	for _, service := range v.Adoption.Services {
		if !service.Missing && Astray(service) != "" {
			return Astray(service)
		}
	}
	return ""
}

// routeServices has clients that go on by the old names come to members of ours, once one serves.
func routeServices(v cluster.View) Step {
	for _, service := range v.Adoption.Services {
		switch {
		case service.Switched || service.Missing || service.Refused != "":
		case v.Count(cluster.IsVoter, cluster.IsServing) == 0:
			return Wait{For: "a member to serve clients, before Service " + service.Name + " is routed to members", Look: Soon}
		default:
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
	steady, voters := v.Votes(nil, cluster.IsSteady)
	if w.Name == "" || w.Missing || w.Refused != "" || !runs(w, m) || !m.Healthy || !mayStop(v, m) || !quorum.Holds(steady-1, voters) {
		return nil
	}
	if w.Replicas > ordinal {
		return ScaleStatefulSet{w.Name, ordinal, m.Name + " leaves the cluster"}
	}
	return Wait{For: "source " + m.Name + " to stop", Look: Soon}
}

// mayStop says whether a StatefulSet stops the source at once.
func mayStop(v cluster.View, m cluster.UnknownMember) bool {
	if !v.Adoption.Workload.Ordered {
		return true
	}
	isDown := func(s cluster.Source) bool {
		is := func(other cluster.UnknownMember) bool { return other.ID == s.ID && other.Healthy }
		return cluster.Ordinal(s.Name) < cluster.Ordinal(m.Name) && !slices.ContainsFunc(v.Sources(), is)
	}
	return !slices.ContainsFunc(v.Record.Adopting.Sources, isDown)
}

// removeSource judges the membership as it is after the removal.
func removeSource(v cluster.View, m cluster.UnknownMember) Step {
	if step := stopSource(v, m); step != nil {
		return step
	}
	healthy, voters := v.Votes(nil, cluster.IsSteady)
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
