// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package worker_test

import (
	"context"
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
)

// TestWritesGoOnWithoutAMember: writes are acknowledged before and after a member that is asked is killed, what comes between counts as a
// gap, and nothing stays in etcd.
func TestWritesGoOnWithoutAMember(t *testing.T) {
	t.Parallel()
	r := newRunning(t, "3.6.16", 3)
	const key = "etcd-operator.dev/drills/uid"
	order := jobspec.Order{Verb: jobspec.Write, Write: &jobspec.WriteOrder{
		Key: key, Members: r.backup().Backup.Members, Lasts: time.Minute,
	}}
	client := r.client(r.cluster, "m3")
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan jobspec.Line)
	go func() {
		lines := r.saysWithin(ctx, order)
		ended <- lines[len(lines)-1]
	}()
	r.cluster.Until("a write", func(ctx context.Context) error { return r.holds(ctx, key) })
	r.cluster.Member("m1").Stop()
	answer, err := client.Get(t.Context(), key)
	must(t, err)
	written := answer.Kvs[0].ModRevision
	r.cluster.Until("a write by another member", func(ctx context.Context) error {
		answer, err := client.Get(ctx, key)
		if err == nil && answer.Kvs[0].ModRevision < written+20 {
			err = context.DeadlineExceeded
		}
		return err
	})
	stop()
	end := <-ended
	if end.Done == nil || end.Done.Writes == nil || end.Done.Writes.Acknowledged < 20 || end.Done.Writes.LongestGap <= 0 {
		t.Fatalf("it ended with %+v", end)
	}
	t.Logf("%+v", *end.Done.Writes)
	answer, err = client.Get(t.Context(), key)
	must(t, err)
	if len(answer.Kvs) > 0 {
		t.Errorf("%s stays", key)
	}
	leases, err := client.Leases(t.Context())
	must(t, err)
	if len(leases.Leases) > 0 {
		t.Errorf("%d leases stay", len(leases.Leases))
	}
}

// holds is an error until etcd has the key.
func (r *running) holds(ctx context.Context, key string) error {
	holds, err := r.cluster.Member("m3").Holds(ctx, key)
	if err == nil && !holds {
		err = context.DeadlineExceeded
	}
	return err
}
