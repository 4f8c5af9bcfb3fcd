// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/certs/pki"
	builder "github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

const accepted = v1beta1.ConditionCertificatesAccepted

// sources are certificates that the operator does not make. docs/operations/certificates.md.
func sources() {
	var namespace string

	BeforeEach(func() { namespace = newNamespace() })

	It("fault 81: a cluster waits for Secrets of a person that serve; one that runs goes on with what it has", Label("gate", "long"), func() {
		startOperator(namespace)
		c := newCluster(namespace, "brought", fromSecrets)
		Expect(api.Create(ctx, c)).To(Succeed())
		says(c, accepted, v1beta1.ReasonSecretMissing, "Secret web: there is no such Secret: create it")
		p := newPerson(c)
		p.bringOthers()
		other, now := newPerson(c), time.Now()
		for _, bad := range []struct {
			reason, words string
			secret        *corev1.Secret
		}{
			{v1beta1.ReasonExpired, "renew it", p.issues("web", now.Add(-95*24*time.Hour))},
			{v1beta1.ReasonWrongName, "localhost", p.issues("web", now, func(r *pki.Request) { r.DNSNames = r.DNSNames[:2] })},
			{v1beta1.ReasonWrongUsage, "server auth and client auth", p.issues("web", now, func(r *pki.Request) { r.Client = false })},
			{v1beta1.ReasonKeyMismatch, "in one update", with(p.issues("web", now), corev1.TLSPrivateKeyKey, p.issues("web", now))},
			{v1beta1.ReasonWrongAuthority, "no authority in ca.crt", with(p.issues("web", now), builder.CAKey, other.issues("web", now))},
		} {
			bring(bad.secret)
			says(c, accepted, bad.reason, bad.words)
			Expect(pods(c)).To(BeEmpty(), bad.reason)
		}
		says(c, v1beta1.ConditionProgressing, v1beta1.ReasonWaiting, "Secret web")
		bring(p.issues("web", time.Now()))
		settles(c)
		put(c, "before", "kept")

		By("a renewal that is half written")
		before := uids(c)
		good := shownServer(Default, c)
		bring(with(p.issues("web", time.Now()), corev1.TLSPrivateKeyKey, p.issues("web", time.Now())))
		says(c, accepted, v1beta1.ReasonKeyMismatch, "members go on with the certificates that they have")
		says(c, v1beta1.ConditionDegraded, v1beta1.ReasonCertificatesNotAccepted, "Secret web")
		Expect(shownServer(Default, c)).To(Equal(good))
		put(c, "meanwhile", "written")

		By("and then whole: nobody restarts")
		bring(p.issues("web", time.Now()))
		Eventually(func(g Gomega) { g.Expect(shownServer(g, c)).NotTo(Equal(good)) }).Should(Succeed())
		settles(c)
		Expect(uids(c)).To(Equal(before))

		By("a user, whose certificate the person brings, too")
		DeferCleanup(usersGo, namespace)
		newRole(c, "orders", "/orders/")
		u := newUser(c, "orders", v1beta1.CertificateAuthentication, "orders")
		Eventually(reasonOf(u)).Should(Equal(v1beta1.ReasonNoAuthority))
		bring(other.issues(u.IssuedSecret(), time.Now(), func(r *pki.Request) { r.CommonName = "orders" }))
		lookAt(u)
		Eventually(reasonOf(u)).Should(Equal(v1beta1.ReasonWrongAuthority))
		p.bringFor(u)
		switchAuth(c, true)
		mayWriteOnly(c, u, "/orders/")
	})

	// Each waits for certificates to expire: they are specs of their own to wait side by side.
	for _, source := range []struct {
		what   string
		labels Labels
		change func(c *v1beta1.EtcdCluster)
	}{
		{"others by another authority", Label("long"), func(c *v1beta1.EtcdCluster) { newPerson(c).bringAll() }},
		{"those of the operator", nil, func(c *v1beta1.EtcdCluster) {
			Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.TLS.SecretRefs = nil })).To(Succeed())
		}},
	} {
		It("fault 86: certificates of a person have expired, and "+source.what+" bring the cluster back", source.labels, Label("long"), func() {
			startOperator(namespace)
			c := newCluster(namespace, "expired", fromSecrets)
			p := newPerson(c)
			p.bringAll()
			create(c)
			put(c, "before", "kept")
			signed, before := signers(c), uids(c)
			p.bringShort(2 * time.Minute)
			says(c, v1beta1.ConditionAvailable, v1beta1.ReasonHealthy, "")
			haveExpired(c)
			Expect(uids(c)).To(Equal(before))
			begun := time.Now()
			source.change(c)
			lookAt(c)
			isRotated(c, signed, "client", "peer")
			measured("from another source to a cluster that serves again", time.Since(begun))
			Expect(value(c, "before")).To(Equal("kept"))
			put(c, "after", "written")
			for name, uid := range uids(c) {
				Expect(uid).NotTo(Equal(before[name]))
			}
		})
	}

	It("cert-manager that is not installed is told, and the cluster forms when it is not wanted any more", func() {
		if hasCertManager() {
			Skip("this Kubernetes has cert-manager")
		}
		startOperator(namespace)
		c := newCluster(namespace, "unissued", oneMember, fromIssuer("Issuer", "corp"))
		Expect(api.Create(ctx, c)).To(Succeed())
		says(c, accepted, v1beta1.ReasonCertManagerMissing, "install cert-manager")
		Expect(pods(c)).To(BeEmpty())
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.TLS.IssuerRef = nil })).To(Succeed())
		settles(c)
		put(c, "key", "value")
	})
}

// with takes one key of a Secret from another one.
func with(secret *corev1.Secret, key string, other *corev1.Secret) *corev1.Secret {
	secret.Data[key] = other.Data[key]
	return secret
}

// changesOfSource are on a live cluster.
func changesOfSource() {
	var namespace string

	BeforeEach(func() {
		needsService()
		namespace = newNamespace()
	})

	It("from its own authorities to a person's, to another one, and back, and no client notices", func() {
		startOperator(namespace)
		c := create(newCluster(namespace, "moved"))
		w, watched := startMounted(c), callWitness(c)
		for _, change := range []func(){
			func() { newPerson(c).bringAll(); Expect(edit(c, fromSecrets)).To(Succeed()) },
			func() { newPerson(c).bringAll() },
			func() {
				Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.TLS.SecretRefs = nil })).To(Succeed())
			},
		} {
			signed := signers(c)
			change()
			isRotated(c, signed, "client", "peer")
		}
		watched.KeptServing(3)
		Expect(w.end().failed).To(BeEmpty())
		AddReportEntry("longest write", w.longest.String())
	})

	It("fault 81: an operator that dies at each write of a change of source finishes it", func() {
		needsOwnOperator()
		o := startOperator(namespace)
		c := create(newCluster(namespace, "halfmoved"))
		newPerson(c).bringAll()
		signed := signers(c)
		w := startMounted(c)
		diesAfterOne := func() <-chan struct{} {
			left := 1
			return diesAt(o, "PATCH secrets", func() bool { left--; return left < 0 })
		}
		died := diesAfterOne()
		Expect(edit(c, fromSecrets)).To(Succeed())
		for range 9 {
			Eventually(died).WithTimeout(rotationTakes).Should(BeClosed())
			o.restart()
			died = diesAfterOne()
		}
		o.Heal()
		isRotated(c, signed, "client", "peer")
		Expect(w.end().failed).To(BeEmpty())
	})
}

// byCertManager needs `devcluster up --cert-manager`.
func byCertManager() {
	var namespace string

	BeforeEach(func() {
		needsService()
		if !hasCertManager() {
			Skip("this Kubernetes has no cert-manager")
		}
		namespace = newNamespace()
		startOperator(namespace)
	})

	It("issues for a new cluster by an Issuer, and members go on while it is down", func() {
		c := create(newCluster(namespace, "issued", fromIssuer("Issuer", newAuthority(namespace, "Issuer"))))
		put(c, "key", "value")
		before, shown := uids(c), shownServer(Default, c)

		By("another certificate restarts nobody")
		forget(c, c.Name+"-server-cert")
		Eventually(func(g Gomega) { g.Expect(shownServer(g, c)).NotTo(Equal(shown)) }).Should(Succeed())
		settles(c)
		Expect(uids(c)).To(Equal(before))

		By("cert-manager is down")
		scaleCertManager(0)
		DeferCleanup(scaleCertManager, int32(1))
		forget(c, c.Name+"-server-cert")
		says(c, accepted, v1beta1.ReasonNotIssued, "members go on with the certificates that they have")
		put(c, "meanwhile", "written")
		first := pods(c)[0]
		Expect(api.Delete(ctx, &first)).To(Succeed())
		Eventually(func(g Gomega) { g.Expect(read(g, c).Status.ReadyMembers).To(Equal(int32(3))) }).Should(Succeed())
		scaleCertManager(1)
		says(c, accepted, v1beta1.ReasonCertificatesAccepted, "")
		settles(c)
	})

	It("issues for users, with and without a password, who wait while it is down", func() {
		c := create(newCluster(namespace, "inhabited", oneMember, fromIssuer("Issuer", newAuthority(namespace, "Issuer"))))
		DeferCleanup(usersGo, namespace)
		newRole(c, "orders", "/orders/")
		orders := newUser(c, "orders", v1beta1.CertificateAuthentication, "orders")
		begun := time.Now()
		isInPlace(orders)
		measured("from the EtcdUser to a certificate by cert-manager", time.Since(begun))
		worker := newUser(c, "worker", v1beta1.PasswordAuthentication, "orders")
		isInPlace(worker)
		switchAuth(c, true)
		for _, u := range []*v1beta1.EtcdUser{orders, worker} {
			mayWriteOnly(c, u, "/orders/")
		}

		By("another certificate of one of them")
		first := serialOf(secretNamed(c, orders.Status.Binding.Name))
		forget(c, orders.IssuedSecret())
		Expect(serialOf(secretNamed(c, orders.IssuedSecret()))).NotTo(Equal(first)) // it is there again
		lookAt(orders)
		Eventually(func() string { return serialOf(secretNamed(c, orders.Status.Binding.Name)) }).
			Should(Equal(serialOf(secretNamed(c, orders.IssuedSecret()))))

		By("cert-manager is down")
		scaleCertManager(0)
		DeferCleanup(scaleCertManager, int32(1))
		late := newUser(c, "late", v1beta1.CertificateAuthentication, "orders")
		Eventually(reasonOf(late)).Should(Equal(v1beta1.ReasonNotIssued))
		Expect(puts(as(c, orders.Status.Binding.Name), "/orders/b")()).To(Succeed())
		scaleCertManager(1)
		isInPlace(late)
		Expect(puts(as(c, late.Status.Binding.Name), "/orders/c")()).To(Succeed())

		By("what was asked for a user goes with it")
		Expect(api.Delete(ctx, late)).To(Succeed())
		asked := &unstructured.Unstructured{}
		asked.SetGroupVersionKind(builder.CertificateKind)
		Eventually(func() bool {
			return apierrors.IsNotFound(api.Get(ctx, client.ObjectKey{Namespace: namespace, Name: late.IssuedSecret()}, asked))
		}).Should(BeTrue())
	})

	It("fault 88: signs for two clusters by a ClusterIssuer, of which one takes its own clients only", func() {
		issuer := fromIssuer("ClusterIssuer", newAuthority(namespace, "ClusterIssuer"))
		other := create(newCluster(namespace, "neighbour", oneMember, issuer))
		c := create(newCluster(namespace, "bound", oneMember, issuer))
		DeferCleanup(usersGo, namespace)
		foreign := func() error {
			etcd := holding(c, secretNamed(other, other.RootSecret()), pods(c)...)
			limited, cancel := context.WithTimeout(ctx, 5*time.Second)
			defer cancel()
			_, err := etcd.Put(limited, "foreign", "written")
			return err
		}
		Expect(foreign()).To(Succeed())
		says(c, accepted, v1beta1.ReasonCertificatesAccepted, "is root of this one")
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.TLS.IssuerRef.BoundClients = true })).To(Succeed())
		settles(c)
		newRole(c, "orders", "/orders/")
		u := newUser(c, "orders", v1beta1.CertificateAuthentication, "orders")
		worker := newUser(c, "worker", v1beta1.PasswordAuthentication, "orders")
		isInPlace(u)
		isInPlace(worker)
		switchAuth(c, true)
		Expect(foreign()).NotTo(Succeed())
		mayWriteOnly(c, u, "/orders/")
		mayWriteOnly(c, worker, "/orders/")
		newVolumeStore(namespace, "offsite")
		back(c, "offsite", "bound")
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.Size = ptr.To[int32](3) })).To(Succeed())
		settles(c)
	})

	It("takes over from the operator's own authorities by a ClusterIssuer, and gives back, and no client notices", func() {
		c := create(newCluster(namespace, "handed"))
		w := startMounted(c)
		DeferCleanup(usersGo, namespace)
		u := newUser(c, "moved", v1beta1.CertificateAuthentication)
		isInPlace(u)
		signed := signers(c)
		issuer := newAuthority(namespace, "ClusterIssuer")
		Expect(edit(c, fromIssuer("ClusterIssuer", issuer))).To(Succeed())
		isRotated(c, signed, "client", "peer")
		isInPlace(u)
		Expect(serialOf(secretNamed(c, u.Status.Binding.Name))).To(Equal(serialOf(secretNamed(c, u.IssuedSecret()))))
		signed = signers(c)
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.TLS.IssuerRef = nil })).To(Succeed())
		isRotated(c, signed, "client", "peer")
		Expect(w.end().failed).To(BeEmpty())
		AddReportEntry("longest write", w.longest.String())
	})
}
