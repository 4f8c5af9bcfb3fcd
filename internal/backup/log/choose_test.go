// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package log_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/backup/log"
)

// TestChooseAndRead: for every revision and every time between a full backup and the end of the log, what is read is exactly what was
// written until then.
func TestChooseAndRead(t *testing.T) {
	for seed := range uint64(4) {
		batches := history(seed, 24)
		s := store(t, batches, 1+int(seed)*2)
		end := s.listed[len(s.listed)-1].Header.Last.Revision
		bases := []log.Base{
			{ID: "b2", Revision: base + 13, Finished: timeOf(batches, base+13)},
			{ID: "b1", Revision: base, Finished: noon},
			{ID: "b3", Revision: end - 3, Finished: timeOf(batches, end-3)},
		}
		for revision := int64(base); revision <= end; revision++ {
			plan := must(log.Choose(folder, bases, s.listed, log.Target{Revision: revision}))(t)
			if newest := newestBase(bases, revision); plan.Base.ID != newest {
				t.Errorf("revision %d begins with %s, not %s", revision, plan.Base.ID, newest)
			}
			s.reads(t, plan, batches, revision)
			before := must(log.Choose(folder, bases, s.listed, log.Target{Before: revision + 1}))(t)
			if before.Base != plan.Base || len(before.Segments) != len(plan.Segments) {
				t.Errorf("before revision %d: %+v, not %+v", revision+1, before, plan)
			}
			s.reads(t, before, batches, revision)
		}
		for at := noon; !at.After(batches[len(batches)-1].Time); at = at.Add(time.Second / 2) {
			plan, err := log.Choose(folder, bases, s.listed, log.Target{Time: at})
			if at.Equal(noon) { // the backup is not older
				if !errors.Is(err, log.TooEarly) {
					t.Errorf("%s: %v", at, err)
				}
				continue
			}
			if err != nil {
				t.Fatalf("%s: %v", at, err)
			}
			s.reads(t, plan, batches, max(base, revisionAt(batches, at)))
		}
	}
}

func newestBase(bases []log.Base, revision int64) string {
	newest := log.Base{}
	for _, b := range bases {
		if b.Revision <= revision && b.Revision > newest.Revision {
			newest = b
		}
	}
	return newest.ID
}

// timeOf is when a revision came, all of it.
func timeOf(batches []log.Batch, revision int64) time.Time {
	for _, b := range batches {
		if last := b.Events[len(b.Events)-1].Revision; last > revision || last == revision && b.Complete {
			return b.Time
		}
	}
	return time.Time{}
}

// revisionAt is the last that has come until a time, all of it.
func revisionAt(batches []log.Batch, at time.Time) (revision int64) {
	for _, b := range batches {
		if b.Time.After(at) {
			break
		}
		revision = b.Events[len(b.Events)-1].Revision
		if !b.Complete {
			revision--
		}
	}
	return revision
}

// reads compares what is read with what was written after the backup up to a revision.
func (s stored) reads(t *testing.T, plan log.Plan, batches []log.Batch, revision int64) {
	t.Helper()
	var want, got []log.Event
	for _, b := range batches {
		for _, e := range b.Events {
			if e.Revision > plan.Base.Revision && e.Revision <= revision {
				want = append(want, e)
			}
		}
	}
	reading := plan.Follow()
	for e, err := range reading.Events(s.load) {
		if err != nil {
			t.Fatalf("to %s: %v", plan.Target, err)
		}
		got = append(got, e)
	}
	if !slices.EqualFunc(got, want, sameEvent) || reading.Reached != max(revision, plan.Base.Revision) {
		t.Fatalf("to %s: %d events up to %d, want %d up to %d", plan.Target, len(got), reading.Reached, len(want), revision)
	}
	if left := reading.Left; left.Revision != 0 && (left.Revision != revision+1 || left.Events == 0 || left.Time.IsZero()) {
		t.Errorf("to %s: left out is %+v", plan.Target, left)
	}
}

// TestNoWay says why there is none.
func TestNoWay(t *testing.T) {
	batches := history(7, 24)
	s := store(t, batches, 3)
	whole := slices.Clone(s.listed)
	end := whole[7].Header.Last.Revision
	s.restart(t, 20)
	all := []log.Base{{ID: "b1", Revision: base, Finished: noon}}
	ended := whole[7].Header.Ended
	for name, c := range map[string]struct {
		bases    []log.Base
		segments []log.Listed
		target   log.Target
		want     log.Kind
	}{
		"neither":                  {all, whole, log.Target{}, log.Unclear},
		"both":                     {all, whole, log.Target{Revision: 11, Time: noon}, log.Unclear},
		"both revisions":           {all, whole, log.Target{Revision: 11, Before: 12}, log.Unclear},
		"before a negative one":    {all, whole, log.Target{Before: -1}, log.Unclear},
		"before everything":        {all, whole, log.Target{Before: 1}, log.TooEarly},
		"long before the backup":   {all, whole, log.Target{Before: base}, log.TooEarly},
		"before what comes later":  {all, whole, log.Target{Before: end + 2}, log.TooLate},
		"no backup":                {nil, whole, log.Target{Revision: 12}, log.TooEarly},
		"before the backup":        {all, whole, log.Target{Revision: base - 1}, log.TooEarly},
		"a time before the backup": {all, whole, log.Target{Time: noon.Add(-1)}, log.TooEarly},
		"after the end":            {all, whole, log.Target{Revision: end + 1}, log.TooLate},
		"a time after the end":     {all, whole, log.Target{Time: ended.Add(1)}, log.TooLate},
		"no log":                   {all, nil, log.Target{Revision: base + 1}, log.TooLate},
		"in a gap":                 {all, s.listed, log.Target{Revision: end + 5}, log.InGap},
		"a time in a gap":          {all, s.listed, log.Target{Time: ended.Add(time.Minute)}, log.InGap},
		"beyond a gap":             {all, s.listed, log.Target{Revision: end + 21}, log.InGap},
		"the log begins later":     {all, whole[2:], log.Target{Revision: end}, log.InGap},
		"a hole on the way":        {all, slices.Concat(whole[:3], whole[4:]), log.Target{Revision: end}, log.Missing},
	} {
		if plan, err := log.Choose(folder, c.bases, c.segments, c.target); !errors.Is(err, c.want) {
			t.Errorf("%s: %+v, %v", name, plan, err)
		} else {
			t.Log(err)
		}
	}
	// What is broken, or missing, elsewhere is no reason not to restore.
	late := append(all, log.Base{ID: "b2", Revision: whole[5].Header.Last.Revision, Finished: whole[5].Header.Ended})
	for _, segments := range [][]log.Listed{slices.Concat(whole[:3], whole[4:]), whole[5:], s.listed} {
		plan, err := log.Choose(folder, late, segments, log.Target{Revision: end})
		if err != nil || plan.Base.ID != "b2" || len(plan.Segments) > 3 {
			t.Errorf("%+v: %v", plan, err)
		}
	}
	// Exactly the backup after the gap, with no segment.
	after := append(all, log.Base{ID: "b3", Revision: end + 20, Finished: ended.Add(time.Minute)})
	for _, target := range []log.Target{{Revision: end + 20}, {Time: ended.Add(2 * time.Minute)}} {
		if plan, err := log.Choose(folder, after, s.listed, target); err != nil || plan.Base.ID != "b3" || len(plan.Segments) != 0 {
			t.Errorf("%s: %+v: %v", target, plan, err)
		}
	}
}

// TestReadingEnds with an error if a segment is another one than the plan has, or cannot be read.
func TestReadingEnds(t *testing.T) {
	s := store(t, history(8, 9), 3)
	other := store(t, history(9, 9), 3)
	end := s.listed[2].Header.Last.Revision
	plan := must(log.Choose(folder, []log.Base{{Revision: base, Finished: noon}}, s.listed, log.Target{Revision: end}))(t)
	name := s.listed[1].Object
	for what, c := range map[string]struct {
		content []byte
		want    error
	}{
		"damaged": {append([]byte{'x'}, s.content[name]...), log.Damaged},
		"another": {first(other), log.Forked},
		"gone":    {nil, nil},
	} {
		load := func(object string) ([]byte, error) {
			if object != name {
				return s.load(object)
			}
			if c.content == nil {
				return nil, errors.New("it is gone")
			}
			return c.content, nil
		}
		var err error
		reading, read := plan.Follow(), 0
		for _, err = range reading.Events(load) {
			read++
		}
		if err == nil || c.want != nil && !errors.Is(err, c.want) || reading.Reached > s.listed[0].Header.Last.Revision {
			t.Errorf("%s: %v after revision %d", what, err, reading.Reached)
		}
	}
}

// TestKnownEnd: after the last event of a log a time can be reached up to which the writer has said that nothing else came.
func TestKnownEnd(t *testing.T) {
	s := store(t, history(7, 24), 3)
	last := s.listed[7].Header
	all := []log.Base{{ID: "b1", Revision: base, Finished: noon}}
	end, later := last.Last.Revision, last.Ended.Add(time.Minute)
	newer := append(all, log.Base{ID: "b2", Revision: end, Finished: last.Ended.Add(time.Second)})
	gap := append(all, log.Base{ID: "b3", Revision: end + 20, Finished: last.Ended.Add(time.Hour)})
	for name, c := range map[string]struct {
		bases    []log.Base
		segments []log.Listed
		known    log.End
		want     log.Kind
		number   int
	}{
		"it is not known":             {all, s.listed, log.End{}, log.TooLate, 0},
		"until exactly then":          {all, s.listed, log.End{Revision: end, Until: later}, "", 8},
		"until after it":              {all, s.listed, log.End{Revision: end, Until: later.Add(1)}, "", 8},
		"until just before it":        {all, s.listed, log.End{Revision: end, Until: later.Add(-1)}, log.TooLate, 0},
		"something came since":        {all, s.listed, log.End{Revision: end - 2, Until: later}, "", 8},
		"from a newer backup":         {newer, s.listed, log.End{Revision: end, Until: later}, "", 0},
		"nothing was ever written":    {all, nil, log.End{Revision: base, Until: later}, "", 0},
		"it was written, and is lost": {all, s.listed[:7], log.End{Revision: end, Until: later}, log.TooLate, 0},
		"it went on after a gap":      {gap, s.listed, log.End{Revision: end + 20, Until: later}, log.TooLate, 0},
		"of which we know no backup":  {all, s.listed, log.End{Revision: end + 20, Until: later}, log.TooLate, 0},
	} {
		plan, err := log.ChooseUntil(folder, c.bases, c.segments, c.known, log.Target{Time: later})
		if c.want != "" {
			if !errors.Is(err, c.want) {
				t.Errorf("%s: %+v, %v", name, plan, err)
			}
			continue
		}
		if err != nil || len(plan.Segments) != c.number {
			t.Errorf("%s: %d segments, %v", name, len(plan.Segments), err)
		}
	}
	known := log.End{Revision: end, Until: later}
	if _, err := log.ChooseUntil(folder, all, s.listed, known, log.Target{Revision: end + 1}); !errors.Is(err, log.TooLate) {
		t.Errorf("a revision that was not written yet: %v", err)
	}
}
