// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

// TestKeysGoWithTheirLease: a key that is bound to a lease is there until that is revoked, and a lease that is gone is known as such.
func TestKeysGoWithTheirLease(t *testing.T) {
	t.Parallel()
	w := newRealWorld(t, "m1")
	w.start(t, "m1")
	client := w.client(t, "m1")
	eventually(t, "m1 to serve", func() error { return client.Read(t.Context()) })
	pool := etcd.NewPool()
	t.Cleanup(func() { pool.Keep(owner, nil) })
	leases := must(pool.Leases(owner, w.target(t, "m1")))(t)

	lease := must(leases.Grant(t.Context(), time.Minute))(t)
	key := etcd.KeyValue{Key: []byte("k"), Value: []byte("v")}
	want(t, "put", leases.Put(t.Context(), key, lease), nil)
	want(t, "keep alive", leases.KeepAlive(t.Context(), lease), nil)
	if keys := must(client.Count(t.Context(), 0))(t); keys != 1 {
		t.Errorf("there are %d keys", keys)
	}
	want(t, "revoke", leases.Revoke(t.Context(), lease), nil)
	want(t, "revoke again", leases.Revoke(t.Context(), lease), nil)
	if keys := must(client.Count(t.Context(), 0))(t); keys != 0 {
		t.Errorf("%d keys stay", keys)
	}
	want(t, "put without a lease", leases.Put(t.Context(), key, lease), etcd.ErrNoLease)
	want(t, "keep alive without a lease", leases.KeepAlive(t.Context(), lease), etcd.ErrNoLease)
}
