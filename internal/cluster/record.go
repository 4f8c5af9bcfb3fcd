// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import "fmt"

// Record is what the operator remembers between two observations, in the status. Only the step
// plan.Record changes it.
type Record struct {
	Token            string   // bootstrap token; empty before the first members are chosen
	First            []string // names of the first members
	Adopted          bool     // their volumes were there before
	Restore          string   // ID of the restore in place that has brought them; empty if none has
	HasNetworkPolicy bool     // a NetworkPolicy is made for them if the spec does not say
	HasRequests      bool     // they ask for some of a processor and of memory if the spec does not say
	HasMaintenance   bool     // they are defragmented, and NOSPACE is ended, if the spec does not say
	DefragRoom       bool     // the default quota leaves room to defragment a database that is full
	ClusterID        string   // set once the cluster has formed
	NextSerial       int
	Joining          string // name reserved for a member about to join
	Recovering       string // member whose data the cluster is recovered from
	Revision         int64  // of etcd's data that the cluster is known to have had: no quorum may answer with less
	RolledBack       Rollback
	Awaited          Awaited
	Defragmenting    Defragmenting
	Replacing        Replacing // the last member that was replaced because it stayed slow
	Scaled           Scaled    // compute resources instead of those of the spec
	Adopting         Adopting  // the running cluster that becomes this one
	TLS              TLSState  // by which schemes members are found and serve
	Grown            int64     // bytes that volumes have been given beyond the spec; 0 if they have not
}

// Defragmenting is the member whose database is being defragmented; it is empty if none is.
type Defragmenting struct {
	Member string
	Pod    string // UID of the Pod that it had then: another one defragments
	Size   int64  // bytes of its database file before
}

// Rollback is an update that was rolled back because it failed. It is empty once another version or image is
// wanted.
type Rollback struct {
	Refused, RefusedImage string // what is not tried again
	Version, Image        string // what is run in its place
	Because               string
}

// String says what a person has to do.
func (r Rollback) String() string {
	if r == (Rollback{}) {
		return ""
	}
	return fmt.Sprintf("spec.version %s was rolled back to %s: %s; change spec.version or spec.image to go on",
		r.Refused, r.Version, r.Because)
}
