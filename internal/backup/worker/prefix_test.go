// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package worker_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/etcd/process"
)

// shop is a cluster with keys below a prefix, which are restored, and keys beside it.
type shop struct {
	*running
	etcd *clientv3.Client
	live jobspec.Live
}

const prefix = "/shop/"

func newShop(t *testing.T, version string, size int) *shop {
	t.Helper()
	r := newRunning(t, version, size)
	b := r.backup().Backup
	s := &shop{r, r.client(r.cluster, "m1"), jobspec.Live{ClusterID: b.ClusterID, Members: b.Members}}
	s.puts("/shoo a", "/shop/a 1", "/shop/changed old", "/shop/deleted x", "/shop/same s", "/shop0 b", "a c")
	return s
}

// puts puts keys, each a line with its value, or deletes it if there is none.
func (s *shop) puts(lines ...string) {
	s.Helper()
	for _, line := range lines {
		key, value, isPut := strings.Cut(line, " ")
		var err error
		if isPut {
			_, err = s.etcd.Put(s.Context(), key, value)
		} else {
			_, err = s.etcd.Delete(s.Context(), key)
		}
		must(s, err)
	}
}

// moment is the present one, in a full backup of its own.
func (s *shop) moment(id string) jobspec.Located {
	s.Helper()
	order := s.backup()
	order.Backup.ID = id
	return jobspec.Located{Path: "v1/default/example/" + id, Revision: s.does(order).Backup.Revision}
}

// all are the keys with a prefix at a revision, and the revisions at which they were written; 0: as they are.
func (s *shop) all(prefix string, revision int64) (values map[string]string, written map[string]int64) {
	s.Helper()
	found, err := s.etcd.Get(s.Context(), prefix, clientv3.WithPrefix(), clientv3.WithRev(revision))
	must(s, err)
	values, written = map[string]string{}, map[string]int64{}
	for _, kv := range found.Kvs {
		values[string(kv.Key)], written[string(kv.Key)] = string(kv.Value), kv.ModRevision
	}
	return values, written
}

func (s *shop) isAsAt(revision int64, but ...string) {
	s.Helper()
	want, _ := s.all(prefix, revision)
	s.has(want, but...)
}

func (s *shop) has(want map[string]string, but ...string) {
	s.Helper()
	want = maps.Clone(want)
	got, _ := s.all(prefix, 0)
	for _, key := range but {
		delete(want, key)
		delete(got, key)
	}
	if !maps.Equal(got, want) {
		s.Errorf("%d keys are there, not the %d that were", len(got), len(want))
	}
}

func (s *shop) comparing(at jobspec.Located) jobspec.Order {
	return jobspec.Order{Verb: jobspec.Compare, Compare: &jobspec.CompareOrder{Prefix: []byte(prefix), At: &at, Live: s.live}}
}

func (s *shop) compares(at jobspec.Located) jobspec.Changes {
	s.Helper()
	return *s.does(s.comparing(at)).Changes
}

func (s *shop) applying(at jobspec.Located, c jobspec.Changes) jobspec.Order {
	return jobspec.Order{Verb: jobspec.Apply, Apply: &jobspec.ApplyOrder{
		Prefix: []byte(prefix), At: at, Live: s.live, Revision: c.Revision, Digest: c.Digest,
	}}
}

func (s *shop) reverting(before, at jobspec.Located) jobspec.Order {
	return jobspec.Order{Verb: jobspec.Revert, Revert: &jobspec.RevertOrder{Prefix: []byte(prefix), Before: before, At: at, Live: s.live}}
}

// wants carries out an order, which must have done that many, in the order of names: create, update, delete, same, skipped.
func (s *shop) wants(order jobspec.Order, create, update, remove, skipped int64) jobspec.Changes {
	s.Helper()
	c := *s.does(order).Changes
	if c.Create != create || c.Update != update || c.Delete != remove || c.Skipped != skipped {
		s.Errorf("%s: %+v", order.Verb, c)
	}
	return c
}

func (s *shop) revision() int64 {
	s.Helper()
	found, err := s.etcd.Get(s.Context(), "x")
	must(s, err)
	return found.Header.Revision
}

// TestPrefixIsRestored to what it was, of more keys than one transaction has, and of long ones; then it is reverted. Other keys are never
// written.
func TestPrefixIsRestored(t *testing.T) {
	for _, version := range process.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, version, 3)
			long := strings.Repeat("l", 1<<20)
			var many, changed []string
			for n := range 1000 {
				many = append(many, fmt.Sprintf("/shop/many/%03d %d", n, n))
				changed = append(changed, [...]string{
					fmt.Sprintf("/shop/many/%03d", n), fmt.Sprintf("/shop/many/%03d other", n), fmt.Sprintf("/shop/more/%03d %d", n, n),
				}[n%3])
			}
			lease, err := s.etcd.Grant(t.Context(), 3600)
			must(t, err)
			_, err = s.etcd.Put(t.Context(), "/shop/deleted", "x", clientv3.WithLease(lease.ID))
			must(t, err)
			s.puts(append(many, "/shop/long1 "+long, "/shop/long2 "+long, "/shop/long3 "+long)...)
			at := s.moment("at")
			s.puts(append(changed, "/shop/changed new", "/shop/deleted", "/shop/added a", "/shop/a 2", "/shop/a 1",
				"/shop/long1", "/shop/long2 short", "/shop/long4 "+long, "/shoo other", "/shop0 other", "a other")...)
			before := s.moment("before")
			_, writtenBefore := s.all("", 0)

			c := s.wants(s.comparing(at), 336, 335, 335, 0)
			first := c.Examples[0]
			if c.Same != 336 || c.Leased != 1 || c.Revision != s.revision() || len(c.Examples) != jobspec.MostExamples ||
				string(first.Key) != "/shop/added" || first.What != "delete" || len(c.Digest) != 64 {
				t.Errorf("%+v", c)
			}
			order := s.applying(at, c)
			applied := s.wants(order, 336, 335, 335, 0)
			if applied.Revision != s.revision() || applied.Revision > c.Revision+30 || len(applied.Examples) > 0 {
				t.Errorf("%+v", applied)
			}
			s.isAsAt(at.Revision)
			s.wants(s.comparing(at), 0, 0, 0, 0)
			if again := s.wants(order, 336, 335, 335, 0); again.Revision != applied.Revision {
				t.Errorf("another attempt writes: revision %d", again.Revision)
			}

			s.puts("/shop/changed mine", "/shop/long1 mine", "/shop/added back")
			back := s.reverting(before, at)
			reverted := s.wants(back, 334, 334, 335, 3)
			s.isAsAt(before.Revision, "/shop/changed", "/shop/long1", "/shop/added")
			if got, _ := s.all(prefix, 0); got["/shop/changed"] != "mine" || got["/shop/long1"] != "mine" || got["/shop/added"] != "back" {
				t.Error("what was changed since is written over")
			}
			if len(reverted.Examples) != 3 || string(reverted.Examples[0].Key) != "/shop/added" || reverted.Examples[0].What != "create" {
				t.Errorf("%+v", reverted.Examples)
			}
			if again := s.wants(back, 334, 334, 335, 3); again.Revision != reverted.Revision {
				t.Errorf("another attempt writes: revision %d", again.Revision)
			}
			_, written := s.all("", 0)
			for key, revision := range writtenBefore {
				if !strings.HasPrefix(key, prefix) && written[key] != revision {
					t.Errorf("%s is written", key)
				}
			}
		})
	}
}
