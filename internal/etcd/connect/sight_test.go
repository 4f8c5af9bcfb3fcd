// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package connect

import (
	"bytes"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operator/etcd-operator/internal/certs/pki"
	"github.com/etcd-operator/etcd-operator/internal/etcd/process"
)

// TestHandshakeShows: what a member shows, and all that it trusts, also if it shows what is no longer trusted; nothing if
// it does not answer.
func TestHandshakeShows(t *testing.T) {
	old, next := pairOf(t), pairOf(t)
	shown, err := pki.Issue(rand.Reader, time.Now(), old, pki.Request{
		CommonName: "etcd-server", Server: true, Client: true, DNSNames: []string{"a-1.a.default.svc"}, Lifetime: time.Hour,
	})
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := shown.TLSCertificate()
	if err != nil {
		t.Fatal(err)
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(append(bytes.Clone(old.CertPEM), next.CertPEM...))
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{certificate},
		ClientCAs: trusted, ClientAuth: tls.RequireAndVerifyClientCert,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	verified := make(chan error, 1)
	go func() {
		connection, err := listener.Accept()
		if err != nil {
			verified <- err
			return
		}
		defer connection.Close()
		verified <- connection.(*tls.Conn).HandshakeContext(t.Context())
	}()
	port := handshake(t.Context(), listener.Addr().String(), "a-1.a.default.svc", shown)
	if err := <-verified; err != nil {
		t.Errorf("the member logs a failed handshake: %v", err)
	}
	if port.Err != "" || !bytes.Equal(port.Shown, certificate.Certificate[0]) {
		t.Errorf("saw %d bytes, %s", len(port.Shown), port.Err)
	}
	if len(port.Accepts) != 2 || !bytes.Equal(port.Accepts[0], old.Subject()) || !bytes.Equal(port.Accepts[1], next.Subject()) {
		t.Errorf("it trusts %d authorities, or others", len(port.Accepts))
	}
	if port := handshake(t.Context(), process.FreeAddress(t), "a-1", shown); !strings.Contains(port.Err, "refused") || port.Shown != nil {
		t.Errorf("nothing listens: %+v", port)
	}
}

func pairOf(t *testing.T) pki.Pair {
	t.Helper()
	ca := authority(t)
	return pki.Pair{CertPEM: ca[corev1.TLSCertKey], KeyPEM: ca[corev1.TLSPrivateKeyKey]}
}
