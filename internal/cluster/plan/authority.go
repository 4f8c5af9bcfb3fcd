// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// LostAuthority says which certificate authorities of a formed cluster cannot sign any more, and what
// to do about it. It is empty if all can, or if nothing is left that they signed.
//
// What another authority signs is not handed out while that is so: etcd shows a new certificate at once and
// reads which authority it trusts only when it starts. Members that run would reject each other
// and their clients. If it is known what members trust, the authority is replaced as it is rotated, which needs all
// members well. Without a change they go on to serve.
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
	if holder != "" {
		return strings.Join(faults, "; ") + "; members go on to serve with their certificates; another authority is introduced beside it " +
			"when all members are healthy and nothing else is to be done; or restore it from a backup"
	}
	return strings.Join(faults, "; ") + "; members go on to serve with their certificates; restore it from a backup; " +
		"or, to have another made, set spec.size to 0 and back"
}

// EndOfAuthority says which certificate authorities end soon, what happens or is to be done about it, and
// whether that is urgent. The message is empty if none ends.
func EndOfAuthority(v cluster.View) (message string, urgent bool) {
	var expired, over, ends []string
	for _, e := range v.Ending {
		urgent = urgent || e.Near
		switch text := strings.TrimSuffix(e.Secret+" on "+e.On, " on "); {
		case e.Expired:
			expired = append(expired, text)
		case e.Over:
			over = append(over, text)
		default:
			ends = append(ends, text)
		}
	}
	switch {
	case len(expired) > 0:
		return fmt.Sprintf("all certificates of members have expired that these authorities have signed, and others serve now: %s; "+
			"only connections that are open go on; %s", list(append(expired, over...)), replacing(v)), urgent
	case len(over) > 0:
		return fmt.Sprintf("authorities have ended, and with them all certificates that they have signed: %s; to have others made, %s",
			list(over), renewing(v)), urgent
	case len(ends) > 0:
		return fmt.Sprintf("authorities end, and with them all certificates that they have signed: %s; they are rotated before, "+
			"when all members are healthy, nothing is paused and nothing else is to be done", list(ends)), urgent
	default:
		return "", false
	}
}

// renewing says how an authority is renewed that has ended.
func renewing(v cluster.View) string {
	if v.Want.Ephemeral {
		return "restore a backup into a new EtcdCluster: its members must restart, and their data would go with their pods"
	}
	return "set the annotation etcd-operator.dev/rotate of the EtcdCluster to a new value: all members restart at once, and keep their data"
}

// replacing says how an external authority is replaced whose certificates have expired.
func replacing(v cluster.View) string {
	if v.Want.Ephemeral {
		return "have certificates issued by the same authorities; or " + renewing(v)
	}
	return "the operator has all members restart together, which keep their data, as soon as no quorum answers; to have that now, " +
		"set the annotation etcd-operator.dev/rotate of the EtcdCluster to a new value"
}

// keepRunning restarts no member that could not connect to the others again, although connections that are open still work.
func keepRunning(v cluster.View) Step {
	if slices.ContainsFunc(v.Ending, func(e cluster.Ending) bool { return e.Over }) {
		message, _ := EndOfAuthority(v)
		return refuse("none is restarted alone: " + message)
	}
	if v.Certificates.Lacking {
		return refuse("members go on to serve and none is restarted, because there is no certificate for one that starts: " +
			v.Certificates.Fault)
	}
	because := LostAuthority(v)
	for _, o := range v.Lost {
		if because != "" && o.Holder == "" {
			return refuse(because)
		}
	}
	return nil
}
