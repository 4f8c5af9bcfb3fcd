// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/etcd/process"
)

// TestHistoryInFragments: a revision with more changes than etcd sends at once comes in several deliveries, each change with its place,
// and is complete with the last one.
func TestHistoryInFragments(t *testing.T) {
	ofVersions(t, process.Versions, func(t *testing.T, version string) {
		const keys = 10_000
		c := process.Run(t, version, 1)
		m := c.Client("m1")
		for n := 0; n < keys; n += 100 {
			var some []etcd.KeyValue
			for i := range 100 {
				key := fmt.Appendf(nil, "k%06d%s", n+i, bytes.Repeat([]byte{'x'}, 300))
				some = append(some, etcd.KeyValue{Key: key, Value: []byte("v")})
			}
			_, _, err := m.PutMissing(t.Context(), some)
			if err != nil {
				t.Fatal(err)
			}
		}
		deleted := must(m.Revision(t.Context()))(t) + 1
		deletesAll(t, c.Member("m1").Client)
		var events, deliveries int64
		done := errors.New("done")
		err := m.History(t.Context(), deleted, time.Second, func(d etcd.Delivery) error {
			for _, e := range d.Events {
				if e.Revision != deleted || e.Sub != events || !e.Deleted {
					t.Fatalf("event %d is %+v", events, e)
				}
				events++
			}
			if len(d.Events) == 0 {
				return done
			}
			deliveries++
			if isLast := events == keys; (d.Complete == deleted) != isLast {
				t.Errorf("after %d events everything up to %d is delivered", events, d.Complete)
			}
			return nil
		})
		if !errors.Is(err, done) || events != keys || deliveries < 2 {
			t.Errorf("%d events in %d deliveries: %v", events, deliveries, err)
		}
	})
}

// deletesAll deletes all keys at one revision.
func deletesAll(t *testing.T, address string) {
	t.Helper()
	connection := must(grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials())))(t)
	request := &etcdserverpb.DeleteRangeRequest{Key: []byte{0}, RangeEnd: []byte{0}}
	_, err := etcdserverpb.NewKVClient(connection).DeleteRange(t.Context(), request)
	if err := errors.Join(err, connection.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestHistoryOfAMemberAlone: one that has lost the others ends the watch.
func TestHistoryOfAMemberAlone(t *testing.T) {
	if testing.Short() {
		t.Skip("starts etcd: run it without -short")
	}
	t.Parallel()
	c := process.Run(t, "3.6.16", 3)
	ended := make(chan error, 1)
	go func() {
		ended <- c.Client("m1").History(t.Context(), 1, time.Second, func(etcd.Delivery) error { return nil })
	}()
	time.Sleep(100 * time.Millisecond)
	c.Member("m2").Stop()
	c.Member("m3").Stop()
	if err := <-ended; err == nil || t.Context().Err() != nil {
		t.Errorf("%v", err)
	} else {
		t.Log(err)
	}
}

// mute is a server whose watch never sends anything.
type mute struct {
	etcdserverpb.UnimplementedWatchServer
}

func (mute) Watch(stream etcdserverpb.Watch_WatchServer) error {
	<-stream.Context().Done()
	return stream.Context().Err()
}

// TestHistoryOfASilentMember ends with a typed error.
func TestHistoryOfASilentMember(t *testing.T) {
	t.Parallel()
	listener := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	server := grpc.NewServer()
	etcdserverpb.RegisterWatchServer(server, mute{})
	go func() { _ = server.Serve(listener) }() // it ends with the test
	t.Cleanup(server.Stop)
	pool := etcd.NewPool()
	t.Cleanup(func() { pool.Keep(owner, nil) })
	client := must(pool.Client(owner, etcd.Target{Address: listener.Addr().String()}))(t)
	err := client.History(t.Context(), 1, 20*time.Millisecond, func(etcd.Delivery) error { return nil })
	var silent *etcd.SilenceError
	if !errors.As(err, &silent) || silent.Lasted != 240*time.Millisecond {
		t.Errorf("%v", err)
	}
}
