// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"time"
)

// parts is the stream of all parts, each of which is checked before a byte of it is read. The next ones are fetched, and checked,
// while one is read; from a slow store one at a time.
type parts struct {
	ctx      context.Context
	cancel   context.CancelFunc
	store    Store
	manifest Manifest

	next    int            // part to be fetched next
	onWay   []chan fetched // in order, PartsAhead at most
	part    []byte         // that is read now
	current []byte         // what is not read yet of it
	err     error

	progress Progress
	report   func(Progress)
}

type fetched struct {
	content  []byte
	err      error
	isPrompt bool
}

// promptly is within what time a part comes from a store that has bandwidth for more than one. Of three at a time none has less than
// a third of it, which is twice what a store must do at least (store.SlowestRate): below that each would be given up.
const promptly = 10 * time.Second

func newParts(ctx context.Context, store Store, m Manifest, report func(Progress)) *parts {
	ctx, cancel := context.WithCancel(ctx)
	p := &parts{
		ctx: ctx, cancel: cancel, store: store, manifest: m, report: report,
		progress: Progress{Total: m.Database.Size},
	}
	p.fetch(nil)
	return p
}

// fetch begins to fetch the next part into a buffer that is no longer used.
func (p *parts) fetch(buffer []byte) {
	part, result := p.manifest.Parts[p.next], make(chan fetched, 1)
	p.next, p.onWay = p.next+1, append(p.onWay, result)
	go func() {
		late := time.AfterFunc(promptly, func() {})
		content, err := readPart(p.ctx, p.store, p.manifest.Folder().Object(part.Name), part, buffer)
		result <- fetched{content, err, late.Stop()}
	}()
}

func (p *parts) Read(b []byte) (int, error) {
	for len(p.current) == 0 && p.err == nil {
		p.err = p.turn()
	}
	if p.err != nil {
		return 0, p.err
	}
	n := copy(b, p.current)
	p.current = p.current[n:]
	return n, nil
}

// turn advances to the next part.
func (p *parts) turn() error {
	if len(p.onWay) == 0 {
		return io.EOF
	}
	part := <-p.onWay[0]
	p.onWay = p.onWay[1:] // nothing more comes of it, also for Close
	if part.err != nil {
		return part.err
	}
	done := p.part
	p.part, p.current = part.content, part.content
	p.progress.Parts++
	p.progress.Stored += int64(len(part.content))
	most := 1
	if part.isPrompt {
		most = PartsAhead
	}
	for ; len(p.onWay) < most && p.next < len(p.manifest.Parts); done = nil {
		p.fetch(done)
	}
	return nil
}

// decoded counts what was made of the parts, and reports the progress once for each part.
func (p *parts) decoded(n int64) {
	before := p.progress
	p.progress.Read += n
	step := int64(DefaultPartSize)
	if p.report != nil && (before.Read/step != p.progress.Read/step || p.progress.Read == p.progress.Total && n > 0) {
		p.report(p.progress)
	}
}

// Close waits for the parts that are on their way, which end with the context.
func (p *parts) Close() {
	p.cancel()
	for _, part := range p.onWay {
		<-part
	}
	p.onWay = nil
}

// readUpTo reads all of a stream into the buffer, or as much as the limit. Only io.EOF ends a stream well:
// io.ErrUnexpectedEOF is a broken connection.
func readUpTo(stream io.Reader, buffer []byte, limit int64) ([]byte, error) {
	if int64(cap(buffer)) < limit {
		buffer = make([]byte, 0, limit)
	}
	buffer = buffer[:0]
	for int64(len(buffer)) < limit {
		n, err := stream.Read(buffer[len(buffer):limit])
		buffer = buffer[:len(buffer)+n]
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return buffer, err
		}
	}
	return buffer, nil
}

func checkPart(name string, part Part, content []byte) error {
	if int64(len(content)) > part.Size {
		return corrupt(name, "it has more than the %d bytes that the manifest says", part.Size)
	}
	if int64(len(content)) < part.Size {
		return corrupt(name, "it has %d bytes, and the manifest says %d", len(content), part.Size)
	}
	if sum := sha256.Sum256(content); hex.EncodeToString(sum[:]) != part.SHA256 {
		return corrupt(name, "its sha256 is not the one in the manifest")
	}
	return nil
}

// exactly is a stream that must be the database that the manifest says: neither shorter nor longer, nor another one.
// So what a few bytes unpack to is bounded, too.
type exactly struct {
	source io.Reader
	want   Database
	read   int64
	sum    hash.Hash // nil: the caller compares it
	err    error
}

func newExactly(source io.Reader, want Database) *exactly {
	return &exactly{source: source, want: want, sum: sha256.New()}
}

func (e *exactly) Read(p []byte) (int, error) {
	if e.err != nil {
		return 0, e.err
	}
	// One byte more shows that there is more.
	p = p[:min(int64(len(p)), e.want.Size-e.read+1)]
	n, err := e.source.Read(p)
	if e.read+int64(n) > e.want.Size {
		e.err = fmt.Errorf("%w: the database has %d bytes", ErrTooLarge, e.want.Size)
		return 0, e.err
	}
	if e.sum != nil {
		_, _ = e.sum.Write(p[:n]) // a hash never fails
	}
	e.read += int64(n)
	if errors.Is(err, io.EOF) {
		err = e.end()
	}
	e.err = err
	return n, err
}

func (e *exactly) end() error {
	if e.read < e.want.Size {
		return fmt.Errorf("%w: after %d of %d bytes of the database", ErrTruncated, e.read, e.want.Size)
	}
	if e.sum != nil && hex.EncodeToString(e.sum.Sum(nil)) != e.want.SHA256 {
		return corrupt("database", "its sha256 is not the one in the manifest")
	}
	return io.EOF
}
