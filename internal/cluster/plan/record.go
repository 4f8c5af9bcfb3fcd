// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// RecordFirstMembers writes the names of the first members into the status, before the first Pod exists.
// Every first member is started with the same list, whatever the spec says later.
func RecordFirstMembers(v cluster.View, members []string) Step {
	fact := withDefaults(v.Record)
	fact.Token, fact.First, fact.Adopted = v.UID, members, false
	fact.DefragRoom = !v.Restore.Wanted
	return Record{Fact: passed(v.Name, fact, members), What: "choose first members " + list(members), Event: "BootstrapPlanned"}
}

// withDefaults notes the defaults by which something happens to members or their clients: they count for what this release forms, and an
// update of the operator gives none of them to a cluster that is there (docs/adr/0084).
func withDefaults(fact cluster.Record) cluster.Record {
	fact.HasNetworkPolicy, fact.HasRequests, fact.HasMaintenance = true, true, true
	return fact
}

// RecordAdoption writes into the status that kept volumes are this cluster's members. If they hold data,
// the cluster counts as formed, and its members are never started as a new cluster.
func RecordAdoption(v cluster.View, token string, members []string, formed bool) Step {
	fact := withDefaults(v.Record)
	fact.Token, fact.First, fact.Adopted = token, members, formed
	what := "adopt unfinished bootstrap of " + list(members)
	if formed {
		what = "adopt members " + list(members) + " with their data"
	}
	return Record{Fact: passed(v.Name, fact, members), What: what, Event: "VolumesAdopted"}
}

// RecordSources writes into the status which members the running cluster has that is adopted, and its ID.
func RecordSources(v cluster.View) Step {
	fact := withDefaults(v.Record)
	fact.Token, fact.First, fact.ClusterID = v.UID, []string{}, v.Adoption.ClusterID
	fact.DefragRoom = true
	fact.Adopting = cluster.Adopting{Sources: v.Adoption.Sources, Begun: v.Adoption.At}
	var names []string
	for _, m := range v.Adoption.Sources {
		names = append(names, m.Name)
	}
	return Record{Fact: fact, What: "adopt cluster " + fact.ClusterID + " of " + list(names), Event: "AdoptionStarted"}
}

// RecordAdopted writes into the status that all members are the operator's.
func RecordAdopted(v cluster.View) Step {
	fact := v.Record
	fact.Adopting.Ended = v.Adoption.At
	return Record{Fact: fact, What: "the cluster is adopted: all its members are the operator's", Event: "Adopted"}
}

// RecordFormation writes the ID of the cluster that has formed into the status. It is written on the volume
// of that name first, if it is not empty.
func RecordFormation(v cluster.View, id, on string) Step {
	fact := v.Record
	fact.ClusterID = id
	return Record{Fact: fact, What: "record cluster ID " + id, Event: "ClusterFormed", On: on}
}

// ReserveName writes the name of a member that is about to join into the status. Each name is used only once.
func ReserveName(v cluster.View, name string) Step {
	fact := v.Record
	fact.Joining = name
	return Record{Fact: passed(v.Name, fact, []string{name}), What: "reserve name " + name, Event: "NameReserved"}
}

// RecordRollBack writes into the status that the wanted version is not tried again, and what runs instead.
// It is forgotten when another version or image is wanted.
func RecordRollBack(v cluster.View, to, image, because string) Step {
	fact := v.Record
	fact.RolledBack = cluster.Rollback{Refused: v.Want.Version, RefusedImage: v.Want.Image, Version: to, Image: image, Because: because}
	return Record{Fact: fact, What: "roll back to " + to + ": " + because, Event: "RolledBack"}
}

// BeginRecovery writes into the status that quorum is lost for good and that the cluster goes on from one
// survivor. Data that only other members have is given up with it.
func BeginRecovery(v cluster.View, loss cluster.Loss) Step {
	fact := v.Record
	fact.Recovering, fact.Revision = loss.Survivor, 0
	return Record{Fact: fact, What: "recover quorum from " + loss.Survivor, Event: "QuorumRecovering"}
}

// EndRecovery writes into the status that quorum is recovered: the survivor serves as the only voter.
func EndRecovery(v cluster.View) Step {
	fact := v.Record
	fact.Recovering = ""
	return Record{Fact: fact, What: "quorum is recovered from " + v.Record.Recovering, Event: "QuorumRecovered"}
}

// RecordDefragmenting writes into the status which member is defragmented next: its Pod is made again for it.
func RecordDefragmenting(v cluster.View, m cluster.Member, because string) Step {
	fact := v.Record
	fact.Defragmenting = cluster.Defragmenting{Member: m.Name, Pod: m.Pod.UID, Size: m.DBSize}
	return Record{Fact: fact, What: "defragment " + m.Name + ": " + because, Event: "DefragmentationStarted"}
}

// RecordDefragmented writes into the status that the member is defragmented, or, if failure is not empty, why it is not.
func RecordDefragmented(v cluster.View, failure string) Step {
	fact, was := v.Record, v.Record.Defragmenting
	fact.Defragmenting = cluster.Defragmenting{}
	if failure != "" {
		what := "give up the defragmentation of " + was.Member + ": " + failure
		return Record{Fact: fact, Failed: failure, What: what, Event: "DefragmentationFailed"}
	}
	m, _ := v.Member(was.Member)
	return Record{Fact: fact, What: fmt.Sprintf("%s is defragmented: its database had %s and has %s", m.Name, mebibytes(was.Size),
		mebibytes(m.DBSize)), Event: "Defragmented"}
}

// RecordGrowth writes into the status how large volumes are to be: they grow, and with them the quota that is derived from their size.
func RecordGrowth(v cluster.View, size int64, why string) Step {
	fact := v.Record
	fact.Grown = size
	return Record{Fact: fact, What: fmt.Sprintf("grow volumes to %s: %s", mebibytes(size), why), Event: "VolumesGrowing"}
}

// RecordScaling writes into the status what compute resources members are given beyond the spec, and that one of them cannot have it.
func RecordScaling(v cluster.View, size cluster.Computing, why string, refused bool) Step {
	fact := v.Record
	fact.Scaled = cluster.Scaled{Computing: size, Since: v.At}
	if refused {
		fact.Scaled.Refused = why
		return Record{Fact: fact, Failed: why, What: "give members no more than " + size.Text() + ": " + why, Event: "ScalingRefused"}
	}
	return Record{Fact: fact, What: "give members " + size.Text() + ": " + why, Event: "Scaled"}
}

// RecordReplacing writes into the status which member is replaced because it stays slow.
func RecordReplacing(v cluster.View, member, why string) Step {
	fact := v.Record
	fact.Replacing = cluster.Replacing{Member: member, Why: why, Since: v.At}
	return Record{Fact: fact, What: "replace " + member + ": " + why, Event: "ReplacingSlowMember"}
}

// passed is the record with a next serial number that is above those of the names.
func passed(name string, fact cluster.Record, members []string) cluster.Record {
	for _, member := range members {
		fact.NextSerial = max(fact.NextSerial, cluster.Serial(name, member)+1)
	}
	return fact
}
