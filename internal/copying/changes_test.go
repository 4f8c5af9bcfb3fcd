// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package copying_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/copying"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

func change(key string, size int) etcd.Change {
	return etcd.Change{KeyValue: etcd.KeyValue{Key: []byte(key), Value: bytes.Repeat([]byte{1}, size)}}
}

// TestBatches: a hundred changes, or a MiB; one alone may have more.
func TestBatches(t *testing.T) {
	var changes []etcd.Change
	for n := range 350 {
		size := n
		if n%50 == 0 {
			size = 700 << 10
		}
		changes = append(changes, change(fmt.Sprintf("%04d", n), size))
	}
	changes = append(changes, change("large", 3<<20))
	var keys []string
	for _, batch := range copying.Batches(changes) {
		size := 0
		for _, c := range batch {
			size += len(c.Key) + len(c.Value)
			keys = append(keys, string(c.Key))
		}
		if len(batch) == 0 || len(batch) > 100 || len(batch) > 1 && size > 1<<20 {
			t.Errorf("a transaction of %d changes and %d bytes", len(batch), size)
		}
	}
	if len(keys) != 351 || !slices.IsSorted(keys) {
		t.Errorf("%d changes have become %d", len(changes), len(keys))
	}
}

// TestLatest: the last change of each key, and none of the mark.
func TestLatest(t *testing.T) {
	got := copying.Latest([]etcd.Change{change("a", 1), change("b", 1), change(copying.MarkKey, 1), change("a", 2)})
	if len(got) != 2 || string(got[0].Key) != "b" || string(got[1].Key) != "a" || len(got[1].Value) != 2 {
		t.Errorf("%+v", got)
	}
}

// TestDifference: after it, what is there is what is wanted, whatever that is; nothing is changed that is as it should be.
func TestDifference(t *testing.T) {
	some := func() (map[string]string, []etcd.Item) {
		all, items := map[string]string{}, []etcd.Item(nil)
		for n := range 12 {
			if key := fmt.Sprintf("k%02d", n); rand.IntN(2) == 0 {
				all[key] = strings.Repeat("x", rand.IntN(2))
				items = append(items, etcd.Item{KeyValue: etcd.KeyValue{Key: []byte(key), Value: []byte(all[key])}})
			}
		}
		return all, items
	}
	for range 500 {
		want, wanted := some()
		got, there := some()
		for _, c := range copying.Difference(wanted, there) {
			before, was := got[string(c.Key)]
			if c.Deleted && !was || !c.Deleted && was && before == string(c.Value) {
				t.Errorf("%s is changed, which is as it should be", c.Key)
			}
			if delete(got, string(c.Key)); !c.Deleted {
				got[string(c.Key)] = string(c.Value)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%v, want %v", got, want)
		}
	}
}

// TestMark: what it is is what it was when it was written; what is none is of no cluster.
func TestMark(t *testing.T) {
	m := copying.Mark{Cluster: "u1", Source: "b1", Read: 7, After: []byte{0, 0xff}, Keys: 3, Base: 2, Large: true}
	if got := copying.ParseMark(m.Text()); fmt.Sprint(got) != fmt.Sprint(m) {
		t.Errorf("%+v", got)
	}
	if got := copying.ParseMark([]byte(`{"cluster": "u1", "read": "x"}`)); got.Cluster != "" {
		t.Errorf("%+v", got)
	}
}
