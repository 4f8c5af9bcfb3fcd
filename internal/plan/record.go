package plan

import (
	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// FreezeBootstrap writes down who the first members are, before the first Pod exists.
func FreezeBootstrap(v cluster.View, members []string) Step {
	fact := v.Record
	fact.Token, fact.First, fact.Adopted = v.UID, members, false
	return Record{Fact: passed(v.Name, fact, members), What: "freeze first members " + list(members), Event: "BootstrapPlanned"}
}

// AdoptVolumes writes down that kept volumes are this cluster's members. If they hold data, the
// cluster has formed, and is never formed anew.
func AdoptVolumes(v cluster.View, token string, members []string, formed bool) Step {
	fact := v.Record
	fact.Token, fact.First, fact.Adopted = token, members, formed
	what := "adopt unfinished bootstrap of " + list(members)
	if formed {
		what = "adopt members " + list(members) + " with their data"
	}
	return Record{Fact: passed(v.Name, fact, members), What: what, Event: "VolumesAdopted"}
}

// RecordFormation writes down the ID of the cluster that has formed, on a volume as well, if
// there is one.
func RecordFormation(v cluster.View, id, on string) Step {
	fact := v.Record
	fact.ClusterID = id
	return Record{Fact: fact, What: "remember cluster " + id, Event: "ClusterFormed", On: on}
}

// ReserveName writes down the name of a member that is about to join.
func ReserveName(v cluster.View, name string) Step {
	fact := v.Record
	fact.Joining = name
	return Record{Fact: passed(v.Name, fact, []string{name}), What: "reserve name " + name, Event: "NameReserved"}
}

// RecordRollBack writes down that a version is not to be tried again, and what runs instead.
func RecordRollBack(v cluster.View, to, image, because string) Step {
	fact := v.Record
	fact.RolledBack = cluster.RollBack{Refused: v.Want.Version, RefusedImage: v.Want.Image, Version: to, Image: image, Because: because}
	return Record{Fact: fact, What: "roll back to " + to + ": " + because, Event: "RolledBack"}
}

// BeginRecovery writes down that quorum is lost for good and that the cluster goes on from one
// survivor. What it had beyond that is lost from then on.
func BeginRecovery(v cluster.View, loss cluster.Loss) Step {
	fact := v.Record
	fact.Recovering, fact.Revision = loss.Survivor, 0
	return Record{Fact: fact, What: "recover quorum from " + loss.Survivor, Event: "QuorumRecovering"}
}

// EndRecovery writes down that quorum is recovered.
func EndRecovery(v cluster.View) Step {
	fact := v.Record
	fact.Recovering = ""
	return Record{Fact: fact, What: "quorum is recovered from " + v.Record.Recovering, Event: "QuorumRecovered"}
}

// passed is the record with a next serial that none of the names has.
func passed(name string, fact cluster.Record, members []string) cluster.Record {
	for _, member := range members {
		fact.NextSerial = max(fact.NextSerial, cluster.Serial(name, member)+1)
	}
	return fact
}
