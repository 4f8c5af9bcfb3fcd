// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// Once the cluster has formed, a repair must not wait for an object that members do not need, nor for one that
// Kubernetes has just refused. Nothing waits for an object that is changed back each time.
func ensureObjects(v cluster.View) Step {
	return ensure(v, func(o cluster.Object) bool {
		if v.Formed() {
			return isNeeded(v, o) && !o.Denied.Stands()
		}
		return !o.Denied.Undone
	})
}

// awaitCertificates starts no member without a valid certificate while none runs: its Pod would wait for a Secret, or
// refuse every client, without a visible reason. If authorities are renewed next, there are certificates then.
func awaitCertificates(v cluster.View) Step {
	runs := v.Formed() && v.Count(cluster.HasPod) > 0
	if !v.Certificates.Lacking || runs || renewEnded(v) != nil {
		return nil
	}
	return Wait{For: "certificates: " + v.Certificates.Fault}
}

// awaitNeeded comes after repairs: a member that is down loses nothing by them.
func awaitNeeded(v cluster.View) Step {
	refused := func(o cluster.Object) bool {
		return isNeeded(v, o) && o.Denied.Stands() && !o.Denied.Undone
	}
	if !slices.ContainsFunc(v.Objects, refused) {
		return nil
	}
	return Refuse{Because: Denied(v), Denied: true}
}

// ensureOtherObjects leaves an object that Kubernetes has just refused for a moment.
func ensureOtherObjects(v cluster.View) Step {
	return ensure(v, func(o cluster.Object) bool { return v.Formed() && !isNeeded(v, o) && !o.Denied.Stands() })
}

// isNeeded says whether members need the object to start: a Secret that they mount or that signs
// for them, or the Service that gives members their names.
func isNeeded(v cluster.View, o cluster.Object) bool {
	return !o.CanWait && (o.Kind == "Secret" || o.Kind == "Service" && o.Name == v.Name)
}

// ensureBudget applies the disruption budget, unless Kubernetes has just refused it.
func ensureBudget(v cluster.View) Step {
	return ensure(v, func(o cluster.Object) bool { return o.Kind == "PodDisruptionBudget" && !o.Denied.Stands() })
}

func ensure(v cluster.View, wanted func(cluster.Object) bool) Step {
	lost := LostAuthority(v) != ""
	objects := slices.DeleteFunc(slices.Clone(v.Objects), func(o cluster.Object) bool { return lost && o.ChangesCA || !wanted(o) })
	if len(objects) == 0 {
		return nil
	}
	return Apply{objects}
}
