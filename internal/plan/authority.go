package plan

import (
	"fmt"
	"strings"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// LostAuthority says which certificate authorities of a formed cluster cannot sign any more, and what
// to do about it. It is empty if all can, or if nothing is left that they signed.
//
// No other authority is made while that is so: etcd shows a new certificate at once and
// reads which authority it trusts only when it starts. Members that run would reject each other
// and their clients. Without a change they go on to serve.
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
	return fmt.Sprintf("%s; members go on to serve with their certificates; restore it from a backup; or, to have another made, %s",
		strings.Join(faults, "; "), another)
}

// EndOfAuthority says which certificate authorities end within a year, what to do about it, and
// whether one ends within 30 days. The message is empty if none ends.
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

func keepRunning(v cluster.View) Step {
	because := LostAuthority(v)
	for _, o := range v.Lost {
		if because != "" && o.Holder == "" {
			return refuse(because)
		}
	}
	return nil
}
