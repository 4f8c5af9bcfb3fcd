// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"
	"strings"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// Denied says which writes Kubernetes has just refused or another client has reverted, and what to do
// about it. It is empty if there are none.
func Denied(v cluster.View) string {
	if pods := v.Select(func(m cluster.Member) bool { return m.Pod.Denied.Stands() }); len(pods) > 0 {
		return "Kubernetes refuses the pods of " + list(cluster.Names(pods)) + ": " + pods[0].Pod.Denied.Because +
			"; allow them; the operator tries again within a minute"
	}
	var refused, undone, all []string
	words, volumes := "", ""
	note := func(what string, denied cluster.Denial) {
		switch {
		case denied.Undone:
			undone = append(undone, what)
		case denied.Stands():
			refused, words = append(refused, what), denied.Because
		}
	}
	for _, m := range v.Members {
		note("the pod or volume of "+m.Name, m.Denied)
	}
	for _, object := range slices.Concat(v.Misfits, v.Objects, v.Expired) {
		note(object.String(), object.Denied)
		if object.Part == cluster.Owner && object.Denied.Stands() && !object.Denied.Undone {
			volumes = "; until then spec.deletionPolicy has no effect on these volumes"
		}
	}
	if len(refused) > 0 {
		all = append(all, "Kubernetes refuses to change or delete "+list(refused)+": "+words+
			"; allow it; the operator tries twice a minute"+volumes)
	}
	if len(undone) > 0 {
		all = append(all, "something changes back what the operator applies: "+list(undone)+"; exempt it from the admission policy "+
			"or stop the controller that does this; the operator tries again after pauses that grow to 5 minutes")
	}
	return strings.Join(all, "; ")
}
