// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// networkPolicy notes a NetworkPolicy that is missing, not as wanted, or not wanted. If the spec asks for none, and none
// was made by default, any that exists stays.
func (j *builder) networkPolicy() {
	want, have := specs.NetworkPolicy(j.c, j.Operator), j.Policy
	switch {
	case j.c.Spec.NetworkPolicy.Mode == v1beta1.NetworkPolicyDisabled:
		if j.hasPolicy() {
			j.v.Objects = append(j.v.Objects, cluster.Object{
				Kind: "NetworkPolicy", Name: want.Name, UID: string(have.UID), Why: "spec.networkPolicy.mode is Disabled",
			})
		}
	case j.isPoliced():
		j.compare("NetworkPolicy", want, have, have != nil, func() bool { return isPolicy(want.Spec, have.Spec) })
	}
}

// isPoliced says whether the cluster is to have a NetworkPolicy. If the spec does not say, it is to keep the one that it has:
// an operator of an earlier release may have dropped from the status that it was made by default. An operator outside of
// Kubernetes leaves that alone: no rule could allow its own traffic.
func (j *builder) isPoliced() bool {
	if j.c.Spec.NetworkPolicy.Mode == v1beta1.NetworkPolicyEnabled {
		return true
	}
	return j.Operator != "" && (j.v.Record.HasNetworkPolicy || j.hasPolicy())
}

// hasPolicy says whether there is a NetworkPolicy that is the cluster's.
func (j *builder) hasPolicy() bool { return j.Policy != nil && specs.Foreign(j.c, j.Policy) == "" }

// isPolicy says whether a NetworkPolicy allows the wanted peers, and no others. Egress of the members is not limited: egress
// rules that others have added have no effect.
func isPolicy(want, have networkingv1.NetworkPolicySpec) bool {
	return equality.Semantic.DeepEqual(want.PodSelector, have.PodSelector) &&
		equality.Semantic.DeepEqual(want.PolicyTypes, have.PolicyTypes) && equality.Semantic.DeepEqual(want.Ingress, have.Ingress)
}
