// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package search_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/backup/log"
	"github.com/etcd-operator/etcd-operator/internal/backup/log/search"
)

var (
	noon   = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	folder = log.Folder{Namespace: "shop", Cluster: "orders", Lineage: "c-0"}
)

const base = 10

// TestWhoDeletedIt: the newest deletion of a key, when it was, and what it had.
func TestWhoDeletedIt(t *testing.T) {
	w := logOf(t, 1,
		"12:00 put /a one", "12:01 put /b 1", "12:02 put /a two", "12:03 put /b 2", "12:04 delete /a", "12:05 put /b 3")
	got := texts(t, search.Query{Key: []byte("/a"), Newest: true, Limit: 1, Before: true}, w)
	if want := []string{`15 12:04 delete /a, was "two"`}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// TestHistory by one log that can be read here.
func TestHistory(t *testing.T) {
	w := logOf(t, 2,
		"12:00 put /a one", "12:01 put /b 1", "12:02 put /a two", "12:03 delete /a", "12:04 put /ab x", "12:05 put /a three", "12:06 put /b 2")
	for _, c := range []struct {
		name string
		q    search.Query
		want []string
	}{
		{"one key", search.Query{Key: []byte("/a"), Before: true}, []string{
			"11 12:00 put /a one, was not there", `13 12:02 put /a two, was "one"`, `14 12:03 delete /a, was "two"`,
			"16 12:05 put /a three, was not there",
		}},
		{"the newest first", search.Query{Key: []byte("/a"), Before: true, Newest: true}, []string{
			"16 12:05 put /a three, was not there", `14 12:03 delete /a, was "two"`, `13 12:02 put /a two, was "one"`,
			"11 12:00 put /a one, was not there",
		}},
		{"a prefix", search.Query{Key: []byte("/a"), Prefix: true, From: 14}, []string{
			"14 12:03 delete /a", "15 12:04 put /ab x", "16 12:05 put /a three",
		}},
		{"everything, two of it", search.Query{Prefix: true, Limit: 2}, []string{"11 12:00 put /a one", "12 12:01 put /b 1"}},
		{"between revisions", search.Query{Prefix: true, From: 12, To: 13}, []string{"12 12:01 put /b 1", "13 12:02 put /a two"}},
		{"between times", search.Query{Prefix: true, Since: when("12:03"), Until: when("12:04"), Newest: true}, []string{
			"15 12:04 put /ab x", "14 12:03 delete /a",
		}},
		{"what is before the limits is known if it was read", search.Query{Key: []byte("/a"), From: 13, Before: true, To: 13}, []string{
			"13 12:02 put /a two, was not read",
		}},
		{"in the same segment", search.Query{Key: []byte("/a"), From: 14, To: 14, Before: true, Newest: true}, []string{
			`14 12:03 delete /a, was "two"`,
		}},
		{"older ones are read for one", search.Query{Key: []byte("/b"), Newest: true, Limit: 1, Before: true}, []string{
			`17 12:06 put /b 2, was "1"`,
		}},
		{"nobody", search.Query{Key: []byte("/c")}, nil},
		{"later than the log", search.Query{Prefix: true, From: 99}, nil},
		{"before the log", search.Query{Prefix: true, Until: noon.Add(-time.Hour)}, nil},
	} {
		if got := texts(t, c.q, w); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, not %q", c.name, got, c.want)
		}
	}
}

// TestEveryQuery finds what a look at everything finds, in either direction and with any limit, and reads no segment that has none of it.
func TestEveryQuery(t *testing.T) {
	for seed := range uint64(6) {
		random := rand.New(rand.NewPCG(seed, 7))
		w := logOf(t, 1+int(seed), randomLines(random, 60)...)
		all := slices.Collect(values(w.Forward()))
		for range 200 {
			q := anyQuery(random)
			want := simply(q, all)
			got := texts(t, q, w)
			if !slices.EqualFunc(got, want, func(got, want string) bool {
				line, _, _ := strings.Cut(want, ", was")
				return got == want || q.Before && got == line+", was not read"
			}) {
				t.Fatalf("%+v: %q, not %q", q, got, want)
			}
			for _, s := range q.Segments(w.Segments) {
				if h := s.Header; h.Last.Revision < q.From || q.To > 0 && h.First.Revision > q.To || h.Ended.Before(q.Since) {
					t.Errorf("%+v: read %+v", q, h)
				}
			}
		}
	}
}

func anyQuery(random *rand.Rand) search.Query {
	q := search.Query{
		Key: []byte(pick(random, "/a", "/a/1", "/b/2", "/c", "/")), Prefix: random.IntN(2) == 0, Newest: random.IntN(2) == 0,
		Limit: random.IntN(4), Before: random.IntN(2) == 0,
	}
	if random.IntN(2) == 0 {
		q.From, q.To = random.Int64N(80), random.Int64N(80)
	} else {
		minutes := func() time.Duration { return time.Duration(random.IntN(60)) * time.Minute }
		q.Since, q.Until = noon.Add(minutes()), noon.Add(minutes())
	}
	return q
}

// simply looks at everything.
func simply(q search.Query, all []log.Change) (want []string) {
	for i, c := range all {
		isIn := c.Revision >= q.From && (q.To == 0 || c.Revision <= q.To)
		isIn = isIn && !c.Time.Before(q.Since) && (q.Until.IsZero() || !c.Time.After(q.Until))
		if isIn && (string(c.Key) == string(q.Key) || q.Prefix && bytes.HasPrefix(c.Key, q.Key)) {
			want = append(want, text(search.Change{Change: c, Before: before(all[:i], c)}, q.Before))
		}
	}
	if q.Newest {
		slices.Reverse(want)
	}
	if q.Limit > 0 {
		want = want[:min(q.Limit, len(want))]
	}
	return want
}

func before(older []log.Change, c log.Change) search.Before {
	for _, o := range slices.Backward(older) {
		if bytes.Equal(o.Key, c.Key) {
			return search.Before{Known: true, Value: o.Value}
		}
	}
	return search.Before{Known: true}
}

// TestValuesBeforeAreFound wherever the limits leave room for them.
func TestValuesBeforeAreFound(t *testing.T) {
	w := logOf(t, 3, randomLines(rand.New(rand.NewPCG(1, 7)), 80)...)
	for _, newest := range []bool{true, false} {
		for c, err := range (search.Query{Prefix: true, Newest: newest, Before: true}).In(w) {
			if err != nil || !c.Before.Known {
				t.Errorf("%d: %+v, %v", c.Revision, c.Before, err)
			}
		}
	}
}

// TestWhatIsFoundBeforeAnError is returned first.
func TestWhatIsFoundBeforeAnError(t *testing.T) {
	w := logOf(t, 1, "12:00 put /a one", "12:01 put /a two", "12:02 put /a three", "12:03 put /a four")
	w.Segments = slices.Delete(w.Segments, 1, 2)
	for newest, want := range map[bool][]string{
		true:  {`14 12:03 put /a four, was "three"`, "13 12:02 put /a three, was not read"},
		false: {"11 12:00 put /a one, was not there"},
	} {
		var got []string
		var err error
		for c, problem := range (search.Query{Key: []byte("/a"), Newest: newest, Before: true}).In(w) {
			if err = problem; err == nil {
				got = append(got, text(c, true))
			}
		}
		if !slices.Equal(got, want) || !errors.Is(err, log.Missing) {
			t.Errorf("%q, %v", got, err)
		}
	}
}

func TestNoQuery(t *testing.T) {
	for _, q := range []search.Query{{}, {Key: []byte("a"), From: -1}, {Key: []byte("a"), To: -1}, {Key: []byte("a"), Limit: -1}} {
		for c, err := range q.In(log.Walk{}) {
			if err == nil {
				t.Errorf("%+v: %+v", q, c)
			}
		}
		if q.Problem() == "" {
			t.Errorf("%+v", q)
		}
	}
}

// texts are what a query finds.
func texts(t *testing.T, q search.Query, w log.Walk) (all []string) {
	t.Helper()
	for c, err := range q.In(w) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, text(c, q.Before))
	}
	return all
}
