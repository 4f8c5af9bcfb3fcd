// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"bytes"
	"os"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// TestNetworkPolicyLetsTheOperatorIn: by the labels of the Pods that config/manager deploys.
func TestNetworkPolicyLetsTheOperatorIn(t *testing.T) {
	text, err := os.ReadFile("../../../config/manager/manager.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var deployment appsv1.Deployment
	for document := range bytes.SplitSeq(text, []byte("\n---\n")) {
		if bytes.Contains(document, []byte("kind: Deployment")) {
			if err := yaml.UnmarshalStrict(document, &deployment); err != nil {
				t.Fatal(err)
			}
		}
	}
	pod := labels.Set(deployment.Spec.Template.Labels)
	for _, rule := range specs.NetworkPolicy(example(), "operators").Spec.Ingress[1:] {
		last := rule.From[len(rule.From)-1]
		selector, err := metav1.LabelSelectorAsSelector(last.PodSelector)
		if err != nil || len(pod) == 0 || !selector.Matches(pod) {
			t.Errorf("port %s: %v does not select the Pods of the operator, %v: %v", rule.Ports[0].Port, last.PodSelector, pod, err)
		}
	}
}

// TestNoRuleIsEmpty: Kubernetes allows all traffic by a rule that names no peers or no ports.
func TestNoRuleIsEmpty(t *testing.T) {
	some := []v1beta1.NetworkPeer{{PodSelector: &v1beta1.NetworkSelector{}}}
	for _, operator := range []string{"", "operators"} {
		for _, clients := range [][]v1beta1.NetworkPeer{nil, some} {
			for _, metrics := range [][]v1beta1.NetworkPeer{nil, some} {
				c := with(func(s *v1beta1.EtcdClusterSpec) { s.NetworkPolicy.Clients, s.NetworkPolicy.Metrics = clients, metrics })
				spec := specs.NetworkPolicy(c, operator).Spec
				for _, rule := range spec.Ingress {
					if len(rule.From) == 0 || len(rule.Ports) != 1 {
						t.Errorf("operator %q, clients %v, metrics %v: %+v", operator, clients, metrics, rule)
					}
				}
				if len(spec.PolicyTypes) != 1 || spec.PolicyTypes[0] != networkingv1.PolicyTypeIngress {
					t.Errorf("types %v", spec.PolicyTypes)
				}
			}
		}
	}
}

// TestDrillsReachMembers: where they are allowed, the policy lets their Jobs in; elsewhere it is as it ever was.
func TestDrillsReachMembers(t *testing.T) {
	some := []v1beta1.NetworkPeer{{PodSelector: &v1beta1.NetworkSelector{MatchLabels: map[string]v1beta1.LabelValue{"app": "shop"}}}}
	for _, allowed := range []v1beta1.DrillPolicy{"", v1beta1.DrillsForbidden, v1beta1.DrillsAllowed} {
		c := with(func(s *v1beta1.EtcdClusterSpec) { s.NetworkPolicy.Clients, s.Drills = some, allowed })
		spec := specs.NetworkPolicy(c, "").Spec
		isAllowed := allowed == v1beta1.DrillsAllowed
		reaches := false
		for _, peer := range spec.Ingress[1].From {
			selector, err := metav1.LabelSelectorAsSelector(peer.PodSelector)
			reaches = reaches || err == nil && selector.Matches(labels.Set(specs.DrillSelector()))
		}
		if reaches != isAllowed {
			t.Errorf("drills %q: their Jobs reach members: %t", allowed, reaches)
		}
	}
}

// TestLogsReachMembers: where clients are limited, the policy lets in the Pod that keeps the log, if there is to be one.
func TestLogsReachMembers(t *testing.T) {
	some := []v1beta1.NetworkPeer{{PodSelector: &v1beta1.NetworkSelector{}}}
	for _, kept := range []*v1beta1.Continuous{nil, {}} {
		c := with(func(s *v1beta1.EtcdClusterSpec) {
			s.NetworkPolicy.Clients, s.Backup = some, &v1beta1.Backup{Store: "offsite", Continuous: kept}
		})
		let := 0
		for _, rule := range specs.NetworkPolicy(c, "operators").Spec.Ingress {
			for _, from := range rule.From {
				if from.PodSelector != nil && from.PodSelector.MatchLabels[v1beta1.LabelTask] == "follow" {
					let++
				}
			}
		}
		if (let == 1) != (kept != nil) {
			t.Errorf("a log is kept: %t, and %d rules let its Pod in", kept != nil, let)
		}
	}
}

// TestPeersOfAnUndoneAdoption: anybody may reach the peer port while members are beside the sources, and nobody else once they have left.
func TestPeersOfAnUndoneAdoption(t *testing.T) {
	isOpen := func(c *v1beta1.EtcdCluster) bool {
		return specs.NetworkPolicy(c, "operators").Spec.Ingress[0].From[0].IPBlock != nil
	}
	c := example()
	c.Spec.Bootstrap = &v1beta1.BootstrapSpec{Adopt: &v1beta1.Adopt{Endpoints: []string{"http://old-0:2379"}}}
	c.Annotations = map[string]string{v1beta1.AnnotationUndoAdoption: "true"}
	c.Status.Adoption, c.Status.Members = &v1beta1.AdoptionStatus{}, []v1beta1.MemberStatus{{Name: "example-0"}}
	if !isOpen(c) {
		t.Error("the sources do not reach a member that has yet to leave")
	}
	if c.Status.Members = nil; isOpen(c) {
		t.Error("all have left, and the peer port is open")
	}
	if c.Annotations = nil; !isOpen(c) {
		t.Error("the sources do not reach the first member that joins")
	}
}
