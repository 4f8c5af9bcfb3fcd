// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package log

import (
	"fmt"
	"slices"
	"time"
)

// Target is what data is to be restored to. Exactly one of its fields is set.
type Target struct {
	Revision int64     // the last one that is restored
	Before   int64     // the first revision that is not restored
	Time     time.Time // everything is restored that came until then, by the clock of the log's writer
}

// last is the last revision that is restored; not ok if the target is a time.
func (t Target) last() (revision int64, ok bool) {
	if t.Before > 0 {
		return t.Before - 1, true
	}
	return t.Revision, t.Time.IsZero()
}

// isClear says whether it is one target.
func (t Target) isClear() bool {
	set := 0
	for _, isSet := range []bool{t.Revision != 0, t.Before != 0, !t.Time.IsZero()} {
		if isSet {
			set++
		}
	}
	return set == 1 && t.Revision >= 0 && t.Before >= 0
}

// End is what the writer of a log has said of its end: at that time, all that had come was in the store, and it was everything up to that
// revision. The zero value is that nothing is known.
type End struct {
	Revision int64
	Until    time.Time
}

// isOf says whether it is about a log that has everything before that place. One that has less ends before a gap, after which its writer
// went on, and has not written anything yet.
func (e End) isOf(reached Position) bool {
	return e.Revision > 0 && reached.Compare(Position{e.Revision + 1, 0}) >= 0
}

// Base is a full backup that a restore may begin with.
type Base struct {
	ID       string
	Revision int64
	Finished time.Time // everything in it was written before
}

// Plan is a full backup and the segments that lead from it to a target.
type Plan struct {
	Base     Base
	Segments []Listed // none if the target is the backup itself
	Target   Target
}

// Choose is ChooseUntil of a log whose end is not known.
func Choose(f Folder, bases []Base, segments []Listed, target Target) (Plan, error) {
	return ChooseUntil(f, bases, segments, End{}, target)
}

// ChooseUntil takes the newest full backup from which the log leads to the target, and the segments in between, which it proves to be
// whole. Backups are of the lineage, in any order; segments are all of its folder, by name. If there is no way, the *Error says why:
// TooEarly, TooLate or InGap, or what Prove finds wrong on the way. Of the end of the log it is known what the writer has said before the
// segments were listed.
func ChooseUntil(f Folder, bases []Base, segments []Listed, known End, target Target) (Plan, error) {
	if !target.isClear() {
		return Plan{}, wrong(Unclear, "", "a target is a revision, the revision after it, or a time")
	}
	last, isRevision := target.last()
	bases = slices.Clone(bases)
	slices.SortFunc(bases, func(a, b Base) int { return int(min(max(b.Revision-a.Revision, -1), 1)) }) // the newest first
	end := target.within(segments)
	usable := func(b Base) bool {
		switch {
		case isRevision:
			return b.Revision <= last
		case end > 0:
			// Whatever is before the segment that has the target came before that time. So did the segment's beginning.
			return b.Revision < segments[end-1].Header.First.Revision || b.Finished.Before(target.Time)
		default:
			return b.Finished.Before(target.Time)
		}
	}
	i := slices.IndexFunc(bases, usable)
	if i < 0 {
		return Plan{}, wrong(TooEarly, "", "no full backup is older than %s", target)
	}
	plan := Plan{Base: bases[i], Target: target}
	if isRevision && plan.Base.Revision == last {
		return plan, nil
	}
	way, err := wayFrom(f, plan.Base, segments[:end])
	if err != nil {
		return Plan{}, err
	}
	plan.Segments = way
	return plan, plan.reaches(segments[end:], known)
}

// String is the target for people.
func (t Target) String() string {
	switch {
	case t.Before > 0:
		return fmt.Sprintf("the moment before revision %d", t.Before)
	case t.Revision > 0:
		return fmt.Sprintf("revision %d", t.Revision)
	}
	return t.Time.UTC().Format(time.RFC3339Nano)
}

// within is how many segments begin until the target.
func (t Target) within(segments []Listed) int {
	last, isRevision := t.last()
	after := func(s Listed) bool {
		if isRevision {
			return s.Header.First.Revision > last
		}
		return s.Header.Began.After(t.Time)
	}
	if i := slices.IndexFunc(segments, after); i >= 0 {
		return i
	}
	return len(segments)
}

// wayFrom are the last of the segments, back to the one that has what follows the backup; none if all of them are older.
func wayFrom(f Folder, b Base, segments []Listed) ([]Listed, error) {
	next := Position{b.Revision + 1, 0}
	ended := func(s Listed) bool { return s.Header.Next().Compare(next) <= 0 }
	for len(segments) > 0 && ended(segments[0]) {
		segments = segments[1:]
	}
	runs, err := Prove(f, segments)
	switch {
	case err != nil:
		return nil, err
	case len(runs) == 0:
		return nil, nil
	case segments[0].Header.First.Compare(next) > 0:
		return nil, gap(next, segments[0])
	case len(runs) > 1:
		return nil, gap(segments[len(runs[0].Segments)-1].Header.Next(), runs[1].Segments[0])
	}
	return segments, nil
}

func gap(from Position, to Listed) error {
	return wrong(InGap, to.Object, "nothing was logged from %s up to it, and no full backup in between is old enough", from).
		between(from, to.Header.First)
}

// reaches says whether the segments have the target, given those that follow. After the last event of a log nothing is known but what its
// writer says: whether nothing was written, or it was not logged.
func (p Plan) reaches(later []Listed, known End) error {
	reached := Position{p.Base.Revision + 1, 0} // what comes next
	ended := p.Base.Finished
	if n := len(p.Segments); n > 0 {
		reached, ended = p.Segments[n-1].Header.Next(), p.Segments[n-1].Header.Ended
	}
	last, isRevision := p.Target.last()
	switch t := p.Target; {
	case isRevision && reached.Compare(Position{last + 1, 0}) >= 0:
		return nil
	case !isRevision && !ended.Before(t.Time):
		return nil
	case !isRevision && len(later) == 0 && known.isOf(reached) && !known.Until.Before(t.Time):
		return nil // nothing came in between
	case len(later) == 0:
		return wrong(TooLate, "", "the log ends before %s, with what came until %s", reached, ended.UTC().Format(time.RFC3339Nano)).
			between(reached, reached)
	case later[0].Header.First.Compare(reached) > 0:
		return wrong(InGap, later[0].Object, "nothing was logged from %s up to it, and %s is in between", reached, t).
			between(reached, later[0].Header.First)
	}
	return nil
}
