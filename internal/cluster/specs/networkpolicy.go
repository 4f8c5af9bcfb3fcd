// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// NetworkPolicy lets each port of the members be reached only by the peers that need it. The operator's namespace is empty if it runs
// outside of Kubernetes: no rule allows it then. Traffic from a member's own node is always allowed, such as the kubelet's probes
// (https://kubernetes.io/docs/concepts/services-networking/network-policies/). Egress of members is not limited.
//
// Ports are numbers: a name would mean another number on a Pod that was changed.
func NetworkPolicy(c *v1beta1.EtcdCluster, operator string) *networkingv1.NetworkPolicy {
	members, asked := []networkingv1.NetworkPolicyPeer{labelled(MemberSelector(c))}, c.Spec.NetworkPolicy
	clients := []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{}}}
	if len(asked.Clients) > 0 {
		jobs := []networkingv1.NetworkPolicyPeer{labelled(BackupSelector()), {PodSelector: PrefixSelector()}}
		clients = slices.Concat(peers(asked.Clients), members, jobs)
		if c.AllowsDrills() {
			clients = append(clients, labelled(DrillSelector()))
		}
		if c.KeepsLog() {
			clients = append(clients, labelled(LogSelector()))
		}
	}
	return &networkingv1.NetworkPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy"},
		ObjectMeta: owned(c, c.MemberPolicy()),
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: MemberSelector(c)},
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
			Ingress: slices.Concat(
				// The operator looks at the certificates that members show there while an authority is rotated.
				peersOf(c, slices.Concat(members, operatorIn(operator))),
				reachedBy(v1beta1.ClientPort, slices.Concat(clients, operatorIn(operator))),
				reachedBy(v1beta1.MetricsPort, slices.Concat(peers(asked.Metrics), operatorIn(operator))),
			),
		},
	}
}

// peersOf lets members hear each other. While a running cluster is adopted, its members may be anywhere.
func peersOf(c *v1beta1.EtcdCluster, members []networkingv1.NetworkPolicyPeer) []networkingv1.NetworkPolicyIngressRule {
	if c.Adopts() != nil && !hasLeft(c) {
		anywhere := func(cidr string) networkingv1.NetworkPolicyPeer {
			return networkingv1.NetworkPolicyPeer{IPBlock: &networkingv1.IPBlock{CIDR: cidr}}
		}
		members = []networkingv1.NetworkPolicyPeer{anywhere("0.0.0.0/0"), anywhere("::/0")}
	}
	return reachedBy(v1beta1.PeerPort, members)
}

// hasLeft says whether an adoption is undone: no member of ours is left.
func hasLeft(c *v1beta1.EtcdCluster) bool {
	return c.IsAdopting() && len(c.Status.Members) == 0 && c.Annotations[v1beta1.AnnotationUndoAdoption] == "true"
}

// reachedBy is no rule if there are no peers: a rule without peers allows all traffic.
func reachedBy(number int32, peers []networkingv1.NetworkPolicyPeer) []networkingv1.NetworkPolicyIngressRule {
	if len(peers) == 0 {
		return nil
	}
	return []networkingv1.NetworkPolicyIngressRule{{
		Ports: []networkingv1.NetworkPolicyPort{{Protocol: ptr.To(corev1.ProtocolTCP), Port: ptr.To(intstr.FromInt32(number))}},
		From:  peers,
	}}
}

func labelled(labels map[string]string) networkingv1.NetworkPolicyPeer {
	return networkingv1.NetworkPolicyPeer{PodSelector: &metav1.LabelSelector{MatchLabels: labels}}
}

// BackupSelector selects the Pods that read from members for backups, of all clusters of a namespace.
func BackupSelector() map[string]string {
	return map[string]string{ManagedByLabel: v1beta1.FieldOwner, v1beta1.LabelTask: "backup"}
}

// PrefixSelector selects the Pods that compare and change keys below a prefix for restores, of all clusters of a namespace.
func PrefixSelector() *metav1.LabelSelector {
	return &metav1.LabelSelector{
		MatchLabels: map[string]string{ManagedByLabel: v1beta1.FieldOwner},
		MatchExpressions: []metav1.LabelSelectorRequirement{{
			Key: v1beta1.LabelTask, Operator: metav1.LabelSelectorOpIn, Values: []string{"compare", "apply", "revert"},
		}},
	}
}

// LogSelector selects the Pods that read from members for logs, of all clusters of a namespace.
func LogSelector() map[string]string {
	return map[string]string{ManagedByLabel: v1beta1.FieldOwner, v1beta1.LabelTask: "follow"}
}

// DrillSelector selects the Pods that write to members for drills, of all clusters of a namespace.
func DrillSelector() map[string]string {
	return map[string]string{ManagedByLabel: v1beta1.FieldOwner, v1beta1.LabelTask: "write"}
}

// operatorIn are the operator's Pods in its namespace, by the labels that its Deployment in config/manager gives them.
func operatorIn(namespace string) []networkingv1.NetworkPolicyPeer {
	if namespace == "" {
		return nil
	}
	peer := labelled(map[string]string{"app.kubernetes.io/name": v1beta1.FieldOwner, "control-plane": "controller-manager"})
	peer.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}}
	return []networkingv1.NetworkPolicyPeer{peer}
}

func peers(all []v1beta1.NetworkPeer) []networkingv1.NetworkPolicyPeer {
	var made []networkingv1.NetworkPolicyPeer
	for _, p := range all {
		peer := networkingv1.NetworkPolicyPeer{PodSelector: selector(p.PodSelector), NamespaceSelector: selector(p.NamespaceSelector)}
		if p.IPBlock != nil {
			peer.IPBlock = &networkingv1.IPBlock{CIDR: string(p.IPBlock.CIDR), Except: texts(p.IPBlock.Except)}
		}
		made = append(made, peer)
	}
	return made
}

func selector(s *v1beta1.NetworkSelector) *metav1.LabelSelector {
	if s == nil {
		return nil
	}
	made := &metav1.LabelSelector{}
	for key, value := range s.MatchLabels {
		metav1.AddLabelToSelector(made, key, string(value))
	}
	for _, e := range s.MatchExpressions {
		made.MatchExpressions = append(made.MatchExpressions, metav1.LabelSelectorRequirement{
			Key: e.Key, Operator: metav1.LabelSelectorOperator(e.Operator), Values: texts(e.Values),
		})
	}
	return made
}

func texts[T ~string](all []T) []string {
	var made []string
	for _, one := range all {
		made = append(made, string(one))
	}
	return made
}
