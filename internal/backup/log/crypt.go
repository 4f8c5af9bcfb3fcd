// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package log

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/etcd-operator/etcd-operator/internal/backup/encryption"
)

const (
	// ageEncryption is how events are encrypted, after they were compressed.
	ageEncryption = "age"
	// hintLength is how many characters of a recipient the header has. A recipient may have 2,000, and there may be 16.
	hintLength = 20
)

// Encryption is how the events of a segment are encrypted. The header itself is not: a chain is listed, proven and deleted without a
// key. It has nothing that is made of a key or a value; whose digest would confirm a guess.
type Encryption struct {
	Format string `json:"format"` // "age"
	// Recipients are the first characters of the public keys: enough to find the identity that is needed.
	Recipients []string `json:"recipients"`
	// Last is what a writer that goes on compares with the cluster, as it cannot decrypt.
	Last Outline `json:"last"`
}

// Outline is the last event of a segment without its key and value.
type Outline struct {
	Deleted        bool  `json:"deleted,omitempty"`
	CreateRevision int64 `json:"createRevision,omitempty"`
	Version        int64 `json:"version,omitempty"`
	Lease          int64 `json:"lease,omitempty"`
}

func outlineOf(e Event) Outline {
	return Outline{Deleted: e.Deleted, CreateRevision: e.CreateRevision, Version: e.Version, Lease: e.Lease}
}

// Outline is the last event without key and value, if the segment is encrypted: then nothing else of it is known.
func (h Header) Outline() (e Event, isEncrypted bool) {
	if h.Encryption == nil {
		return Event{}, false
	}
	o := h.Encryption.Last
	return Event{
		Revision: h.Last.Revision, Sub: h.Last.Sub, Deleted: o.Deleted, CreateRevision: o.CreateRevision, Version: o.Version, Lease: o.Lease,
	}, true
}

// problem is what cannot be so, in words, of a segment whose last event is at that revision.
func (e *Encryption) problem(revision int64) string {
	switch {
	case e == nil:
		return ""
	case e.Format != ageEncryption || len(e.Recipients) == 0:
		return fmt.Sprintf("encryption %q to %d recipients", e.Format, len(e.Recipients))
	}
	o := e.Last
	return Event{
		Revision: revision, Key: []byte{0}, Deleted: o.Deleted, CreateRevision: o.CreateRevision, Version: o.Version, Lease: o.Lease,
	}.problem()
}

// Readable says before anything is read whether the identities decrypt all segments of the plan; an encryption.ErrWrongKey if not.
func (p Plan) Readable(identities encryption.Identities) error {
	for _, s := range p.Segments {
		if how := s.Header.Encryption; how != nil {
			if err := identities.Check(how.Recipients); err != nil {
				return fmt.Errorf("%s: %w", s.Object, err)
			}
		}
	}
	return nil
}

// encrypt returns what is stored of compressed events, and how the header says it; nil if there are no recipients.
func encrypt(packed []byte, to encryption.Recipients, last Outline) ([]byte, *Encryption, error) {
	names := to.Names()
	if len(names) == 0 {
		return packed, nil, nil
	}
	var sealed bytes.Buffer
	sealed.Grow(len(packed) + len(packed)/1024 + 1024)
	w, err := to.Encrypt(&sealed)
	if err == nil {
		_, err = w.Write(packed)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return nil, nil, fmt.Errorf("encrypt segment: %w", err)
	}
	how := &Encryption{Format: ageEncryption, Last: last}
	for _, name := range names {
		how.Recipients = append(how.Recipients, name[:min(len(name), hintLength)])
	}
	return sealed.Bytes(), how, nil
}

// decrypt returns the compressed events, all of which age has authenticated. An error is encryption.ErrWrongKey, or an *Error of kind
// Damaged.
func (s Segment) decrypt(object string, identities encryption.Identities) ([]byte, error) {
	stored := s.Content[int64(len(s.Content))-s.Header.Stored:]
	how := s.Header.Encryption
	if how == nil {
		return stored, nil
	}
	opened, err := identities.Decrypt(bytes.NewReader(stored), how.Recipients)
	if errors.Is(err, encryption.ErrWrongKey) {
		return nil, fmt.Errorf("%s: %w", object, err)
	}
	var packed []byte
	if err == nil {
		packed, err = io.ReadAll(opened)
	}
	if err != nil {
		return nil, wrong(Damaged, object, "its events cannot be decrypted: %v", err)
	}
	return packed, nil
}
