// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

// Monitoring is what is seen of the objects of the Prometheus Operator that the spec asks for.
type Monitoring struct {
	Read    bool   // they were looked for: not while a cluster hibernates, nor where it never asked for one
	Wanted  bool   // some are asked for
	Missing string // why there can be none; empty if there can
	Pending bool   // they are not as wanted yet
	Denied  bool   // the cluster's NetworkPolicy lets nobody scrape its members
}

// Outside is what is seen of how clients outside of the Kubernetes cluster reach the client Service, and those of single members.
type Outside struct {
	Read      bool       // the client Service was seen, and has the type that is wanted
	Balanced  bool       // some Service is to have a load balancer
	Waiting   []string   // of those the Services that have no address
	Late      bool       // some have had none for two minutes
	Endpoints []Endpoint // by member and address
}

// Route is what is seen of the TLSRoute that the spec asks for.
type Route struct {
	Read       bool   // it was looked for: not while a cluster hibernates, nor where it never asked for one
	Wanted     bool   // it is asked for
	Missing    string // why there can be none; empty if there can
	Pending    bool   // it is not as wanted yet
	Refused    string // what a Gateway says that does not take it, or does not find the Service; empty if none does
	Unanswered string // the Gateway that has said nothing of it; empty if none
}

// Endpoint is where a client connects to.
type Endpoint struct {
	Address string // host:port
	Member  string // that is reached; empty: any
	Source  string // where the address comes from
}

// Object is a supporting object: a Service, a Secret, a PodDisruptionBudget, a NetworkPolicy, or a part of a volume.
type Object struct {
	Kind, Name   string
	Part         Part         // of a volume, if only that is meant
	UID          string       // precondition of its deletion, of those that are deleted; of Objects, those that are not wanted
	Why          string       // what is wrong with it
	Denied       Denial       // that it may not be changed at present
	Gone         bool         // of Foreign: it is being deleted, so waiting helps
	CanWait      bool         // of Objects: members start as well without, or with what it holds
	ChangesCA    bool         // of Objects: signed by another authority than members run with, it would part them or their clients
	Holder       string       // of Lost: the Secret that still has certificates which it signed; empty if none has
	RotationStep RotationStep // of an authority: the pass of its rotation that is due
}

// Denial says that Kubernetes does not let the operator change an object at present. It is empty
// if the object may be changed.
type Denial struct {
	Because string // what Kubernetes said a moment ago; empty if it took what was written
	Undone  bool   // it accepted it, and an admission policy or another controller has changed it back
}

// Stands says whether the object is to be left alone for now.
func (d Denial) Stands() bool { return d != Denial{} }

// Part is a part of a volume that is brought to the spec alone; empty for whole objects.
type Part string

const (
	// Owner: the volume goes with the EtcdCluster, or stays, as the deletion policy says.
	Owner Part = "owner"
	// Labels: that it is of the cluster, without which no watch sees it.
	Labels Part = "labels"
	// Mark: since when it is quarantined.
	Mark Part = "mark"
	// Version: what its member runs, which is written on it.
	Version Part = "version"
	// Size: the storage that it asks for.
	Size Part = "size"
)

// OtherType is what is wrong with a Service whose type was changed on the Service itself. The event says so when the Service is applied.
const OtherType = "its type was changed, and is set back; for clients outside of the Kubernetes cluster set spec.clientService.type"

// String is the object as people name it.
func (o Object) String() string {
	if o.Part != "" {
		return string(o.Part) + " of " + o.Kind + " " + o.Name
	}
	return o.Kind + " " + o.Name
}

// Volume is a kept volume and what is written on it about its past.
type Volume struct {
	Name      string
	Token     string   // of the bootstrap plan that it was made for; empty if it joined later
	First     []string // first members of that plan
	ClusterID string   // set on one volume of a cluster that had formed
	Version   string   // of etcd that its member ran last; empty if it is not written there
	Image     string   // that the user has chosen for that version; empty if none
	TLSMode   string   // by which its member was found; empty if it is not written there
	Size      int64    // bytes that it asks for
	UID       string   // precondition of its deletion
	Unused    bool     // it provably never held data
	Unfit     bool     // of one that is unused: it is not of the class or the size that is wanted
}
