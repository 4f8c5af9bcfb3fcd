// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/etcd/process"
)

// TestTransactionsKeepRevisions is a fact that docs/adr/0070 relies on: where each revision of one etcd is written to another one in a
// transaction of its own, with leases of the same IDs, both have the same revision and the same hash. Revisions, versions and leases of all
// keys are in that.
func TestTransactionsKeepRevisions(t *testing.T) {
	ofVersions(t, process.Versions, func(t *testing.T, version string) {
		from, to := taking(t, version, 4096), taking(t, version, 4096)
		source, copied := from.Client("m1"), to.Client("m1")
		for id := range int64(leases) {
			for _, each := range []etcd.Client{source, copied} {
				if err := each.GrantLease(t.Context(), etcd.Lease{ID: id + 1, TTL: 600}); err != nil {
					t.Fatal(err)
				}
			}
		}
		writesAtRandom(t, keysOf(t, from))
		until, began := must(source.Revision(t.Context()))(t), time.Now()
		events := replays(t, source, keysOf(t, to), until)
		t.Logf("%d events of %d revisions in %s", events, until, time.Since(began).Round(time.Millisecond))
		if a, b := must(source.HashKV(t.Context(), until))(t), must(copied.HashKV(t.Context(), until))(t); a != b {
			t.Errorf("hash %+v, of what was replayed %+v", a, b)
		}
	})
}

// leases are attached to keys by writesAtRandom.
const leases = 5

// taking is an etcd that takes so many operations in a transaction.
func taking(t *testing.T, version string, operations int) *process.Cluster {
	t.Helper()
	c := process.New(t, 1)
	c.Member("m1").Start(version, append(c.Joins("new", "m1"), fmt.Sprintf("--max-txn-ops=%d", operations))...)
	c.Serves("m1")
	return c
}

func keysOf(t *testing.T, c *process.Cluster) etcdserverpb.KVClient {
	t.Helper()
	connection := must(grpc.NewClient("passthrough:///"+c.Member("m1").Client, grpc.WithTransportCredentials(insecure.NewCredentials())))(t)
	t.Cleanup(func() { _ = connection.Close() })
	return etcdserverpb.NewKVClient(connection)
}

// writesAtRandom puts and deletes keys, one at a time, a range, or many in a transaction.
func writesAtRandom(t *testing.T, keys etcdserverpb.KVClient) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same ones each time
	put := func(key int) *etcdserverpb.RequestOp {
		value := make([]byte, random.IntN(200))
		return &etcdserverpb.RequestOp{Request: &etcdserverpb.RequestOp_RequestPut{RequestPut: &etcdserverpb.PutRequest{
			Key: fmt.Appendf(nil, "%04d", key), Value: value, Lease: max(0, random.Int64N(2*leases)-leases+1),
		}}}
	}
	remove := func(from, to int) *etcdserverpb.RequestOp {
		return &etcdserverpb.RequestOp{Request: &etcdserverpb.RequestOp_RequestDeleteRange{RequestDeleteRange: &etcdserverpb.DeleteRangeRequest{
			Key: fmt.Appendf(nil, "%04d", from), RangeEnd: fmt.Appendf(nil, "%04d", to),
		}}}
	}
	for range 200 {
		var request etcdserverpb.TxnRequest
		key := random.IntN(3000)
		switch random.IntN(4) {
		case 0:
			request.Success = append(request.Success, put(key))
		case 1:
			request.Success = append(request.Success, remove(key, key+1))
		case 2:
			request.Success = append(request.Success, remove(key, key+500))
		default: // a transaction may not put a key that it also deletes
			for i := range 1 + random.IntN(400) {
				request.Success = append(request.Success, put(key+i))
			}
			request.Success = append(request.Success, remove(0, key))
		}
		if _, err := keys.Txn(t.Context(), &request); err != nil {
			t.Fatal(err)
		}
	}
}

// replays writes the history up to a revision, and fails where the answer to a transaction has another revision.
func replays(t *testing.T, source etcd.Client, to etcdserverpb.KVClient, until int64) (events int) {
	t.Helper()
	var next etcdserverpb.TxnRequest
	at := int64(2) // etcd begins with 1
	write := func() {
		response := must(to.Txn(t.Context(), &next))(t)
		if got := response.GetHeader().GetRevision(); got != at {
			t.Fatalf("revision %d has become %d", at, got)
		}
		next.Reset()
		at++
	}
	done := errors.New("done")
	err := source.History(t.Context(), at, time.Second, func(d etcd.Delivery) error {
		for _, e := range d.Events {
			if e.Revision != at {
				write()
			}
			events++
			operation := &etcdserverpb.RequestOp{Request: &etcdserverpb.RequestOp_RequestPut{
				RequestPut: &etcdserverpb.PutRequest{Key: e.Key, Value: e.Value, Lease: e.Lease},
			}}
			if e.Deleted {
				operation.Request = &etcdserverpb.RequestOp_RequestDeleteRange{RequestDeleteRange: &etcdserverpb.DeleteRangeRequest{Key: e.Key}}
			}
			next.Success = append(next.Success, operation)
		}
		if d.Complete < until {
			return nil
		}
		write()
		return done
	})
	if !errors.Is(err, done) {
		t.Fatal(err)
	}
	return events
}
