// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"slices"
	"sort"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/backup/log"
)

// Find finds the target: it takes the newest full backup that is older, and proves the log from there to the target. No event is read but
// those around the target.
func (h *History) Find(t Target) (Point, error) {
	if err := t.problem(); err != nil {
		return Point{}, err
	}
	if t.BeforeDelete != "" {
		return h.beforeDelete(t.BeforeDelete)
	}
	asked := t
	t = t.within()
	for _, b := range h.bases {
		if !t.includes(b) {
			continue
		}
		isTooNew, err := h.isTooNew(b, t)
		if err != nil {
			return Point{}, err
		}
		if !isTooNew {
			return h.from(b, t)
		}
	}
	return Point{}, h.tooEarly(asked)
}

// isTooNew says whether a full backup has a change that came after a time by the clock of the log's writer, which is another one than that
// of the process that made the backup. The full backup before has the same log.
func (h *History) isTooNew(b Base, t Target) (bool, error) {
	l, ok := h.continues(b)
	if !ok || t.Time.IsZero() {
		return false, nil
	}
	i := slices.IndexFunc(l.Segments, func(s Segment) bool { return s.First.Revision > b.Revision })
	if i < 0 {
		i = len(l.Segments)
	}
	if i == 0 {
		return false, nil // the log begins after it
	}
	listed, err := h.headers(l.Segments[i-1 : i])
	if err != nil {
		return false, err
	}
	if header := listed[0].Header; header.Began.After(t.Time) || !header.Ended.After(t.Time) {
		return header.Began.After(t.Time), nil
	}
	plan := log.Plan{Segments: listed, Target: log.Target{Time: t.Time}}
	reading := plan.Follow(h.source.Identities)
	for _, err := range reading.Events(h.load) {
		if err != nil {
			return false, h.explain(err, b, listed)
		}
	}
	return reading.Left.Revision > 0 && reading.Left.Revision <= b.Revision, nil
}

func (t Target) problem() error {
	given := 0
	for _, is := range []bool{t.Revision != 0, !t.Time.IsZero(), t.BeforeDelete != ""} {
		if is {
			given++
		}
	}
	if given != 1 || t.Revision < 0 || t.Exclusive && t.BeforeDelete != "" {
		return refused(log.Unclear, "a target is one of a revision, a time, and a key that was deleted")
	}
	return nil
}

// tooEarly is about a target before all full backups.
func (h *History) tooEarly(t Target) error {
	if len(h.bases) == 0 {
		return refused(log.TooEarly, "there is no full backup that the log could lead on from")
	}
	oldest := h.bases[len(h.bases)-1]
	err := refused(log.TooEarly, "no full backup is older than %s", t)
	err.After = &Moment{oldest.Revision, oldest.Finished}
	return err
}

// from is the way from one full backup.
func (h *History) from(b Base, t Target) (Point, error) {
	if b.Revision == t.Revision {
		return Point{Base: b, Revision: b.Revision, Next: h.after(b)}, nil
	}
	l, ok := h.continues(b)
	if !ok {
		return Point{}, h.noLog(b, t)
	}
	segments := l.since(b)
	end, err := h.within(segments, t)
	if err != nil {
		return Point{}, err
	}
	// The one after the target says what is left out, and where a gap ends.
	listed, err := h.headers(segments[:min(end+1, len(segments))])
	if err != nil {
		return Point{}, err
	}
	base := log.Base{ID: b.Path, Revision: b.Revision, Finished: b.Finished}
	known := log.End{}
	if end == len(segments) {
		known = h.endOf(l)
	}
	plan, err := log.ChooseUntil(l.Folder, []log.Base{base}, listed, known, log.Target{Revision: t.Revision, Time: t.Time})
	if err != nil {
		return Point{}, h.explain(err, b, listed)
	}
	if err := plan.Readable(h.source.Identities); err != nil {
		return Point{}, err
	}
	return h.reached(b, l, plan, listed[end:])
}

// within is how many of the segments begin until the target. Of a time that takes the headers of a few: times grow with the names.
func (h *History) within(segments []Segment, t Target) (int, error) {
	var failed error
	n := sort.Search(len(segments), func(i int) bool {
		if t.Revision > 0 {
			return segments[i].First.Revision > t.Revision
		}
		if failed != nil {
			return true
		}
		var listed []log.Listed
		if listed, failed = h.headers(segments[i : i+1]); failed != nil {
			return true
		}
		return listed[0].Header.Began.After(t.Time)
	})
	return n, failed
}

// reached reads what is around the target.
func (h *History) reached(b Base, l Log, plan log.Plan, later []log.Listed) (Point, error) {
	p := Point{Base: b, Lineage: l.Lineage, Revision: b.Revision, Size: plan.Size()}
	if n := len(plan.Segments); n > 0 {
		tail, before := tailOf(plan)
		reading := tail.Follow(h.source.Identities)
		for _, err := range reading.Events(h.load) {
			if err != nil {
				return Point{}, h.explain(err, b, plan.Segments)
			}
		}
		p.Revision, p.At, p.Next = reading.Reached, reading.At, Moment{reading.Left.Revision, reading.Left.Time}
		if p.At.IsZero() && p.Revision > b.Revision {
			p.At = before
		}
	}
	if p.Next.Revision == 0 && len(later) > 0 {
		p.Next = Moment{later[0].Header.First.Revision, later[0].Header.Began}
	}
	if p.Revision == b.Revision {
		p.Lineage, p.Size = "", 0 // nothing is replayed
	}
	return p, nil
}

// tailOf are the last segments of a plan, from the one on that begins with a revision, and when what is before them had come.
func tailOf(plan log.Plan) (tail log.Plan, before time.Time) {
	i := len(plan.Segments) - 1
	for i > 0 && plan.Segments[i].Header.First.Sub > 0 {
		i--
	}
	tail = log.Plan{Base: plan.Base, Segments: plan.Segments[i:], Target: plan.Target}
	if first := plan.Segments[i].Header.First; i > 0 {
		tail.Base.Revision = max(tail.Base.Revision, first.Revision-1)
		before = plan.Segments[i-1].Header.Ended
	}
	return tail, before
}

// after is the first change after a full backup, if a log has it that can be read.
func (h *History) after(b Base) Moment {
	l, ok := h.continues(b)
	if !ok {
		return Moment{}
	}
	segments := l.since(b)
	listed, err := h.headers(segments[:min(2, len(segments))])
	if err != nil {
		return Moment{}
	}
	plan := log.Plan{Base: log.Base{Revision: b.Revision}, Segments: listed[:1], Target: log.Target{Revision: b.Revision}}
	reading := plan.Follow(h.source.Identities)
	for _, err := range reading.Events(h.load) {
		if err != nil {
			return Moment{}
		}
	}
	if reading.Left.Revision == 0 && len(listed) > 1 {
		return Moment{listed[1].Header.First.Revision, listed[1].Header.Began}
	}
	return Moment{reading.Left.Revision, reading.Left.Time}
}
