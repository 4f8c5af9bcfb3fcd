package plan

import (
	"slices"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// Denied says what Kubernetes has just refused, which nothing else waits for; empty if it
// has refused nothing.
func Denied(v cluster.View) string {
	if refused := v.Select(func(m cluster.Member) bool { return m.Pod.Refused != "" }); len(refused) > 0 {
		return "Kubernetes refuses the pods of " + list(cluster.Names(refused)) + ": " + refused[0].Pod.Refused +
			"; allow them, which is tried every few seconds"
	}
	var what []string
	var words string
	owner := false
	for _, m := range v.Members {
		if m.Fixed != "" {
			what, words = append(what, "the pod or volume of "+m.Name), m.Fixed
		}
	}
	for _, o := range slices.Concat(v.Misfits, v.Objects, v.Expired) {
		if o.Refused == "" {
			continue
		}
		what = append(what, o.String())
		words, owner = o.Refused, owner || o.Part == cluster.Owner
	}
	if len(what) == 0 {
		return ""
	}
	message := "Kubernetes refuses to change or delete " + list(what) + ": " + words + "; allow it, which is tried twice a minute"
	if owner {
		message += "; until then spec.deletionPolicy does not hold for these volumes"
	}
	return message
}
