package cluster

// Target is what members are to run now, on the way to the version that is wanted. Versions are full
// (3.6.16) if nothing else is said.
type Target struct {
	Version   string // what members run already if there is no way to what is wanted
	Image     string // that holds it; empty for the usual one
	Cleanse   bool   // members are to drop entries of their logs that the next version cannot read
	Downgrade string // minor version (3.5) of the downgrade that must be enabled first
	Cancel    bool   // the downgrade that is enabled must be cancelled first
	Await     string // what etcd is about to do before the next version may start
	Barred    string // why there is no way to what is wanted
	Misnamed  string // what the user's image holds, if that is not the version it was chosen for
	Held      Held   // what members ran before, while the new version has yet to run on a first member
}

// Held is a version that members come back with, and the image that the user has chosen for it, if any. It
// is empty unless the version that replaces it has been tried, and has worked nowhere yet.
type Held struct{ Version, Image string }

// For is what one member is to run. A voter without a Pod comes back with the version that it ran while
// that is held: the version that replaces it may fail there, too.
func (t Target) For(m Member) Target {
	if t.Held.Version != "" && m.Role == Voter && !m.Pod.Exists && m.Version == t.Held.Version {
		return Target{Version: t.Held.Version, Image: t.Held.Image}
	}
	return t
}

// Hold is what is to be held: the version that members run well which are not updated yet, while the updated
// ones have not answered, or have answered with another version. Pod.Change of the members must be set.
func (t Target) Hold(members []Member) Held {
	var tried string
	for _, m := range members {
		switch {
		case !IsListed(m) || !HasPod(m) || IsOutdated(m):
			continue
		case t.Misnamed == "" && (m.Answers || m.Pod.Ready):
			return Held{} // it works
		default:
			tried = m.Pod.Image
		}
	}
	for _, m := range members {
		ranWell := IsVoter(m) && HasPod(m) && IsOutdated(m) && m.Pod.Proven && !m.Pod.Failing && m.Version != ""
		if tried == "" || !ranWell || m.Pod.Image == tried {
			continue
		}
		return Held{m.Version, m.Choice()}
	}
	return Held{}
}
