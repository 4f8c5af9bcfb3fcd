// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"errors"
	"fmt"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/backup/log"
)

// noLog is about a full backup without a log.
func (h *History) noLog(b Base, t Target) error {
	next := h.baseAfter(b)
	kind, what := log.TooLate, fmt.Sprintf("%s is after full backup %s of revision %d, and no log in the store leads on from that", t, b.Path,
		b.Revision)
	if next != nil {
		kind = log.InGap
		what += fmt.Sprintf(": nothing was logged from %s up to full backup %s", clock(b.Finished), next.Path)
	}
	err := refused(kind, "%s", what)
	err.Before = &Moment{b.Revision, b.Finished}
	if next != nil {
		err.After = &Moment{next.Revision, next.Finished}
	}
	return err
}

// baseAfter is the full backup that was made after another one; nil if there is none.
func (h *History) baseAfter(b Base) *Base {
	var next *Base
	for i := range h.bases { // the newest first
		if !h.bases[i].Finished.After(b.Finished) {
			break
		}
		next = &h.bases[i]
	}
	return next
}

// explain adds to an error of the log what can be restored instead.
func (h *History) explain(cause error, b Base, listed []log.Listed) error {
	var wrong *log.Error
	if !errors.As(cause, &wrong) {
		return cause
	}
	e := &Error{cause: wrong, Before: &Moment{b.Revision, b.Finished}}
	whole := listed // those before what is wrong
	for i, s := range listed {
		if s.Object == wrong.Object {
			whole = listed[:i]
			break
		}
	}
	if n := len(whole); n > 0 {
		if end := (log.Run{Segments: whole}).Last(); end > b.Revision {
			e.Before = &Moment{end, whole[n-1].Header.Ended}
		}
	}
	if wrong.Kind == log.InGap {
		e.cause = h.gap(wrong, e, listed)
	}
	if next := h.newestAfter(b); wrong.Kind == log.TooLate && next != nil {
		e.After = &Moment{next.Revision, next.Finished} // a restore of the cluster, or its recovery, has ended this lineage
	}
	return e
}

// newestAfter is the oldest full backup of another lineage that was made later.
func (h *History) newestAfter(b Base) *Base {
	own, _ := h.continues(b)
	var next *Base
	for i := range h.bases {
		if !h.bases[i].Finished.After(b.Finished) {
			break
		}
		if l, _ := h.continues(h.bases[i]); l.Lineage != own.Lineage {
			next = &h.bases[i]
		}
	}
	return next
}

// gap says from when to when nothing was logged. The log goes on after a full backup.
func (h *History) gap(wrong *log.Error, e *Error, listed []log.Listed) error {
	var to time.Time
	after := Moment{Revision: wrong.To.Revision}
	for _, s := range listed {
		if s.Object == wrong.Object {
			to = s.Header.Began
			after = Moment{s.Header.Base, to}
		}
	}
	for _, b := range h.bases {
		if b.Revision == after.Revision {
			after.Time = b.Finished
		}
	}
	e.After = &after
	problem := fmt.Sprintf("nothing was logged from revision %d, after %s, up to revision %d, which came at %s: the target is in this gap",
		wrong.From.Revision, clock(e.Before.Time), wrong.To.Revision, clock(to))
	return &log.Error{Kind: log.InGap, Object: wrong.Object, Problem: problem, From: wrong.From, To: wrong.To}
}
