// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/certs/pki"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

func TestRealEtcdConforms(t *testing.T) {
	t.Parallel()
	w := newRealWorld(t, "m1", "m2", "m3")
	w.start(t, "m1")
	conforms(t, w)
}

// A member that comes back is seen at once, however long it was away.
func TestReconnects(t *testing.T) {
	t.Parallel()
	w := newRealWorld(t, "m1")
	w.start(t, "m1")
	client := w.client(t, "m1")
	eventually(t, "m1 to serve", func() error { return client.Read(t.Context()) })

	w.stop(t, "m1")
	for range 60 { // about 3 s: gRPC's own pause grows to its most
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		_, err := client.Status(ctx)
		cancel()
		refused(t, "status of a member that is down", err)
		if !strings.Contains(err.Error(), "connection") && !strings.Contains(err.Error(), "EOF") {
			t.Errorf("the reason is missing: %v", err)
		}
	}

	w.start(t, "m1")
	up := serves(t, w)
	eventually(t, "m1 to answer again", func() error {
		_, err := client.Status(t.Context())
		return err
	})
	t.Logf("answered %s after it began to serve", time.Since(up))
}

// serves waits, with connections that know of no earlier failure, until m1
// answers, and returns when it did.
func serves(t *testing.T, w *realWorld) time.Time {
	t.Helper()
	eventually(t, "m1 to serve", func() error {
		pool := etcd.NewPool()
		defer pool.Keep(owner, nil)
		_, err := must(pool.Client(owner, w.target(t, "m1")))(t).Status(t.Context())
		return err
	})
	return time.Now()
}

func TestIdentitiesAreVerified(t *testing.T) {
	t.Parallel()
	w := newRealWorld(t, "m1")
	w.start(t, "m1")
	eventually(t, "m1 to serve", func() error { return w.client(t, "m1").Read(t.Context()) })
	other := must(pki.NewCA(rand.Reader, time.Now(), "other", 24*time.Hour))(t)

	tests := []struct {
		name   string
		change func(*etcd.Target)
		want   string
	}{
		{"name of another member", func(target *etcd.Target) { target.ServerName = serverName("m2") }, "m2.example.svc"},
		{"no name", func(target *etcd.Target) { target.ServerName = "" }, "IP SANs"},
		{"another CA", func(target *etcd.Target) {
			target.TLS = must(pki.ClientConfig(other.CertPEM, w.operator))(t)
		}, "unknown authority"},
		{"no certificate of ours", func(target *etcd.Target) {
			target.TLS = target.TLS.Clone()
			target.TLS.Certificates = nil
		}, "Unavailable"}, // the reason may be lost when etcd hangs up
		{"plain text", func(target *etcd.Target) { target.TLS = nil }, "error reading server preface"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			target := w.target(t, "m1")
			test.change(&target)
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			_, err := must(w.pool.Client(owner, target))(t).Status(ctx)
			if err == nil || !strings.Contains(err.Error(), test.want) || errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got error %v, want one with %q", err, test.want)
			}
		})
	}
}
