// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"testing"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// policed is a scene with the NetworkPolicy that its spec wants, made by default or not.
func policed(t *testing.T, byDefault bool) *scene {
	s := newScene(t)
	s.operator, s.c.Status.Bootstrap.NetworkPolicy = "operators", byDefault
	made := specs.NetworkPolicy(s.c, s.operator)
	made.UID = "p1"
	s.objects = append(s.objects, made)
	return s
}

func (s *scene) policy() *networkingv1.NetworkPolicy {
	return s.find("NetworkPolicy a-members").(*networkingv1.NetworkPolicy)
}

// becomesTheirs gives it another owner.
func (s *scene) becomesTheirs() { s.policy().OwnerReferences, s.policy().Labels = nil, nil }

func (s *scene) mode(mode v1beta1.NetworkPolicyMode) { s.c.Spec.NetworkPolicy.Mode = mode }

const gone, bent = "NetworkPolicy a-members: it is missing", "NetworkPolicy a-members: it is not as wanted"

// TestNetworkPolicy: which cluster has one, its owner, and what of it is corrected.
func TestNetworkPolicy(t *testing.T) {
	const enabled, disabled = v1beta1.NetworkPolicyEnabled, v1beta1.NetworkPolicyDisabled
	for name, test := range map[string]struct {
		byDefault bool
		spoil     func(*scene)
		want      string // the object that is not as wanted; empty if none
	}{
		"as wanted":                        {true, func(*scene) {}, ""},
		"deleted by hand":                  {true, func(s *scene) { s.drop("NetworkPolicy a-members") }, gone},
		"of an earlier release":            {false, func(s *scene) { s.drop("NetworkPolicy a-members") }, ""},
		"of an earlier release, asked for": {false, func(s *scene) { s.mode(enabled); s.drop("NetworkPolicy a-members") }, gone},
		"forgotten by an earlier release":  {false, func(s *scene) { s.policy().Spec.Ingress = nil }, bent},
		"disabled": {
			true, func(s *scene) { s.mode(disabled) }, "NetworkPolicy a-members: spec.networkPolicy.mode is Disabled, delete p1",
		},
		"disabled, and gone":                  {true, func(s *scene) { s.mode(disabled); s.drop("NetworkPolicy a-members") }, ""},
		"disabled, and of another owner":      {true, func(s *scene) { s.mode(disabled); s.becomesTheirs() }, ""},
		"not asked for, and of another owner": {false, (*scene).becomesTheirs, ""},
		"put back by a backup tool": {
			true, func(s *scene) { s.policy().OwnerReferences = nil }, "NetworkPolicy a-members: no EtcdCluster owns it",
		},

		"the operator is outside, by default": {true, func(s *scene) { s.operator = ""; s.policy().Spec.Ingress = nil }, ""},
		"the operator is outside, asked for":  {true, func(s *scene) { s.operator = ""; s.mode(enabled) }, bent},
		"the operator has moved":              {true, func(s *scene) { s.operator = "elsewhere" }, bent},

		"another peer is let in": {true, func(s *scene) {
			s.policy().Spec.Ingress = append(s.policy().Spec.Ingress, networkingv1.NetworkPolicyIngressRule{})
		}, bent},
		"fewer members are behind it": {true, func(s *scene) { s.policy().Spec.PodSelector.MatchLabels["app"] = "other" }, bent},
		"it also limits what goes out": {true, func(s *scene) {
			s.policy().Spec.PolicyTypes = append(s.policy().Spec.PolicyTypes, networkingv1.PolicyTypeEgress)
		}, bent},
		"rules without effect": {true, func(s *scene) {
			s.policy().Spec.Egress = make([]networkingv1.NetworkPolicyEgressRule, 1)
		}, ""},
		"a label is gone": {
			true, func(s *scene) { delete(s.policy().Labels, "app.kubernetes.io/part-of") },
			"NetworkPolicy a-members: labels of it are not as wanted",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := policed(t, test.byDefault)
			test.spoil(s)
			got, v := "", s.look()
			for _, o := range v.Objects {
				got += o.String() + ": " + o.Why
				if o.UID != "" {
					got += ", delete " + o.UID
				}
			}
			if got != test.want || len(v.Foreign) > 0 {
				t.Errorf("got %q and foreign %v, want %q", got, v.Foreign, test.want)
			}
		})
	}
}

// TestNetworkPolicyOfAnother stands in the way where one is wanted.
func TestNetworkPolicyOfAnother(t *testing.T) {
	s := policed(t, true)
	s.policy().SetOwnerReferences(owner("EtcdCluster", "b", "u9"))
	if v := s.look(); len(v.Objects) > 0 || len(v.Foreign) != 1 || v.Foreign[0].String() != "NetworkPolicy a-members" {
		t.Errorf("objects %v, foreign %v", v.Objects, v.Foreign)
	}
}
