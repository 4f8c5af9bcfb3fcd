// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package log

import (
	"encoding/binary"
	"fmt"
	"iter"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/etcd-operator/etcd-operator/internal/backup/encryption"
)

// MaxStored is the most bytes that a segment has in a store: what zstd makes of MaxSize at worst, what age adds for 16 recipients of the
// longest kind (28 KiB, and 4 KiB for MaxSize), and a header.
const MaxStored = MaxSize + MaxSize/256 + HeaderSize + 1024

// Parse checks a whole segment against its header. Only then are its events read, by Batches. The object is its name, for errors.
func Parse(object string, content []byte) (Segment, error) {
	h, size, err := ParseHeader(object, content)
	if err != nil {
		return Segment{}, err
	}
	packed := content[size:]
	if int64(len(packed)) != h.Stored {
		return Segment{}, wrong(Damaged, object, "it has %d bytes after its header, which says %d", len(packed), h.Stored)
	}
	if sumOf(packed) != h.SHA256 {
		return Segment{}, wrong(Damaged, object, "its events have another sha256 than its header says")
	}
	return Segment{Header: h, Content: content}, nil
}

// Batches are those of a segment that Parse has checked, in their order. Keys and values are parts of one buffer of at most MaxSize
// bytes, which is never written again. The last thing is an *Error of kind Damaged if a segment with the right sums has something else in
// it than its header says. The identities are needed if it is encrypted; the one thing is an encryption.ErrWrongKey if none of them fits.
func (s Segment) Batches(object string, identities ...encryption.Identities) iter.Seq2[Batch, error] {
	return func(yield func(Batch, error) bool) {
		raw, err := s.unpack(object, one(identities))
		if err != nil {
			yield(Batch{}, err)
			return
		}
		r := records{rest: raw, header: s.Header}
		for len(r.rest) > 0 {
			batch, problem := r.batch()
			if problem != "" {
				yield(Batch{}, wrong(Damaged, object, "after %d events: %s", r.events, problem))
				return
			}
			if !yield(batch, nil) {
				return
			}
		}
		if problem := r.ended(); problem != "" {
			yield(Batch{}, wrong(Damaged, object, "%s", problem))
		}
	}
}

// one is what was given, or nothing.
func one(identities []encryption.Identities) encryption.Identities {
	if len(identities) == 0 {
		return encryption.Identities{}
	}
	return identities[0]
}

// unpack makes no more bytes than a segment may have.
func (s Segment) unpack(object string, identities encryption.Identities) ([]byte, error) {
	packed, err := s.decrypt(object, identities)
	if err != nil {
		return nil, err
	}
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(MaxSize), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, fmt.Errorf("make decompressor: %w", err)
	}
	defer decoder.Close()
	raw, err := decoder.DecodeAll(packed, make([]byte, 0, s.Header.Size))
	if err != nil {
		return nil, wrong(Damaged, object, "its events cannot be decompressed: %v", err)
	}
	if int64(len(raw)) != s.Header.Size {
		return nil, wrong(Damaged, object, "its events have %d bytes, and its header says %d", len(raw), s.Header.Size)
	}
	return raw, nil
}

// records reads what Encoder has written.
type records struct {
	rest     []byte
	header   Header
	events   int64
	last     Position // the last event; none yet if there are no events
	outline  Outline  // of it
	complete bool     // the last batch ends its revision
	time     time.Time
}

// batch reads one; the problem says why there is none.
func (r *records) batch() (b Batch, problem string) {
	if kind := r.rest[0]; kind != batchRecord {
		return Batch{}, fmt.Sprintf("a record of kind %d where a batch begins", kind)
	}
	r.rest = r.rest[1:]
	micros, ok := r.number()
	b.Time = time.UnixMicro(micros).UTC()
	if !ok || b.Time.Before(r.header.Began) || b.Time.Before(r.time) || b.Time.After(r.header.Ended) {
		return Batch{}, "a time that is not in its order"
	}
	r.time, b.Complete = b.Time, true
	ended := r.complete // the batch before
	for len(r.rest) > 0 && r.rest[0] != batchRecord {
		if r.rest[0] == endRecord {
			r.rest, b.Complete = r.rest[1:], false
			break
		}
		e, problem := r.event(len(b.Events) == 0, ended)
		if problem != "" {
			return Batch{}, problem
		}
		b.Events = append(b.Events, e)
	}
	if len(b.Events) == 0 {
		return Batch{}, "a batch without events"
	}
	r.complete = b.Complete
	return b, ""
}

// event reads one. The first of a batch goes on with the revision of the batch before if that has not ended it, and only then.
func (r *records) event(first, ended bool) (e Event, problem string) {
	kind := r.rest[0]
	r.rest = r.rest[1:]
	same := kind&sameRevision != 0
	at := r.place(same)
	if first && same == (ended || r.events == 0) {
		return Event{}, "an event that does not follow the one before"
	}
	e = Event{Revision: at.Revision, Sub: at.Sub, Deleted: kind&^sameRevision == deleteRecord}
	if !e.Deleted && kind&^sameRevision != putRecord {
		return Event{}, fmt.Sprintf("a record of kind %d", kind)
	}
	var whole bool
	if e.Key, whole = r.bytes(); !whole {
		return Event{}, "a key that is cut"
	}
	if !e.Deleted && !r.put(&e) {
		return Event{}, "a put that is cut"
	}
	if problem := e.problem(); problem != "" {
		return Event{}, problem
	}
	r.events++
	r.last, r.outline = at, outlineOf(e)
	return e, ""
}

// place is that of the next event. The first one of a segment has that of the header.
func (r *records) place(same bool) Position {
	if r.events == 0 {
		return r.header.First
	}
	return r.last.after(!same)
}

func (r *records) put(e *Event) (ok bool) {
	age, okAge := r.number()
	version, okVersion := r.number()
	lease, okLease := r.lease()
	value, okValue := r.bytes()
	e.CreateRevision, e.Version, e.Lease, e.Value = e.Revision-age, version, lease, value
	return okAge && okVersion && okLease && okValue
}

// number is one that is not negative.
func (r *records) number() (int64, bool) {
	n, ok := r.lease()
	return n, ok && n >= 0
}

// lease is any number: IDs of leases may be negative.
func (r *records) lease() (int64, bool) {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 {
		return 0, false
	}
	r.rest = r.rest[size:]
	return int64(n), true //nolint:gosec // as it was written
}

func (r *records) bytes() ([]byte, bool) {
	n, ok := r.number()
	if !ok || n > int64(len(r.rest)) {
		return nil, false
	}
	content := r.rest[:n:n]
	r.rest = r.rest[n:]
	return content, true
}

// ended compares what was read with the header.
func (r *records) ended() string {
	h := r.header
	if r.events != h.Events || r.last != h.Last || r.complete != h.Complete || !r.time.Equal(h.Ended) {
		return fmt.Sprintf("it has %d events up to %s, and its header says %d up to %s", r.events, r.last, h.Events, h.Last)
	}
	if h.Encryption != nil && h.Encryption.Last != r.outline {
		return fmt.Sprintf("it ends with %+v, and its header says %+v", r.outline, h.Encryption.Last)
	}
	return ""
}
