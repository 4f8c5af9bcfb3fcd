// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"slices"
	"strconv"
	"strings"
)

// Source is a member of the running cluster that is adopted, as etcd lists it.
type Source struct {
	ID                   uint64
	Name                 string
	PeerURLs, ClientURLs []string
}

// Adoption is about the running cluster that becomes this one: its members, the sources, are removed when members of the operator have
// joined. In a view its sources are unknown members that are marked as such, so that a rule which knows nothing of adoptions leaves them
// alone, and counts them for quorum.
type Adoption struct {
	Wanted bool // it is asked for, and not complete
	Undo   bool // members that have joined are to leave again
	Held   bool // the EtcdCluster stays, if it is deleted, until they have
	Sleepy bool // the size is 0, which does not count before it is complete
	// Unreachable says why the running cluster could not be read before the adoption begins; empty if it could.
	Unreachable string
	// Unfit says why it cannot be adopted as it is, and what to do; empty if it can.
	Unfit     string
	ClusterID string   // of the running cluster, in hexadecimal
	Sources   []Source // what is recorded when it begins
	At        int64    // the time of this look, in seconds since 1970
	// Services are those that the spec names, as Workload also when it is complete; none if they were not read.
	Services []AdoptedService
	// Workload is the StatefulSet that runs the sources.
	Workload Workload
	// Keeps: the volumes of the sources become those of members. Volumes are those, of sources that are recorded, or listed before that.
	Keeps   bool
	Volumes []SourceVolume
}

// SourceVolume is the volume of a source, which becomes that of a member.
type SourceVolume struct {
	Source    string // also the name of its Pod
	Member    string // also the name of the claim
	Directory string // of etcd's data on it; a dot is its root
	InUse     bool   // the Pod of the source is there
	Unfit     string // why it cannot become that of a member, and what to do; empty if it can, or if it has
}

// AdoptedService is a Service by which clients reach the sources.
type AdoptedService struct {
	Name     string
	Missing  bool   // there is none of that name
	Refused  string // why it may not be changed, or members cannot serve its clients, and what to do; empty if neither
	Switched bool   // it selects the members of this cluster
}

// Workload is a StatefulSet. Its name is empty if the spec names none.
type Workload struct {
	Name     string
	Missing  bool
	Refused  string // why it may not be scaled, or deletes volumes then, and what to do; empty if neither
	Replicas int
	Ordered  bool // it stops no Pod while one with a lower number is not ready
}

// Adopting is what the record has of an adoption.
type Adopting struct {
	Sources      []Source
	Begun, Ended int64 // seconds since 1970; 0: not yet
}

// Sources are the members of the cluster that is adopted which etcd still lists, by ID.
func (v View) Sources() []UnknownMember {
	return slices.DeleteFunc(slices.Clone(v.Unknown), func(m UnknownMember) bool { return !m.Source })
}

// SourceVolume is the volume of the source that becomes that of the member, and whether there is one.
func (v View) SourceVolume(member string) (SourceVolume, bool) {
	for _, volume := range v.Adoption.Volumes {
		if volume.Member == member {
			return volume, true
		}
	}
	return SourceVolume{}, false
}

// SourceLeader is the source that leads, and whether one does that answers.
func (v View) SourceLeader() (UnknownMember, bool) {
	for _, m := range v.Unknown {
		if m.Source && m.Leader && m.URL != "" {
			return m, true
		}
	}
	return UnknownMember{}, false
}

// Votes is how many voters are listed, of every origin, and on how many of them a change may count: members of ours for which all tests
// hold, and sources that have answered a linearizable read. Members that are named count as if they were not listed.
func (v View) Votes(without []string, tests ...func(Member) bool) (healthy, voters int) {
	listed := []func(Member) bool{IsVoter, Except(without...)}
	return v.Count(append(listed, tests...)...) + v.HealthySources(), v.Count(listed...) + v.UnknownVoters()
}

// HealthySources is how many sources have answered a linearizable read and vote.
func (v View) HealthySources() int {
	n := 0
	for _, m := range v.Unknown {
		if m.Source && m.Voter && m.Healthy {
			n++
		}
	}
	return n
}

// IDOf is the ID of the member of that name, one of ours or a source; 0 if etcd lists none.
func (v View) IDOf(name string) uint64 {
	if m, _ := v.Member(name); m.ID != 0 {
		return m.ID
	}
	for _, m := range v.Unknown {
		if m.Source && m.Name == name {
			return m.ID
		}
	}
	return 0
}

// Ordinal is the number at the end of the name of a Pod of a StatefulSet; -1 if there is none.
func Ordinal(name string) int {
	n, err := strconv.Atoi(name[strings.LastIndex(name, "-")+1:])
	if err != nil {
		return -1
	}
	return n
}
