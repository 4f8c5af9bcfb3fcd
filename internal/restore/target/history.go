// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etcd-operator/etcd-operator/internal/backup/encryption"
	"github.com/etcd-operator/etcd-operator/internal/backup/log"
)

// Segment is one as its name says.
type Segment struct {
	Object string
	Size   int64
	First  log.Position
}

// Log is one lineage in the store.
type Log struct {
	log.Folder
	Segments []Segment // by name
}

// Source reads the log.
type Source struct {
	// Headers reads those of segments, and returns them in the same order.
	Headers func([]Segment) ([]log.Listed, error)
	// Load reads a whole segment.
	Load func(object string) ([]byte, error)
	// Identities are needed for segments that are encrypted.
	Identities encryption.Identities
}

// History is what a store has of a cluster.
type History struct {
	bases  []Base // the newest first
	logs   []Log
	source Source
	known  map[string]log.Listed

	lineage string  // of which the end is known; empty: of none
	end     log.End // of that
}

// New is the history of full backups and the log, in any order. Lineages of others are left out.
func New(bases []Base, logs []Log, source Source) *History {
	return &History{bases: newestFirst(bases), logs: logs, source: source, known: map[string]log.Listed{}}
}

// Ends has the end of a lineage be known, as its writer has said it before the log was listed: what came until then is in the log.
func (h *History) Ends(lineage string, end log.End) { h.lineage, h.end = lineage, end }

// endOf is what is known of the end of a lineage.
func (h *History) endOf(l Log) log.End {
	if h.lineage != l.Lineage {
		return log.End{}
	}
	return h.end
}

// continues is the lineage that leads on from a full backup: of those of its cluster, the one with the highest number that begins at the
// first change after it, or earlier.
func (h *History) continues(b Base) (found Log, ok bool) {
	highest := -1
	for _, l := range h.logs {
		id, number, isOne := lineageOf(l.Lineage)
		if isOne && id == b.ClusterID && number > highest && l.covers(b) {
			found, highest = l, number
		}
	}
	return found, highest >= 0
}

func (l Log) covers(b Base) bool {
	return len(l.Segments) > 0 && l.Segments[0].First.Compare(log.Position{Revision: b.Revision + 1}) <= 0
}

// since are the segments that a restore from that full backup may need: what is before them is in the backup.
func (l Log) since(b Base) []Segment {
	next := log.Position{Revision: b.Revision + 1}
	from := 0
	for i, s := range l.Segments {
		if s.First.Compare(next) <= 0 {
			from = i
		}
	}
	return l.Segments[from:]
}

// headers reads those that are not known yet.
func (h *History) headers(segments []Segment) ([]log.Listed, error) {
	missing := slices.DeleteFunc(slices.Clone(segments), func(s Segment) bool { _, is := h.known[s.Object]; return is })
	if len(missing) > 0 {
		read, err := h.source.Headers(missing)
		if err != nil {
			return nil, err
		}
		for _, r := range read {
			h.known[r.Object] = r
		}
	}
	all := make([]log.Listed, 0, len(segments))
	for _, s := range segments {
		all = append(all, h.known[s.Object])
	}
	return all, nil
}

func (h *History) load(object string) ([]byte, error) { return h.source.Load(object) }

// lineageOf splits the name of a lineage.
func lineageOf(name string) (clusterID uint64, number int, ok bool) {
	id, rest, found := strings.Cut(name, "-")
	if !found || len(id) != 16 {
		return 0, 0, false
	}
	if n, err := fmt.Sscanf(id+" "+rest, "%x %d", &clusterID, &number); err != nil || n != 2 || log.Lineage(clusterID, number) != name {
		return 0, 0, false
	}
	return clusterID, number, true
}
