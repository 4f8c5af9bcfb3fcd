// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"

	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/etcd/process"
)

// outdated refuses so many reads because users have changed.
type outdated struct {
	etcdserverpb.UnimplementedKVServer
	left atomic.Int64
}

func (o *outdated) Range(context.Context, *etcdserverpb.RangeRequest) (*etcdserverpb.RangeResponse, error) {
	if o.left.Add(-1) >= 0 {
		return nil, rpctypes.ErrGRPCAuthOldRevision
	}
	return &etcdserverpb.RangeResponse{Header: &etcdserverpb.ResponseHeader{Revision: 7}, Count: 1}, nil
}

// TestFault104OutdatedCallIsRepeated: whatever call it is, but not for ever.
func TestFault104OutdatedCallIsRepeated(t *testing.T) {
	keys := &outdated{}
	server := grpc.NewServer()
	etcdserverpb.RegisterKVServer(server, keys)
	listener := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	go func() { _ = server.Serve(listener) }() // ends with the test
	defer server.Stop()
	pool := etcd.NewPool()
	defer pool.Keep(owner, nil)
	client := must(pool.Client(owner, etcd.Target{Address: listener.Addr().String()}))(t)

	keys.left.Store(20)
	if revision, err := client.Revision(t.Context()); err != nil || revision != 7 {
		t.Errorf("a read ends with revision %d: %v", revision, err)
	}
	keys.left.Store(20)
	if count, err := client.Count(t.Context(), 7); err != nil || count != 1 {
		t.Errorf("counting ends with %d: %v", count, err)
	}
	const many = 1_000_000
	keys.left.Store(many)
	if err := client.Read(t.Context()); !errors.Is(err, rpctypes.ErrAuthOldRevision) {
		t.Errorf("a read that is always refused ends with %v", err)
	}
	if tries := many - keys.left.Load(); tries > 1000 {
		t.Errorf("it was tried %d times", tries)
	}
}

// TestFault104UsersAreCreatedMeanwhile: each change of a user makes etcd refuse the reads that are under way, with ErrAuthOldRevision.
// Such a read is repeated, as etcd's own client does it: it says nothing of the cluster's health.
func TestFault104UsersAreCreatedMeanwhile(t *testing.T) {
	ofVersions(t, process.Versions, func(t *testing.T, version string) {
		w := newGuarded(t, version)
		root, hangUp := w.connect(w.issue("root", ""))
		defer hangUp()
		prepareAuth(t, root, "app", "")
		want(t, "enabling", root.EnableAuth(t.Context()), nil)
		var created atomic.Int64
		ctx, stop := context.WithCancel(t.Context())
		var creators sync.WaitGroup
		defer creators.Wait()
		defer stop()
		for creator := range 4 {
			creators.Go(func() { createUsers(ctx, t, root, fmt.Sprintf("user-%d", creator), &created) })
		}
		failed := 0
		const reads = 300
		for range reads {
			before := created.Load()
			for created.Load() == before && ctx.Err() == nil { // a change between any two reads
				want(t, "a status", second(root.Status(t.Context())), nil)
			}
			if err := root.Read(t.Context()); err != nil {
				failed++
				t.Log(err)
			}
		}
		t.Logf("%d of %d reads failed while %d users were created", failed, reads, created.Load())
		if failed > 0 {
			t.Errorf("%d of %d reads failed", failed, reads)
		}
	})
}

func createUsers(ctx context.Context, t *testing.T, root etcd.Client, prefix string, created *atomic.Int64) {
	for n := 0; ctx.Err() == nil; n++ {
		if _, err := root.AddUser(context.WithoutCancel(ctx), fmt.Sprintf("%s-%d", prefix, n), ""); err != nil {
			t.Error(err)
			return
		}
		created.Add(1)
	}
}
