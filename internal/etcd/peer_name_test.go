// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"crypto/rand"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/certs/pki"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/etcd/process"
)

// peerName is the flag that members have whose authority others share, without the value of a cluster elsewhere.
func peerName(t *testing.T, version string) (flags []string, host string) {
	t.Helper()
	c := &v1beta1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Name: "shop", Namespace: "default"}}
	c.Spec.Version = version
	c.Spec.TLS.SecretRefs = &v1beta1.SecretRefs{}
	for _, arg := range specs.Etcd(specs.Pod(c, "shop-0", specs.Joining{})).Args {
		if strings.HasPrefix(arg, "--peer-cert-allowed-hostname=") || strings.Contains(arg, "skip-client-san") {
			flags = append(flags, arg)
		}
	}
	if len(flags) != 2 {
		t.Fatalf("flags %q", flags)
	}
	return flags, specs.Host(c, "*")
}

// TestFault88PeersOfThisCluster: three members whose authority also signs for others form a cluster, and refuse at the port of peers
// a certificate for clients, and that of a member of another cluster.
func TestFault88PeersOfThisCluster(t *testing.T) {
	for _, version := range process.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			ca := must(pki.NewCA(rand.Reader, time.Now(), "shared", 24*time.Hour))(t)
			flags, host := peerName(t, version)
			issue := func(name string, server bool, hosts ...string) pki.Pair {
				return must(pki.Issue(rand.Reader, time.Now(), ca, pki.Request{
					CommonName: name, Server: server, Client: true, DNSNames: hosts, IPs: []net.IP{net.IPv4(127, 0, 0, 1)}, Lifetime: time.Hour,
				}))(t)
			}
			peer, folder := issue("etcd-peer", true, host), t.TempDir()
			file := func(name string, content []byte) string {
				path := filepath.Join(folder, name)
				if err := os.WriteFile(path, content, 0o600); err != nil {
					t.Fatal(err)
				}
				return path
			}
			flags = append(flags, "--peer-client-cert-auth=true", "--peer-trusted-ca-file="+file("ca.crt", ca.CertPEM),
				"--peer-cert-file="+file("peer.crt", peer.CertPEM), "--peer-key-file="+file("peer.key", peer.KeyPEM), "--tls-min-version=TLS1.3")
			c, names := process.New(t, 3), []string{"m1", "m2", "m3"}
			for _, name := range names {
				m := c.Member(name)
				all := strings.ReplaceAll(strings.Join(c.Joins("new", names...), " "), "=http://", "=https://")
				m.Start(version, append(strings.Fields(all), append(flags,
					"--listen-peer-urls=https://"+m.Peer, "--initial-advertise-peer-urls=https://"+m.Peer)...)...)
			}
			for _, name := range names {
				c.Serves(name)
			}
			for what, test := range map[string]struct {
				shown pki.Pair
				taken bool
			}{
				"a member":                     {peer, true},
				"root of another cluster":      {issue("root", false), false},
				"a member of another cluster":  {issue("etcd-peer", true, "*.other.default.svc"), false},
				"a server of the same cluster": {issue("etcd-server", true, "shop-client.default.svc", "localhost"), false},
			} {
				if err := asks(t, c.Member("m1").Peer, ca.CertPEM, test.shown); (err == nil) != test.taken {
					t.Errorf("%s: %v", what, err)
				}
			}
		})
	}
}

// asks is what a question at the port of peers comes to.
func asks(t *testing.T, address string, ca []byte, as pki.Pair) error {
	t.Helper()
	config := must(pki.ClientConfig(ca, as))(t)
	transport := &http.Transport{TLSClientConfig: config}
	defer transport.CloseIdleConnections()
	answer, err := (&http.Client{Transport: transport, Timeout: patience}).Get("https://" + address + "/version")
	if err != nil {
		return err //nolint:wrapcheck // it says which
	}
	if err := answer.Body.Close(); err != nil || answer.StatusCode != http.StatusOK {
		return errors.Join(err, errors.New(answer.Status))
	}
	return nil
}

// TestFault88ClientsOfThisCluster: a member that is configured so accepts clients of its own cluster only, and no other certificate by the
// same authority, and its own HTTP gateway, which connects with the certificate of members.
func TestFault88ClientsOfThisCluster(t *testing.T) {
	c := &v1beta1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Name: "shop", Namespace: "default"}}
	c.Spec.TLS.IssuerRef = &v1beta1.IssuerRef{Name: "corp", Kind: "ClusterIssuer", BoundClients: true}
	ofVersions(t, process.Versions, func(t *testing.T, version string) {
		ca := must(pki.NewCA(rand.Reader, time.Now(), "shared", 24*time.Hour))(t)
		issue := func(name string, server bool, hosts ...string) pki.Pair {
			return must(pki.Issue(rand.Reader, time.Now(), ca, pki.Request{
				CommonName: name, Server: server, Client: true, DNSNames: hosts, IPs: []net.IP{net.IPv4(127, 0, 0, 1)}, Lifetime: time.Hour,
			}))(t)
		}
		server, folder := issue("etcd-server", true, specs.Host(c, "*"), "localhost"), t.TempDir()
		file := func(name string, content []byte) string {
			path := filepath.Join(folder, name)
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
			return path
		}
		bound := c.DeepCopy()
		bound.Spec.Version = version
		flags := slices.DeleteFunc(specs.Etcd(specs.Pod(bound, "shop-0", specs.Joining{})).Args, func(arg string) bool {
			return !strings.HasPrefix(arg, "--client-cert-a")
		})
		if len(flags) != 2 {
			t.Fatalf("flags %q", flags)
		}
		all := process.New(t, 1)
		m := all.Member("m1")
		args := strings.ReplaceAll(strings.Join(all.Joins("new", "m1"), " "), "client-urls=http://", "client-urls=https://")
		m.Start(version, append(strings.Fields(args), append(flags,
			"--trusted-ca-file="+file("ca.crt", ca.CertPEM), "--cert-file="+file("server.crt", server.CertPEM),
			"--key-file="+file("server.key", server.KeyPEM),
			"--listen-client-urls=https://"+m.Client, "--advertise-client-urls=https://"+m.Client)...)...)
		mine := issue("root", false, specs.ClientHost(c))
		for until := time.Now().Add(patience); asks(t, m.Client, ca.CertPEM, mine) != nil && time.Now().Before(until); {
			time.Sleep(50 * time.Millisecond)
		}
		for what, test := range map[string]struct {
			shown pki.Pair
			taken bool
		}{
			"root of this cluster":      {mine, true},
			"the gateway of a member":   {server, true},
			"root of another cluster":   {issue("root", false, "client.other.default.svc"), false},
			"root without a name":       {issue("root", false), false},
			"a user of another cluster": {issue("app", false, "client.shop.other.svc"), false},
		} {
			if err := asks(t, m.Client, ca.CertPEM, test.shown); (err == nil) != test.taken {
				t.Errorf("%s: %v", what, err)
			}
		}
	})
}
