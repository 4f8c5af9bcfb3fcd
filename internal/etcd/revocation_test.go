// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/certs"
	"github.com/etcd-operator/etcd-operator/internal/certs/pki"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/etcd/connect"
	"github.com/etcd-operator/etcd-operator/internal/etcd/process"
)

// A guarded world is one etcd that refuses the certificates on a list.
type guarded struct {
	t                 *testing.T
	folder            string
	ca                pki.Pair
	app, other, looks pki.Pair
	member            *process.Member
}

func newGuarded(t *testing.T, version string) *guarded {
	t.Helper()
	w := &guarded{t: t, folder: t.TempDir(), member: process.New(t, 1).Member("m1")}
	w.ca = must(pki.NewCA(rand.Reader, time.Now(), "test", 24*time.Hour))(t)
	w.app, w.other, w.looks = w.issue("app", ""), w.issue("other", ""), w.issue("(revocation)", "1e7cd0ff")
	w.revoke()
	w.start(version)
	eventually(t, "m1 to serve", func() error { return w.status(w.other) })
	return w
}

func (w *guarded) issue(name, serial string) pki.Pair {
	w.t.Helper()
	request := pki.Request{CommonName: name, Client: true, Lifetime: time.Hour, Serial: serial}
	return must(pki.Issue(rand.Reader, time.Now(), w.ca, request))(w.t)
}

func (w *guarded) write(name string, content []byte) string {
	w.t.Helper()
	path := filepath.Join(w.folder, name)
	if err := os.WriteFile(path+".new", content, 0o600); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil { // at once, as a kubelet does it
		w.t.Fatal(err)
	}
	return path
}

// revoke has the list name these serial numbers.
func (w *guarded) revoke(serials ...string) string {
	w.t.Helper()
	return w.write("client.crl", must(pki.RevocationList(rand.Reader, time.Now(), w.ca, serials))(w.t))
}

func (w *guarded) start(version string) {
	w.t.Helper()
	server := must(pki.Issue(rand.Reader, time.Now(), w.ca, pki.Request{
		CommonName: "etcd-server", DNSNames: []string{serverName("m1"), "localhost"}, Server: true, Client: true, Lifetime: time.Hour,
	}))(w.t)
	w.member.Start(version,
		"--initial-cluster=m1=http://"+w.member.Peer, "--initial-cluster-state=new", "--listen-metrics-urls=http://127.0.0.1:0",
		"--listen-client-urls=https://"+w.member.Client, "--advertise-client-urls=https://"+w.member.Client,
		"--client-cert-auth=true", "--trusted-ca-file="+w.write("ca.crt", w.ca.CertPEM), "--tls-min-version=TLS1.3",
		"--cert-file="+w.write("server.crt", server.CertPEM), "--key-file="+w.write("server.key", server.KeyPEM),
		"--client-crl-file="+filepath.Join(w.folder, "client.crl"))
}

// connect is a client that shows the certificate, with a connection of its own.
func (w *guarded) connect(as pki.Pair) (etcd.Client, func()) {
	w.t.Helper()
	pool := etcd.NewPool()
	client := must(pool.Client(owner, etcd.Target{
		Instance: "m1", Address: w.member.Client, ServerName: serverName("m1"), TLS: must(pki.ClientConfig(w.ca.CertPEM, as))(w.t),
	}))(w.t)
	return client, func() { pool.Keep(owner, nil) }
}

func answers(client etcd.Client) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, err := client.Status(ctx)
	return err
}

// status is what a new connection with the certificate comes to.
func (w *guarded) status(as pki.Pair) error {
	client, end := w.connect(as)
	defer end()
	return answers(client)
}

func (w *guarded) refusal() certs.Refusal {
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	return connect.Refusal(ctx, w.member.Client, serverName("m1"), w.ca.CertPEM, w.other, w.looks)
}

// TestFault82Revoked: etcd of every version reads its list at each handshake and refuses the certificates whose serial numbers are on
// it, and no others; open connections stay until etcd restarts. A list may be empty, and must not be missing. That a member has read a
// list is seen by a certificate that is on it.
func TestFault82Revoked(t *testing.T) {
	for _, version := range process.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			w := newGuarded(t, version)
			open, end := w.connect(w.app)
			defer end()
			want(t, "connecting with an empty list", answers(open), nil)
			if got := w.refusal(); got.Is || got.Err != "" {
				t.Errorf("with an empty list: %+v", got)
			}
			w.revoke(w.app.Serial(), w.looks.Serial())
			refused(t, "a new connection by what is revoked", w.status(w.app))
			want(t, "a new connection by another one", w.status(w.other), nil)
			want(t, "the connection that was open", answers(open), nil)
			if got := w.refusal(); !got.Is || got.Err != "" {
				t.Errorf("with a list: %+v", got)
			}
			w.member.Terminate()
			if got := w.refusal(); got.Is || !strings.Contains(got.Err, "refused") {
				t.Errorf("of one that does not run: %+v", got)
			}
			w.start(version)
			eventually(t, "m1 to serve", func() error { return w.status(w.other) })
			refused(t, "what was open before a restart", answers(open))
			refused(t, "what is revoked after a restart", w.status(w.app))
			w.revoke(w.looks.Serial())
			want(t, "what is revoked no more", w.status(w.app), nil)
			w.isNeverWithoutList()
		})
	}
}

// isNeverWithoutList shows why a member must not run without its list: it refuses every client.
func (w *guarded) isNeverWithoutList() {
	w.t.Helper()
	for what, spoil := range map[string]func(path string) error{
		"empty file": func(path string) error { return os.WriteFile(path, nil, 0o600) }, "no file": os.Remove,
	} {
		if err := spoil(filepath.Join(w.folder, "client.crl")); err != nil {
			w.t.Fatal(err)
		}
		refused(w.t, what, w.status(w.other))
		if got := w.refusal(); got.Is || !strings.Contains(got.Err, "not revoked") {
			w.t.Errorf("%s: %+v", what, got)
		}
	}
}

// TestFault82ManyRevocations: as many as a spec may name, and a number of the greatest length.
func TestFault82ManyRevocations(t *testing.T) {
	const most = 256
	var serials []string
	for n := range most {
		serials = append(serials, fmt.Sprintf("7%039x", n))
	}
	w := newGuarded(t, process.Versions[0])
	w.revoke(append(serials, w.app.Serial())...)
	refused(t, "what is revoked beside many", w.status(w.app))
	want(t, "what is not", w.status(w.other), nil)
	want(t, "the one before the last", w.status(w.issue("neighbor", fmt.Sprintf("7%039x", most))), nil)
	refused(t, "the last", w.status(w.issue("last", serials[most-1])))
}
