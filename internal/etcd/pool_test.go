// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/etcd/process"
)

// silent accepts connections, says nothing, and counts those that are open.
type silent struct {
	net.Listener
	opened, open atomic.Int32
}

func newSilent(t *testing.T) *silent {
	t.Helper()
	s := &silent{Listener: must(net.Listen("tcp", process.FreeAddress(t)))(t)}
	t.Cleanup(func() { _ = s.Close() })
	go func() {
		for {
			connection, err := s.Accept()
			if err != nil {
				return
			}
			s.opened.Add(1)
			s.open.Add(1)
			go func() {
				for err := error(nil); err == nil; {
					_, err = connection.Read(make([]byte, 1024))
				}
				s.open.Add(-1)
				_ = connection.Close()
			}()
		}
	}()
	return s
}

func (s *silent) target(instance string) etcd.Target {
	return etcd.Target{Instance: instance, Address: s.Addr().String()}
}

// ask makes one call, which a silent server can only let run into its deadline.
func ask(t *testing.T, pool *etcd.Pool, owner string, target etcd.Target) {
	t.Helper()
	client := must(pool.Client(owner, target))(t)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := client.Status(ctx)
	want(t, "asking a silent member", err, context.DeadlineExceeded)
}

func (s *silent) wants(t *testing.T, opened, open int32) {
	t.Helper()
	eventually(t, "connections", func() error {
		if s.opened.Load() != opened || s.open.Load() != open {
			return fmt.Errorf("%d were made and %d are open, want %d and %d", s.opened.Load(), s.open.Load(), opened, open)
		}
		return nil
	})
}

// TestIsAway: nothing listens at the address of a member, or what accepts does not answer.
func TestIsAway(t *testing.T) {
	t.Parallel()
	pool, server := etcd.NewPool(), newSilent(t)
	client := must(pool.Client("a/a", server.target("pod-1")))(t)
	move := func(client etcd.Client) error {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second) // which a silent one lets run out
		defer cancel()
		return client.MoveLeader(ctx, 1)
	}
	if err := move(client); !etcd.IsAway(err) {
		t.Errorf("a silent member: %v", err)
	}
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	if err := move(must(pool.Client("a/a", server.target("pod-2")))(t)); !etcd.IsAway(err) {
		t.Errorf("a member that has ended: %v", err)
	}
	for _, other := range []error{nil, etcd.ErrNotReady, etcd.ErrLearner, context.Canceled} {
		if etcd.IsAway(other) {
			t.Errorf("%v", other)
		}
	}
	pool.Keep("a/a", nil)
}

func TestPool(t *testing.T) {
	t.Parallel()
	pool, server := etcd.NewPool(), newSilent(t)
	must(pool.Client("a/a", server.target("pod-1")))(t)
	server.wants(t, 0, 0) // nothing is dialled before it is needed

	ask(t, pool, "a/a", server.target("pod-1"))
	ask(t, pool, "a/a", server.target("pod-1"))
	server.wants(t, 1, 1)
	ask(t, pool, "b/b", server.target("pod-1"))
	ask(t, pool, "a/a", server.target("pod-2")) // the address went to a new Pod
	server.wants(t, 3, 3)

	pool.Keep("a/a", []etcd.Target{server.target("pod-2"), server.target("pod-3")})
	server.wants(t, 3, 2)
	pool.Keep("a/a", nil)
	server.wants(t, 3, 1)

	pool.Keep("b/b", nil)
	server.wants(t, 3, 0)
	pool.Keep("b/b", nil)
}

func TestPoolIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	pool := etcd.NewPool()
	target := etcd.Target{Address: "127.0.0.1:1"}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				client, err := pool.Client("a/a", target)
				if err != nil {
					t.Error(err)
					return
				}
				pool.Keep("a/a", nil)
				if _, err := client.Status(t.Context()); err == nil {
					t.Error("nothing listens, and it answered")
				}
			}
		})
	}
	all.Wait()
	pool.Keep("a/a", nil)
}
