// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package pki_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/certs/pki"
)

func TestHandshake(t *testing.T) {
	ca, other := newCA(t, "one"), newCA(t, "two")
	member, operator, stranger := issue(t, ca, server()), issue(t, ca, client()), issue(t, other, client())

	tests := []struct {
		name       string
		trust      pki.Pair
		identity   pki.Pair
		serverName string
		want       string
	}{
		{"both trusted", ca, operator, "m1.example.svc", ""},
		{"dialled by IP address", ca, operator, "10.0.0.7", ""},
		{"a name the server does not have", ca, operator, "m2.example.svc", "not m2.example.svc"},
		{"server of another CA", other, operator, "m1.example.svc", "unknown authority"},
		{"client of another CA", ca, stranger, "m1.example.svc", "certificate required"},
		{"server certificate used as client", ca, member, "m1.example.svc", "bad certificate"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			config, err := pki.ClientConfig(test.trust.CertPEM, test.identity)
			if err != nil {
				t.Fatal(err)
			}
			config.ServerName = test.serverName
			config.Time = clock
			wantError(t, handshake(t, serverConfig(t, ca, member), config), test.want)
		})
	}
}

func TestClientConfigNeedsTLS13(t *testing.T) {
	ca := newCA(t, "one")
	config, err := pki.ClientConfig(ca.CertPEM, issue(t, ca, client()))
	if err != nil {
		t.Fatal(err)
	}
	config.ServerName, config.Time = "m1.example.svc", clock
	old := serverConfig(t, ca, issue(t, ca, server()))
	old.MaxVersion = tls.VersionTLS12
	wantError(t, handshake(t, old, config), "protocol version")
}

// An empty pool would refuse every client without a visible reason.
func TestClientConfigNeedsAnAuthority(t *testing.T) {
	_, err := pki.ClientConfig([]byte("no PEM"), issue(t, newCA(t, "one"), client()))
	wantError(t, err, "no certificate in it")
}

// A pair that is printed, in any of the usual ways, must not show its key, and
// neither must an error about a damaged one.
func TestPrivateKeysAreNeverShown(t *testing.T) {
	ca := newCA(t, "one")
	block, _ := pem.Decode(ca.KeyPEM)
	secrets := []string{
		strings.Split(string(ca.KeyPEM), "\n")[1],
		fmt.Sprint([]byte(ca.KeyPEM)[30:60]),
		fmt.Sprintf("%x", block.Bytes[40:60]),
	}
	damaged := pki.Pair{CertPEM: ca.CertPEM, KeyPEM: bytes.Replace(ca.KeyPEM, []byte("\nM"), []byte("\nN"), 1)}
	_, issueError := pki.Issue(random, now, damaged, server())
	_, loadError := damaged.TLSCertificate()
	checkError := pki.Check(damaged, ca, server(), now)

	for _, text := range []string{
		fmt.Sprint(ca), fmt.Sprintf("%v", &ca), fmt.Sprintf("%+v", ca), fmt.Sprintf("%#v", ca), fmt.Sprintf("%x", ca),
		fmt.Sprint(issueError), fmt.Sprint(loadError), fmt.Sprint(checkError),
	} {
		for _, secret := range secrets {
			if strings.Contains(text, secret) {
				t.Errorf("shows key material: %s", text)
			}
		}
	}
	for _, err := range []error{issueError, loadError, checkError} {
		if err == nil {
			t.Error("a damaged key was accepted")
		}
	}
}

// handshake runs a real TLS connection over memory and returns what the client
// or, if that noticed nothing, the server says about it.
func handshake(t *testing.T, serverSide, clientSide *tls.Config) error {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	go func() {
		accepted, err := listener.Accept()
		if err != nil {
			return
		}
		connection := tls.Server(accepted, serverSide)
		_, _ = connection.Write([]byte("hello"))
		_ = connection.Close()
	}()
	connection, err := tls.Dial("tcp", listener.Addr().String(), clientSide)
	if err != nil {
		return err
	}
	defer func() { _ = connection.Close() }()
	if _, err = io.ReadFull(connection, make([]byte, len("hello"))); errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func serverConfig(t *testing.T, ca, identity pki.Pair) *tls.Config {
	t.Helper()
	certificate, err := identity.TLSCertificate()
	if err != nil {
		t.Fatal(err)
	}
	clients := x509.NewCertPool()
	clients.AddCert(parse(t, ca))
	return &tls.Config{
		Certificates: []tls.Certificate{certificate},
		ClientCAs:    clients,
		ClientAuth:   tls.RequireAndVerifyClientCert,
		Time:         clock,
	}
}

func parse(t *testing.T, pair pki.Pair) *x509.Certificate {
	t.Helper()
	block, rest := pem.Decode(pair.CertPEM)
	if block == nil || len(rest) > 0 {
		t.Fatal("not exactly one PEM block")
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return certificate
}

func wantError(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("unexpected error: %v", err)
	case want != "" && err == nil:
		t.Errorf("no error, want one with %q", want)
	case want != "" && !strings.Contains(err.Error(), want):
		t.Errorf("got error %q, want one with %q", err, want)
	}
}
