// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

// TLSPhase is how far a change of TLS is.
type TLSPhase int

const (
	// OneScheme: etcd lists members by one scheme, and they serve clients of it alone.
	OneScheme TLSPhase = iota
	// Advertised: etcd lists members by both schemes.
	Advertised
	// BothSchemes: that, and members serve clients of both.
	BothSchemes
)

// TLSState is by which schemes members are found and serve clients. Members that run by one state find those that run by the next: all
// listen to peers by http, or all have certificates and are listed by both schemes.
type TLSState struct {
	Secure     bool // the operator and the published endpoint use https
	Phase      TLSPhase
	SwitchedAt int64 // when Secure was changed, in seconds; 0 before that, and when the change is complete
}

// Toward is the next state on the way to TLS, or to none; the same one at the end of the way.
func (s TLSState) Toward(secure bool, now int64) TLSState {
	switch {
	case s.Secure != secure && s.Phase == BothSchemes:
		return TLSState{Secure: secure, Phase: BothSchemes, SwitchedAt: now}
	case s.Secure != secure:
		return TLSState{Secure: s.Secure, Phase: s.Phase + 1, SwitchedAt: s.SwitchedAt}
	case s.Phase == BothSchemes:
		return TLSState{Secure: secure, Phase: Advertised, SwitchedAt: s.SwitchedAt}
	default:
		return TLSState{Secure: secure}
	}
}

// IsBegun says whether members have certificates, or are restarted for them, and clients were not sent to the other scheme yet.
func (s TLSState) IsBegun() bool { return s.Phase == BothSchemes && s.SwitchedAt == 0 }

// TLSChange is what is known of a change of TLS.
type TLSChange struct {
	Wanted bool   // TLS, in the end
	At     int64  // when this was seen, in seconds
	Held   string // what it waits for before it begins; empty if nothing
	Window string // until when clients of the scheme before are served; empty if it is over
}
