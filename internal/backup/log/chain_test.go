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

// TestProveWholeChains, and the runs between gaps that are said.
func TestProveWholeChains(t *testing.T) {
	s := store(t, history(1, 30), 3)
	runs := must(log.Prove(folder, s.listed))(t)
	if len(runs) != 1 || runs[0].Base != base || runs[0].First() != base+1 || len(runs[0].Segments) != 10 {
		t.Errorf("%+v", runs)
	}
	if last := s.listed[9].Header.Last.Revision; runs[0].Last() != last {
		t.Errorf("it ends with %d, not %d", runs[0].Last(), last)
	}
	// What a retention has left begins anywhere.
	runs = must(log.Prove(folder, s.listed[4:]))(t)
	if len(runs) != 1 || runs[0].Base != 0 {
		t.Errorf("%+v", runs)
	}
	s.restart(t, 20)
	runs = must(log.Prove(folder, s.listed))(t)
	if len(runs) != 2 || runs[1].Base != runs[0].Last()+20 || runs[1].First() != runs[1].Base+1 {
		t.Errorf("%+v", runs)
	}
	if runs, err := log.Prove(folder, nil); len(runs) != 0 || err != nil {
		t.Errorf("%+v %v", runs, err)
	}
}

// restart begins again after a full backup that is so many revisions later.
func (s *stored) restart(t *testing.T, later int64) {
	t.Helper()
	last := s.listed[len(s.listed)-1].Header
	from := last.Last.Revision + later
	put := log.Event{Revision: from + 1, Key: []byte("k"), CreateRevision: 1, Version: 2}
	s.add(encode(t, log.Start{Lineage: folder.Lineage, Writer: "w2", Base: from, First: log.Position{Revision: from + 1}},
		[]log.Batch{{Time: last.Ended.Add(time.Hour), Events: []log.Event{put}, Complete: true}}))
}

// TestProveFinds whatever is not a whole chain, and says what it is.
func TestProveFinds(t *testing.T) {
	s := store(t, history(2, 30), 3)
	foreign := store(t, history(2, 30), 2)
	swap := func(all []log.Listed, i, j int) []log.Listed { all[i], all[j] = all[j], all[i]; return all }
	edited := func(i int, change func(*log.Listed)) func([]log.Listed) []log.Listed {
		return func(all []log.Listed) []log.Listed { change(&all[i]); return all }
	}
	for name, c := range map[string]struct {
		change func([]log.Listed) []log.Listed
		want   log.Kind
	}{
		"one is missing":      {func(all []log.Listed) []log.Listed { return slices.Delete(all, 4, 5) }, log.Missing},
		"many are missing":    {func(all []log.Listed) []log.Listed { return slices.Delete(all, 1, 9) }, log.Missing},
		"one is there twice":  {func(all []log.Listed) []log.Listed { return slices.Insert(all, 4, all[4]) }, log.Reordered},
		"two are swapped":     {func(all []log.Listed) []log.Listed { return swap(all, 4, 5) }, log.Missing},
		"they are reversed":   {func(all []log.Listed) []log.Listed { slices.Reverse(all); return all }, log.Reordered},
		"another cut between": {func(all []log.Listed) []log.Listed { return slices.Insert(all, 5, foreign.listed[7]) }, log.Overlap},
		"another lineage":     {edited(3, func(l *log.Listed) { l.Header.Lineage = "other" }), log.Foreign},
		"another name":        {edited(3, func(l *log.Listed) { l.Object += "x" }), log.Foreign},
		"it is shorter":       {edited(3, func(l *log.Listed) { l.Size-- }), log.Damaged},
		"it is longer":        {edited(3, func(l *log.Listed) { l.Size++ }), log.Damaged},
		"a header of nothing": {edited(3, func(l *log.Listed) { l.Header = log.Header{} }), log.Damaged},
		"another before it":   {edited(3, func(l *log.Listed) { l.Header.Previous = l.Header.SHA256 }), log.Forked},
		"an earlier time":     {edited(3, func(l *log.Listed) { l.Header.Began = noon; refit(t, l) }), log.Reordered},
	} {
		_, err := log.Prove(folder, c.change(slices.Clone(s.listed)))
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		} else {
			t.Log(err)
		}
	}
	_, err := log.Prove(folder, slices.Delete(slices.Clone(s.listed), 4, 5))
	var missing *log.Error
	if !errors.As(err, &missing) || missing.From != s.listed[4].Header.First || missing.To != s.listed[5].Header.First {
		t.Errorf("what is missing: %+v", missing)
	}
}

// refit makes the size that of a changed header.
func refit(t *testing.T, l *log.Listed) {
	t.Helper()
	l.Size = int64(len(must(l.Header.Encode())(t))) + l.Header.Stored
}
