// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build envtest

package controllers_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/certs"
	"github.com/etcd-operator/etcd-operator/internal/certs/pki"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// certificateSays waits until the condition has that reason, and words of the message.
func certificateSays(t *testing.T, c *v1beta1.EtcdCluster, reason, words string) {
	t.Helper()
	eventually(t, reason, func() error {
		if err := get(t, c, c.Name, c); err != nil {
			return err
		}
		said := meta.FindStatusCondition(c.Status.Conditions, v1beta1.ConditionCertificatesAccepted)
		if said == nil || said.Reason != reason || !strings.Contains(said.Message, words) {
			return fmt.Errorf("it says %+v", said)
		}
		return nil
	})
}

// issueAll writes the Secrets that certificates are taken from, as their issuer does.
func issueAll(t *testing.T, c *v1beta1.EtcdCluster, labels map[string]string) {
	t.Helper()
	ca, err := pki.NewCA(rand.Reader, time.Now(), "somebody", 1000*24*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	refs := c.CertificateSecrets()
	both := pki.Request{CommonName: "x", Server: true, Client: true, Lifetime: 90 * 24 * time.Hour, DNSNames: []string{
		specs.Host(c, "*"), c.ClientService() + "." + c.Namespace + ".svc", "localhost",
	}}
	for name, r := range map[string]pki.Request{
		refs.Server.Name: both, refs.Peer.Name: both, refs.Operator.Name: {CommonName: "root", Client: true, Lifetime: both.Lifetime},
		refs.Client.Name: {CommonName: "shop", Client: true, Lifetime: both.Lifetime},
	} {
		pair, err := pki.Issue(rand.Reader, time.Now(), ca, r)
		if err != nil {
			t.Fatal(err)
		}
		secret := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: c.Namespace, Labels: labels}, Type: corev1.SecretTypeTLS,
			Data: map[string][]byte{corev1.TLSCertKey: pair.CertPEM, corev1.TLSPrivateKeyKey: pair.KeyPEM, specs.CAKey: ca.CertPEM},
		}
		if err := server.Create(t.Context(), secret); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = client.IgnoreNotFound(server.Delete(context.Background(), secret)) })
	}
}

func isStarted(t *testing.T, c *v1beta1.EtcdCluster) error {
	var pods corev1.PodList
	if err := server.List(t.Context(), &pods, client.InNamespace(c.Namespace), labelled(c)); err != nil || len(pods.Items) != 3 {
		return errors.Join(err, fmt.Errorf("%d pods", len(pods.Items)))
	}
	return nil
}

// TestFault81AClusterWaitsForSecretsOfOthers: with the generated rights, and although no watch shows them.
func TestFault81AClusterWaitsForSecretsOfOthers(t *testing.T) {
	c := create(t, watched, "brought", func(s *v1beta1.EtcdClusterSpec) {
		s.TLS.SecretRefs = &v1beta1.SecretRefs{
			Server: v1beta1.LocalSecret{Name: "brought-web"}, Peer: v1beta1.LocalSecret{Name: "brought-gossip"},
			Operator: v1beta1.LocalSecret{Name: "brought-operator"}, Client: &v1beta1.LocalSecret{Name: "brought-app"},
		}
	})
	certificateSays(t, c, v1beta1.ReasonSecretMissing, "Secret brought-web: there is no such Secret")
	time.Sleep(quiet)
	if err := isStarted(t, c); err == nil {
		t.Error("members start without certificates")
	}
	issueAll(t, c, nil)
	certificateSays(t, c, v1beta1.ReasonCertificatesAccepted, "")
	eventually(t, "pods", func() error { return isStarted(t, c) })
	var member, ca corev1.Secret
	if err := errors.Join(get(t, c, specs.MemberSecret(c), &member), get(t, c, c.ClientCA(), &ca)); err != nil {
		t.Fatal(err)
	}
	if len(ca.Data[corev1.TLSPrivateKeyKey]) > 0 || string(ca.Data[specs.ExternalKey]) != corev1.TLSCertKey || len(member.Data) != 6 {
		t.Errorf("the authority has keys of %d, and members mount %d", len(ca.Data), len(member.Data))
	}
}

// TestFault81CertManagerMayBeMissing: which is reported, and stops neither the operator nor other clusters; and when it is there,
// Certificates are created, what they ask for follows the spec, and members start with what was issued.
func TestFault81CertManagerMayBeMissing(t *testing.T) {
	c := create(t, watched, "issued", func(s *v1beta1.EtcdClusterSpec) { s.TLS.IssuerRef = &v1beta1.IssuerRef{Name: "corp"} })
	certificateSays(t, c, v1beta1.ReasonCertManagerMissing, "install cert-manager")
	types := envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{certificateCRD()}}
	if _, err := envtest.InstallCRDs(environment.Config, types); err != nil {
		t.Fatal(err)
	}
	touched := c.DeepCopy() // no watch reports that cert-manager is installed: it is looked for now and then
	metav1.SetMetaDataAnnotation(&touched.ObjectMeta, "touched", "now")
	if err := server.Patch(t.Context(), touched, client.MergeFrom(c)); err != nil {
		t.Fatal(err)
	}
	certificateSays(t, c, v1beta1.ReasonNotIssued, "Certificate issued-server: it says nothing yet")
	asks := func(key string) string {
		have := &unstructured.Unstructured{}
		have.SetGroupVersionKind(specs.CertificateKind)
		if err := get(t, c, "issued-server", have); err != nil {
			t.Fatal(err)
		}
		value, _, _ := unstructured.NestedString(have.Object, "spec", "issuerRef", key)
		return value
	}
	if asks("name") != "corp" || asks("kind") != "Issuer" {
		t.Errorf("issuer %s %s", asks("kind"), asks("name"))
	}
	issueAll(t, c, map[string]string{specs.ManagedByLabel: v1beta1.FieldOwner, v1beta1.LabelCluster: c.Name})
	certificateSays(t, c, v1beta1.ReasonCertificatesAccepted, "")
	eventually(t, "pods", func() error { return isStarted(t, c) })
	changed := c.DeepCopy()
	changed.Spec.TLS.IssuerRef.Kind = "ClusterIssuer"
	if err := server.Patch(t.Context(), changed, client.MergeFrom(c)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "another issuer", func() error {
		if kind := asks("kind"); kind != "ClusterIssuer" {
			return errors.New(kind)
		}
		return nil
	})
	t.Run("users", issuesForUsers)
	t.Run("a Secret of somebody else", leavesSecretsAlone)
}

// leavesSecretsAlone: no Certificate is made while a foreign Secret has the name of one that cert-manager would write.
func leavesSecretsAlone(t *testing.T) {
	somebodys := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "squatted-peer-cert", Namespace: watched}, Data: map[string][]byte{"password": []byte("secret")},
	}
	if err := server.Create(t.Context(), somebodys); err != nil {
		t.Fatal(err)
	}
	c := create(t, watched, "squatted", func(s *v1beta1.EtcdClusterSpec) { s.TLS.IssuerRef = &v1beta1.IssuerRef{Name: "corp"} })
	certificateSays(t, c, v1beta1.ReasonSecretTaken, "Secret squatted-peer-cert: cert-manager has not written it for Certificate")
	isAsked := func() error {
		have := &unstructured.Unstructured{}
		have.SetGroupVersionKind(specs.CertificateKind)
		return get(t, c, "squatted-peer", have)
	}
	time.Sleep(quiet)
	if err := isAsked(); err == nil {
		t.Error("cert-manager is asked to write over a foreign Secret")
	}
	if err := server.Delete(t.Context(), somebodys); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the Certificate", isAsked)
}

// issuesForUsers: cert-manager is asked while our authority still signs, what it has issued is copied once its authority is the one that is
// trusted, and it is not asked to write over a foreign Secret.
func issuesForUsers(t *testing.T) {
	w := newUsers(t, "users-issued")
	var reads atomic.Int32 // users are read at once
	operator := w.reconciler(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
			if into.GetObjectKind().GroupVersionKind() == specs.CertificateKind {
				reads.Add(1)
			}
			return c.Get(ctx, key, into, opts...) //nolint:wrapcheck // it is the server's
		},
	})
	u := w.user("u")
	w.update(w.cluster, func() { w.cluster.Spec.TLS.IssuerRef = &v1beta1.IssuerRef{Name: "corp"} })
	request := ctrl.Request{NamespacedName: client.ObjectKeyFromObject(w.cluster)}
	if result, err := operator.Reconcile(t.Context(), request); err != nil || result.RequeueAfter > 5*time.Second {
		t.Errorf("what was asked for is looked for in %s: %v", result.RequeueAfter, err)
	}
	v := w.user("v")
	w.create(&corev1.Secret{ObjectMeta: w.named(v.IssuedSecret()), Data: map[string][]byte{"password": []byte("of somebody else")}})
	if result := w.mustSettle(operator); result.RequeueAfter < 10*time.Second {
		t.Errorf("what is foreign is looked at again in %s", result.RequeueAfter)
	}
	w.get(u)
	w.wantReady(u.Status.Conditions, v1beta1.ConditionReady, v1beta1.ReasonSynced)
	w.get(v)
	w.wantReady(v.Status.Conditions, v1beta1.ConditionReady, v1beta1.ReasonSecretTaken)
	asked := &unstructured.Unstructured{}
	asked.SetGroupVersionKind(specs.CertificateKind)
	asked.SetNamespace(w.namespace)
	asked.SetName(v.IssuedSecret())
	if !w.isGone(asked) {
		t.Error("it is asked to write over a foreign Secret")
	}
	asked.SetName(u.IssuedSecret())
	w.get(asked)
	if name, _, _ := unstructured.NestedString(asked.Object, "spec", "commonName"); name != "u" || !metav1.IsControlledBy(asked, u) {
		t.Errorf("a certificate for %q is asked for, by %v", name, asked.GetOwnerReferences())
	}

	ca := &corev1.Secret{ObjectMeta: w.named(w.cluster.ClientCA())}
	w.get(ca)
	signer := pki.Pair{CertPEM: ca.Data[corev1.TLSCertKey], KeyPEM: ca.Data[corev1.TLSPrivateKeyKey]}
	w.update(ca, func() { ca.Data[corev1.TLSPrivateKeyKey], ca.Data[specs.ExternalKey] = nil, []byte(corev1.TLSCertKey) })
	pair, err := pki.Issue(rand.Reader, time.Now(), signer, pki.Request{CommonName: "u", Client: true, Lifetime: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	w.create(&corev1.Secret{ObjectMeta: w.named(u.IssuedSecret()), Data: map[string][]byte{
		corev1.TLSCertKey: pair.CertPEM, corev1.TLSPrivateKeyKey: pair.KeyPEM,
	}})
	w.mustSettle(operator)
	if !bytes.Equal(w.secret(u).Data[corev1.TLSCertKey], pair.CertPEM) {
		t.Error("the application does not have what was issued")
	}
	w.get(u)
	w.wantReady(u.Status.Conditions, v1beta1.ConditionReady, v1beta1.ReasonSynced)
	if want := certs.Serial(w.secret(u)); u.Status.Serial != want {
		t.Errorf("the serial number is %s, and status has %s", want, u.Status.Serial)
	}

	w.delete(v)
	w.mustSettle(operator) // v goes
	w.update(w.cluster, func() { w.cluster.Spec.TLS.IssuerRef.Name = "other" })
	w.mustSettle(operator) // another issuer is asked
	w.get(asked)
	if name, _, _ := unstructured.NestedString(asked.Object, "spec", "issuerRef", "name"); name != "other" {
		t.Errorf("%q is asked for certificates", name)
	}
	w.mustSettle(operator)
	before := reads.Load()
	w.mustSettle(operator)
	if more := reads.Load() - before; more > 0 {
		t.Errorf("at rest, %d Certificates are read", more)
	}
}

// certificateCRD is that of cert-manager, without its rules.
func certificateCRD() *apiextensionsv1.CustomResourceDefinition {
	anything := apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: ptr.To(true)}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "certificates.cert-manager.io"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: specs.CertificateKind.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Plural: "certificates", Singular: "certificate", Kind: "Certificate", ListKind: "CertificateList",
			},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true, Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &anything},
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
			}},
		},
	}
}
