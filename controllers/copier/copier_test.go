// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package copier_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/controllers/copier"
	"github.com/etcd-operator/etcd-operator/internal/copying"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/etcd/process"
)

// clusters are two of real processes.
type clusters struct {
	*testing.T
	source, target etcd.Client
}

func newClusters(t *testing.T, version string) clusters {
	t.Helper()
	return clusters{t, process.Run(t, version, 1).Client("m1"), process.Run(t, "3.6.16", 1).Client("m1")}
}

func must[T any](value T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

// resumed is a copier as an operator has it that has just started: all that it knows is in the target.
func (c clusters) resumed() *copier.Copier {
	c.Helper()
	item := must(c.target.Get(c.Context(), []byte(copying.MarkKey)))(c.T)
	return &copier.Copier{
		Source: c.source, Target: c.target, Mark: copying.ParseMark(item.Value), Changed: item.Changed, Revision: item.Revision,
	}
}

func (c clusters) begun() *copier.Copier {
	c.Helper()
	copied := c.resumed()
	must(0, copied.Begin(c.Context(), "uid", "1", must(c.source.Revision(c.Context()))(c.T), copied.Changed > 0))(c.T)
	return copied
}

func (c clusters) put(key string, value []byte) {
	c.Helper()
	must(c.source.Put(c.Context(), etcd.KeyValue{Key: []byte(key), Value: value}))(c.T)
}

// follows copies what there is.
func (c clusters) follows(copied *copier.Copier) {
	c.Helper()
	must(0, copied.Follow(c.Context(), 30*time.Second, must(c.source.Revision(c.Context()))(c.T)))(c.T)
}

func (c clusters) wantEqual(copied *copier.Copier) copier.Sum {
	c.Helper()
	there := must(copier.SumOf(c.Context(), c.source, copied.Mark.Revision))(c.T)
	here := must(copier.SumOf(c.Context(), c.target, copied.Revision))(c.T)
	if here != there {
		c.Errorf("%d keys with the sum %x, want %d with %x", here.Keys, here.SHA256, there.Keys, there.SHA256)
	}
	item := must(c.target.Get(c.Context(), []byte(copying.MarkKey)))(c.T)
	if item.Changed != copied.Changed || item.Revision != copied.Revision {
		c.Errorf("the mark was written at %d of %d, want %d of %d", item.Changed, item.Revision, copied.Changed, copied.Revision)
	}
	return there
}

// TestCopy: keys of many sizes, from no value to what a request can have, then what is written, changed and deleted,
// also many times.
func TestCopy(t *testing.T) {
	for _, version := range process.Versions {
		t.Run(version, func(t *testing.T) { copies(t, version) })
	}
}

func copies(t *testing.T, version string) {
	t.Helper()
	c := newClusters(t, version)
	for n := range 400 {
		c.put(fmt.Sprintf("key/%04d", n), bytes.Repeat([]byte{byte(n)}, n*13))
	}
	for n := range 5 {
		c.put(fmt.Sprintf("large/%d", n), bytes.Repeat([]byte{7}, 1536<<10-60))
	}
	c.put("\x00\xff", nil)
	copied := c.begun()
	must(0, copied.Read(t.Context(), time.Minute))(t)
	if sum := c.wantEqual(copied); sum.Keys != 406 || copied.Mark.Keys != 406 || !copied.Mark.Whole {
		t.Errorf("%d keys, %+v", sum.Keys, copied.Mark)
	}
	for n := range 300 {
		c.put(fmt.Sprintf("key/%04d", n%7), fmt.Appendf(nil, "%d", n))
	}
	c.put("large/1", bytes.Repeat([]byte{8}, 1536<<10-60))
	must(0, c.source.Delete(t.Context(), []byte("key/0003")))(t)
	c.follows(copied)
	c.wantEqual(copied)
}

// TestFault124CopiesGoOn: an operator dies at any moment, while clients write, and another one goes on with what the target says.
func TestFault124CopiesGoOn(t *testing.T) {
	c := newClusters(t, "3.6.16")
	for n := range 3000 {
		c.put(fmt.Sprintf("key/%04d", n), []byte(strings.Repeat("x", 200)))
	}
	writing, stop := context.WithCancel(t.Context())
	var writer sync.WaitGroup
	writer.Go(func() {
		for n := 0; writing.Err() == nil; n++ {
			_, _ = c.source.Put(writing, etcd.KeyValue{Key: fmt.Appendf(nil, "key/%04d", rand.IntN(4000)), Value: fmt.Appendf(nil, "%d", n)})
			if n%5 == 0 {
				_ = c.source.Delete(writing, fmt.Appendf(nil, "key/%04d", rand.IntN(4000)))
			}
		}
	})
	deaths := 0
	c.begun()
	for range 60 {
		copied := c.resumed()
		dying, cancel := context.WithTimeout(t.Context(), time.Duration(5+rand.IntN(40))*time.Millisecond)
		err := copied.Read(dying, time.Minute)
		if err == nil && copied.Mark.Whole {
			err = copied.Follow(dying, time.Minute, 0)
		}
		if dying.Err() != nil {
			deaths++
		}
		if cancel(); errors.Is(err, copier.ErrForeign) {
			t.Fatal(err)
		}
	}
	stop()
	writer.Wait()
	copied := c.resumed()
	err := copied.Read(t.Context(), time.Minute)
	for errors.Is(err, etcd.ErrChanged) { // a request of one that died had its effect later
		copied = c.resumed()
		err = copied.Read(t.Context(), time.Minute)
	}
	must(0, err)(t)
	c.follows(copied)
	sum := c.wantEqual(copied)
	t.Logf("%d deaths; %d keys at revision %d", deaths, sum.Keys, copied.Mark.Revision)
	if deaths < 30 {
		t.Errorf("only %d deaths: this shows little", deaths)
	}
}

// TestFault125SourceCompacts: what the source no longer has is read again, and what was deleted meanwhile does not stay.
func TestFault125SourceCompacts(t *testing.T) {
	c := newClusters(t, "3.6.16")
	for n := range 300 {
		c.put(fmt.Sprintf("key/%04d", n), []byte("first"))
	}
	copied := c.begun()
	must(0, copied.Read(t.Context(), time.Minute))(t)
	for n := range 200 {
		must(0, c.source.Delete(t.Context(), fmt.Appendf(nil, "key/%04d", n)))(t)
	}
	c.put("new", []byte("later"))
	must(0, c.source.Compact(t.Context(), must(c.source.Revision(t.Context()))(t)))(t)
	if err := copied.Follow(t.Context(), time.Minute, 0); !errors.Is(err, etcd.ErrCompacted) {
		t.Errorf("following what was compacted: %v", err)
	}
	copied = c.begun()
	must(0, copied.Read(t.Context(), time.Minute))(t)
	if sum := c.wantEqual(copied); sum.Keys != 101 {
		t.Errorf("%d keys", sum.Keys)
	}
}

// TestFault127ForeignWrites: what something else writes is seen, and the mark keeps showing it.
func TestFault127ForeignWrites(t *testing.T) {
	c := newClusters(t, "3.6.16")
	c.put("a", []byte("1"))
	copied := c.begun()
	must(0, copied.Read(t.Context(), time.Minute))(t)
	must(c.target.Put(t.Context(), etcd.KeyValue{Key: []byte("b"), Value: []byte("1")}))(t)
	c.put("a", []byte("2"))
	if err := copied.Follow(t.Context(), time.Minute, 99); !errors.Is(err, copier.ErrForeign) {
		t.Errorf("after a foreign write: %v", err)
	}
	if copied = c.resumed(); copied.Mark.Base+1 == copied.Changed {
		t.Error("the mark does not show it")
	}
	other := c.resumed()
	c.put("a", []byte("3"))
	must(0, copied.Begin(t.Context(), "uid", "1", 1, true))(t)
	if err := other.Begin(t.Context(), "uid", "1", 1, true); !errors.Is(err, etcd.ErrChanged) {
		t.Errorf("two at once: %v", err)
	}
}

// TestLeases: they keep their IDs, and a key that a client has written since keeps what that has written.
func TestLeases(t *testing.T) {
	c := newClusters(t, "3.6.16")
	must(0, c.source.GrantLease(t.Context(), etcd.Lease{ID: 77, TTL: 600}))(t)
	var keys [][]byte
	for n := range 150 {
		keys = append(keys, fmt.Appendf(nil, "key/%03d", n))
		c.put(string(keys[n]), []byte("x"))
	}
	must(c.source.Attach(t.Context(), 77, keys[:75], 999))(t)
	must(c.source.Attach(t.Context(), 77, keys[75:], 999))(t)
	copied := c.begun()
	must(0, copied.Read(t.Context(), time.Minute))(t)
	at := copied.Revision
	must(c.target.Put(t.Context(), etcd.KeyValue{Key: keys[5], Value: []byte("a client's")}))(t)
	leases, bound, err := copied.Bind(t.Context(), at)
	if err != nil || leases != 1 || bound != 149 {
		t.Errorf("%d leases, %d keys, %v", leases, bound, err)
	}
	lease := must(c.target.Lease(t.Context(), 77))(t)
	if lease.TTL != 600 || len(lease.Keys) != 149 {
		t.Errorf("for %d s, %d keys", lease.TTL, len(lease.Keys))
	}
	if item := must(c.target.Get(t.Context(), keys[5]))(t); string(item.Value) != "a client's" || item.Lease != 0 {
		t.Errorf("%+v", item)
	}
}
