package plan

import (
	"slices"
	"strings"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// Denied says which writes Kubernetes has just refused or somebody has changed back, and what to do
// about it. It is empty if there are none.
func Denied(v cluster.View) string {
	if refused := v.Select(func(m cluster.Member) bool { return m.Pod.Denied.Stands() }); len(refused) > 0 {
		return "Kubernetes refuses the pods of " + list(cluster.Names(refused)) + ": " + refused[0].Pod.Denied.Because +
			"; allow them; the operator tries again within a minute"
	}
	refused, undone := objections(v)
	var all []string
	if message := refused.String(); message != "" {
		all = append(all, message)
	}
	if len(undone.what) > 0 {
		all = append(all, "something changes back what the operator applies: "+list(undone.what)+"; exempt it from the admission policy "+
			"or stop the controller that does this; the operator tries again after pauses that grow to 5 minutes")
	}
	return strings.Join(all, "; ")
}

// An objection lists what Kubernetes does not let the operator change, and its words.
type objection struct {
	what  []string
	words string
	owner bool // of a volume
}

// objections are what Kubernetes has refused, and what it accepted and somebody has changed back.
func objections(v cluster.View) (refused, undone objection) {
	of := func(denied cluster.Denial) *objection {
		if denied.Undone {
			return &undone
		}
		refused.words = denied.Because
		return &refused
	}
	for _, m := range v.Members {
		if m.Denied.Stands() {
			o := of(m.Denied)
			o.what = append(o.what, "the pod or volume of "+m.Name)
		}
	}
	for _, object := range slices.Concat(v.Misfits, v.Objects, v.Expired) {
		if !object.Denied.Stands() {
			continue
		}
		o := of(object.Denied)
		o.what, o.owner = append(o.what, object.String()), o.owner || object.Part == cluster.Owner
	}
	return refused, undone
}

func (o objection) String() string {
	if len(o.what) == 0 {
		return ""
	}
	message := "Kubernetes refuses to change or delete " + list(o.what) + ": " + o.words + "; allow it; the operator tries twice a minute"
	if o.owner {
		message += "; until then spec.deletionPolicy has no effect on these volumes"
	}
	return message
}
