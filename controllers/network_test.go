// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build envtest

package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// TestNetworkPolicyIsAsWanted: it is made before any member runs, put right and made again by the rights of the generated roles, follows
// the spec, and goes when it is not wanted.
func TestNetworkPolicyIsAsWanted(t *testing.T) {
	c := create(t, watched, "network")
	t.Cleanup(func() { collect(t, c, &networkingv1.NetworkPolicy{}) })
	wants := func(policy v1beta1.NetworkPolicy) {
		t.Helper()
		eventually(t, "the spec to change", func() error {
			return errors.Join(get(t, c, c.Name, c), retry(t.Context(), c, policy))
		})
	}
	wants(v1beta1.NetworkPolicy{
		Mode: v1beta1.NetworkPolicyEnabled, Metrics: []v1beta1.NetworkPeer{{NamespaceSelector: &v1beta1.NetworkSelector{}}},
	})
	isMade(t, c)
	for name, bend := range map[string]func(*networkingv1.NetworkPolicy){
		"somebody else is let in": func(p *networkingv1.NetworkPolicy) {
			p.Spec.Ingress = append(p.Spec.Ingress, networkingv1.NetworkPolicyIngressRule{})
		},
		"fewer members are behind it": func(p *networkingv1.NetworkPolicy) { p.Spec.PodSelector.MatchLabels["app"] = "other" },
		"nothing goes out": func(p *networkingv1.NetworkPolicy) {
			p.Spec.PolicyTypes = append(p.Spec.PolicyTypes, networkingv1.PolicyTypeEgress)
			p.Spec.Egress = make([]networkingv1.NetworkPolicyEgressRule, 1)
		},
		"another's label": func(p *networkingv1.NetworkPolicy) { relabel(p) },
	} {
		t.Run(name, func(t *testing.T) {
			policy := isMade(t, c)
			time.Sleep(quiet) // until that was seen: what is changed before counts as changed back, and is left alone for a while
			bend(policy)
			if err := server.Update(t.Context(), policy); err != nil {
				t.Fatal(err)
			}
			isMade(t, c)
		})
	}
	made := isMade(t, c)
	time.Sleep(quiet)
	if err := server.Delete(t.Context(), made); err != nil {
		t.Fatal(err)
	}
	isMade(t, c)
	wants(v1beta1.NetworkPolicy{
		Mode: v1beta1.NetworkPolicyEnabled, Clients: []v1beta1.NetworkPeer{{IPBlock: &v1beta1.NetworkBlock{CIDR: "10.0.0.0/8"}}},
	})
	isMade(t, c)
	wants(v1beta1.NetworkPolicy{Mode: v1beta1.NetworkPolicyDisabled})
	eventually(t, "the policy to be gone", func() error {
		err := get(t, c, c.MemberPolicy(), &networkingv1.NetworkPolicy{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is there, %w", err)
	})
}

// retry changes the spec as it was just read.
func retry(ctx context.Context, c *v1beta1.EtcdCluster, policy v1beta1.NetworkPolicy) error {
	c.Spec.NetworkPolicy = policy
	return server.Update(ctx, c)
}

// isMade waits until the policy is as the spec wants it, and returns it.
func isMade(t *testing.T, c *v1beta1.EtcdCluster) *networkingv1.NetworkPolicy {
	t.Helper()
	policy, want := &networkingv1.NetworkPolicy{}, specs.NetworkPolicy(c, "")
	eventually(t, "the policy to be as wanted", func() error {
		*policy = networkingv1.NetworkPolicy{}
		if err := get(t, c, c.MemberPolicy(), policy); err != nil {
			return err
		}
		got := policy.DeepCopy()
		got.Spec.Egress = nil // has no effect without the type
		if !reflect.DeepEqual(got.Spec, want.Spec) || got.Labels[specs.ManagedByLabel] != v1beta1.FieldOwner || !metav1.IsControlledBy(got, c) {
			return fmt.Errorf("got %+v", got)
		}
		return nil
	})
	return policy
}
