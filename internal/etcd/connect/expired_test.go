// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package connect

import (
	"crypto/rand"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operator/etcd-operator/internal/certs/pki"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// TestFault86ConnectionsEndWithWhatMembersShow: a connection from before the certificates of members expired is not used after: by it a
// cluster would look healthy that no other client can connect to.
func TestFault86ConnectionsEndWithWhatMembersShow(t *testing.T) {
	d, held, at := newDialer(t)
	ca := pki.Pair{CertPEM: held.data[corev1.TLSCertKey], KeyPEM: held.data[corev1.TLSPrivateKeyKey]}
	server, err := pki.Issue(rand.Reader, at.now, ca, pki.Request{CommonName: "etcd-server", Server: true, Client: true, Lifetime: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	held.member = map[string][]byte{
		specs.ClientCAKey: ca.CertPEM, specs.ServerCertKey: server.CertPEM, specs.ServerKeyKey: server.KeyPEM,
	}
	first := mustTarget(t, d, example()).TLS
	at.now = at.now.Add(59 * time.Minute)
	if mustTarget(t, d, example()).TLS != first {
		t.Error("it connects again before")
	}
	at.now = at.now.Add(2 * time.Minute)
	after := mustTarget(t, d, example()).TLS
	if after == first {
		t.Error("the connection from before is still used")
	}
	if mustTarget(t, d, example()).TLS != after {
		t.Error("it connects again and again")
	}
}
