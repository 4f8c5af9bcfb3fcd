// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/etcd/process"
)

func kv(key, value string) etcd.KeyValue {
	return etcd.KeyValue{Key: []byte(key), Value: []byte(value)}
}

// TestStoppedWrites: the alarm CORRUPT, for a member that does not exist, stops puts, deletions, transactions, and leases from ending.
// Reads go on, and so does everything once it is disarmed.
func TestStoppedWrites(t *testing.T) {
	ofVersions(t, process.Versions, func(t *testing.T, version string) {
		c := process.Run(t, version, 1)
		m, ctx := c.Client("m1"), t.Context()
		if err := m.GrantLease(ctx, etcd.Lease{ID: 77, TTL: 2}); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"a", "leased"} {
			must(m.Put(ctx, kv(key, "1")))(t)
		}
		if n := must(m.Attach(ctx, 77, [][]byte{[]byte("leased"), []byte("absent")}, 99))(t); n != 1 {
			t.Errorf("%d keys are bound", n)
		}
		ours := etcd.Alarm{MemberID: 12345, Kind: "CORRUPT"}
		if err := m.Raise(ctx, ours); err != nil {
			t.Fatal(err)
		}
		final := must(m.Revision(ctx))(t)
		for what, write := range map[string]func() error{
			"put":    func() error { _, err := m.Put(ctx, kv("b", "1")); return err },
			"delete": func() error { return m.Delete(ctx, []byte("a")) },
			"txn":    func() error { _, err := m.Apply(ctx, nil, kv("mark", "1"), 0); return err },
			"grant":  func() error { return m.GrantLease(ctx, etcd.Lease{ID: 78, TTL: 60}) },
		} {
			if err := write(); err == nil {
				t.Errorf("%s is acknowledged", what)
			} else {
				t.Logf("%s: %v", what, err)
			}
		}
		time.Sleep(4 * time.Second) // longer than the lease
		if got := must(m.Revision(ctx))(t); got != final {
			t.Errorf("revision %d has become %d", final, got)
		}
		if page := must(m.Page(ctx, nil, final, 10))(t); len(page.Items) != 2 || page.Items[1].Lease != 77 {
			t.Errorf("%+v", page)
		}
		if status := must(m.Status(ctx))(t); len(status.Alarms) != 1 || status.Alarms[0] != ours {
			t.Errorf("%+v", status.Alarms)
		}
		if err := m.Disarm(ctx, ours); err != nil {
			t.Fatal(err)
		}
		must(m.Put(ctx, kv("b", "1")))(t)
	})
}

// TestData: pages at one revision, changes from one on, and transactions that depend on a mark.
func TestData(t *testing.T) {
	ofVersions(t, process.Versions, func(t *testing.T, version string) {
		c := process.Run(t, version, 1)
		m, ctx := c.Client("m1"), t.Context()
		for n := range 10 {
			must(m.Put(ctx, kv(fmt.Sprintf("k%d", n), "v")))(t)
		}
		at := must(m.Revision(ctx))(t)
		must(m.Put(ctx, kv("k5", "later")))(t)
		if err := m.Delete(ctx, []byte("k0")); err != nil {
			t.Fatal(err)
		}
		page := must(m.Page(ctx, []byte("k2\x00"), at, 4))(t)
		if len(page.Items) != 4 || string(page.Items[2].Key) != "k5" || string(page.Items[2].Value) != "v" || !page.More {
			t.Errorf("%+v", page)
		}
		var seen []etcd.Change
		done := errors.New("enough")
		err := m.Watch(ctx, at+1, func(changes []etcd.Change, complete int64) error {
			if seen = append(seen, changes...); complete == at+2 {
				return done
			}
			return nil
		})
		if !errors.Is(err, done) || len(seen) != 2 || string(seen[0].Value) != "later" || !seen[1].Deleted {
			t.Errorf("%+v: %v", seen, err)
		}
		first := must(m.Apply(ctx, seen, kv("mark", "1"), 0))(t)
		if _, err := m.Apply(ctx, nil, kv("mark", "2"), 0); !errors.Is(err, etcd.ErrChanged) {
			t.Errorf("a mark that there was: %v", err)
		}
		if second := must(m.Apply(ctx, nil, kv("mark", "2"), first))(t); second != first+1 {
			t.Errorf("revision %d after %d", second, first)
		}
		if item := must(m.Get(ctx, []byte("mark")))(t); string(item.Value) != "2" || item.Changed != item.Revision {
			t.Errorf("%+v", item)
		}
		if err := m.Compact(ctx, first); err != nil {
			t.Fatal(err)
		}
		if _, err := m.Page(ctx, nil, at, 1); !errors.Is(err, etcd.ErrCompacted) {
			t.Errorf("a page that was compacted: %v", err)
		}
		limited, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		if err := m.Watch(limited, at, func([]etcd.Change, int64) error { return nil }); !errors.Is(err, etcd.ErrCompacted) {
			t.Errorf("a watch that was compacted: %v", err)
		}
	})
}

// TestLargeData: values near the limit of a request are read in pages of their size, and watched.
func TestLargeData(t *testing.T) {
	c := process.Run(t, process.Versions[0], 1)
	m, ctx := c.Client("m1"), t.Context()
	value := bytes.Repeat([]byte{7}, 1500<<10)
	for n := range 24 {
		must(m.Put(ctx, etcd.KeyValue{Key: fmt.Appendf(nil, "k%02d", n), Value: value}))(t)
	}
	if _, err := m.Page(ctx, nil, 0, 100); !errors.Is(err, etcd.ErrTooLarge) {
		t.Errorf("all at once: %v", err)
	}
	if page := must(m.Page(ctx, nil, 0, 8))(t); len(page.Items) != 8 {
		t.Errorf("%d keys", len(page.Items))
	}
	count, done := 0, errors.New("enough")
	if err := m.Watch(ctx, 2, func(changes []etcd.Change, _ int64) error {
		if count += len(changes); count == 24 {
			return done
		}
		return nil
	}); !errors.Is(err, done) {
		t.Error(err)
	}
	whole := etcd.Change{KeyValue: etcd.KeyValue{Key: []byte("l"), Value: bytes.Repeat([]byte{7}, 1536<<10-10)}}
	if _, err := m.Apply(ctx, []etcd.Change{whole}, kv("mark", "1"), 0); !errors.Is(err, etcd.ErrTooLarge) {
		t.Errorf("a value of the size of a request, with a mark: %v", err)
	}
	must(m.Put(ctx, etcd.KeyValue{Key: whole.Key, Value: whole.Value[:1536<<10-40]}))(t)
}

// TestApplyIf: of the changes of a transaction those are made whose key has not changed, put and deleted, created and not.
func TestApplyIf(t *testing.T) {
	ofVersions(t, process.Versions, func(t *testing.T, version string) {
		c := process.Run(t, version, 1)
		m, ctx := c.Client("m1"), t.Context()
		if err := m.GrantLease(ctx, etcd.Lease{ID: 77, TTL: 600}); err != nil {
			t.Fatal(err)
		}
		at := map[string]int64{}
		for _, key := range []string{"put", "put-late", "deleted", "deleted-late", "there"} {
			at[key] = must(m.Put(ctx, kv(key, "1")))(t)
		}
		must(m.Attach(ctx, 77, [][]byte{[]byte("put")}, 99))(t)
		at["put"] = must(m.Put(ctx, kv("put-late", "2")))(t) - 1
		late := must(m.Put(ctx, kv("deleted-late", "2")))(t)
		var changes []etcd.Guarded
		for _, key := range []string{"put", "put-late", "deleted", "deleted-late", "there", "absent", "absent-deleted", "gone"} {
			change := etcd.Change{KeyValue: kv(key, "new"), Deleted: strings.HasPrefix(key, "deleted") || key == "absent-deleted"}
			changes = append(changes, etcd.Guarded{Change: change, ModRevision: at[key]})
		}
		changes[4].ModRevision = 0    // it is there
		changes[7].ModRevision = late // it is not
		made, revision, err := m.ApplyIf(ctx, changes)
		if want := []bool{true, false, true, false, false, true, true, false}; err != nil || !slices.Equal(made, want) || revision != late+1 {
			t.Errorf("%v at revision %d after %d: %v", made, revision, late, err)
		}
		page := must(m.Page(ctx, nil, 0, 10))(t)
		var got []string
		for _, item := range page.Items {
			got = append(got, fmt.Sprintf("%s=%s", item.Key, item.Value))
			if item.Lease != 0 {
				t.Errorf("%s has a lease", item.Key)
			}
		}
		if want := "absent=new deleted-late=2 put=new put-late=2 there=1"; strings.Join(got, " ") != want {
			t.Errorf("%q", got)
		}
		if _, same, err := m.ApplyIf(ctx, changes[3:5]); err != nil || same != revision {
			t.Errorf("nothing is written: revision %d after %d, %v", same, revision, err)
		}
		changes = nil
		for n := range 128 {
			changes = append(changes, etcd.Guarded{Change: etcd.Change{KeyValue: kv(fmt.Sprintf("many%03d", n), "1")}})
		}
		if _, _, err := m.ApplyIf(ctx, changes); !errors.Is(err, etcd.ErrTooLarge) {
			t.Errorf("128 changes: %v", err)
		}
		if made, _, err := m.ApplyIf(ctx, changes[:127]); err != nil || slices.Contains(made, false) {
			t.Errorf("127 changes: %v, %v", made, err)
		}
		whole := etcd.Guarded{Change: etcd.Change{KeyValue: etcd.KeyValue{Key: []byte("l"), Value: bytes.Repeat([]byte{7}, 1536<<10)}}}
		if _, _, err := m.ApplyIf(ctx, []etcd.Guarded{whole}); !errors.Is(err, etcd.ErrTooLarge) {
			t.Errorf("a value of the size of a request: %v", err)
		}
		full := etcd.Alarm{MemberID: must(m.Status(ctx))(t).MemberID, Kind: "NOSPACE"}
		if err := m.Raise(ctx, full); err != nil {
			t.Fatal(err)
		}
		whole.Value = nil
		if _, _, err := m.ApplyIf(ctx, []etcd.Guarded{whole}); !etcd.IsFull(err) {
			t.Errorf("no space is left: %v", err)
		}
	})
}
