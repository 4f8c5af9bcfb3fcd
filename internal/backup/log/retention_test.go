// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package log_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/backup/log"
)

// TestKeepFrom is the oldest full backup of each lineage.
func TestKeepFrom(t *testing.T) {
	all := []log.KeptFrom{{"b-0", 50}, {"a-0", 30}, {"a-0", 10}, {"a-0", 20}, {"b-0", 5}}
	if got, want := log.KeepFrom(all), []log.KeptFrom{{"a-0", 10}, {"b-0", 5}}; !slices.Equal(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
	if all[0].Lineage != "b-0" {
		t.Error("the argument was sorted")
	}
	if got := log.KeepFrom(nil); len(got) > 0 {
		t.Errorf("without a backup: %v", got)
	}
}

// TestWhatIsPromisedCanBeRestored, whatever was deleted of what expires, and wherever that was interrupted: each time, and each revision,
// after the oldest full backup that stays.
func TestWhatIsPromisedCanBeRestored(t *testing.T) {
	for seed := range uint64(12) {
		random := rand.New(rand.NewPCG(seed, 3))
		batches := history(seed, 40)
		for i := range batches {
			batches[i].Time = noon.Add(time.Duration(i+1) * 10 * time.Minute)
		}
		s := store(t, batches, 1+int(seed)%4)
		end := s.listed[len(s.listed)-1].Header
		var bases []log.Base
		for revision := int64(base); revision <= end.Last.Revision-1; revision += 1 + random.Int64N(25) {
			b := log.Base{Revision: revision, Finished: noon}
			if revision > base {
				b.Finished = timeOf(batches, revision).Add(time.Millisecond)
			}
			bases = append(bases, b)
		}
		bases = bases[random.IntN(len(bases)):]
		var kept []log.KeptFrom
		for _, b := range bases {
			kept = append(kept, log.KeptFrom{Lineage: folder.Lineage, Base: b.Revision})
		}
		from := log.KeepFrom(kept)
		r := retained(folder.Lineage, from...)
		expired := r.Expired(objects(s.listed))
		if !slices.Equal(expired, objects(s.listed[:len(expired)])) {
			t.Fatalf("not the oldest: %v", expired)
		}
		for _, l := range s.listed[:len(expired)] {
			if l.Header.Last.Revision > from[0].Base {
				t.Errorf("%s is needed after %d", l.Object, from[0].Base)
			}
		}
		next, isLast := s.listed[len(expired)].Header, len(expired)+1 == len(s.listed)
		if !isLast && next.Next().Compare(log.Position{Revision: from[0].Base + 1}) <= 0 {
			t.Errorf("%+v is not needed after %d, and stays", next, from[0].Base)
		}
		for _, deleted := range []int{len(expired), random.IntN(len(expired) + 1)} {
			left := s.listed[deleted:]
			for revision := from[0].Base; revision <= end.Last.Revision-1; revision++ {
				s.reads(t, must(log.Choose(folder, bases, left, log.Target{Revision: revision}))(t), batches, revision)
			}
			for at := bases[0].Finished; !at.After(end.Ended); at = at.Add(5 * time.Minute) {
				_, err := log.Choose(folder, bases, left, log.Target{Time: at})
				if isTooEarly := !at.After(bases[0].Finished); isTooEarly != errors.Is(err, log.TooEarly) || !isTooEarly && err != nil {
					t.Errorf("%s after a full backup of %s: %v", at, bases[0].Finished, err)
				}
			}
		}
	}
}

func retained(lineage string, from ...log.KeptFrom) log.Retained {
	return log.Retained{Namespace: folder.Namespace, Cluster: folder.Cluster, Lineage: lineage, From: from}
}

func objects(segments []log.Listed) (names []string) {
	for _, s := range segments {
		names = append(names, s.Object)
	}
	return names
}

// TestExpired: by pages of any size the same goes, from the lineages that have a full backup and from those that have none; the present one
// never goes, and nothing that is no segment of that cluster.
func TestExpired(t *testing.T) {
	in := func(f log.Folder, revisions ...int64) (names []string) {
		for _, revision := range revisions {
			names = append(names, f.Object(log.Position{Revision: revision}))
		}
		return names
	}
	of := func(lineage string) log.Folder { f := folder; f.Lineage = lineage; return f }
	other, namespace := of("a-0"), of("a-0")
	other.Cluster, namespace.Namespace = "other", "other"
	foreign := []string{
		of("a-0").String() + "/notes.txt", of("a-0").String() + "/00000000000000000011.0000000000.segment.bak",
		"v1/shop/orders/uid/manifest.json",
	}
	r := retained("c-0", log.KeptFrom{Lineage: "b-0", Base: 30})
	r.Gone = "a"
	all := slices.Concat(in(of("a-0"), 11, 21), in(of("b-0"), 11, 21, 31, 41), in(of("c-0"), 11, 21), in(other, 11), in(namespace, 11),
		foreign)
	want := slices.Concat(in(of("a-0"), 11, 21), in(of("b-0"), 11, 21))
	if got := r.Expired(all); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	r.From = append(r.From, log.KeptFrom{Lineage: "c-0", Base: 15})
	for base, want := range map[int64][]string{
		9: nil, 19: nil, 20: in(of("c-0"), 11), 29: in(of("c-0"), 11), 30: in(of("c-0"), 11, 21), 99: in(of("c-0"), 11, 21),
	} {
		r.From[1].Base = base
		all := in(of("c-0"), 11, 21, 31)
		if got := r.Expired(all); !slices.Equal(got, want) {
			t.Errorf("after %d: %v", base, got)
		}
		for n := 2; n < 5; n++ {
			left := all
			for {
				page := r.Expired(left[:min(n, len(left))])
				if len(page) == 0 {
					break
				}
				left = left[len(page):]
			}
			if len(left)+len(want) != len(all) {
				t.Errorf("after %d by pages of %d: %v is left", base, n, left)
			}
		}
	}
}

// TestWhatIsNotKnownStays: the cluster may have been restored or recovered since the order was given, and others may have had its name.
func TestWhatIsNotKnownStays(t *testing.T) {
	for _, c := range []struct{ gone, lineage, present string }{
		{"", "a-0", "c-0"},
		{"b", "a-0", "c-0"},
		{"a", "aa-0", "c-0"},
		{"a", "a-1", "a-1"},
		{"a", "a-2", "a-1"},
		{"a", "a-x", "a-1"},
		{"a", "a", "a-1"},
	} {
		f := folder
		f.Lineage = c.lineage
		r := retained(c.present)
		r.Gone = c.gone
		if got := r.Expired([]string{f.Object(log.Position{Revision: 11}), f.Object(log.Position{Revision: 21})}); len(got) > 0 {
			t.Errorf("%+v: %v", c, got)
		}
	}
	for lineage, present := range map[string]string{"a-0": "a-1", "a-9": "c-0", "a-2": "a-10"} {
		f := folder
		f.Lineage = lineage
		r := retained(present)
		r.Gone = "a"
		if got := r.Expired([]string{f.Object(log.Position{Revision: 11})}); len(got) != 1 {
			t.Errorf("%s stays beside %s", lineage, present)
		}
	}
}

// TestRevisionOverSegments: a segment that begins within a revision has the place of its revision, and the one before is needed with it.
func TestRevisionOverSegments(t *testing.T) {
	names := []string{
		folder.Object(log.Position{Revision: 11}), folder.Object(log.Position{Revision: 20, Sub: 3}), folder.Object(log.Position{Revision: 21}),
	}
	for base, want := range map[int64]int{18: 0, 19: 0, 20: 2, 21: 2} {
		r := retained(folder.Lineage, log.KeptFrom{Lineage: folder.Lineage, Base: base})
		if got := r.Expired(names); len(got) != want {
			t.Errorf("after %d: %v", base, got)
		}
	}
}

// TestRetainedProblem: nothing goes by an order that forgets the present.
func TestRetainedProblem(t *testing.T) {
	good := log.Retained{Namespace: "shop", Cluster: "orders", Lineage: "c-0", From: []log.KeptFrom{{Lineage: "b-0", Base: 1}}}
	if problem := good.Problem(); problem != "" {
		t.Error(problem)
	}
	for name, change := range map[string]func(*log.Retained){
		"no present":        func(r *log.Retained) { r.Lineage = "" },
		"no cluster":        func(r *log.Retained) { r.Cluster = "" },
		"a folder above":    func(r *log.Retained) { r.Namespace = ".." },
		"no lineage":        func(r *log.Retained) { r.From[0].Lineage = "" },
		"no full backup":    func(r *log.Retained) { r.From[0].Base = 0 },
		"a folder of IDs":   func(r *log.Retained) { r.Gone = "a/b" },
		"a lineage of many": func(r *log.Retained) { r.From[0].Lineage = "a/b" },
	} {
		r := good
		r.From = slices.Clone(good.From)
		if change(&r); r.Problem() == "" {
			t.Errorf("%s: %+v", name, r)
		}
	}
}
