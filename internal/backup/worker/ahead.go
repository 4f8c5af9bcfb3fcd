// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"sync"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/backup/log"
)

const (
	// segmentsAhead is how many segments are on their way at the same time: a busy log has 86,400 of a few KiB each day, for which a
	// store takes as long as for larger ones.
	segmentsAhead = 16
	// bytesAhead is how many bytes are on their way, unless one segment has more.
	bytesAhead = 16 << 20
	// promptly is within what time a segment comes from a store that has bandwidth for more than one.
	promptly = 10 * time.Second
)

// ahead gets the segments of a plan before they are asked for. From a slow store they come one at a time.
type ahead struct {
	get   func(object string) ([]byte, error)
	rest  []log.Listed // that are not on their way
	onWay []coming     // in their order
	bytes int64        // of these
	most  int          // that may be on their way
	all   sync.WaitGroup
}

type coming struct {
	log.Listed
	result chan arrived
}

type arrived struct {
	content  []byte
	err      error
	isPrompt bool
}

func newAhead(segments []log.Listed, get func(object string) ([]byte, error)) *ahead {
	return &ahead{get: get, rest: segments, most: 1}
}

// next is a segment. They are asked for in the order of the plan, each once.
func (a *ahead) next(object string) ([]byte, error) {
	a.start()
	if len(a.onWay) == 0 || a.onWay[0].Object != object {
		return a.get(object) // which is none of the plan, or not its turn
	}
	first := a.onWay[0]
	got := <-first.result
	a.onWay, a.bytes = a.onWay[1:], a.bytes-first.Size
	if a.most = 1; got.isPrompt {
		a.most = segmentsAhead
	}
	a.start() // while this one is replayed
	return got.content, got.err
}

// start sends for as many as may be on their way.
func (a *ahead) start() {
	for len(a.rest) > 0 && len(a.onWay) < a.most && (len(a.onWay) == 0 || a.bytes+a.rest[0].Size <= bytesAhead) {
		c := coming{a.rest[0], make(chan arrived, 1)}
		a.rest, a.onWay, a.bytes = a.rest[1:], append(a.onWay, c), a.bytes+c.Size
		a.all.Go(func() {
			late := time.AfterFunc(promptly, func() {})
			content, err := a.get(c.Object)
			c.result <- arrived{content, err, late.Stop()}
		})
	}
}

// wait returns when nothing is on its way any more, which ends with the context of get.
func (a *ahead) wait() { a.all.Wait() }

// loaded runs something with a function that gets the segments of a plan from the store.
func (j job) loaded(ctx context.Context, segments []log.Listed, with func(load func(object string) ([]byte, error))) {
	ctx, cancel := context.WithCancel(ctx)
	a := newAhead(segments, func(object string) ([]byte, error) { return j.where.Get(ctx, object, log.MaxStored) })
	defer a.wait()
	defer cancel()
	with(a.next)
}
