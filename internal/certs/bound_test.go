// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package certs_test

import (
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/certs/pki"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// TestFault88BoundClients: where members take only clients with the name of their cluster, the operator has it also by an authority of
// ours, from which the source is just being changed, and a user's certificate without it is not taken.
func TestFault88BoundClients(t *testing.T) {
	c := example()
	secrets := makeAll(t, c)
	c.Spec.TLS.IssuerRef = &v1beta1.IssuerRef{Name: "corp", Kind: "ClusterIssuer", BoundClients: true}
	_, pairs, err := heldOf(c, secrets).OperatorPairs(rand.Reader, now, c)
	if err != nil || len(pairs) != 1 {
		t.Fatalf("%d certificates: %v", len(pairs), err)
	}
	block, _ := pem.Decode(pairs[0].CertPEM)
	shown, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if shown.VerifyHostname(specs.ClientHost(c)) != nil {
		t.Errorf("the operator is refused: it has the names %q", shown.DNSNames)
	}

	c, secrets, u := example(), map[string]*corev1.Secret{}, user(v1beta1.CertificateAuthentication)
	ca := someAuthority(t)
	c = fromSecrets(c)
	bring(t, secrets, now, ca)
	makeFrom(t, c, secrets)
	held := heldOf(c, secrets)
	c.Spec.TLS.IssuerRef = &v1beta1.IssuerRef{Name: "corp", Kind: "ClusterIssuer", BoundClients: true}
	lacks := func(names ...string) string {
		pair, err := pki.Issue(rand.Reader, now, ca, pki.Request{CommonName: u.User(), Client: true, DNSNames: names, Lifetime: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		held.Issued = map[string]*corev1.Secret{
			u.Name: {Data: map[string][]byte{corev1.TLSCertKey: pair.CertPEM, corev1.TLSPrivateKeyKey: pair.KeyPEM}},
		}
		reason, _ := held.LacksCertificate(c, u, nil, now)
		return reason
	}
	if got := lacks(specs.ClientHost(c)); got != "" {
		t.Errorf("with the name: %s", got)
	}
	for _, names := range [][]string{nil, {"client.other.databases.svc"}} {
		if got := lacks(names...); got != string(pki.WrongName) {
			t.Errorf("with the names %q: %q", names, got)
		}
	}
}
