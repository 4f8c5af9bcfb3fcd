// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// HasRoute says whether a cluster has, or may still have, a TLSRoute.
func HasRoute(c *v1beta1.EtcdCluster) bool {
	return c.Route() != nil || meta.FindStatusCondition(c.Status.Conditions, v1beta1.ConditionRouteAccepted) != nil
}

// route names the TLSRoute if it is missing, not as wanted, or not wanted any more, and says what Gateways say of it. It is never in the
// way of anything else.
func (j *builder) route() {
	if !HasRoute(j.c) {
		return
	}
	r := &j.v.Route
	r.Read, r.Wanted = true, j.c.Route() != nil
	if r.Missing = j.NoRoute; r.Missing != "" {
		return
	}
	before, foreign := len(j.v.Objects), len(j.v.Foreign)
	want, have := specs.Route(j.c), j.Route
	kind := specs.TLSRouteKind.Kind
	switch {
	case r.Wanted:
		j.compare(kind, want, have, have != nil, func() bool { return isRoute(want, have) })
	case have != nil && specs.Foreign(j.c, have) == "":
		j.v.Objects = append(j.v.Objects, cluster.Object{
			Kind: kind, Name: have.GetName(), UID: string(have.GetUID()), Why: "spec.clientService.tlsRoute does not ask for it",
		})
	}
	for i := range j.v.Objects[before:] {
		j.v.Objects[before+i].CanWait = true
	}
	r.Pending = len(j.v.Objects) > before || len(j.v.Foreign) > foreign
	if r.Wanted && !r.Pending {
		r.Refused, r.Unanswered = answersOf(want, have)
	}
}

// isRoute says whether a TLSRoute has what is wanted. Of lists it has nothing else: a name or a Gateway that was taken away is to go.
func isRoute(want, have *unstructured.Unstructured) bool {
	for _, field := range []string{"parentRefs", "hostnames"} {
		wanted, _, _ := unstructured.NestedSlice(want.Object, "spec", field)
		found, _, _ := unstructured.NestedSlice(have.Object, "spec", field)
		if len(wanted) != len(found) {
			return false
		}
	}
	return equality.Semantic.DeepDerivative(want.Object["spec"], have.Object["spec"])
}

// answersOf is what the first Gateway that does not take a route says of it, and the first that has said nothing of the route as it is now.
func answersOf(want, have *unstructured.Unstructured) (refused, unanswered string) {
	said, _, _ := unstructured.NestedSlice(have.Object, "status", "parents")
	wanted, _, _ := unstructured.NestedSlice(want.Object, "spec", "parentRefs")
	for _, one := range wanted {
		ref, _ := one.(map[string]any)
		name, _ := ref["name"].(string)
		i := slices.IndexFunc(said, func(of any) bool { return isOfParent(of, ref, have.GetNamespace()) })
		if i < 0 {
			unanswered = cmp.Or(unanswered, name)
			continue
		}
		why, known := verdict(said[i], have.GetGeneration())
		switch {
		case why != "":
			refused = cmp.Or(refused, fmt.Sprintf("Gateway %s: %s", name, why))
		case !known:
			unanswered = cmp.Or(unanswered, name)
		}
	}
	return refused, unanswered
}

// isOfParent says whether an entry of a route's status is about a Gateway that it names.
func isOfParent(of any, ref map[string]any, namespace string) bool {
	entry, _ := of.(map[string]any)
	about, _, _ := unstructured.NestedMap(entry, "parentRef")
	for field, otherwise := range map[string]any{"name": nil, "sectionName": nil, "port": nil, "namespace": namespace} {
		if valueOr(about[field], otherwise) != valueOr(ref[field], otherwise) {
			return false
		}
	}
	return true
}

func valueOr(value, otherwise any) any {
	if value == nil {
		return otherwise
	}
	return value
}

// verdict is why a Gateway does not take a route of this generation, or does not find the Service; empty if it has said that it does, or
// nothing.
func verdict(of any, generation int64) (why string, known bool) {
	entry, _ := of.(map[string]any)
	conditions, _, _ := unstructured.NestedSlice(entry, "conditions")
	for _, one := range conditions {
		condition, _ := one.(map[string]any)
		kind, _ := condition["type"].(string)
		seen, _ := condition["observedGeneration"].(int64)
		if seen < generation || kind != "Accepted" && kind != "ResolvedRefs" {
			continue
		}
		if condition["status"] == "False" {
			return fmt.Sprintf("%s is false, %s: %s", kind, condition["reason"], condition["message"]), true
		}
		known = known || kind == "Accepted" && condition["status"] == "True"
	}
	return "", known
}
