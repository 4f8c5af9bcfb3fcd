// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"crypto/tls"
	"fmt"
	"net"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// fromOutside are clients that are not in the Kubernetes cluster. docs/operations/connect-from-outside.md.
func fromOutside() {
	const balanced = "203.0.113.7"
	var c *v1beta1.EtcdCluster
	var before map[string]string // Pods, none of which may restart

	service := func(g Gomega) *corev1.Service {
		var s corev1.Service
		g.Expect(api.Get(ctx, nameIn(c, c.ClientService()), &s)).To(Succeed())
		return &s
	}
	offers := func(asked *v1beta1.ClientService) {
		GinkgoHelper()
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.ClientService = asked })).To(Succeed())
	}
	isKnownBy := func(name string) {
		GinkgoHelper()
		Eventually(func(g Gomega) {
			for _, p := range podsOf(g, c.Namespace, ours(c)) {
				g.Expect(shows(g, c, p, name)).To(Succeed(), p.Name)
			}
		}).WithPolling(time.Second).Should(Succeed(), "each member to have a certificate for %s", name)
	}
	isKnownByNo := func(name string) {
		GinkgoHelper()
		Eventually(func(g Gomega) {
			for _, p := range podsOf(g, c.Namespace, ours(c)) {
				g.Expect(shows(g, c, p, name)).To(MatchError(ContainSubstring("x509: certificate is valid for")), p.Name)
			}
		}).WithPolling(time.Second).Should(Succeed(), "no member to have a certificate for %s", name)
	}

	BeforeAll(func() {
		namespace := newNamespace()
		startOperator(namespace)
		c = create(newCluster(namespace, "offered"))
		before = uids(c)
	})

	It("reach members by a port of a node, whose address is in the certificate once the spec names it", Label("gate"), func() {
		offers(&v1beta1.ClientService{Type: v1beta1.ClientServiceNodePort})
		var address string
		Eventually(func(g Gomega) {
			all := read(g, c).Status.ExternalEndpoints
			g.Expect(all).NotTo(BeEmpty())
			g.Expect(all[0].Source).To(Equal(v1beta1.FromNode))
			address = all[0].Address
		}).Should(Succeed())
		node, _, err := net.SplitHostPort(address)
		Expect(err).NotTo(HaveOccurred())
		isKnownByNo(node)
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) {
			spec.TLS.ExtraSANs = []v1beta1.SAN{v1beta1.SAN(node), "etcd.example.com"}
		})).To(Succeed())
		isKnownBy(node)
		isKnownBy("etcd.example.com")
		Eventually(puts(byAddress(c, address), "from-outside")).Should(Succeed())
		Expect(value(c, "from-outside")).To(Equal("value"))
		settles(c)
		Expect(uids(c)).To(Equal(before))
	})

	It("reach members by a load balancer, whose address comes into the certificate by itself, without a restart", func() {
		offers(&v1beta1.ClientService{
			Type: v1beta1.ClientServiceLoadBalancer, Annotations: map[string]string{"example.com/ours": "a"},
			Labels: map[string]v1beta1.LabelValue{"pool": "a"}, LoadBalancerSourceRanges: []v1beta1.CIDR{"192.0.2.0/24"},
		})
		says(c, v1beta1.ConditionAddressAssigned, v1beta1.ReasonAddressPending, c.ClientService())
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"status":{"loadBalancer":{"ingress":[{"ip":"`+balanced+`"}]}}}`))
		Expect(api.Status().Patch(ctx, service(Default), patch)).To(Succeed())
		begin := time.Now()
		Eventually(func(g Gomega) {
			g.Expect(read(g, c).Status.ExternalEndpoints).To(Equal([]v1beta1.ExternalEndpoint{
				{Address: balanced + ":2379", Source: v1beta1.FromLoadBalancer},
			}))
		}).Should(Succeed())
		says(c, v1beta1.ConditionAddressAssigned, v1beta1.ReasonAddressAssigned, c.ClientService())
		isKnownBy(balanced)
		AddReportEntry("the address was in every certificate after", time.Since(begin).String())
		settles(c)
		Expect(uids(c)).To(Equal(before))
	})

	It("are not cut off from what others have written on the Service; what the spec has no more goes", func() {
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"others":"b","example.com/ours":"c"}}}`))
		Expect(api.Patch(ctx, service(Default), patch)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(service(g).Annotations).To(And(HaveKeyWithValue("others", "b"), HaveKeyWithValue("example.com/ours", "a")))
		}).Should(Succeed())
		offers(&v1beta1.ClientService{Type: v1beta1.ClientServiceLoadBalancer})
		Eventually(func(g Gomega) {
			s := service(g)
			g.Expect(s.Annotations).To(And(HaveKeyWithValue("others", "b"), Not(HaveKey("example.com/ours"))))
			g.Expect(s.Labels).NotTo(HaveKey("pool"))
			g.Expect(s.Spec.LoadBalancerSourceRanges).To(BeEmpty())
			g.Expect(s.Status.LoadBalancer.Ingress).NotTo(BeEmpty())
		}).Should(Succeed())
	})

	It("are shut out again with type ClusterIP, and the address goes from the status and the certificate", func() {
		offers(nil)
		Eventually(func(g Gomega) {
			s := service(g)
			g.Expect(s.Spec.Type).To(Equal(corev1.ServiceTypeClusterIP))
			g.Expect(s.Spec.Ports[0].NodePort).To(BeZero())
			now := read(g, c)
			g.Expect(now.Status.ExternalEndpoints).To(BeEmpty())
			g.Expect(conditionOf(now, v1beta1.ConditionAddressAssigned).Status).To(BeEmpty())
		}).Should(Succeed())
		isKnownByNo(balanced)
		isKnownBy("etcd.example.com")
		settles(c)
		Expect(uids(c)).To(Equal(before))
	})

	It("fault 113: are sent by Gateways once the Gateway API is there, and a Gateway takes the TLSRoute", func() {
		undefineTLSRoutes()
		offers(&v1beta1.ClientService{TLSRoute: &v1beta1.TLSRoute{
			ParentRefs: []v1beta1.RouteParent{{Name: "edge", SectionName: "etcd"}}, Hostnames: []v1beta1.Hostname{"route.example.com"},
		}})
		says(c, v1beta1.ConditionRouteAccepted, v1beta1.ReasonGatewayAPIMissing, "Kubernetes knows no TLSRoutes of the Gateway API")
		isKnownBy("route.example.com")
		apply(readObject(tlsRoutes()))
		DeferCleanup(undefineTLSRoutes)
		says(c, v1beta1.ConditionRouteAccepted, v1beta1.ReasonRoutePending, "Gateway edge has not said whether it takes TLSRoute")
		route := &unstructured.Unstructured{}
		route.SetGroupVersionKind(specs.TLSRouteKind)
		Expect(api.Get(ctx, nameIn(c, c.ClientService()), route)).To(Succeed())
		verdict := func(status, reason string) {
			GinkgoHelper()
			Expect(api.Status().Patch(ctx, route, client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"status":{"parents":[{
				"controllerName":"example.com/edge","parentRef":{"name":"edge","sectionName":"etcd"},"conditions":[{"type":"Accepted","status":"%s",
				"reason":"%s","message":"","observedGeneration":%d,"lastTransitionTime":"2026-01-01T00:00:00Z"}]}]}}`,
				status, reason, route.GetGeneration())))).To(Succeed())
		}
		verdict("False", "NotAllowedByListeners")
		says(c, v1beta1.ConditionRouteAccepted, v1beta1.ReasonRouteRefused, "Gateway edge: Accepted is false, NotAllowedByListeners")
		verdict("True", "Accepted")
		says(c, v1beta1.ConditionRouteAccepted, v1beta1.ReasonRouteAccepted, "takes TLSRoute "+c.ClientService())
		offers(nil)
		Eventually(func(g Gomega) {
			g.Expect(apierrors.IsNotFound(api.Get(ctx, keyOf(route), route))).To(BeTrue())
			g.Expect(conditionOf(read(g, c), v1beta1.ConditionRouteAccepted).Status).To(BeEmpty())
		}).Should(Succeed())
		isKnownByNo("route.example.com")
		Expect(uids(c)).To(Equal(before))
	})

	It("fault 112: reach each member by a Service of its own, which comes and goes with it, and is put right", func() {
		offers(&v1beta1.ClientService{PerMember: &v1beta1.MemberService{
			Type: v1beta1.ClientServiceNodePort, Annotations: map[string]string{"example.com/name": "$(MEMBER).example.com"},
		}})
		var byMember []v1beta1.ExternalEndpoint
		Eventually(func(g Gomega) {
			byMember = read(g, c).Status.ExternalEndpoints
			g.Expect(byMember).To(HaveLen(3))
		}).Should(Succeed())
		for _, e := range byMember {
			Expect(e.Member).NotTo(BeEmpty())
			Eventually(puts(byAddress(c, e.Address), e.Member)).Should(Succeed())
		}
		name := nameIn(c, v1beta1.MemberServiceOf(byMember[0].Member))
		var one corev1.Service
		Expect(api.Get(ctx, name, &one)).To(Succeed())
		Expect(one.Annotations).To(HaveKeyWithValue("example.com/name", byMember[0].Member+".example.com"))
		edited := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"selector":{"`+v1beta1.LabelMember+`":"another"}}}`))
		Expect(api.Patch(ctx, &one, edited)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(api.Get(ctx, name, &one)).To(Succeed())
			g.Expect(one.Spec.Selector).To(HaveKeyWithValue(v1beta1.LabelMember, byMember[0].Member))
		}).Should(Succeed())
		Expect(uids(c)).To(Equal(before))

		By("taking two members away")
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.Size = new(int32(1)) })).To(Succeed())
		settles(c)
		services := func(g Gomega) []corev1.Service {
			var all corev1.ServiceList
			g.Expect(api.List(ctx, &all, client.InNamespace(c.Namespace), client.HasLabels{v1beta1.LabelMember})).To(Succeed())
			return all.Items
		}
		Eventually(services).Should(HaveLen(1))
		offers(nil)
		Eventually(services).Should(BeEmpty())
	})
}

// gatewayAPI is the module whose definition of TLSRoutes is applied.
const gatewayAPI = "sigs.k8s.io/gateway-api@v1.6.3"

// tlsRoutes is the file of the definition.
func tlsRoutes() string {
	GinkgoHelper()
	return filepath.Join(moduleOf(gatewayAPI), "config/crd/standard/gateway.networking.k8s.io_tlsroutes.yaml")
}

func undefineTLSRoutes() {
	GinkgoHelper()
	Expect(kubectl("delete", "--ignore-not-found", "-f", tlsRoutes())).To(Succeed())
}

// shows says why the member of a Pod has no certificate for a name or an address.
func shows(g Gomega, c *v1beta1.EtcdCluster, p corev1.Pod, name string) error {
	config := identityOf(g, c).Clone()
	config.ServerName = name
	dialer := &net.Dialer{Timeout: patience}
	connection, err := tls.DialWithDialer(dialer, "tcp", net.JoinHostPort(p.Status.PodIP, "2379"), config)
	if err != nil {
		return err
	}
	return connection.Close()
}

// byAddress is a client that knows the members by this address alone, and verifies that.
func byAddress(c *v1beta1.EtcdCluster, address string) *clientv3.Client {
	GinkgoHelper()
	config := identity(c)
	config.ServerName = ""
	made, err := clientv3.New(clientv3.Config{Endpoints: []string{"https://" + address}, TLS: config, Logger: zap.NewNop()})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(made.Close)
	return made
}
