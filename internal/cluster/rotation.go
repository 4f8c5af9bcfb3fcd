// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

// Rotation is what is known of certificate authorities that are being replaced by others.
type Rotation struct {
	Turns       []Object // Secrets of authorities whose next pass is due, clients' first; all are taken together
	Await       string   // what the rotation waits for; empty if none goes on
	Together    bool     // what members run with has ended, so that they restart together
	Authorities []Authority
}

// Authority is one that signs for the cluster, as the status reports it.
type Authority struct {
	Name    string // client or peer
	Secret  string // that holds it
	Phase   RotationPhase
	End     int64 // when it ends, in seconds; 0 if that is not known
	Request string
}

// Revocation is how far certificates are revoked. It is empty if none ever was.
type Revocation struct {
	At      string          // when one was revoked last, as the Secret says that members mount
	Serials []string        // that the list in it has, sorted
	Phase   RevocationPhase // how far it is
	Await   string          // what is to be seen before members restart, or before it is done; empty if nothing
}

// RevocationPhase is how far a revocation is.
type RevocationPhase string

const (
	// Listed: kubelets bring the list to members.
	Listed RevocationPhase = "Listed"
	// CutOff: members restart that may have connections from before.
	CutOff RevocationPhase = "Restarting"
	// Revoked: every member refuses what is on the list, and has restarted since.
	Revoked RevocationPhase = "Revoked"
)

// RotationPhase is how far the rotation of an authority is.
type RotationPhase string

const (
	// Stable: one authority is trusted, and it signs.
	Stable RotationPhase = "Stable"
	// Introduced: the next one is trusted, and signs nothing yet.
	Introduced RotationPhase = "Introduced"
	// Switched: it signs, and the one before is still trusted.
	Switched RotationPhase = "Switched"
)

// RotationStep is the pass of its rotation that an authority is to take; empty of all other objects.
type RotationStep struct {
	Stage   RotationStage
	Because string // why it is rotated
	Request string // that is acted on with it
	Asked   bool   // a person has asked for it

	// Replaced: others have issued what has ended, and what is to follow is there, so that no person has to ask.
	Replaced bool
}

// RotationStage is one of those that a rotation is made of.
type RotationStage string

const (
	// Introduce makes the next authority, which is trusted beside the one that signs.
	Introduce RotationStage = "introduce"
	// Switch has the next one sign.
	Switch RotationStage = "switch to"
	// Drop ends the trust in the one before.
	Drop RotationStage = "drop"
	// Renew replaces one that has ended, and is no longer trusted.
	Renew RotationStage = "renew"
)

// Certificates are what is known of external certificates; empty if the operator makes its own.
type Certificates struct {
	External bool   // they come from Secrets that the operator does not make
	Reason   string // why one of those does not serve, or soon will not, in a word; empty if all do
	Fault    string // which one, why, and what to do
	Lacking  bool   // there are none that are valid, and that members could start with
	Begin    int64  // when the first began to be valid that ends of those that members have, whoever has made them; 0 if there are none
	End      int64  // when it ends, in seconds since 1970
	Until    string // of external ones: when it ends, or has ended, as 2036-01-31T12:00:00Z; empty if there are none
	Request  string // to rotate an external authority, which its owner has to do; empty if there is none
}
