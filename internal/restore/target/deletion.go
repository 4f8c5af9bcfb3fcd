// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"errors"
	"fmt"
	"slices"

	"github.com/etcd-operator/etcd-operator/internal/backup/log"
)

// NotDeleted means that no deletion of a key is in the log.
const NotDeleted log.Kind = "not deleted"

// deletion is where the log says that a key was deleted.
type deletion struct {
	in Log
	at Moment
}

// beforeDelete is the revision before the newest deletion of a key.
func (h *History) beforeDelete(key string) (Point, error) {
	found, searched, err := h.lastDeletion([]byte(key))
	if err != nil {
		return Point{}, err
	}
	if found == nil {
		return Point{}, refused(NotDeleted, "the log has no deletion of key %q%s", key, searched)
	}
	t := Target{Revision: found.at.Revision - 1}
	for _, b := range h.bases {
		if !t.includes(b) {
			continue
		}
		if l, ok := h.continues(b); !ok || l.Folder != found.in.Folder {
			continue // another history
		}
		p, err := h.from(b, t)
		if err == nil && p.Next.Revision != found.at.Revision {
			p.Next = found.at // of a full backup with just that revision
		}
		return p, err
	}
	e := refused(log.TooEarly, "key %q was deleted with %s, and no full backup of that history is older", key, found.at)
	if len(h.bases) > 0 {
		oldest := h.bases[len(h.bases)-1]
		e.After = &Moment{oldest.Revision, oldest.Finished}
	}
	return Point{}, e
}

// searchedAtOnce is of how many segments headers are read before the next ones are: a deletion is mostly near the end.
const searchedAtOnce = 1000

// lastDeletion reads the log backwards, the newest history first, as far as full backups reach.
func (h *History) lastDeletion(key []byte) (*deletion, string, error) {
	searched := ""
	for _, l := range h.newestLogs() {
		segments := h.restorable(l)
		at, err := h.deletionIn(l, segments, key)
		if err == nil {
			return &deletion{in: l, at: Moment{at.Revision, at.Time}}, "", nil
		}
		if !errors.Is(err, log.NotFound) {
			return nil, "", err
		}
		if len(segments) > 0 {
			searched += fmt.Sprintf(", which was searched from revision %d in %s", segments[0].First.Revision, l.Lineage)
		}
	}
	return nil, searched, nil
}

// newestLogs are the lineages that continue full backups, the newest first.
func (h *History) newestLogs() []Log {
	var all []Log
	for _, b := range h.bases {
		l, ok := h.continues(b)
		if ok && !slices.ContainsFunc(all, func(o Log) bool { return o.Folder == l.Folder }) {
			all = append(all, l)
		}
	}
	return all
}

// restorable are the segments of a lineage with what came after the oldest full backup that it continues.
func (h *History) restorable(l Log) []Segment {
	for _, b := range slices.Backward(h.bases) {
		if own, ok := h.continues(b); ok && own.Folder == l.Folder {
			return l.since(b)
		}
	}
	return nil
}

// deletionIn goes through segments from their end, as log.Walk does: what is newer may be in a gap, or in what is missing, so that neither
// is passed over. Each part begins with the oldest segment of the one before, which it must lead to.
func (h *History) deletionIn(l Log, segments []Segment, key []byte) (log.Deletion, error) {
	err := error(&log.Error{Kind: log.NotFound, Problem: "there is no log"})
	for end := len(segments); end > 0; end -= searchedAtOnce {
		part := segments[max(0, end-searchedAtOnce):min(end+1, len(segments))]
		listed, failed := h.headers(part)
		if failed != nil {
			return log.Deletion{}, failed
		}
		var found log.Deletion
		found, err = log.Walk{Folder: l.Folder, Segments: listed, Load: h.load, Identities: h.source.Identities}.LastDeletion(key)
		if !errors.Is(err, log.NotFound) {
			return found, h.unsure(err, key)
		}
	}
	return log.Deletion{}, err
}

// unsure is why it is not known where a key was deleted last.
func (h *History) unsure(err error, key []byte) error {
	var wrong *log.Error
	if !errors.As(err, &wrong) || wrong.Kind != log.InGap {
		return err
	}
	return &log.Error{
		Kind: log.InGap, Object: wrong.Object, From: wrong.From, To: wrong.To,
		Problem: fmt.Sprintf("nothing was logged from %s up to %s, key %q has no deletion after that, and may have been deleted in between: "+
			"give a time or a revision", wrong.From, wrong.To, key),
	}
}
