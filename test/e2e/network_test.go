// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// networkPolicies shows both, who is let in and who is not, by the deployed operator: one that runs outside of Kubernetes cannot be
// named by a policy. docs/operations/network.md.
func networkPolicies() {
	const forClients, forPeers, forMetrics = v1beta1.ClientPort, v1beta1.PeerPort, v1beta1.MetricsPort
	var c *v1beta1.EtcdCluster
	var inside, shop, outside visitor

	wants := func(policy v1beta1.NetworkPolicy) {
		GinkgoHelper()
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.NetworkPolicy = policy })).To(Succeed())
		isSeen(c)
	}

	BeforeAll(func() {
		needsEnforcement()
		runDeployed(2)
		namespace, elsewhere := newNamespace(), newNamespace()
		inside = newVisitor(namespace, "inside", nil)
		shop = newVisitor(namespace, "shop", map[string]string{"app": "shop"})
		outside = newVisitor(elsewhere, "outside", map[string]string{"app": "shop"})
		c = create(newCluster(namespace, "guarded"))
	})

	It("by default lets Pods of the namespace reach the members' port for clients, by their addresses and by the Service", func() {
		inside.may(c, forClients)
		Eventually(inside.connect).WithArguments(c.ClientService()+"."+c.Namespace+".svc", forClients).Should(Succeed())
		Expect(runClient(c, "endpoint", "health")).To(BeEquivalentTo("Succeeded"))
	})

	It("by default lets nobody of other namespaces reach anything", func() {
		outside.may(c)
		Expect(outside.connect(c.ClientService()+"."+c.Namespace+".svc", forClients)).NotTo(Succeed())
	})

	It("lets members go on with each other: one that restarts, those that join, and those that leave", func() {
		put(c, "key", "value")
		victim, _ := aFollower(c)
		deletePod(c, victim)
		comesBack(c, victim)
		resize(c, 5)
		inside.may(c, forClients)
		outside.may(c)
		resize(c, 3)
		Expect(value(c, "key")).To(Equal("value"))
	})

	It("follows the spec: clients, readers of metrics, and a Job that makes a backup", func() {
		wants(v1beta1.NetworkPolicy{
			Mode: v1beta1.NetworkPolicyEnabled,
			Clients: []v1beta1.NetworkPeer{{PodSelector: &v1beta1.NetworkSelector{
				MatchLabels: map[string]v1beta1.LabelValue{"app": "shop"},
			}}},
			Metrics: []v1beta1.NetworkPeer{{NamespaceSelector: &v1beta1.NetworkSelector{
				MatchExpressions: []v1beta1.NetworkExpression{{
					Key: "kubernetes.io/metadata.name", Operator: "In", Values: []v1beta1.LabelValue{v1beta1.LabelValue(outside.namespace)},
				}},
			}}},
		})
		inside.may(c)
		shop.may(c, forClients)
		outside.may(c, forMetrics)
		back(c, newVolumeStore(c.Namespace, "store").Name, "guarded-1")
		settles(c)
	})

	It("lets a block of addresses in, and not what is left out of it", func() {
		address := pod(c, shop.name).Status.PodIP
		wants(v1beta1.NetworkPolicy{Mode: v1beta1.NetworkPolicyEnabled, Clients: []v1beta1.NetworkPeer{{
			IPBlock: &v1beta1.NetworkBlock{CIDR: "10.244.0.0/16", Except: []v1beta1.CIDR{v1beta1.CIDR(address + "/32")}},
		}}})
		outside.may(c, forClients)
		shop.may(c)
	})

	It("puts right what somebody makes of the policy, and makes it again when it is deleted", func() {
		policy := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: c.MemberPolicy()}}
		Expect(api.Get(ctx, keyOf(policy), policy)).To(Succeed())
		policy.Spec.Ingress = append(policy.Spec.Ingress, networkingv1.NetworkPolicyIngressRule{})
		Expect(api.Update(ctx, policy)).To(Succeed())
		isOurs := func(g Gomega) {
			var now networkingv1.NetworkPolicy
			g.Expect(api.Get(ctx, keyOf(policy), &now)).To(Succeed())
			g.Expect(now.Spec.Ingress).To(HaveLen(3))
		}
		Eventually(isOurs).Should(Succeed())
		Expect(api.Delete(ctx, policy)).To(Succeed())
		Eventually(isOurs).Should(Succeed())
		shop.may(c)
		outside.may(c, forClients)
	})

	isGone := func(g Gomega) {
		err := api.Get(ctx, nameIn(c, c.MemberPolicy()), &networkingv1.NetworkPolicy{})
		g.Expect(apierrors.IsNotFound(err)).To(BeTrue(), "%v", err)
	}

	It("Disabled deletes the policy and opens every port, and Enabled closes them again", func() {
		wants(v1beta1.NetworkPolicy{Mode: v1beta1.NetworkPolicyDisabled})
		Eventually(isGone).Should(Succeed())
		outside.may(c, forClients, forPeers, forMetrics)
		stays(3*time.Second, isGone)
		wants(v1beta1.NetworkPolicy{Mode: v1beta1.NetworkPolicyEnabled})
		outside.may(c)
		inside.may(c, forClients)
		settles(c)
		remove(c)
	})

	It("leaves a cluster alone that an earlier release has formed, until its spec asks for a policy", func() {
		c = create(newCluster(c.Namespace, "earlier", oneMember))
		wants(v1beta1.NetworkPolicy{Mode: v1beta1.NetworkPolicyDisabled})
		Eventually(isGone).Should(Succeed())
		formedEarlier(c)
		wants(v1beta1.NetworkPolicy{})
		stays(3*time.Second, isGone)
		outside.may(c, forClients, forPeers, forMetrics)
		wants(v1beta1.NetworkPolicy{Mode: v1beta1.NetworkPolicyEnabled})
		outside.may(c)
		settles(c)
		remove(c)
	})

	It("lets nobody reach the probes of the operator's Pods, and everybody ask for its metrics", func() {
		for _, p := range operatorPods(Default) {
			Eventually(outside.connect).WithArguments(p.Status.PodIP, 8443).Should(Succeed())
			Expect(outside.connect(p.Status.PodIP, 8081)).NotTo(Succeed())
		}
	})
}

// formedEarlier makes of a cluster without a NetworkPolicy what an earlier release leaves: nothing in its status says that it has one.
func formedEarlier(c *v1beta1.EtcdCluster) {
	GinkgoHelper()
	changed := now(c)
	before := client.MergeFrom(changed.DeepCopy())
	changed.Status.Bootstrap.NetworkPolicy = false
	Expect(api.Status().Patch(ctx, changed, before)).To(Succeed())
}

func nameIn(c *v1beta1.EtcdCluster, name string) client.ObjectKey {
	return client.ObjectKey{Namespace: c.Namespace, Name: name}
}
