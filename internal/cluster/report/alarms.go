package report

import (
	"strings"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// whatToDo is what ends an alarm, by its kind. For CORRUPT the plan says more, if it needs a person.
var whatToDo = map[string]string{
	cluster.Corrupt: "a member whose data is not that of a majority is replaced",
	cluster.NoSpace: "delete keys, compact and defragment, or raise spec.etcd.quota; then run etcdctl alarm disarm",
}

// alarms are those that etcd has raised, and what to do about them; what members say of them,
// if only that is known.
func alarms(v cluster.View) string {
	var all []string
	for _, kind := range []string{cluster.Corrupt, cluster.NoSpace} {
		if len(v.Raised(kind)) > 0 {
			all = append(all, "etcd has raised the alarm "+v.Raised(kind).String()+": "+whatToDo[kind])
		}
	}
	for _, m := range v.Members {
		if m.Complaint != "" && len(v.Alarms) == 0 {
			all = append(all, m.Name+" reports "+m.Complaint)
		}
	}
	return strings.Join(all, "; ")
}
