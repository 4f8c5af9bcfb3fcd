// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package connect

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/certs"
	"github.com/etcd-operator/etcd-operator/internal/certs/pki"
	"github.com/etcd-operator/etcd-operator/internal/etcd/process"
)

// A picky server refuses clients, when it has their certificates or a moment later, and answers all others, unless it is silent.
type picky struct {
	during, after map[string]bool // by serial number
	silent        bool
}

func (s picky) listen(t *testing.T, ca pki.Pair) string {
	t.Helper()
	shown := issued(t, ca, pki.Request{CommonName: "etcd-server", Server: true, DNSNames: []string{"a-1.a.default.svc"}})
	certificate, err := shown.TLSCertificate()
	if err != nil {
		t.Fatal(err)
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(ca.CertPEM)
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{certificate}, NextProtos: []string{"h2"},
		ClientCAs: trusted, ClientAuth: tls.RequireAndVerifyClientCert,
		VerifyConnection: func(state tls.ConnectionState) error {
			if s.during[state.PeerCertificates[0].SerialNumber.Text(16)] {
				return errors.New("revoked")
			}
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go s.serve(connection.(*tls.Conn))
		}
	}()
	return listener.Addr().String()
}

func (s picky) serve(connection *tls.Conn) {
	defer connection.Close()
	if connection.Handshake() != nil || s.after[connection.ConnectionState().PeerCertificates[0].SerialNumber.Text(16)] {
		return
	}
	if s.silent {
		_, _ = io.Copy(io.Discard, connection)
		return
	}
	_, _ = connection.Write([]byte{0, 0, 0, 4, 0, 0, 0, 0, 0}) // its settings
	_, _ = io.Copy(io.Discard, connection)
}

func issued(t *testing.T, ca pki.Pair, request pki.Request) pki.Pair {
	t.Helper()
	request.Lifetime = time.Hour
	pair, err := pki.Issue(rand.Reader, time.Now(), ca, request)
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

// TestFault82Refusal: a member refuses what is revoked if it ends the connection with that certificate, in the handshake or after
// it, and accepts another one. All else proves nothing.
func TestFault82Refusal(t *testing.T) {
	ca, stranger := pairOf(t), pairOf(t)
	good := issued(t, ca, pki.Request{CommonName: "(revocation)", Client: true})
	revoked := issued(t, ca, pki.Request{CommonName: "(revocation)", Client: true, Serial: "abc"})
	one, both := map[string]bool{"abc": true}, map[string]bool{"abc": true, good.Serial(): true}
	for what, test := range map[string]struct {
		server picky
		ca     pki.Pair
		want   certs.Refusal
	}{
		"takes both":                      {picky{}, ca, certs.Refusal{}},
		"refuses one in the handshake":    {picky{during: one}, ca, certs.Refusal{Is: true}},
		"refuses one after the handshake": {picky{after: one}, ca, certs.Refusal{Is: true}},
		"refuses all":                     {picky{after: both}, ca, certs.Refusal{Err: "not revoked"}},
		"refuses all at once":             {picky{during: both}, ca, certs.Refusal{Err: "not revoked"}},
		"is silent":                       {picky{silent: true}, ca, certs.Refusal{Err: "does not answer"}},
		"is another server":               {picky{after: one}, stranger, certs.Refusal{Err: "TLS handshake"}},
	} {
		t.Run(what, func(t *testing.T) {
			ctx := t.Context()
			if test.server.silent {
				limited, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
				defer cancel()
				ctx = limited
			}
			address := test.server.listen(t, test.ca)
			got := Refusal(ctx, address, "a-1.a.default.svc", ca.CertPEM, good, revoked)
			if got.Is != test.want.Is || (got.Err == "") != (test.want.Err == "") || !strings.Contains(got.Err, test.want.Err) {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
	if got := Refusal(t.Context(), process.FreeAddress(t), "a-1", ca.CertPEM, good, revoked); got.Is || !strings.Contains(got.Err, "refused") {
		t.Errorf("nothing listens: %+v", got)
	}
}
