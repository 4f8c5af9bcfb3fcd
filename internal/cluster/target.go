// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

// Target is what members are to run now, on the way to the version that is wanted. Versions are full
// (3.6.16) if nothing else is said.
type Target struct {
	Version           string // what members run already if there is no way to what is wanted
	Image             string // that holds it; empty for the usual one
	DropLegacyEntries bool   // members are to drop entries of their logs that the next version cannot read
	Downgrade         string // minor version (3.5) of the downgrade that must be enabled first
	Cancel            bool   // the downgrade that is enabled must be cancelled first
	Await             string // what etcd is about to do before the next version may start
	NoUpgradePath     string // why there is no way to what is wanted
	Before            string // minor version that members may change to only after a backup; empty if none
	Misnamed          string // what the user's image holds, if that is not the version it was chosen for
	Trust             string // fingerprint of the authorities in the Secret that members mount; empty if none was ever rotated
	RevokedAt         string // when a certificate was revoked last, by that Secret, which has a list of them then; empty if none ever was
	// Current is what members ran before, while an update of it has been tried, and has worked nowhere
	// yet. It is empty at all other times.
	Current Revision
}

// Revision is a full version of etcd, and the image that the user has chosen for it; the image is empty if
// that is left to the operator.
type Revision struct{ Version, Image string }

// For is what one member is to run. A voter without a Pod comes back with the version that it ran while
// that is current: the version that replaces it may fail there, too.
func (t Target) For(m Member) Target {
	if t.Current.Version != "" && m.Role == Voter && !m.Pod.Exists() && m.Version == t.Current.Version {
		return Target{Version: t.Current.Version, Image: t.Current.Image, Trust: t.Trust, RevokedAt: t.RevokedAt}
	}
	return t
}

// CurrentOf is what is current: the version that members run well which are not updated yet, while the updated
// ones have not answered, or have answered with another version. Pod.Change of the members must be set.
func (t Target) CurrentOf(members []Member) Revision {
	var tried string
	for _, m := range members {
		switch {
		case !IsListed(m) || !HasPod(m) || IsOutdated(m):
			continue
		case t.Misnamed == "" && (m.Answers || m.Pod.Ready):
			return Revision{} // it works
		default:
			tried = m.Pod.Image
		}
	}
	for _, m := range members {
		ranWell := IsVoter(m) && HasPod(m) && IsOutdated(m) && m.Pod.Proven && !m.Pod.Failing && m.Version != ""
		if tried == "" || !ranWell || m.Pod.Image == tried {
			continue
		}
		return Revision{m.Version, m.Choice()}
	}
	return Revision{}
}
