// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"sync"
)

// upload is a writer that cuts a stream into parts and puts them into the store, some at a time.
//
// Memory is PartsInMemory buffers of one part: a writer waits until one is free.
type upload struct {
	ctx    context.Context // ends with the first failure
	cancel context.CancelCauseFunc
	store  Store
	folder Folder
	named  func(number int) string // a part
	size   int                     // of a part

	buffer []byte        // the part that is filled; nil: none
	free   chan []byte   // a nil buffer is one that was not needed yet
	calls  chan struct{} // one for each part that is sent right now
	onWay  sync.WaitGroup

	lock     sync.Mutex
	parts    []Part
	progress Progress
	reported int64 // bytes read when progress was reported last
	report   func(Progress)
}

func newUpload(ctx context.Context, store Store, m Manifest, job Job) *upload {
	ctx, cancel := context.WithCancelCause(ctx)
	u := &upload{
		ctx: ctx, cancel: cancel, store: store, folder: m.Folder(), named: m.PartName,
		size: cmp.Or(job.PartSize, DefaultPartSize),
		free: make(chan []byte, PartsInMemory), calls: make(chan struct{}, PartsInMemory-1),
		progress: Progress{Total: job.Total}, report: job.Progress,
	}
	for range PartsInMemory {
		u.free <- nil
	}
	return u
}

// Write fails as soon as any part could not be put.
func (u *upload) Write(p []byte) (int, error) {
	written := 0
	for len(p) > 0 {
		if u.buffer == nil && !u.grab() {
			return written, context.Cause(u.ctx)
		}
		n := min(len(p), u.size-len(u.buffer))
		u.buffer = append(u.buffer, p[:n]...)
		p, written = p[n:], written+n
		if len(u.buffer) == u.size {
			u.send()
		}
	}
	return written, context.Cause(u.ctx)
}

// grab waits for a free buffer.
func (u *upload) grab() bool {
	select {
	case <-u.ctx.Done():
		return false
	case u.buffer = <-u.free:
	}
	if u.buffer == nil {
		u.buffer = make([]byte, 0, u.size)
	}
	return true
}

// send puts the part that is filled on its way.
func (u *upload) send() {
	content := u.buffer
	u.buffer = nil
	u.lock.Lock()
	number := len(u.parts)
	u.parts = append(u.parts, Part{Name: u.named(number), Size: int64(len(content))})
	u.lock.Unlock()
	u.onWay.Go(func() {
		u.calls <- struct{}{}
		if err := u.put(number, content); err != nil {
			u.cancel(err)
		}
		<-u.calls
		u.free <- content[:0]
	})
}

func (u *upload) put(number int, content []byte) error {
	sum := sha256.Sum256(content)
	name := u.folder.Object(u.named(number))
	if err := u.store.Put(u.ctx, name, content); err != nil {
		return fmt.Errorf("put part %s: %w", name, err)
	}
	u.lock.Lock()
	defer u.lock.Unlock()
	u.parts[number].SHA256 = hex.EncodeToString(sum[:])
	u.progress.Parts++
	u.progress.Stored += int64(len(content))
	u.say()
	return nil
}

// Close sends the last part, and waits until every part is in the store.
func (u *upload) Close() error {
	if u.buffer != nil {
		u.send()
	}
	u.onWay.Wait()
	return context.Cause(u.ctx)
}

// end waits until no part is on its way. It returns what else stopped the upload than err.
func (u *upload) end(err error) error {
	cause := context.Cause(u.ctx)
	u.cancel(context.Canceled)
	u.onWay.Wait()
	if errors.Is(err, cause) {
		return nil
	}
	return cause
}

// read counts bytes of the snapshot, and reports progress about once for each part's worth of them.
func (u *upload) read(n int64) {
	u.lock.Lock()
	defer u.lock.Unlock()
	u.progress.Read += n
	if u.progress.Read-u.reported >= int64(u.size) {
		u.say()
	}
}

// ended is io.EOF, unless less or more has come than etcd announced.
func (u *upload) ended() error {
	u.lock.Lock()
	defer u.lock.Unlock()
	u.say()
	switch total := u.progress.Total; {
	case total > 0 && u.progress.Read < total:
		return fmt.Errorf("%w: after %d bytes of %d", ErrTruncated, u.progress.Read, total)
	case total > 0 && u.progress.Read > total:
		return fmt.Errorf("%w: %d bytes instead of %d", ErrTooLarge, u.progress.Read, total)
	}
	return io.EOF
}

func (u *upload) say() {
	u.reported = u.progress.Read
	if u.report != nil {
		u.report(u.progress)
	}
}
