// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// otherLayouts are of running clusters as other operators and kubeadm lay them out, by manifests of our own.
func otherLayouts() {
	It("kubectl etcd adopt says what would happen to a cluster of etcd-io/etcd-operator, and then adopts it", Label("long"), func() {
		namespace := newNamespace()
		startOperatorInCluster(namespace)
		s := ofEtcdIO(namespace, "simple")
		before := s.fill()
		etcd := kubectlEtcd(namespace)
		flags := []string{"adopt", "simple", "--name", "etcd", "--storage-size", "256Mi"}
		said := etcd(0, append(flags, "--dry-run")...)
		Expect(said).To(And(ContainSubstring("a StatefulSet of etcd-io/etcd-operator"), ContainSubstring("simple-2: etcd 3.6.16"),
			ContainSubstring("none is seen"), ContainSubstring("statefulset/simple"), ContainSubstring("headless Service simple")))
		c := newCluster(namespace, "etcd")
		Expect(api.Get(ctx, client.ObjectKeyFromObject(c), c)).NotTo(Succeed(), "nothing was made")
		file := filepath.Join(GinkgoT().TempDir(), "adopt.yaml")
		Expect(os.WriteFile(file, []byte(said), 0o600)).To(Succeed())
		Expect(kubectl("-n", namespace, "apply", "--dry-run=server", "-f", file)).To(Succeed())
		begun := time.Now()
		Expect(etcd(0, append(flags, "--timeout", "4m")...)).To(ContainSubstring("EtcdCluster etcd has taken over"))
		measured("adoption by kubectl etcd", time.Since(begun))
		settles(c)
		s.isStopped()
		Expect(s.taken(c)).To(Equal(before))
	})

	It("fault 120: takes over Pods of coreos/etcd-operator, which nothing starts again", Label("long"), func() {
		needsService()
		namespace := newNamespace()
		startOperatorInCluster(namespace)
		s := ofCoreOS(namespace, "core")
		before := s.fill()
		c := applied(newCluster(namespace, "etcd", func(spec *v1beta1.EtcdClusterSpec) {
			spec.Version, spec.TLS.Mode = "3.5", v1beta1.TLSDisabled
			spec.Bootstrap = &v1beta1.BootstrapSpec{Adopt: &v1beta1.Adopt{
				Endpoints: []string{"http://core-b7xk2.core." + namespace + ".svc:2379"}, Services: []string{"core-client"},
			}}
		}))
		url, err := serviceURL(namespace, "core-client", "http")
		Expect(err).NotTo(HaveOccurred())
		writer := s.client(url)
		beats := writesWhile(writer, func() { isAdopted(c) })
		Expect(beats.Gap).To(BeNumerically("<", outage))
		settles(c)
		Expect(s.read(writer)).To(Equal(before))
		Eventually(func(g Gomega) {
			g.Expect(podsOf(g, namespace, client.MatchingLabels(s.has))).To(HaveEach(HaveField("Status.Phase",
				BeElementOf(corev1.PodSucceeded, corev1.PodFailed))), "their etcd has ended, because its member was removed")
		}).Should(Succeed())
	})

	It("fault 116: takes over the only member of a control plane as kubeadm makes it, and removes nothing before three have joined",
		Label("long"), func() {
			namespace := newNamespace()
			privileged(namespace)
			startOperatorInCluster(namespace)
			s := ofKubeadm(namespace)
			before := s.fill()
			c := applied(newCluster(namespace, "etcd", func(spec *v1beta1.EtcdClusterSpec) {
				spec.Version = "3.6"
				authority := &v1beta1.LocalSecret{Name: "etcd-ca"}
				spec.Bootstrap = &v1beta1.BootstrapSpec{Adopt: &v1beta1.Adopt{
					Endpoints: s.urls(), ClientSecretRef: &v1beta1.LocalSecret{Name: "etcd-root"},
					PeerAuthorityRef: authority, ClientAuthorityRef: authority,
				}}
			}))
			isAdopted(c) // the rotation of its authority goes on for minutes
			Expect(now(c).Status.Adoption.Sources).To(HaveLen(1))
			Expect(listed(dial(c))).To(ConsistOf("etcd-0", "etcd-1", "etcd-2"))
			Expect(s.read(dial(c))).To(Equal(before))
		})

	It("fault 119: says that a NetworkPolicy may be in the way, and goes on when it is not", Label("long", "network"), func() {
		needsEnforcement()
		namespace := newNamespace()
		startOperatorInCluster(namespace)
		s := newSource(namespace, "walled")
		meta := metav1.ObjectMeta{Namespace: namespace, Name: "wall"}
		wall := &networkingv1.NetworkPolicy{ObjectMeta: meta, Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: s.labels()}, PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
			Ingress: []networkingv1.NetworkPolicyIngressRule{
				{From: []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{MatchLabels: s.labels()}}}},
				{Ports: []networkingv1.NetworkPolicyPort{{Port: ptr.To(intstr.FromInt32(2379))}}},
			},
		}}
		Expect(api.Create(ctx, wall)).To(Succeed())
		c := applied(adopting(s, "etcd", func(*v1beta1.Adopt) {}))
		says(c, v1beta1.ConditionProgressing, v1beta1.ReasonWaiting, "look for NetworkPolicies")
		Expect(api.Delete(ctx, wall)).To(Succeed())
		isAdopted(c)
		settles(c)
	})

	It("fault 120: scales a StatefulSet down again that something scales up, and routes a Service again that others edit (fault 121)",
		Label("long"), func() {
			needsService()
			namespace := newNamespace()
			startOperatorInCluster(namespace)
			s := newSource(namespace, "legacy")
			before := s.fill()
			c := applied(adopting(s, "etcd", func(a *v1beta1.Adopt) { a.Services, a.StatefulSet = []string{s.name}, s.name }))
			Eventually(func(g Gomega) {
				var set appsv1.StatefulSet
				g.Expect(api.Get(ctx, client.ObjectKey{Namespace: namespace, Name: s.name}, &set)).To(Succeed())
				g.Expect(*set.Spec.Replicas).To(BeNumerically("<", 3))
			}).Should(Succeed())
			Expect(kubectl("-n", namespace, "scale", "statefulset/"+s.name, "--replicas=3")).To(Succeed())
			Expect(kubectl("-n", namespace, "patch", "service/"+s.name, "--type=json", "-p",
				`[{"op":"replace","path":"/spec/selector","value":{"app.kubernetes.io/instance":"legacy"}}]`)).To(Succeed())
			isAdopted(c)
			settles(c)
			s.isStopped()
			Expect(s.read(s.client(s.serviceURL()))).To(Equal(before))
		})
}
