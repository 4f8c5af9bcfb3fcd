// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package log

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"
)

// HeaderSize is the most bytes that a header has. Whoever reads so many of a segment has all of it.
const HeaderSize = 2048

// zstdCompression is how events are compressed.
const zstdCompression = "zstd"

// Header is the first line of a segment, and says all that a listing must know of it.
type Header struct {
	Format  int    `json:"format"`
	Lineage string `json:"lineage"`
	// Writer is the process that wrote it, by a name that it has made at random: two writers never write the same bytes, so that a store
	// can tell a request that is repeated from one of another writer.
	Writer string `json:"writer"`

	// Base is the revision of the full backup after which the log begins here, without a segment before; else 0.
	Base int64 `json:"base,omitempty"`
	// Previous is the sha256 of the header of the segment before; empty if there is a Base.
	Previous string `json:"previous,omitempty"`

	First    Position  `json:"first"`
	Last     Position  `json:"last"`
	Complete bool      `json:"complete"` // Last is the last event of its revision
	Began    time.Time `json:"began"`    // time of the first batch
	Ended    time.Time `json:"ended"`    // time of the last batch
	Events   int64     `json:"events"`

	Size        int64  `json:"size"`        // bytes of all batches before compression
	Stored      int64  `json:"stored"`      // bytes that follow the header
	SHA256      string `json:"sha256"`      // of these, encrypted or not
	Compression string `json:"compression"` // "zstd"

	Encryption *Encryption `json:"encryption,omitempty"` // nil: none

	// Hash is of a revision in this segment or before, in the same lineage; nil if no member was asked.
	Hash *HashKV `json:"hash,omitempty"`

	Sum string `json:"sum,omitempty"` // sha256 of the header without this field
}

// Next is the place of the first event of the segment that follows.
func (h Header) Next() Position { return h.Last.after(h.Complete) }

// Encode is the line, with its end. The same header is always the same text.
func (h Header) Encode() ([]byte, error) {
	h.Sum = ""
	line, err := h.line()
	if err != nil {
		return nil, err
	}
	h.Sum = sumOf(line)
	return h.line()
}

func (h Header) line() ([]byte, error) {
	h.Began, h.Ended = h.Began.UTC(), h.Ended.UTC()
	line, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("encode header of segment: %w", err)
	}
	return append(line, '\n'), nil
}

// ParseHeader reads the header of a segment from its first bytes, at least HeaderSize of them or all, and believes nothing: it must be the
// line that Encode makes. The object is its name, for errors. It returns how many bytes the header has.
func ParseHeader(object string, head []byte) (Header, int, error) {
	line, _, found := bytes.Cut(head[:min(len(head), HeaderSize)], []byte{'\n'})
	if !found {
		return Header{}, 0, wrong(Damaged, object, "its header does not end within %d bytes", HeaderSize)
	}
	var version struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal(line, &version); err != nil {
		return Header{}, 0, wrong(Damaged, object, "its header is no JSON: %v", err)
	}
	if version.Format > Format {
		return Header{}, 0, wrong(Newer, object, "it has format %d, and this operator reads format %d: restore it by a newer operator",
			version.Format, Format)
	}
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	var h Header
	if err := decoder.Decode(&h); err != nil {
		return Header{}, 0, wrong(Damaged, object, "its header cannot be read: %v", err)
	}
	again, err := h.Encode()
	// What was left out, put twice, or written in another way is a change, too.
	if err != nil || !bytes.Equal(again[:len(again)-1], line) {
		return Header{}, 0, wrong(Damaged, object, "its header has another sha256 than it names")
	}
	if problem := h.problem(); problem != "" {
		return Header{}, 0, wrong(Damaged, object, "its header says what cannot be: %s", problem)
	}
	return h, len(again), nil
}

// problem is what cannot be so, in words, although the sum is right.
func (h Header) problem() string {
	switch {
	case h.Format != Format:
		return fmt.Sprintf("format %d", h.Format)
	case !nameOfLineage.MatchString(h.Lineage):
		return fmt.Sprintf("lineage %q", h.Lineage)
	case h.Compression != zstdCompression:
		return fmt.Sprintf("compression %q", h.Compression)
	case (h.Base > 0) == (h.Previous != ""), h.Base < 0, h.Previous != "" && !isSHA256(h.Previous), !isSHA256(h.SHA256):
		return "it follows neither a full backup nor a segment, or has no sha256"
	case h.First.Revision < 1, h.First.Sub < 0, h.Last.Sub < 0, h.Base > 0 && h.First != Position{h.Base + 1, 0}:
		return fmt.Sprintf("it begins with %s", h.First)
	case h.Last.Compare(h.First) < 0, h.Events < 1, h.Last.Revision-h.First.Revision >= h.Events:
		return fmt.Sprintf("it has %d events from %s to %s", h.Events, h.First, h.Last)
	case h.Size < 1, h.Size > MaxSize, h.Stored < 1:
		return fmt.Sprintf("it has %d bytes, stored as %d", h.Size, h.Stored)
	case h.Ended.Before(h.Began), !h.Began.Equal(h.Began.Truncate(time.Microsecond)), !h.Ended.Equal(h.Ended.Truncate(time.Microsecond)):
		return "its times are none"
	case h.Hash != nil && (h.Hash.Revision < 1 || h.Hash.Revision > h.Last.Revision || h.Hash.CompactRevision > h.Hash.Revision):
		return "its hash is of another revision"
	}
	return h.Encryption.problem(h.Last.Revision)
}

func sumOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

func isSHA256(text string) bool {
	sum, err := hex.DecodeString(text)
	return err == nil && len(sum) == sha256.Size && hex.EncodeToString(sum) == text
}
