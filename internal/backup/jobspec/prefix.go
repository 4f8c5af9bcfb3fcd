// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jobspec

const (
	// Compare compares the keys below a prefix as they were with those that a cluster has. Nothing is written.
	Compare Verb = "compare"
	// Apply makes the keys below a prefix as they were, by transactions of a cluster that serves.
	Apply Verb = "apply"
	// Revert takes back what Apply has done, where nothing was changed since.
	Revert Verb = "revert"
)

// Live is a cluster that serves, of which keys are read and written.
type Live struct {
	ClusterID string   `json:"clusterID"` // of etcd, in hexadecimal; a member of another cluster is refused
	Members   []Member `json:"members"`   // that may be asked, one at a time
	Secure    bool     `json:"secure"`    // ClientFolder has what TLS needs
}

// CompareOrder is that of Compare. Either Target or At is set.
type CompareOrder struct {
	Prefix     []byte       `json:"prefix"`
	Target     *LocateOrder `json:"target,omitempty"`     // the moment, which is looked for
	At         *Located     `json:"at,omitempty"`         // the moment, which is known
	Identities bool         `json:"identities,omitempty"` // IdentitiesFolder has some
	Live       Live         `json:"live"`
}

// ApplyOrder is that of Apply: of what Compare has found, and nothing else.
type ApplyOrder struct {
	Prefix     []byte  `json:"prefix"`
	At         Located `json:"at"`
	Identities bool    `json:"identities,omitempty"`
	Live       Live    `json:"live"`
	Revision   int64   `json:"revision"` // of the cluster's data that was compared
	Digest     string  `json:"digest"`   // of the differences
}

// RevertOrder is that of Revert. A key becomes what it was before if it still is what Apply has made it.
type RevertOrder struct {
	Prefix     []byte  `json:"prefix"`
	Before     Located `json:"before"` // what the cluster had before Apply
	At         Located `json:"at"`     // what Apply has made
	Identities bool    `json:"identities,omitempty"`
	Live       Live    `json:"live"`
}

// MostExamples is how many keys are named as examples.
const MostExamples = 10

// Changes are what Compare has found to be done, or what Apply and Revert have done.
type Changes struct {
	// Revision of the cluster's data: of Compare the one that was compared, else the one after the last change.
	Revision int64 `json:"revision"`
	Create   int64 `json:"create,omitempty"` // keys that were, and are not
	Update   int64 `json:"update,omitempty"` // keys that have another value
	Delete   int64 `json:"delete,omitempty"` // keys that are, and were not
	Same     int64 `json:"same,omitempty"`   // keys that are as they were; of Compare
	Leased   int64 `json:"leased,omitempty"` // keys of Create and Update that had a lease, and get none; of Compare
	// Skipped are keys that were changed meanwhile by others, and stay; of Apply and Revert.
	Skipped int64 `json:"skipped,omitempty"`
	// Digest is of all differences and of the revisions that their keys have; of Compare.
	Digest string `json:"digest,omitempty"`
	// Examples are the first keys that are, or were, changed; of Apply and Revert those that were skipped.
	Examples []Example `json:"examples,omitempty"`
}

// Example is a key, of which a long one is cut, and what is done to it: create, update, delete.
type Example struct {
	Key  []byte `json:"key"`
	What string `json:"what"`
}

// problem says why a comparison is unclear; empty if it is not.
func (o CompareOrder) problem() string {
	if (o.Target != nil) == (o.At != nil) {
		return "it names no moment, or two"
	}
	return ""
}
