// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package worker_test

import (
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/etcd/process"
)

// TestPrefixChangedMeanwhile: what was changed since it was compared stays, and if etcd has compacted what was compared, only the same
// differences are applied.
func TestPrefixChangedMeanwhile(t *testing.T) {
	t.Parallel()
	s := newShop(t, "3.6.16", 1)
	at := s.moment("at")
	was, _ := s.all(prefix, 0)
	s.puts("/shop/a 2", "/shop/changed new", "/shop/deleted")
	order := s.applying(at, s.compares(at))
	s.puts("/shop/a mine")
	done := s.wants(order, 1, 1, 0, 1)
	if len(done.Examples) != 1 || string(done.Examples[0].Key) != "/shop/a" {
		t.Errorf("%+v", done.Examples)
	}
	s.has(was, "/shop/a")

	order = s.applying(at, s.compares(at))
	s.compact()
	s.wants(order, 0, 1, 0, 0)
	s.has(was)

	s.puts("/shop/a 3", "/shop/b 3")
	order = s.applying(at, s.compares(at))
	s.puts("/shop/a mine")
	s.compact()
	revision := s.revision()
	s.fails(order, jobspec.Outdated, true, "keys below the prefix have changed since they were compared, and nothing was written")
	if s.revision() != revision {
		t.Error("it has written")
	}
	order.Apply.Revision = revision + 99
	s.fails(order, jobspec.Outdated, true, "was compared; the keys are compared again")
}

func (s *shop) compact() {
	s.Helper()
	s.puts("a later")
	_, err := s.etcd.Compact(s.Context(), s.revision(), clientv3.WithCompactPhysical())
	must(s, err)
}

// TestKilledDuringPrefix at many lines that it says: the next Job ends what was begun, and counts all of it.
func TestKilledDuringPrefix(t *testing.T) {
	t.Parallel()
	s := newShop(t, "3.6.16", 1)
	keys := func(value string) (lines []string) {
		for n := range 600 {
			lines = append(lines, fmt.Sprintf("/shop/many/%03d %s", n, value))
		}
		return lines
	}
	s.puts(keys("old")...)
	at := s.moment("at")
	s.puts(keys("new")...)
	s.puts("/shop/added a", "/shop/deleted")
	before := s.moment("before")
	c := s.compares(at)
	for _, order := range []jobspec.Order{s.applying(at, c), s.reverting(before, at)} {
		halves := 0
		for lines := 20; s.killed(order, lines); lines += 90 {
			now, _ := s.all("/shop/many/", 0)
			if n := strings.Count(fmt.Sprint(now), "old"); n > 0 && n < 600 {
				halves++
			}
		}
		if halves == 0 {
			t.Errorf("%s was never half done", order.Verb)
		}
		done := s.does(order).Changes
		if done.Create+done.Update+done.Delete != 602 || done.Skipped != 0 {
			t.Errorf("%s: %+v", order.Verb, done)
		}
		if order.Verb == jobspec.Apply {
			s.isAsAt(at.Revision)
		}
	}
	s.isAsAt(before.Revision)
	left, err := os.ReadDir(s.in.Folders.Scratch)
	must(t, err)
	if len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

// TestPrefixByLog: to just before a deletion, and back by the log, with members of which the first does not answer and the second is of
// another cluster.
func TestPrefixByLog(t *testing.T) {
	t.Parallel()
	r, target, found := logged(t)
	b := r.backup().Backup
	s := &shop{r, r.client(r.cluster, "m1"), jobspec.Live{ClusterID: b.ClusterID}}
	other := process.Run(t, "3.6.16", 1)
	s.live.Members = []jobspec.Member{
		{Name: "m8", Address: "127.0.0.1:1"}, {Name: "m9", Address: other.Member("m1").Client}, b.Members[0],
	}
	target.BeforeDelete = "b"
	order := jobspec.Order{Verb: jobspec.Compare, Compare: &jobspec.CompareOrder{Prefix: []byte("b"), Target: &target, Live: s.live}}
	compared := s.does(order)
	at, c := *compared.Located, *compared.Changes
	if at.Revision != found["put b"].Last.Revision || c.Create != 1 || c.Update+c.Delete+c.Same != 0 {
		t.Fatalf("%+v, %+v", at, c)
	}
	apply := s.applying(at, c)
	apply.Apply.Prefix = []byte("b")
	s.wants(apply, 1, 0, 0, 0)
	if now, _ := s.all("b", 0); !maps.Equal(now, map[string]string{"b": "v"}) {
		t.Errorf("%v", now)
	}
	last := found["put c"]
	back := s.reverting(jobspec.Located{Path: path, Lineage: last.Lineage, Revision: last.Last.Revision}, at)
	back.Revert.Prefix = []byte("b")
	s.wants(back, 0, 0, 1, 0)
	if now, _ := s.all("b", 0); len(now) > 0 {
		t.Errorf("%v", now)
	}

	none := order
	stranger := *order.Compare
	stranger.Live.Members = s.live.Members[:2]
	none.Compare = &stranger
	r.fails(none, jobspec.MemberFailed, false, "not of "+b.ClusterID)
	stranger.Live.Members = nil
	r.fails(none, jobspec.UnsupportedJobSpec, true, "no members")
}

// TestMemberLostDuringPrefix: the next one goes on.
func TestMemberLostDuringPrefix(t *testing.T) {
	t.Parallel()
	s := newShop(t, "3.6.16", 3)
	s.cluster.Lead("m1")
	s.live.Members = s.live.Members[:2] // of which the follower is asked first
	at := s.moment("at")
	for n := range 600 {
		s.puts(fmt.Sprintf("/shop/added/%03d a", n))
	}
	c := s.compares(at)
	isStopped := false
	s.in.Now = func() time.Time {
		if !isStopped && s.revision() > c.Revision { // the first transaction was made
			isStopped = true
			s.cluster.Member("m2").Stop()
		}
		return time.Now()
	}
	s.wants(s.applying(at, c), 0, 0, 600, 0)
	if s.isAsAt(at.Revision); !isStopped {
		t.Error("no member was stopped")
	}
}

// TestPrefixRefused: etcd says why it writes nothing.
func TestPrefixRefused(t *testing.T) {
	for _, version := range process.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, version, 1)
			s.puts("/shop/long "+strings.Repeat("l", 1<<20), "/shop/longer "+strings.Repeat("l", 3<<18))
			at := s.moment("at")
			s.puts("/shop/a 2", "/shop/long", "/shop/longer")
			order := s.applying(at, s.compares(at))
			m := s.cluster.Member("m1")
			m.Start(version, "--max-request-bytes=65536", "--max-txn-ops=2")
			s.cluster.Serves("m1")
			s.fails(order, jobspec.MemberFailed, true, `key "/shop/long", whose value has 1048576 bytes, is larger than the cluster takes`)
			m.Start(version, "--max-txn-ops=2")
			s.cluster.Serves("m1")
			s.wants(order, 2, 1, 0, 0)
			s.isAsAt(at.Revision)

			s.puts("/shop/a 2")
			order = s.applying(at, s.compares(at))
			alarm := etcd.Alarm{MemberID: s.cluster.Status("m1").MemberID, Kind: "NOSPACE"}
			must(t, s.cluster.Client("m1").Raise(t.Context(), alarm))
			s.fails(order, jobspec.NoRoom, false, "raise spec.etcd.quota")
			must(t, s.cluster.Client("m1").Disarm(t.Context(), alarm))

			_, err := s.etcd.UserAdd(t.Context(), "root", "secret")
			must(t, err)
			_, err = s.etcd.UserGrantRole(t.Context(), "root", "root")
			must(t, err)
			_, err = s.etcd.AuthEnable(t.Context())
			must(t, err)
			for _, order := range []jobspec.Order{order, s.comparing(at), s.reverting(at, at)} {
				s.fails(order, jobspec.AuthEnabled, false, "m1 serves these keys to its user root only")
			}
		})
	}
}
