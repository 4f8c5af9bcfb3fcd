// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package connect

import (
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/certs"
	"github.com/etcd-operator/etcd-operator/internal/certs/pki"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

// TestIdentityIsKept: until half its life is over or the authority changes.
func TestIdentityIsKept(t *testing.T) {
	d, held, at := newDialer(t)
	first := mustTarget(t, d, example()).TLS
	at.now = at.now.Add(certs.OperatorLifetime/2 - time.Second)
	if mustTarget(t, d, example()).TLS != first {
		t.Error("issued again before half its life was over")
	}
	at.now = at.now.Add(2 * time.Second)
	second := mustTarget(t, d, example()).TLS
	if second == first {
		t.Error("not issued again when half its life was over")
	}
	held.data = authority(t)
	third := mustTarget(t, d, example())
	if third.TLS == second {
		t.Error("not issued again by the new authority")
	}
	other := example()
	other.Namespace = "other"
	if _, err := d.target(t.Context(), other, one); err == nil {
		t.Error("the identity for a cluster of this name in another namespace was used")
	}
}

// TestNewIdentityIsShown: a connection that was made with an older certificate is not
// used, because a member that drops it would be dialled with that certificate again.
func TestNewIdentityIsShown(t *testing.T) {
	d, held, at := newDialer(t)
	server := listen(t, held.data)
	shown := func() string {
		t.Helper()
		target := mustTarget(t, d, example())
		target.Address = server.address
		d.Pool.Keep("default/a", []etcd.Target{target})
		client, err := d.Pool.Client("default/a", target)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Status(t.Context()); status.Code(errors.Unwrap(err)) != codes.Unimplemented {
			t.Fatalf("got %v from a server that can do nothing", err)
		}
		return server.last()
	}
	first := shown()
	at.now = at.now.Add(time.Hour)
	if again := shown(); again != first || server.count() != 1 {
		t.Errorf("dialled %d times for one identity", server.count())
	}
	at.now = at.now.Add(certs.OperatorLifetime / 2)
	if second := shown(); second == first {
		t.Error("the connection of the older identity is still used")
	}
}

// A listener is a member as far as TLS goes, and notes which certificates it is shown.
type listener struct {
	address string
	mutex   sync.Mutex
	serials []string
}

func listen(t *testing.T, ca map[string][]byte) *listener {
	t.Helper()
	pair, err := pki.Issue(rand.Reader, time.Now(), pki.Pair{CertPEM: ca[corev1.TLSCertKey], KeyPEM: ca[corev1.TLSPrivateKeyKey]},
		pki.Request{CommonName: "a-1", Server: true, DNSNames: []string{"a-1.a.default.svc"}, Lifetime: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := pair.TLSCertificate()
	if err != nil {
		t.Fatal(err)
	}
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &listener{address: socket.Addr().String()}
	server := grpc.NewServer(grpc.Creds(credentials.NewTLS(&tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{certificate}, ClientAuth: tls.RequireAnyClientCert,
		VerifyConnection: func(state tls.ConnectionState) error {
			l.mutex.Lock()
			defer l.mutex.Unlock()
			l.serials = append(l.serials, state.PeerCertificates[0].SerialNumber.String())
			return nil
		},
	})))
	t.Cleanup(server.Stop)
	go func() { _ = server.Serve(socket) }() // ends with an error when it is stopped
	return l
}

func (l *listener) last() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.serials[len(l.serials)-1]
}

func (l *listener) count() int {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return len(l.serials)
}

// TestLostAuthority: members are reached by what they show each other, also by an operator
// that has just started, and by an identity of the operator's own once it is back.
func TestLostAuthority(t *testing.T) {
	good, pair := authority(t), func(ca map[string][]byte) pki.Pair {
		return pki.Pair{CertPEM: ca[corev1.TLSCertKey], KeyPEM: ca[corev1.TLSPrivateKeyKey]}
	}
	server, err := pki.Issue(rand.Reader, time.Now(), pair(good), pki.Request{CommonName: "etcd-server", Client: true, Lifetime: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	member := map[string][]byte{
		specs.ClientCAKey: good[corev1.TLSCertKey], specs.ServerCertKey: server.CertPEM, specs.ServerKeyKey: server.KeyPEM,
	}
	user := func(d *Dialer) string {
		t.Helper()
		target := mustTarget(t, d, example())
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(good[corev1.TLSCertKey]) || !target.TLS.RootCAs.Equal(roots) {
			t.Error("another authority is trusted than that of the members")
		}
		cert, err := x509.ParseCertificate(target.TLS.Certificates[0].Certificate[0])
		if err != nil {
			t.Fatal(err)
		}
		return cert.Subject.CommonName
	}
	noKey := map[string][]byte{corev1.TLSCertKey: good[corev1.TLSCertKey], corev1.TLSPrivateKeyKey: []byte("garbage")}
	for what, now := range map[string]map[string][]byte{"missing": nil, "without its key": noKey, "another": authority(t)} {
		d, held, _ := newDialer(t)
		held.data, held.member = now, member
		if got := user(d); got != "etcd-server" {
			t.Errorf("%s: dialled as %s", what, got)
		}
	}
	d, held, _ := newDialer(t)
	held.member = member
	for _, test := range []struct {
		data map[string][]byte
		want string
	}{{good, v1beta1.RootUser}, {nil, "etcd-server"}, {good, v1beta1.RootUser}} {
		held.data = test.data
		if got := user(d); got != test.want {
			t.Errorf("dialled as %s, want %s", got, test.want)
		}
	}
}

// TestLostAuthorityWithAuthentication: the certificate of root that backups use is signed already, and etcd-server is no user.
func TestLostAuthorityWithAuthentication(t *testing.T) {
	good := authority(t)
	ca := pki.Pair{CertPEM: good[corev1.TLSCertKey], KeyPEM: good[corev1.TLSPrivateKeyKey]}
	issue := func(name string) pki.Pair {
		pair, err := pki.Issue(rand.Reader, time.Now(), ca, pki.Request{CommonName: name, Client: true, Lifetime: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		return pair
	}
	server, root := issue("etcd-server"), issue("root")
	d, held, _ := newDialer(t)
	held.data, held.member = nil, map[string][]byte{
		specs.ClientCAKey: ca.CertPEM, specs.ServerCertKey: server.CertPEM, specs.ServerKeyKey: server.KeyPEM,
	}
	c := example()
	c.Spec.Auth.Enabled = true
	for want, pair := range map[string]pki.Pair{"root": root, "etcd-server": {}} {
		held.root = map[string][]byte{corev1.TLSCertKey: pair.CertPEM, corev1.TLSPrivateKeyKey: pair.KeyPEM}
		cert, err := x509.ParseCertificate(mustTarget(t, d, c).TLS.Certificates[0].Certificate[0])
		if err != nil || cert.Subject.CommonName != want {
			t.Errorf("dialled as %s, want %s: %v", cert.Subject.CommonName, want, err)
		}
	}
}
