// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"crypto/rand"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/certs/pki"
	builder "github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// fromSecrets has certificates come from Secrets that a person brings.
func fromSecrets(spec *v1beta1.EtcdClusterSpec) {
	spec.TLS.SecretRefs = &v1beta1.SecretRefs{
		Server: v1beta1.LocalSecret{Name: "web"}, Peer: v1beta1.LocalSecret{Name: "gossip"},
		Operator: v1beta1.LocalSecret{Name: "operator"}, Client: &v1beta1.LocalSecret{Name: "shop"},
	}
	spec.TLS.IssuerRef = nil
}

// fromIssuer has cert-manager issue them.
func fromIssuer(kind, name string) func(*v1beta1.EtcdClusterSpec) {
	return func(spec *v1beta1.EtcdClusterSpec) {
		spec.TLS.SecretRefs, spec.TLS.IssuerRef = nil, &v1beta1.IssuerRef{Kind: kind, Name: name}
	}
}

// A person has an authority, and brings certificates for a cluster.
type person struct {
	c  *v1beta1.EtcdCluster
	ca pki.Pair
}

func newPerson(c *v1beta1.EtcdCluster) *person {
	GinkgoHelper()
	ca, err := pki.NewCA(rand.Reader, time.Now().Add(-100*24*time.Hour), "somebody", 1000*24*time.Hour)
	Expect(err).NotTo(HaveOccurred())
	return &person{c, ca}
}

// request is what the certificate of a Secret is to be for.
func (p *person) request(secret string) pki.Request {
	r := pki.Request{CommonName: secret, Client: true, Lifetime: 90 * 24 * time.Hour}
	switch secret {
	case "web":
		r.Server, r.DNSNames = true, []string{builder.Host(p.c, "*"), p.c.ClientService() + "." + p.c.Namespace + ".svc", "localhost"}
	case "gossip":
		r.Server, r.DNSNames = true, []string{builder.Host(p.c, "*")}
	case "operator":
		r.CommonName = "root"
	}
	return r
}

// issues makes a certificate as of some time; its Secret is not written.
func (p *person) issues(secret string, at time.Time, change ...func(*pki.Request)) *corev1.Secret {
	GinkgoHelper()
	r := p.request(secret)
	for _, one := range change {
		one(&r)
	}
	pair, err := pki.Issue(rand.Reader, at, p.ca, r)
	Expect(err).NotTo(HaveOccurred())
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.c.Namespace, Name: secret}, Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{corev1.TLSCertKey: pair.CertPEM, corev1.TLSPrivateKeyKey: pair.KeyPEM, builder.CAKey: p.ca.CertPEM},
	}
}

// bring writes a Secret, whatever was in it.
func bring(secret *corev1.Secret) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		there := &corev1.Secret{}
		err := api.Get(ctx, client.ObjectKeyFromObject(secret), there)
		if err != nil {
			g.Expect(client.IgnoreNotFound(err)).To(Succeed())
			g.Expect(api.Create(ctx, secret.DeepCopy())).To(Succeed())
			return
		}
		there.Data = secret.Data
		g.Expect(api.Update(ctx, there)).To(Succeed())
	}).Should(Succeed())
}

// bringAll has the person bring all that a cluster needs.
func (p *person) bringAll() {
	GinkgoHelper()
	bring(p.issues("web", time.Now()))
	p.bringOthers()
}

// bringOthers has the person bring all that a cluster needs but web, without which it does not form.
func (p *person) bringOthers() {
	GinkgoHelper()
	for _, name := range []string{"gossip", "operator", "shop"} {
		bring(p.issues(name, time.Now()))
	}
}

// bringShort has the person bring all again, with certificates that live that long, and waits until members have them.
func (p *person) bringShort(life time.Duration) {
	GinkgoHelper()
	shown := shownServer(Default, p.c)
	for _, name := range []string{"web", "gossip", "operator", "shop"} {
		bring(p.issues(name, time.Now(), func(r *pki.Request) { r.Lifetime = life }))
	}
	lookAt(p.c)
	Eventually(func(g Gomega) { g.Expect(shownServer(g, p.c)).NotTo(Equal(shown)) }).Should(Succeed())
}

// haveExpired waits until certificates have expired that live for minutes, and the operator itself is refused.
func haveExpired(c *v1beta1.EtcdCluster) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(conditionOf(read(g, c), v1beta1.ConditionCertificatesAccepted).Reason).To(Equal(v1beta1.ReasonExpired))
		g.Expect(conditionOf(read(g, c), v1beta1.ConditionAvailable).Status).NotTo(Equal(metav1.ConditionTrue))
	}).Should(Succeed())
}

// lookAt has the operator look at the Secrets of a cluster or a user at once, which otherwise takes up to ten minutes.
func lookAt(owner client.Object) {
	GinkgoHelper()
	patch := client.RawPatch(types.MergePatchType,
		fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, v1beta1.AnnotationCheck, time.Now().String()))
	Expect(api.Patch(ctx, owner.DeepCopyObject().(client.Object), patch)).To(Succeed())
}

// bringFor has the person bring the certificate of a user.
func (p *person) bringFor(u *v1beta1.EtcdUser) {
	GinkgoHelper()
	bring(p.issues(u.IssuedSecret(), time.Now(), func(r *pki.Request) { r.CommonName = u.Name }))
	lookAt(u)
	isInPlace(u)
}

// hasCertManager says whether Kubernetes has the kinds of cert-manager.
func hasCertManager() bool {
	GinkgoHelper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(builder.CertificateKind)
	err := api.List(ctx, list, client.Limit(1))
	if meta.IsNoMatchError(err) {
		return false
	}
	Expect(err).NotTo(HaveOccurred())
	return true
}

const certManagerNamespace = "cert-manager"

// newAuthority has cert-manager make an authority, and an issuer of that kind that signs by it. It has the name of the namespace.
func newAuthority(namespace, kind string) (name string) {
	GinkgoHelper()
	in := namespace
	if kind == "ClusterIssuer" {
		in = certManagerNamespace
	}
	for _, text := range []string{
		fmt.Sprintf("kind: Issuer\nmetadata: {name: %s-self, namespace: %s}\nspec: {selfSigned: {}}", namespace, in),
		fmt.Sprintf("kind: Certificate\nmetadata: {name: %s-ca, namespace: %s}\nspec: {isCA: true, commonName: corp, secretName: %s-ca, "+
			"duration: 87600h, privateKey: {algorithm: ECDSA, size: 256}, issuerRef: {name: %s-self, kind: Issuer}}",
			namespace, in, namespace, namespace),
		fmt.Sprintf("kind: %s\nmetadata: {name: %s, namespace: %s}\nspec: {ca: {secretName: %s-ca}}", kind, namespace, in, namespace),
	} {
		object := &unstructured.Unstructured{}
		Expect(yaml.Unmarshal([]byte("apiVersion: cert-manager.io/v1\n"+text), &object.Object)).To(Succeed())
		if object.GetKind() == "ClusterIssuer" {
			object.SetNamespace("")
		}
		Eventually(func() error { return client.IgnoreAlreadyExists(api.Create(ctx, object.DeepCopy())) }).Should(Succeed())
		DeferCleanup(func() { Expect(client.IgnoreNotFound(api.Delete(ctx, object))).To(Succeed()) })
	}
	return namespace
}

// scaleCertManager stops and starts its controller.
func scaleCertManager(replicas int32) {
	GinkgoHelper()
	controller := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: certManagerNamespace, Name: "cert-manager"}}
	Eventually(func(g Gomega) {
		g.Expect(api.Get(ctx, client.ObjectKeyFromObject(controller), controller)).To(Succeed())
		controller.Spec.Replicas = ptr.To(replicas)
		g.Expect(api.Update(ctx, controller)).To(Succeed())
	}).Should(Succeed())
	Eventually(func(g Gomega) {
		g.Expect(api.Get(ctx, client.ObjectKeyFromObject(controller), controller)).To(Succeed())
		g.Expect(controller.Status.ObservedGeneration).To(Equal(controller.Generation))
		g.Expect(controller.Status.Replicas).To(Equal(replicas))
		g.Expect(controller.Status.ReadyReplicas).To(Equal(replicas))
	}).Should(Succeed())
}

// shownServer is the certificate that members show to clients, as their Secret has it.
func shownServer(g Gomega, c *v1beta1.EtcdCluster) string {
	var secret corev1.Secret
	g.Expect(api.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: builder.MemberSecret(c)}, &secret)).To(Succeed())
	return string(secret.Data[builder.ServerCertKey])
}

// forget deletes a Secret that cert-manager has written, which has it issue another.
func forget(c *v1beta1.EtcdCluster, secret string) {
	GinkgoHelper()
	Expect(api.Delete(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: secret}})).To(Succeed())
}
