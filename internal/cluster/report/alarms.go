// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"strings"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
)

// whatEnds is what the operator does to end an alarm, by its kind. The plan says more, if it needs a person.
var whatEnds = map[string]string{
	cluster.Corrupt: "a member whose data is not that of a majority is replaced",
	cluster.NoSpace: "members are defragmented, after a compaction if that is needed, and then it is disarmed",
}

// alarms are those that etcd has raised, and what to do about them; what members say of them,
// if only that is known.
func alarms(v cluster.View) string {
	var all []string
	for _, kind := range []string{cluster.Corrupt, cluster.NoSpace} {
		switch person := plan.NoSpace(v); {
		case len(v.Raised(kind)) == 0:
		case kind == cluster.NoSpace && person != "":
			all = append(all, person)
		default:
			all = append(all, "etcd has raised the alarm "+v.Raised(kind).String()+": "+whatEnds[kind])
		}
	}
	for _, m := range v.Members {
		if m.Complaint != "" && len(v.Alarms) == 0 {
			all = append(all, m.Name+" reports "+m.Complaint)
		}
	}
	return strings.Join(all, "; ")
}
