// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package objectstore

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"time"
)

// Report is what Check found. What is false failed, or could not be tried after something else failed.
type Report struct {
	Reachable   bool // the bucket is there and can be listed
	Writable    bool
	Conditional bool // a second write of a name is refused
	Readable    bool
	Deletable   bool

	// Skew is how far the store's clock is ahead of ours; negative if it is behind. Less than a second is zero.
	Skew time.Duration

	// Problems are in the order in which they were met; most are *Error, with the provider's words.
	Problems []error
}

// OK is whether backups can be made, read and deleted here.
func (r Report) OK() bool { return len(r.Problems) == 0 }

// Check tries everything that backups do, with an object of its own in the folder check/, which it deletes. The store must
// have been opened without LockedUntil: what is locked stays. Now is the clock that the store's is compared with.
func Check(ctx context.Context, s Store, now func() time.Time) Report {
	p := probe{store: s, now: now, name: "check/" + strings.ToLower(rand.Text()), content: []byte(rand.Text())}
	for _, err := range s.List(ctx, "check/") {
		if err != nil {
			p.note(err)
			return p.Report
		}
		break
	}
	p.Reachable = true
	if p.write(ctx); p.Writable {
		p.writeAgain(ctx)
		p.read(ctx)
		p.compareClocks(ctx)
	}
	p.remove(context.WithoutCancel(ctx)) // which has a deadline of its own
	return p.Report
}

type probe struct {
	Report
	store         Store
	now           func() time.Time
	name          string
	content       []byte
	before, after time.Time // the write
}

func (p *probe) note(err error) {
	if err != nil {
		p.Problems = append(p.Problems, err)
	}
}

func (p *probe) write(ctx context.Context) {
	p.before = p.now()
	err := p.store.Put(ctx, p.name, p.content)
	p.after = p.now()
	p.note(err)
	p.Writable = err == nil
}

func (p *probe) writeAgain(ctx context.Context) {
	err := p.store.Put(ctx, p.name, bytes.ToLower(p.content))
	switch {
	case errors.Is(err, Exists):
		p.Conditional = true
	case err == nil:
		words := "the store overwrote an object although the request forbade it"
		p.note(&Error{Kind: Unsupported, Do: "write", Name: p.name, Message: words})
	default:
		p.note(err)
	}
}

func (p *probe) read(ctx context.Context) {
	content, err := p.store.Get(ctx, p.name, int64(len(p.content)))
	if err == nil && p.Conditional && !bytes.Equal(content, p.content) {
		err = &Error{Kind: Changed, Do: "read", Name: p.name, Message: "what is read is not what was written"}
	}
	p.note(err)
	p.Readable = err == nil
}

func (p *probe) compareClocks(ctx context.Context) {
	for o, err := range p.store.List(ctx, "check/") {
		if err != nil {
			p.note(err)
			return
		}
		if o.Name == p.name {
			p.Skew = skew(p.before, p.after, o.Modified)
		}
	}
}

// skew is how far a time of the store's is outside of the write that it belongs to. Many stores know whole seconds only.
func skew(before, after, store time.Time) time.Duration {
	if early := before.Truncate(time.Second); store.Before(early) {
		return store.Sub(before)
	}
	if store.After(after) {
		return store.Sub(after)
	}
	return 0
}

// remove is tried after a failed write, too: its answer may have been lost.
func (p *probe) remove(ctx context.Context) {
	err := p.store.Delete(ctx, p.name)
	if p.Writable {
		p.note(err)
	}
	p.Deletable = p.Writable && err == nil
}
