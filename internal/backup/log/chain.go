// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package log

import "fmt"

// Listed is a segment as a listing of its store and its header say.
type Listed struct {
	Object string // whole name
	Size   int64  // bytes, by the listing
	Header Header
}

// Run is a part of the log in which nothing is missing.
type Run struct {
	// Base is the revision of the full backup after which it begins. 0: older segments were deleted, and any backup that reaches its First
	// will do.
	Base     int64
	Segments []Listed // at least one, in the order of the history
}

// First is the first revision of which the run has every event.
func (r Run) First() int64 {
	first := r.Segments[0].Header.First
	if first.Sub > 0 {
		return first.Revision + 1
	}
	return first.Revision
}

// Last is the last revision of which the run has every event; less than First if there is none yet.
func (r Run) Last() int64 {
	last := r.Segments[len(r.Segments)-1].Header
	if last.Complete {
		return last.Last.Revision
	}
	return last.Last.Revision - 1
}

// Prove shows that the segments, which are all of a folder or some that follow each other in it, are whole runs, in the order of their
// names. Between two runs there is a gap, which the later one says by its Base: there the writer was overtaken by a compaction, and began
// again after a full backup. Anything else between two segments is an *Error: Missing, Overlap, Reordered, Foreign, Forked or Damaged. No
// event is read: what is in the segments, Parse proves.
func Prove(f Folder, segments []Listed) ([]Run, error) {
	var runs []Run
	for i, s := range segments {
		if err := s.belongs(f); err != nil {
			return nil, err
		}
		if i > 0 {
			if err := s.follows(segments[i-1]); err != nil {
				return nil, err
			}
		}
		if i == 0 || s.Header.Base > 0 {
			runs = append(runs, Run{Base: s.Header.Base})
		}
		newest := &runs[len(runs)-1]
		newest.Segments = append(newest.Segments, s)
	}
	return runs, nil
}

// belongs checks a segment by itself.
func (s Listed) belongs(f Folder) error {
	h := s.Header
	if problem := h.problem(); problem != "" {
		return wrong(Damaged, s.Object, "its header says what cannot be: %s", problem)
	}
	if h.Lineage != f.Lineage {
		return wrong(Foreign, s.Object, "it is of lineage %s, and lies in that of %s", h.Lineage, f.Lineage)
	}
	if want := f.Object(h.First); s.Object != want {
		return wrong(Foreign, s.Object, "it begins with %s, and its name is another one than %s", h.First, want)
	}
	line, err := h.Encode()
	if err != nil {
		return fmt.Errorf("%s: %w", s.Object, err)
	}
	if want := int64(len(line)) + h.Stored; s.Size != want {
		return wrong(Damaged, s.Object, "it has %d bytes, and its header says %d", s.Size, want)
	}
	return nil
}

// follows checks two neighbours.
func (s Listed) follows(before Listed) error {
	h, expected := s.Header, before.Header.Next()
	order := h.First.Compare(expected)
	switch {
	case h.First.Compare(before.Header.First) <= 0:
		return wrong(Reordered, s.Object, "it begins with %s, and comes after %s", h.First, before.Object).between(expected, h.First)
	case order < 0:
		return wrong(Overlap, s.Object, "it begins with %s, which is in %s already", h.First, before.Object).between(expected, h.First)
	case h.Began.Before(before.Header.Ended):
		return wrong(Reordered, s.Object, "it begins at an earlier time than %s ends", before.Object)
	case h.Base > 0:
		return nil // a gap that is said, or none
	case order > 0:
		return wrong(Missing, s.Object, "it begins with %s, and what comes from %s on is missing: %s ends before", h.First, expected,
			before.Object).between(expected, h.First)
	case h.Previous != before.Header.Sum:
		return wrong(Forked, s.Object, "it follows another segment than %s, which has its place", before.Object).between(expected, h.First)
	}
	return nil
}
