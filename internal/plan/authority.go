package plan

import (
	"fmt"
	"strings"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// LostAuthority says which authorities of a formed cluster cannot sign any more, and what
// to do about it; empty if all can, or if nothing is left that they signed.
//
// Another authority is never made beside that: etcd shows a new certificate at once and
// learns whom to trust only when it starts, so members that run would hear neither each
// other nor their clients. Left alone they serve on.
func LostAuthority(v cluster.View) string {
	if !v.Formed() || len(v.Lost) == 0 {
		return ""
	}
	faults, holder := make([]string, 0, len(v.Lost)), ""
	for _, o := range v.Lost {
		faults = append(faults, o.String()+": "+o.Why)
		if o.Holder != "" {
			holder = o.Holder
		}
	}
	if holder == "" && len(v.Select(cluster.HasPod)) == 0 {
		return ""
	}
	another := "set spec.size to 0 and back"
	if holder != "" {
		another = fmt.Sprintf("set spec.size to 0, delete Secret %s and set spec.size back", holder)
	}
	return fmt.Sprintf("%s; members serve on by the certificates that they have; restore it from a backup; or, to have another made, %s",
		strings.Join(faults, "; "), another)
}

// spareRunning changes nothing of members while the Secret that they mount can neither be
// used nor made: one that is restarted or added could not start.
func spareRunning(v cluster.View) Step {
	because := LostAuthority(v)
	for _, o := range v.Lost {
		if because != "" && o.Holder == "" {
			return Refuse{because}
		}
	}
	return nil
}
