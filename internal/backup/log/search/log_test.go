// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package search_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/backup/log"
	"github.com/etcd-operator/etcd-operator/internal/backup/log/search"
)

// named is a log of which only names are known. It notes what is read.
type named struct {
	search.Log
	headers int
	loaded  []string
}

func namesOf(w log.Walk) *named {
	n := &named{}
	known := map[string]log.Listed{}
	for _, s := range w.Segments {
		known[s.Object] = s
		n.Segments = append(n.Segments, search.Segment{Object: s.Object, Size: s.Size, First: s.Header.First})
	}
	n.Folder = w.Folder
	n.Headers = func(all []search.Segment) (listed []log.Listed, err error) {
		n.headers += len(all)
		for _, s := range all {
			listed = append(listed, known[s.Object])
		}
		return listed, nil
	}
	n.Walk = func(all []log.Listed) log.Walk {
		return log.Walk{Folder: w.Folder, Segments: all, Load: func(object string) ([]byte, error) {
			n.loaded = append(n.loaded, object)
			return w.Load(object)
		}}
	}
	return n
}

// found are the changes as lines.
func (n *named) found(t *testing.T, q search.Query) []string {
	t.Helper()
	r, err := q.Range(n.Log, log.End{})
	if err != nil {
		t.Fatalf("%+v: %v", q, err)
	}
	var lines []string
	for c, err := range q.Through(r) {
		if err != nil {
			t.Fatalf("%+v: %v", q, err)
		}
		lines = append(lines, text(c, q.Before))
	}
	return lines
}

// TestOnlyWhatIsAskedForIsRead: of a long log, the segments of the asked times or revisions, and a few headers.
func TestOnlyWhatIsAskedForIsRead(t *testing.T) {
	var lines []string
	for n := range 900 {
		lines = append(lines, fmt.Sprintf("%02d:%02d put /a/%d x", 6+n/60, n%60, n))
	}
	w := logOf(t, 3, lines...)
	for name, c := range map[string]struct {
		q           search.Query
		first, last string
		segments    int
	}{
		"times": {
			search.Query{Prefix: true, Since: when("12:00"), Until: when("12:07")}, "371 12:00 put /a/360 x", "378 12:07 put /a/367 x", 3,
		},
		"revisions":    {search.Query{Prefix: true, From: 371, To: 373}, "371 12:00 put /a/360 x", "373 12:02 put /a/362 x", 1},
		"the newest":   {search.Query{Prefix: true, Limit: 2, Newest: true}, "910 20:59 put /a/899 x", "909 20:58 put /a/898 x", 1},
		"the oldest":   {search.Query{Prefix: true, Limit: 4}, "11 06:00 put /a/0 x", "14 06:03 put /a/3 x", 2},
		"up to a time": {search.Query{Key: []byte("/a/1"), Until: when("06:02")}, "12 06:01 put /a/1 x", "12 06:01 put /a/1 x", 1},
	} {
		n := namesOf(w)
		got := n.found(t, c.q)
		if len(got) == 0 || got[0] != c.first || got[len(got)-1] != c.last {
			t.Errorf("%s: %q", name, got)
		}
		if wide := c.q.Newest || c.q.Limit > 0; len(n.loaded) != c.segments || n.headers > 40 && !wide {
			t.Errorf("%s: %d segments and %d headers were read", name, len(n.loaded), n.headers)
		}
	}
}

// TestEveryQueryOfNames finds what a look at everything finds, although only names are known.
func TestEveryQueryOfNames(t *testing.T) {
	for seed := range uint64(6) {
		random := rand.New(rand.NewPCG(seed, 8))
		w := logOf(t, 1+int(seed), randomLines(random, 60)...)
		all := slices.Collect(values(w.Forward()))
		for range 200 {
			q := anyQuery(random)
			q.Before, q.Deletions = false, random.IntN(3) == 0
			want := simply(q, all)
			if q.Deletions {
				limit := q.Limit
				q.Limit = 0
				want = slices.DeleteFunc(simply(q, all), func(line string) bool { return !strings.Contains(line, " delete ") })
				if q.Limit = limit; limit > 0 && len(want) > limit {
					want = want[:limit]
				}
			}
			names := namesOf(w)
			_, err := q.Range(names.Log, log.End{})
			if errors.Is(err, log.TooEarly) || errors.Is(err, log.TooLate) {
				if len(want) > 0 {
					t.Fatalf("%+v: %v, and there is %q", q, err, want)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := names.found(t, q); !slices.Equal(got, want) {
				t.Fatalf("%+v: %q, not %q", q, got, want)
			}
		}
	}
}

// TestPartsFollowEachOther: a long log is read in parts, and what is missing between two of them is not passed over.
func TestPartsFollowEachOther(t *testing.T) {
	var lines []string
	for n := range 1100 {
		lines = append(lines, fmt.Sprintf("%02d:%02d put /a x", n/60, n%60))
	}
	w := logOf(t, 1, lines...)
	for newest, around := range map[bool][]int{false: {999, 1000}, true: {99, 100}} {
		q := search.Query{Prefix: true, Newest: newest}
		if got := namesOf(w).found(t, q); len(got) != 1100 {
			t.Errorf("%d changes are found, newest first: %t", len(got), newest)
		}
		for _, missing := range around {
			less := w
			less.Segments = slices.Delete(slices.Clone(w.Segments), missing, missing+1)
			r, err := q.Range(namesOf(less).Log, log.End{})
			if err != nil {
				t.Fatal(err)
			}
			for _, each := range q.Through(r) {
				err = each
			}
			if !errors.Is(err, log.Missing) {
				t.Errorf("without segment %d, newest first %t: %v", missing, newest, err)
			}
		}
	}
}

// TestWhatNoLogHas is said: before the log, after it, and in a gap.
func TestWhatNoLogHas(t *testing.T) {
	w := logOf(t, 2, "12:00 put /a 1", "12:01 put /a 2", "12:02 put /a 3", "12:03 put /a 4", "12:10 put /a 5", "12:11 put /a 6")
	last := w.Segments[2].Header.Last.Revision
	known := log.End{Revision: last, Until: when("12:30")}
	gap := afterGap(t, w)
	for name, c := range map[string]struct {
		q        search.Query
		end      log.End
		gap      bool
		want     error
		says     string
		before   bool
		after    bool
		segments int
	}{
		"all of it":      {q: search.Query{}, before: true, segments: 3},
		"from its first": {q: search.Query{From: 11}, segments: 3},
		"from earlier":   {q: search.Query{Since: when("11:00")}, before: true, segments: 3},
		"in between":     {q: search.Query{Since: when("12:05"), Until: when("12:06")}},
		"earlier": {
			q: search.Query{Until: when("11:00")}, want: log.TooEarly, says: "from revision 11 of 2026-11-28T12:00:00Z up to revision 16",
		},
		"earlier revisions":     {q: search.Query{To: 10}, want: log.TooEarly, says: "what is asked for is earlier"},
		"later":                 {q: search.Query{Since: when("12:20")}, want: log.TooLate, says: "up to revision 16 of 2026-11-28T12:11:00Z"},
		"later, which is known": {q: search.Query{Since: when("12:20")}, end: known},
		"later than is known":   {q: search.Query{Since: when("12:31")}, end: known, want: log.TooLate, says: "later"},
		"later revisions":       {q: search.Query{From: 17}, end: known, want: log.TooLate, says: "later"},
		"in a gap": {
			q: search.Query{Since: when("12:05"), Until: when("12:06")}, gap: true, want: log.InGap, says: "up to revision 21 of",
		},
		"up to a gap":        {q: search.Query{Until: when("12:06")}, gap: true, before: true, after: true, segments: 2},
		"up to before a gap": {q: search.Query{Until: when("12:02")}, gap: true, before: true, segments: 2},
		"after a gap":        {q: search.Query{Since: when("12:05")}, gap: true, before: true, segments: 1},
		"long after a gap":   {q: search.Query{Since: when("12:11")}, gap: true, segments: 1},
	} {
		c.q.Prefix = true
		from := w
		if c.gap {
			from = gap
		}
		r, err := c.q.Range(namesOf(from).Log, c.end)
		switch {
		case c.want != nil:
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: %v, and it should be %q", name, err, c.says)
			}
		case err != nil || r.NotBefore != c.before || r.NotAfter != c.after || len(r.Segments) != c.segments:
			t.Errorf("%s: not before %t, not after %t, %d segments, %v", name, r.NotBefore, r.NotAfter, len(r.Segments), err)
		}
	}
	if _, err := (search.Query{Prefix: true}).Range(search.Log{Folder: folder}, log.End{}); !errors.Is(err, log.NotFound) {
		t.Error(err)
	}
	var err error
	q := search.Query{Prefix: true}
	r, _ := q.Range(namesOf(gap).Log, log.End{})
	for _, each := range q.Through(r) {
		err = each
	}
	if !errors.Is(err, log.InGap) {
		t.Errorf("across a gap: %v", err)
	}
}

// afterGap is a log whose last segment comes after a gap.
func afterGap(t *testing.T, w log.Walk) log.Walk {
	t.Helper()
	e := log.NewEncoder(log.Start{Lineage: folder.Lineage, Writer: "x", Base: 20, First: log.Position{Revision: 21}})
	for n, line := range []string{"12:10 put /a 5", "12:11 put /a 6"} {
		if err := e.Add(batch(int64(21+n), line, map[string]int64{})); err != nil {
			t.Fatal(err)
		}
	}
	s, err := e.Close(nil)
	if err != nil {
		t.Fatal(err)
	}
	name := folder.Object(s.Header.First)
	before := w.Load
	w.Load = func(object string) ([]byte, error) {
		if object == name {
			return s.Content, nil
		}
		return before(object)
	}
	w.Segments = append(slices.Clone(w.Segments[:2]), log.Listed{Object: name, Size: int64(len(s.Content)), Header: s.Header})
	return w
}

// TestMemoryOfValuesBefore has a bound: what there is no room for is not known, and nothing else is.
func TestMemoryOfValuesBefore(t *testing.T) {
	var lines []string
	for n := range 200 {
		lines = append(lines, fmt.Sprintf("12:%02d put /%d %s", n/4, n%50, strings.Repeat("x", 100)))
	}
	w := logOf(t, 10, lines...)
	for _, newest := range []bool{false, true} {
		unknown := func(memory int) (count int) {
			q := search.Query{Prefix: true, Before: true, Newest: newest, Memory: memory}
			changes := 0
			for c, err := range q.In(w) {
				if err != nil {
					t.Fatal(err)
				}
				if changes++; c.Version > 1 && !c.Before.Known {
					count++
				}
			}
			if changes != len(lines) {
				t.Errorf("newest first %t: %d changes", newest, changes)
			}
			return count
		}
		if n := unknown(0); n != 0 {
			t.Errorf("newest first %t: %d values before are not known", newest, n)
		}
		if n := unknown(50 * 250); n != 0 {
			t.Errorf("newest first %t: %d values before are not known, although there is room for them", newest, n)
		}
		if n := unknown(1000); n < 100 {
			t.Errorf("newest first %t: only %d values before are not known", newest, n)
		}
	}
}
