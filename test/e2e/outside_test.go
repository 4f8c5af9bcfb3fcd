package e2e

import (
	"crypto/tls"
	"net"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
)

// fromOutside are clients that are not in the Kubernetes cluster. docs/operations/connect-from-outside.md.
func fromOutside() {
	const balanced = "203.0.113.7"
	var c *v1alpha1.EtcdCluster
	var before map[string]string // Pods, none of which may restart

	service := func(g Gomega) *corev1.Service {
		var s corev1.Service
		g.Expect(api.Get(ctx, nameIn(c, c.ClientService()), &s)).To(Succeed())
		return &s
	}
	offers := func(asked *v1alpha1.ClientService) {
		GinkgoHelper()
		Expect(edit(c, func(spec *v1alpha1.EtcdClusterSpec) { spec.ClientService = asked })).To(Succeed())
	}
	isKnownBy := func(name string) {
		GinkgoHelper()
		Eventually(func(g Gomega) {
			for _, p := range podsOf(g, c.Namespace, ours(c)) {
				g.Expect(shows(g, c, p, name)).To(Succeed(), p.Name)
			}
		}).WithTimeout(time.Minute).WithPolling(time.Second).Should(Succeed(), "each member to have a certificate for %s", name)
	}
	isKnownByNo := func(name string) {
		GinkgoHelper()
		Eventually(func(g Gomega) {
			for _, p := range podsOf(g, c.Namespace, ours(c)) {
				g.Expect(shows(g, c, p, name)).To(MatchError(ContainSubstring("x509: certificate is valid for")), p.Name)
			}
		}).WithTimeout(time.Minute).WithPolling(time.Second).Should(Succeed(), "no member to have a certificate for %s", name)
	}

	BeforeAll(func() {
		namespace := newNamespace()
		startOperator(namespace)
		c = create(newCluster(namespace, "offered"))
		before = uids(c)
	})

	It("reach members by a port of a node, whose address is in the certificate once the spec names it", func() {
		offers(&v1alpha1.ClientService{Type: v1alpha1.ClientServiceNodePort})
		var address string
		Eventually(func(g Gomega) {
			all := read(g, c).Status.ExternalEndpoints
			g.Expect(all).NotTo(BeEmpty())
			g.Expect(all[0].Source).To(Equal(v1alpha1.FromNode))
			address = all[0].Address
		}).Should(Succeed())
		node, _, err := net.SplitHostPort(address)
		Expect(err).NotTo(HaveOccurred())
		isKnownByNo(node)
		Expect(edit(c, func(spec *v1alpha1.EtcdClusterSpec) {
			spec.TLS.ExtraSANs = []v1alpha1.SAN{v1alpha1.SAN(node), "etcd.example.com"}
		})).To(Succeed())
		isKnownBy(node)
		isKnownBy("etcd.example.com")
		Eventually(puts(byAddress(c, address), "from-outside")).Should(Succeed())
		Expect(value(c, "from-outside")).To(Equal("value"))
		settles(c)
		Expect(uids(c)).To(Equal(before))
	})

	It("reach members by a load balancer, whose address comes into the certificate by itself, without a restart", func() {
		offers(&v1alpha1.ClientService{
			Type: v1alpha1.ClientServiceLoadBalancer, Annotations: map[string]string{"example.com/ours": "a"},
			Labels: map[string]v1alpha1.LabelValue{"pool": "a"}, LoadBalancerSourceRanges: []v1alpha1.CIDR{"192.0.2.0/24"},
		})
		says(c, v1alpha1.ConditionAddressAssigned, v1alpha1.ReasonAddressPending, c.ClientService())
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"status":{"loadBalancer":{"ingress":[{"ip":"`+balanced+`"}]}}}`))
		Expect(api.Status().Patch(ctx, service(Default), patch)).To(Succeed())
		begin := time.Now()
		Eventually(func(g Gomega) {
			g.Expect(read(g, c).Status.ExternalEndpoints).To(Equal([]v1alpha1.ExternalEndpoint{
				{Address: balanced + ":2379", Source: v1alpha1.FromLoadBalancer},
			}))
		}).Should(Succeed())
		says(c, v1alpha1.ConditionAddressAssigned, v1alpha1.ReasonAddressAssigned, c.ClientService())
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
		offers(&v1alpha1.ClientService{Type: v1alpha1.ClientServiceLoadBalancer})
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
			g.Expect(conditionOf(now, v1alpha1.ConditionAddressAssigned).Status).To(BeEmpty())
		}).Should(Succeed())
		isKnownByNo(balanced)
		isKnownBy("etcd.example.com")
		settles(c)
		Expect(uids(c)).To(Equal(before))
	})
}

// shows says why the member of a Pod has no certificate for a name or an address.
func shows(g Gomega, c *v1alpha1.EtcdCluster, p corev1.Pod, name string) error {
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
func byAddress(c *v1alpha1.EtcdCluster, address string) *clientv3.Client {
	GinkgoHelper()
	config := identity(c)
	config.ServerName = ""
	made, err := clientv3.New(clientv3.Config{Endpoints: []string{"https://" + address}, TLS: config, Logger: zap.NewNop()})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(made.Close)
	return made
}
