// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package log

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/etcd-operator/etcd-operator/internal/backup/encryption"
)

// What a record is, in its first byte. An event of the revision of the event before has sameRevision, too: there is no way to write
// that a revision is missing.
const (
	batchRecord  = 1
	putRecord    = 2
	deleteRecord = 3
	endRecord    = 4 // of a batch whose last revision goes on in the next one

	sameRevision = 0x10
)

// Segment is a closed segment.
type Segment struct {
	Header  Header
	Content []byte // header and events, as they are stored
}

// Start is where a segment begins.
type Start struct {
	Lineage, Writer string
	// Base is the revision of the full backup before, with First the place after it and no Previous. Else Previous is the Sum of the
	// segment before, and First its Next.
	Base     int64
	Previous string
	First    Position
	// NotBefore is the time of the batch before: a clock that is set back does not take the log with it.
	NotBefore time.Time
	// To are those who can read its events; nobody: everyone can. A log may go on with others, or without.
	To encryption.Recipients
}

// Follows is the start of the segment after one that was written. Its recipients are to be set.
func Follows(h Header, writer string) Start {
	return Start{Lineage: h.Lineage, Writer: writer, Previous: h.Sum, First: h.Next(), NotBefore: h.Ended}
}

// Encoder makes one segment of batches. It holds at most MaxSize bytes of them.
type Encoder struct {
	start    Start
	header   Header
	raw      []byte
	last     Outline  // of the event that was added last
	next     Position // of the event that may be added
	complete bool     // the last event ends its revision
}

// NewEncoder begins a segment.
func NewEncoder(start Start) *Encoder {
	return &Encoder{start: start, next: start.First, header: Header{
		Format: Format, Lineage: start.Lineage, Writer: start.Writer, Base: start.Base, Previous: start.Previous, First: start.First,
		Compression: zstdCompression,
	}}
}

// Size is how many bytes of events it has.
func (e *Encoder) Size() int { return len(e.raw) }

// Events is how many events it has. A segment without events is not written.
func (e *Encoder) Events() int64 { return e.header.Events }

// recordOverhead is the most bytes that a record of an event has beside key and value: its kind, and five numbers of at most ten bytes.
const recordOverhead = 1 + 5*binary.MaxVarintLen64

// SizeOf is the most bytes that an event adds.
func SizeOf(e Event) int { return recordOverhead + len(e.Key) + len(e.Value) }

// Fits says whether all events of a batch can be added.
func (e *Encoder) Fits(b Batch) bool {
	size := len(e.raw) + 2*(1+binary.MaxVarintLen64)
	for _, event := range b.Events {
		size += SizeOf(event)
	}
	return size <= MaxSize
}

// Add adds a batch. It is an *Error of kind Disorder, and nothing is added, if an event does not follow the one before; and TooLarge if
// the batch does not fit.
func (e *Encoder) Add(b Batch) error {
	if len(b.Events) == 0 {
		return nil
	}
	if !e.Fits(b) {
		return wrong(TooLarge, "", "events of %s have more bytes than the %d of a segment", b.Events[0].Position(), MaxSize)
	}
	if err := e.follows(b); err != nil {
		return err
	}
	at := b.Time.UTC().Truncate(time.Microsecond)
	if at.Before(e.start.NotBefore) {
		at = e.start.NotBefore
	}
	e.start.NotBefore = at
	if e.header.Events == 0 {
		e.header.Began = at
	}
	e.header.Ended = at
	e.raw = append(e.raw, batchRecord)
	e.raw = binary.AppendUvarint(e.raw, uint64(at.UnixMicro())) //nolint:gosec // times of this century
	for _, event := range b.Events {
		e.raw = appendEvent(e.raw, event, e.header.Events > 0 && event.Revision == e.header.Last.Revision)
		e.header.Events++
		e.header.Last = event.Position()
	}
	e.last = outlineOf(b.Events[len(b.Events)-1])
	if !b.Complete {
		e.raw = append(e.raw, endRecord)
	}
	e.complete = b.Complete
	e.next = e.header.Last.after(b.Complete)
	return nil
}

// follows checks the places of all events of a batch, and what etcd has noted of them.
func (e *Encoder) follows(b Batch) error {
	last, begun := e.next, false
	for _, event := range b.Events {
		at := event.Position()
		ok := at == last
		if begun {
			ok = at == last.after(true) || at == last.after(false)
		}
		if !ok {
			return wrong(Disorder, "", "%s comes where %s is expected", at, last).between(last, at)
		}
		if problem := event.problem(); problem != "" {
			return wrong(Disorder, "", "%s: %s", at, problem).between(last, at)
		}
		last, begun = at, true
	}
	return nil
}

// problem is what no event of etcd can be, in words.
func (e Event) problem() string {
	switch {
	case len(e.Key) == 0:
		return "an event without a key"
	case e.Deleted && (len(e.Value) > 0 || e.CreateRevision != 0 || e.Version != 0 || e.Lease != 0):
		return "a deletion with a value"
	case !e.Deleted && (e.CreateRevision < 1 || e.CreateRevision > e.Revision || e.Version < 1):
		return fmt.Sprintf("a put with create revision %d and version %d", e.CreateRevision, e.Version)
	}
	return ""
}

func appendEvent(to []byte, e Event, same bool) []byte {
	kind := byte(putRecord)
	if e.Deleted {
		kind = deleteRecord
	}
	if same {
		kind |= sameRevision
	}
	to = append(to, kind)
	to = appendBytes(to, e.Key)
	if e.Deleted {
		return to
	}
	to = binary.AppendUvarint(to, uint64(e.Revision-e.CreateRevision)) //nolint:gosec // it is not negative
	to = binary.AppendUvarint(to, uint64(e.Version))                   //nolint:gosec // it is positive
	to = binary.AppendUvarint(to, uint64(e.Lease))                     //nolint:gosec // read back as it was
	return appendBytes(to, e.Value)
}

func appendBytes(to, content []byte) []byte {
	return append(binary.AppendUvarint(to, uint64(len(content))), content...)
}

// Close makes the segment. The hash is the newest that is known of a revision that it reaches; nil: none.
func (e *Encoder) Close(hash *HashKV) (Segment, error) {
	if e.header.Events == 0 {
		return Segment{}, wrong(Disorder, "", "a segment without events")
	}
	compressor, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false))
	if err != nil {
		return Segment{}, fmt.Errorf("make compressor: %w", err)
	}
	packed, how, err := encrypt(compressor.EncodeAll(e.raw, nil), e.start.To, e.last)
	if err != nil {
		return Segment{}, err
	}
	h := e.header
	h.Encryption = how
	h.Complete, h.Hash = e.complete, hash
	h.Size, h.Stored, h.SHA256 = int64(len(e.raw)), int64(len(packed)), sumOf(packed)
	line, err := h.Encode()
	if err != nil {
		return Segment{}, err
	}
	// What could not be read back is no segment.
	h, _, err = ParseHeader("segment to be written", line)
	if err != nil {
		return Segment{}, err
	}
	return Segment{Header: h, Content: append(line, packed...)}, nil
}
