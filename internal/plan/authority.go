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
	if holder == "" && v.Count(cluster.HasPod) == 0 {
		return ""
	}
	another := "set spec.size to 0 and back"
	if holder != "" {
		another = fmt.Sprintf("set spec.size to 0, delete Secret %s and set spec.size back", holder)
	}
	return fmt.Sprintf("%s; members serve on by the certificates that they have; restore it from a backup; or, to have another made, %s",
		strings.Join(faults, "; "), another)
}

// EndOfAuthority says which authorities end within a year and how to have others made, and
// whether that is urgent; empty if none does.
func EndOfAuthority(v cluster.View) (message string, urgent bool) {
	if len(v.Ending) == 0 {
		return "", false
	}
	var ends, secrets []string
	for _, e := range v.Ending {
		ends, secrets = append(ends, e.Secret+" on "+e.On), append(secrets, e.Secret)
		urgent = urgent || e.Near
	}
	return fmt.Sprintf("authorities end, and with them all certificates that they have signed: %s; to have others made before, "+
		"set spec.size to 0, delete Secrets %s, %s and set spec.size back", list(ends), list(secrets), v.Ending[0].Holder), urgent
}

// spareRunning changes nothing of members while the Secret that they mount can neither be
// used nor made: one that is restarted or added could not start.
func spareRunning(v cluster.View) Step {
	because := LostAuthority(v)
	for _, o := range v.Lost {
		if because != "" && o.Holder == "" {
			return refuse(because)
		}
	}
	return nil
}
