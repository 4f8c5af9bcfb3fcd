// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package search

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"sort"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/backup/log"
)

// Segment is one as its name says.
type Segment struct {
	Object string
	Size   int64
	First  log.Position
}

// Log is a log of which nothing is known but names. Of what is asked for, headers are read some at a time, and then the segments.
type Log struct {
	Folder   log.Folder
	Segments []Segment // by name
	// Headers reads those of segments, and returns them in the same order.
	Headers func([]Segment) ([]log.Listed, error)
	// Walk is a way through segments that follow each other, without a neighbour.
	Walk func([]log.Listed) log.Walk
}

// headersAtOnce is of how many segments headers are in memory: with 86,400 segments a day, all of them would be hundreds of MiB.
const headersAtOnce = 1000

// Range is the part of a log that a search has to read.
type Range struct {
	Log
	// Began is when the first change came of the first segment, and Ended when the last one of the last segment did.
	Began, Ended time.Time
	// NotBefore and NotAfter say that what was asked for begins earlier, or ends later, and that this is in no log: it begins there, or a gap
	// is there.
	NotBefore, NotAfter bool
}

// Range finds the segments that may have what is looked for. That takes the headers of a few: times grow with names. The *log.Error is
// NotFound if there is no log, TooEarly if all of it is later than what is asked for, and TooLate if all of it is earlier. The end is what
// the writer of the log has said of it: until then it is known that nothing came.
func (q Query) Range(l Log, end log.End) (Range, error) {
	if problem := q.Problem(); problem != "" {
		return Range{}, errors.New(problem)
	}
	if len(l.Segments) == 0 {
		return Range{}, &log.Error{Kind: log.NotFound, Problem: fmt.Sprintf("there is no log of lineage %s", l.Folder.Lineage)}
	}
	first, err := l.header(0)
	if err != nil {
		return Range{}, err
	}
	last, err := l.header(len(l.Segments) - 1)
	if err != nil {
		return Range{}, err
	}
	if q.isLater(first.First.Revision, first.Began) {
		return Range{}, &log.Error{Kind: log.TooEarly, Problem: "what is asked for is earlier: " + window(first, last)}
	}
	isKnown := end.Revision >= last.Last.Revision && !q.Since.After(end.Until) && q.From <= end.Revision
	if q.isEarlier(last.Last.Revision, last.Ended) && !isKnown {
		return Range{}, &log.Error{Kind: log.TooLate, Problem: "what is asked for is later: " + window(first, last)}
	}
	return q.narrow(l)
}

// window says what a log has.
func window(first, last log.Header) string {
	return fmt.Sprintf("the log has changes from revision %d of %s up to revision %d of %s",
		first.First.Revision, clock(first.Began), last.Last.Revision, clock(last.Ended))
}

func clock(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// narrow leaves out the segments that end earlier, and those that begin later.
func (q Query) narrow(l Log) (Range, error) {
	var failed error
	search := func(is func(log.Header) bool) int {
		return sort.Search(len(l.Segments), func(i int) bool {
			header, err := l.header(i)
			if err != nil {
				failed = err
			}
			return failed != nil || is(header)
		})
	}
	from := search(func(h log.Header) bool { return !q.isEarlier(h.Last.Revision, h.Ended) })
	to := max(from, search(func(h log.Header) bool { return q.isLater(h.First.Revision, h.Began) }))
	if failed != nil {
		return Range{}, failed
	}
	return q.between(l, from, to)
}

// between is the range from one segment to another, and whether there is a gap on either side.
func (q Query) between(l Log, from, to int) (Range, error) {
	r := Range{Log: l}
	r.Segments = l.Segments[from:to]
	isAfterGap, begins, err := l.gap(from)
	if err != nil {
		return Range{}, err
	}
	if len(r.Segments) == 0 {
		if isAfterGap {
			return Range{}, &log.Error{Kind: log.InGap, Object: begins.Object, Problem: "nothing was logged from before what is asked for up to " +
				fmt.Sprintf("revision %d of %s", begins.Header.First.Revision, clock(begins.Header.Began))}
		}
		return r, nil
	}
	r.NotBefore = isAfterGap && q.From < begins.Header.First.Revision && q.Since.Before(begins.Header.Began)
	isBeforeGap, _, err := l.gap(to)
	if err != nil {
		return Range{}, err
	}
	last, err := l.header(to - 1)
	r.NotAfter = isBeforeGap && !q.endsBy(last)
	r.Began, r.Ended = begins.Header.Began, last.Ended
	return r, err
}

// endsBy says whether what is asked for ends with a segment, or earlier.
func (q Query) endsBy(last log.Header) bool {
	return q.To > 0 && last.Last.Revision >= q.To || !q.Until.IsZero() && !last.Ended.Before(q.Until)
}

// gap says whether nothing is known of what is before a segment. After the last one there is none.
func (l Log) gap(i int) (is bool, at log.Listed, err error) {
	if i == len(l.Segments) {
		return false, log.Listed{}, nil
	}
	read, err := l.Headers(l.Segments[max(i-1, 0) : i+1])
	if err != nil {
		return false, log.Listed{}, err
	}
	at = read[len(read)-1]
	return i == 0 || at.Header.Base > 0 && at.Header.First != read[0].Header.Next(), at, nil
}

// header reads one, by its place.
func (l Log) header(i int) (log.Header, error) {
	read, err := l.Headers(l.Segments[i : i+1])
	if err != nil {
		return log.Header{}, err
	}
	return read[0].Header, nil
}

// Through looks for it in a range. Each part of the log that is read has to follow the one before.
func (q Query) Through(r Range) iter.Seq2[Change, error] {
	return q.Among(func(yield func(log.Change, error) bool) {
		var neighbour *log.Listed
		for part := range q.parts(r.Segments) {
			changes, last, err := q.walk(r, part, neighbour)
			if err != nil {
				yield(log.Change{}, err)
				return
			}
			neighbour = &last
			for c, err := range changes {
				if !yield(c, err) || err != nil {
					return
				}
			}
		}
	})
}

// walk is the way through a part of a range, and the last segment that is read there.
func (q Query) walk(r Range, part []Segment, neighbour *log.Listed) (changes iter.Seq2[log.Change, error], last log.Listed, err error) {
	listed, err := r.Headers(part)
	if err != nil {
		return nil, last, err
	}
	walk := r.Walk(listed)
	walk.Neighbour = neighbour
	if q.Newest {
		return walk.Backward(), listed[0], nil
	}
	return walk.Forward(), listed[len(listed)-1], nil
}

// parts are the segments, some at a time, in the order in which they are read.
func (q Query) parts(all []Segment) iter.Seq[[]Segment] {
	if !q.Newest {
		return slices.Chunk(all, headersAtOnce)
	}
	return func(yield func([]Segment) bool) {
		for end := len(all); end > 0; end -= headersAtOnce {
			if !yield(all[max(0, end-headersAtOnce):end]) {
				return
			}
		}
	}
}
