// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"net"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

func deployed() {
	BeforeAll(func() {
		var found appsv1.Deployment
		Expect(api.Get(ctx, deployment, &found)).To(Succeed(), "make images deploy")
		if ptr.Deref(found.Spec.Replicas, 1) == 0 {
			scaleDeployed(2)
		}
		Eventually(func(g Gomega) {
			g.Expect(api.Get(ctx, deployment, &found)).To(Succeed())
			g.Expect(found.Status.ObservedGeneration).To(Equal(found.Generation))
			g.Expect(found.Status.ReadyReplicas).To(Equal(*found.Spec.Replicas))
			g.Expect(found.Status.UpdatedReplicas).To(Equal(*found.Spec.Replicas))
		}).Should(Succeed())
	})

	It("runs in a namespace under Pod Security restricted", Label("gate"), func() {
		var namespace corev1.Namespace
		Expect(api.Get(ctx, client.ObjectKey{Name: deployment.Namespace}, &namespace)).To(Succeed())
		Expect(namespace.Labels).To(HaveKeyWithValue("pod-security.kubernetes.io/enforce", "restricted"))
	})

	It("is what dist/install.yaml says: to apply that changes nothing", Label("gate"), func() {
		var before, after appsv1.Deployment
		Expect(api.Get(ctx, deployment, &before)).To(Succeed())
		writeManifest()
		run("kubectl", "apply", "--server-side", "-f", manifest)
		Expect(api.Get(ctx, deployment, &after)).To(Succeed())
		Expect(after.UID).To(Equal(before.UID))
		Expect(after.Spec).To(Equal(before.Spec))
	})

	It("answers /healthz and /readyz", Label("gate"), func() {
		Eventually(func(g Gomega) { // a Pod that was just deleted is listed for a moment
			running := operatorPods(g)
			g.Expect(running).To(HaveLen(2))
			for _, p := range running {
				for _, path := range []string{"healthz", "readyz"} {
					response, err := direct.Get("http://" + net.JoinHostPort(p.Status.PodIP, "8081") + "/" + path)
					g.Expect(err).NotTo(HaveOccurred())
					g.Expect(response.Body.Close()).To(Succeed())
					g.Expect(response.StatusCode).To(Equal(http.StatusOK))
				}
			}
		}).Should(Succeed())
	})

	It("serves metrics over HTTPS to those who may read them", Label("gate"), func() {
		answered := surely(func(g Gomega) answer { return metrics(g, "") })
		Expect(answered.Code).To(Equal(http.StatusUnauthorized))
		token := tokenOf(newReader(false))
		answered = surely(func(g Gomega) answer { return metrics(g, token) })
		Expect(answered.Code).To(Equal(http.StatusForbidden))
		token = tokenOf(newReader(true))
		Eventually(metrics).WithArguments(token).Should(And( // a right is known to the API server a moment after it is given
			HaveField("Code", http.StatusOK), HaveField("Text", ContainSubstring("go_goroutines"))))
	})

	It("brings a cluster up, changes it, and lets it go", Label("gate"), func() {
		c := create(newCluster(newNamespace(), "served"))
		put(c, "key", "value")
		resize(c, 5)
		victim, _ := aFollower(c)
		deletePod(c, victim)
		comesBack(c, victim)
		resize(c, 3)
		Expect(value(c, "key")).To(Equal("value"))
		remove(c)
	})

	It("is installed by kubectl apply -f dist/install.yaml on a cluster that has never seen it", Label("long"), func() {
		allNamespacesGo() // and the clusters of other specs with them
		var clusters v1beta1.EtcdClusterList
		Expect(api.List(ctx, &clusters)).To(Succeed())
		if !isLocal() || len(clusters.Items) > 0 {
			Skip("removes the operator and its types first: on the local cluster only, and where no cluster would go with them")
		}
		writeManifest()
		run("kubectl", "delete", "-f", manifest, "--ignore-not-found", "--timeout=2m")
		run("kubectl", "apply", "-f", manifest)
		run("kubectl", "-n", deployment.Namespace, "rollout", "status", "deployment/"+deployment.Name, "--timeout=3m")
		remove(create(newCluster(newNamespace(), "first", oneMember)))
	})
}
