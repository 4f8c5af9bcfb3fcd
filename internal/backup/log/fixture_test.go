// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package log_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/backup/log"
)

var (
	noon   = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	folder = log.Folder{Namespace: "shop", Cluster: "orders", Lineage: log.Lineage(0xcdf818194e3a8c32, 0)}
)

const base = 10 // revision of the full backup that histories begin after

// history makes batches as a member could send them: of each second one, with one or more revisions of one or more events. Some revisions
// are spread over batches.
func history(seed uint64, batches int) []log.Batch {
	random := rand.New(rand.NewPCG(seed, 1))
	var all []log.Batch
	at, now := log.Position{Revision: base + 1}, noon
	for len(all) < batches {
		now = now.Add(time.Second)
		b := log.Batch{Time: now, Complete: true}
		for range 1 + random.IntN(4) {
			for {
				b.Events = append(b.Events, event(random, at))
				if random.IntN(3) > 0 {
					break
				}
				at.Sub++
			}
			at = log.Position{Revision: at.Revision + 1}
		}
		if last := b.Events[len(b.Events)-1]; random.IntN(4) == 0 && len(all) < batches-1 {
			b.Complete, at = false, log.Position{Revision: last.Revision, Sub: last.Sub + 1}
		}
		all = append(all, b)
	}
	return all
}

func event(random *rand.Rand, at log.Position) log.Event {
	e := log.Event{Revision: at.Revision, Sub: at.Sub, Key: fmt.Appendf(nil, "/registry/pods/%d", random.IntN(50))}
	if random.IntN(5) == 0 {
		e.Deleted = true
		return e
	}
	e.CreateRevision, e.Version = 1+random.Int64N(at.Revision), 1+random.Int64N(9)
	e.Value = fmt.Appendf(nil, `{"node":"n-%d","phase":"Running"}`, random.IntN(1000))
	if random.IntN(3) == 0 {
		e.Lease = random.Int64()
	}
	if random.IntN(9) == 0 {
		e.Lease = -5
	}
	return e
}

// stored are the segments of a history, of so many batches each.
type stored struct {
	listed  []log.Listed
	content map[string][]byte
}

func store(t testing.TB, batches []log.Batch, each int) stored {
	t.Helper()
	s := stored{content: map[string][]byte{}}
	start := log.Start{Lineage: folder.Lineage, Writer: "w1", Base: base, First: log.Position{Revision: base + 1}}
	for len(batches) > 0 {
		n := min(each, len(batches))
		segment := encode(t, start, batches[:n])
		s.add(segment)
		start, batches = log.Follows(segment.Header, "w1"), batches[n:]
	}
	return s
}

func (s *stored) add(segment log.Segment) {
	name := folder.Object(segment.Header.First)
	s.content[name] = segment.Content
	s.listed = append(s.listed, log.Listed{Object: name, Size: int64(len(segment.Content)), Header: segment.Header})
}

func (s stored) load(object string) ([]byte, error) {
	content, found := s.content[object]
	if !found {
		return nil, fmt.Errorf("%s is not there", object)
	}
	return content, nil
}

func encode(t testing.TB, start log.Start, batches []log.Batch) log.Segment {
	t.Helper()
	e := log.NewEncoder(start)
	for _, b := range batches {
		if err := e.Add(b); err != nil {
			t.Fatal(err)
		}
	}
	return must(e.Close(nil))(t)
}

func must[V any](v V, err error) func(testing.TB) V {
	return func(t testing.TB) V {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
