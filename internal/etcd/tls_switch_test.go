// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/certs/pki"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/etcd/process"
)

// A schemeSwitch takes members from http to https and back, one at a time.
type schemeSwitch struct {
	*process.Cluster
	t       *testing.T
	version string
	config  *tls.Config
	pool    *etcd.Pool
	flags   []string // of certificates
}

// TestTLSIsSwitchedUnderClients: what the operator does when tls.mode changes rests on this. A member that etcd lists with an http and an
// https URL, both of one port, is found by whichever it listens on, and one client port serves both schemes. So no write of a
// client that knows both schemes fails while members restart one at a time, and a member joins in the middle.
func TestTLSIsSwitchedUnderClients(t *testing.T) {
	ofVersions(t, process.Versions, func(t *testing.T, version string) {
		s := newSchemeSwitch(t, version)
		members := []string{"m1", "m2", "m3"}
		for _, name := range members {
			s.Member(name).Start(version, append(s.as(name, "plain"), s.Joins("new", members...)...)...)
		}
		for _, name := range members {
			s.serves(name, false)
		}
		w := s.writer(members)
		s.list(false, "http", "https")
		s.roll("both", true, members)
		s.joins(true, "both")
		s.roll("tls", true, members)
		s.list(true, "https")
		w.pause(t)

		s.list(true, "http", "https")
		s.roll("both", true, members)
		s.roll("plain", false, members)
		s.list(false, "http")
		w.ended(t)
	})
}

func newSchemeSwitch(t *testing.T, version string) *schemeSwitch {
	t.Helper()
	s := &schemeSwitch{Cluster: process.New(t, 4), t: t, version: version, pool: etcd.NewPool()}
	t.Cleanup(func() { s.pool.Keep(owner, nil) })
	ca := must(pki.NewCA(rand.Reader, time.Now(), "test", 24*time.Hour))(t)
	issue := func(request pki.Request) pki.Pair {
		request.Lifetime = time.Hour
		return must(pki.Issue(rand.Reader, time.Now(), ca, request))(t)
	}
	s.config = must(pki.ClientConfig(ca.CertPEM, issue(pki.Request{CommonName: "root", Client: true})))(t)
	member := issue(pki.Request{CommonName: "member", IPs: []net.IP{net.IPv4(127, 0, 0, 1)}, Server: true, Client: true})
	folder := t.TempDir()
	for name, content := range map[string][]byte{"ca.crt": ca.CertPEM, "tls.crt": member.CertPEM, "tls.key": member.KeyPEM} {
		want(t, "writing "+name, os.WriteFile(filepath.Join(folder, name), content, 0o600), nil)
	}
	for _, of := range []string{"", "peer-"} {
		s.flags = append(s.flags, "--"+of+"client-cert-auth=true", "--"+of+"trusted-ca-file="+filepath.Join(folder, "ca.crt"),
			"--"+of+"cert-file="+filepath.Join(folder, "tls.crt"), "--"+of+"key-file="+filepath.Join(folder, "tls.key"))
	}
	return s
}

// as are the flags of a member in one of the three ways in which the operator runs them.
func (s *schemeSwitch) as(name, way string) []string {
	client, peer := s.Member(name).Client, s.Member(name).Peer
	switch way {
	case "plain":
		return nil
	case "both":
		both := "http://" + client + ",https://" + client
		return append(slices.Clone(s.flags), "--listen-client-urls="+both, "--advertise-client-urls="+both)
	default:
		return append(slices.Clone(s.flags), "--listen-client-urls=https://"+client, "--advertise-client-urls=https://"+client,
			"--listen-peer-urls=https://"+peer)
	}
}

func (s *schemeSwitch) client(name string, secure bool) etcd.Client {
	target := etcd.Target{Instance: fmt.Sprintf("%s %t", name, secure), Address: s.Member(name).Client}
	if secure {
		target.TLS, target.ServerName = s.config, "127.0.0.1"
	}
	return must(s.pool.Client(owner, target))(s.t)
}

func (s *schemeSwitch) serves(name string, secure bool) {
	s.t.Helper()
	s.Until(name+" to serve", s.client(name, secure).Read)
}

func (s *schemeSwitch) urls(name string, schemes ...string) []string {
	var all []string
	for _, scheme := range schemes {
		all = append(all, scheme+"://"+s.Member(name).Peer)
	}
	return all
}

// list has etcd list every member with these schemes.
func (s *schemeSwitch) list(secure bool, schemes ...string) {
	s.t.Helper()
	client := s.client("m1", secure)
	for _, m := range must(client.Members(s.t.Context()))(s.t) {
		s.Until("the URLs of "+m.Name, func(ctx context.Context) error {
			return client.UpdatePeerURLs(ctx, m.ID, s.urls(m.Name, schemes...)...)
		})
	}
}

// roll restarts members one at a time.
func (s *schemeSwitch) roll(way string, secure bool, members []string) {
	s.t.Helper()
	for _, name := range members {
		s.Member(name).Terminate()
		s.Member(name).Start(s.version, s.as(name, way)...)
		s.serves(name, secure)
	}
	for _, name := range members { // all find each other
		s.Until(name+" to be followed", func(ctx context.Context) error {
			status, err := s.client(name, secure).Status(ctx)
			if err == nil && (status.LeaderID == 0 || len(status.Errors) > 0) {
				err = errors.New(strings.Join(status.Errors, "; "))
			}
			return err
		})
	}
}

// joins adds m4 in the middle, and removes it again.
func (s *schemeSwitch) joins(secure bool, way string) {
	s.t.Helper()
	client, schemes := s.client("m1", secure), []string{"http", "https"}
	var id uint64
	s.Until("m4 to be added", func(ctx context.Context) error {
		added, err := client.AddLearner(ctx, s.urls("m4", schemes...)...)
		id = added.ID
		return err
	})
	var list []string
	for _, name := range []string{"m1", "m2", "m3", "m4"} {
		for _, url := range s.urls(name, schemes...) {
			list = append(list, name+"="+url)
		}
	}
	s.Member("m4").Start(s.version, append(s.as("m4", way), "--initial-cluster="+strings.Join(list, ","),
		"--initial-advertise-peer-urls="+strings.Join(s.urls("m4", schemes...), ","), "--initial-cluster-state=existing")...)
	leads := func(ctx context.Context) error { return s.leader(ctx, secure).Promote(ctx, id) }
	s.Until("m4 to be promoted", leads)
	s.serves("m4", secure)
	s.Until("m4 to be removed", func(ctx context.Context) error { return s.leader(ctx, secure).Remove(ctx, id) })
	s.Member("m4").Stop()
}

func (s *schemeSwitch) leader(ctx context.Context, secure bool) etcd.Client {
	for _, name := range []string{"m1", "m2", "m3"} {
		if status, err := s.client(name, secure).Status(ctx); err == nil && status.LeaderID == status.MemberID {
			return s.client(name, secure)
		}
	}
	return s.client("m1", secure)
}

// A bilingual writer writes all the time, and knows every member by both schemes.
type bilingual struct {
	clients []etcd.Client
	stop    context.CancelFunc
	done    sync.WaitGroup
	mutex   sync.Mutex
	writes  int
	tries   int
	failed  []error
	longest time.Duration
}

func (s *schemeSwitch) writer(members []string) *bilingual {
	ctx, cancel := context.WithCancel(s.t.Context())
	w := &bilingual{stop: cancel}
	for _, secure := range []bool{false, true} {
		for _, name := range members {
			w.clients = append(w.clients, s.client(name, secure))
		}
	}
	w.done.Go(func() {
		for ctx.Err() == nil {
			w.write(context.WithoutCancel(ctx))
			time.Sleep(2 * time.Millisecond)
		}
	})
	return w
}

// write tries one client after the other. A disk that other tests fill may make it wait for long.
func (w *bilingual) write(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	key, begun := etcd.KeyValue{Key: fmt.Appendf(nil, "key-%d", w.writes), Value: []byte("value")}, time.Now()
	var err error
	for n := 0; ; n++ {
		attempt, done := context.WithTimeout(ctx, time.Second)
		_, _, err = w.clients[n%len(w.clients)].PutMissing(attempt, []etcd.KeyValue{key})
		done()
		if err == nil || ctx.Err() != nil {
			break
		}
		time.Sleep(5 * time.Millisecond)
		w.tries++
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.writes, w.longest = w.writes+1, max(w.longest, time.Since(begun))
	if err != nil {
		w.failed = append(w.failed, err)
	}
}

func (w *bilingual) pause(t *testing.T) {
	t.Helper()
	w.mutex.Lock()
	defer w.mutex.Unlock()
	t.Logf("TLS is on: %d writes, %d failed, the longest took %s", w.writes, len(w.failed), w.longest)
}

func (w *bilingual) ended(t *testing.T) {
	t.Helper()
	w.stop()
	w.done.Wait()
	t.Logf("TLS is off: %d writes, %d failed, %d were tried again, the longest took %s", w.writes, len(w.failed), w.tries, w.longest)
	if w.writes < enough || len(w.failed) > 0 {
		t.Errorf("of %d writes failed %v", w.writes, w.failed)
	}
}
