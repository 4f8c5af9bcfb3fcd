// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"errors"
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/etcd/process"
)

// TestCountPrefix: keys that begin with a prefix are counted as they were at a revision, also where no prefix comes after it, and one key
// is the first from it on.
func TestCountPrefix(t *testing.T) {
	ofVersions(t, process.Versions, func(t *testing.T, version string) {
		c := process.Run(t, version, 1)
		m, ctx := c.Client("m1"), t.Context()
		for _, key := range []string{"/a/1", "/a/2", "/a", "/b/1", "\xff\xff1"} {
			must(m.Put(ctx, kv(key, "first")))(t)
		}
		at := must(m.Revision(ctx))(t)
		must(m.Put(ctx, kv("/a/3", "later")))(t)
		must(m.Put(ctx, kv("/b/1", "later")))(t)
		if err := m.Delete(ctx, []byte("/a/1")); err != nil {
			t.Fatal(err)
		}
		if err := m.Delete(ctx, []byte("/a/2")); err != nil {
			t.Fatal(err)
		}
		for prefix, want := range map[string][2]int64{
			"/a/": {2, 1}, "/a": {3, 2}, "/b/1": {1, 1}, "/c": {0, 0}, "\xff": {1, 1}, "": {5, 4},
		} {
			then, now := must(m.CountPrefix(ctx, []byte(prefix), at))(t), must(m.CountPrefix(ctx, []byte(prefix), 0))(t)
			if then != want[0] || now != want[1] {
				t.Errorf("%q: %d, and now %d, want %v", prefix, then, now, want)
			}
		}
		page := must(m.Page(ctx, []byte("/b/1"), at, 1))(t)
		if len(page.Items) != 1 || string(page.Items[0].Key) != "/b/1" || string(page.Items[0].Value) != "first" {
			t.Errorf("%+v", page)
		}
		if page := must(m.Page(ctx, []byte("/b"), at, 1))(t); len(page.Items) != 1 || string(page.Items[0].Key) != "/b/1" {
			t.Errorf("%+v", page)
		}
		if _, err := m.CountPrefix(ctx, []byte("/a/"), at+1000); err == nil || errors.Is(err, etcd.ErrCompacted) {
			t.Errorf("a revision that is not written yet: %v", err)
		}
		if err := m.Compact(ctx, at+1); err != nil {
			t.Fatal(err)
		}
		if _, err := m.CountPrefix(ctx, []byte("/a/"), at); !errors.Is(err, etcd.ErrCompacted) {
			t.Errorf("a revision that was compacted: %v", err)
		}
		if _, err := m.Count(ctx, at); !errors.Is(err, etcd.ErrCompacted) {
			t.Errorf("all keys of a revision that was compacted: %v", err)
		}
	})
}
