package cluster

// Target is what members are to run now, on the way to what is wanted.
type Target struct {
	Version   string // full version; what members run if there is no way
	Image     string // that holds it; empty for the usual one
	Cleanse   bool   // members are to drop entries of their logs that the next version cannot read
	Downgrade string // minor version that etcd must be told it goes down to, first
	Cancel    bool   // a downgrade that etcd has begun must be called off, first
	Await     string // what etcd is about to do before the next version may start
	Barred    string // why there is no way to what is wanted
	Misnamed  string // what the user's image holds, if that is not the version it was chosen for
	// Current is what members ran before, while an update of it has been tried, and has worked nowhere
	// yet. It is empty at all other times.
	Current Revision
}

// Revision is a full version of etcd, and the image that the user has chosen for it; empty if that is
// left to the operator.
type Revision struct{ Version, Image string }

// For is what one member is to run. One whose Pod is gone comes back with what it ran while
// that is held: what replaces it may fail there, too.
func (t Target) For(m Member) Target {
	if t.Current.Version != "" && m.Role == Voter && !m.Pod.Exists && m.Version == t.Current.Version {
		return Target{Version: t.Current.Version, Image: t.Current.Image}
	}
	return t
}

// CurrentOf is what members ran well that are not updated yet, while one that is
// has not answered with the new image, or has answered that it is of another version.
// Members must be compared with the target already.
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
