// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package log_test

import (
	"slices"
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/backup/log"
)

// TestSplit: both parts together are the plan, cut at the newest hash that is surely before the target.
func TestSplit(t *testing.T) {
	batches := history(3, 24)
	s := hashed(t, batches)
	end := s.listed[len(s.listed)-1].Header.Last.Revision
	for revision := int64(base); revision <= end; revision++ {
		split(t, s, log.Target{Revision: revision}, revision)
	}
	for _, b := range batches {
		split(t, s, log.Target{Time: b.Time}, revisionAt(batches, b.Time))
	}
}

func split(t *testing.T, s stored, target log.Target, revision int64) {
	t.Helper()
	plan := must(log.Choose(folder, []log.Base{{Revision: base, Finished: noon}}, s.listed, target))(t)
	first, hash, rest := plan.Split()
	want := int64(0)
	for _, l := range plan.Segments {
		h := l.Header.Hash
		if isKnown := target.Revision > 0 || h != nil && h.Revision < plan.Segments[len(plan.Segments)-1].Header.First.Revision; h != nil &&
			h.Revision > base && h.Revision <= revision && isKnown {
			want = max(want, h.Revision)
		}
	}
	if (hash == nil) != (want == 0) || hash != nil && hash.Revision != want {
		t.Fatalf("to %s: %+v, not %d", target, hash, want)
	}
	var got []log.Event
	for _, part := range []log.Plan{first, rest} {
		if part.Base.Revision == 0 {
			continue // there is none
		}
		reading := part.Follow()
		for e, err := range reading.Events(s.load) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, e)
		}
		if hash != nil && part.Target == (log.Target{Revision: hash.Revision}) && reading.Reached != hash.Revision {
			t.Errorf("to %s: the first part ends at %d", target, reading.Reached)
		}
	}
	var all []log.Event
	for e, err := range plan.Follow().Events(s.load) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	if !slices.EqualFunc(got, all, sameEvent) {
		t.Errorf("to %s: %d events of %d", target, len(got), len(all))
	}
	if plan.Size() <= 0 && len(plan.Segments) > 0 {
		t.Error("it has no size")
	}
}

// hashed is a history of which each other segment has the hash of the end of the one before.
func hashed(t *testing.T, batches []log.Batch) stored {
	t.Helper()
	s := stored{content: map[string][]byte{}}
	start := log.Start{Lineage: folder.Lineage, Writer: "w1", Base: base, First: log.Position{Revision: base + 1}}
	var hash *log.HashKV
	for n := 0; n < len(batches); n += 2 {
		e := log.NewEncoder(start)
		for _, b := range batches[n:min(n+2, len(batches))] {
			if err := e.Add(b); err != nil {
				t.Fatal(err)
			}
		}
		segment := must(e.Close(hash))(t)
		s.add(segment)
		if hash = nil; n%4 == 0 && segment.Header.Complete {
			hash = &log.HashKV{Hash: 1, Revision: segment.Header.Last.Revision, CompactRevision: 1}
		}
		start = log.Follows(segment.Header, "w1")
	}
	return s
}
