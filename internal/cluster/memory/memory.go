// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package memory is what the operator's process remembers of a cluster between two reconciles
// and does not write anywhere: what it has just tried, and how that ended. Another process
// starts with nothing, which costs a moment and is safe.
//
// It is pure: a memory is changed by views, steps and endings alone. It must never decide a step.
package memory

import (
	"time"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
)

// Cluster is the memory of one cluster. Its zero value knows nothing. Only one look at a time may
// use it.
type Cluster struct {
	restarts restarts
	denials  denials
	leaders  leaders
	wakes    wakes
	growth   growth
	row      Repeats
	speeds   speeds
	entries  entries
	usage    usage
	compaction
	chosen   chosen
	hashes   []cluster.Hash
	lastNote string
}

// Ending says how a step has ended.
type Ending struct {
	// Err is nil after a success.
	Err error
	// Denied is what Kubernetes, or a webhook in it, said when it refused the write; empty if it did not.
	Denied string
	// NotReady: etcd refuses it for now.
	NotReady bool
	// Outdated: what was observed has changed meanwhile. Nothing is wrong.
	Outdated bool
}

// Mark adds to a view what is remembered. It changes members and objects of the view in place.
func (m *Cluster) Mark(v cluster.View, now time.Time) {
	m.restarts.mark(v, now)
	m.denials.mark(v, now)
	m.leaders.mark(v, now)
	m.wakes.mark(v, now)
	m.growth.mark(v, now)
	m.chosen.mark(v, now)
}

// Note remembers a step and how it has ended. A denial that is news is Outdated in the ending that
// is returned: the next look goes on without what was denied, and says so.
func (m *Cluster) Note(v cluster.View, step plan.Step, e Ending, now time.Time) Ending {
	e = m.denials.note(v, step, e, now)
	m.leaders.note(v, step, e, now)
	m.wakes.note(v, now)
	m.usage.note(v, step, e, now)
	m.hashes = v.Hashes.Read
	if e.Err == nil {
		m.restarts.note(v, step, now)
		m.compaction.note(step, now)
		m.speeds.note(v, step, now)
	}
	return e
}

// Hashes are those that earlier looks have read for a comparison of members' data that goes on.
func (m *Cluster) Hashes() []cluster.Hash { return m.hashes }

// NoteChanged remembers the last note about the cluster, and says whether it differs from the one before.
func (m *Cluster) NoteChanged(note string) bool {
	was := m.lastNote
	m.lastNote = note
	return was != note
}
