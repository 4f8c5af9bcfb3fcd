// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jobspec

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

const (
	// Search looks through the log of a cluster for changes of keys. Nothing is written.
	Search Verb = "search"
	// State has the keys below a prefix as they were. Nothing is written to the store.
	State Verb = "state"
)

// SearchOrder is that of Search. Either From and To are set, or Since and Until, or neither.
type SearchOrder struct {
	Namespace string `json:"namespace"`
	Cluster   string `json:"cluster"`
	Lineage   string `json:"lineage"` // of the history that is searched (log.Folder)

	Key    []byte `json:"key,omitempty"`
	Prefix bool   `json:"prefix,omitempty"` // all keys that begin with Key, which may be empty then

	From  int64     `json:"from,omitempty"`  // the first revision
	To    int64     `json:"to,omitempty"`    // the last revision
	Since time.Time `json:"since,omitzero"`  // the first moment, by the clock of the log's writer
	Until time.Time `json:"until,omitzero"`  // the last moment
	End   *LogEnd   `json:"end,omitempty"`   // what the writer of the log has said of its end; nil: nothing is known
	Limit int       `json:"limit,omitempty"` // how many changes at most; 0: as many as there is room for in the log of a Pod

	Deletions bool `json:"deletions,omitempty"` // nothing that was put
	Newest    bool `json:"newest,omitempty"`    // the newest change first; else the oldest
	Before    bool `json:"before,omitempty"`    // with the value that each change has replaced
	Values    int  `json:"values,omitempty"`    // how many bytes of each value are wanted at most; 0: all

	Identities bool `json:"identities,omitempty"` // IdentitiesFolder has some, for segments that are encrypted
}

// StateOrder is that of State.
type StateOrder struct {
	Prefix []byte      `json:"prefix"` // empty: all keys
	Target LocateOrder `json:"target"` // the moment
}

// MostRecords is how many bytes of records a Job writes: the kubelet begins another file for a log of 10 MiB, and what is in the one before
// can be lost for a reader that follows.
const MostRecords = 8 << 20

// Record is what Search or State has found: a change, or a key as it was.
type Record struct {
	Number  int64     `json:"number"`        // from 1, so that what was lost on the way is noticed
	Time    time.Time `json:"time,omitzero"` // of a change: when it came
	Deleted bool      `json:"deleted,omitempty"`
	Key     []byte    `json:"key"`
	Value   []byte    `json:"value,omitempty"` // its first bytes, if Size is larger
	Size    int       `json:"size,omitempty"`  // of the value
	// Before is what a change has replaced, if it is known; without it, a change of Version 1 has replaced nothing.
	Before *[]byte `json:"before,omitempty"`

	Revision       int64 `json:"revision"` // of the change, or of the last one of the key
	CreateRevision int64 `json:"createRevision,omitempty"`
	Version        int64 `json:"version,omitempty"`
	Lease          int64 `json:"lease,omitempty"`
}

// Recorded is what Search or State says at its end.
type Recorded struct {
	Records int64  `json:"records"`       // that were written
	Cut     string `json:"cut,omitempty"` // why there may be more: CutLimit or CutSize; empty: there is no more
	// Of Search: what was looked through, unless it was cut. From is 0 if there was nothing.
	From      int64     `json:"from,omitempty"`      // the first revision
	Since     time.Time `json:"since,omitzero"`      // when it came
	Until     time.Time `json:"until,omitzero"`      // when the last change came
	NotBefore bool      `json:"notBefore,omitempty"` // no log has what was asked for before that
	NotAfter  bool      `json:"notAfter,omitempty"`  // no log has what was asked for after that
	Others    []string  `json:"others,omitempty"`    // lineages that the store has, too
}

// Why a search has ended early.
const (
	CutLimit = "limit"
	CutSize  = "size"
)

// longestRecord is what a line with a record may have: two values of the longest kind that a log can have, 15 MiB, and a key.
const longestRecord = 48 << 20

// ReadRecords reads the lines of a container while it writes them, records too. What is no line, such as what a crash prints, is left out;
// so is a line that is longer than any line may be. It ends with the log, or when see wants no more.
func ReadRecords(log io.Reader, see func(Line) (more bool)) error {
	reader := bufio.NewReaderSize(log, longestLine)
	for {
		text, err := readLine(reader)
		line, ok := Parse(text)
		isEnough := ok && !see(line)
		switch {
		case isEnough, errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// readLine reads up to the end of a line. One that is too long is empty.
func readLine(reader *bufio.Reader) (line []byte, err error) {
	isLong := false
	for {
		part, err := reader.ReadSlice('\n')
		if isLong = isLong || len(line)+len(part) > longestRecord; isLong {
			line = nil
		} else {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// Encode is the record as a line.
func (r Record) Encode() ([]byte, error) {
	text, err := json.Marshal(Line{Record: &r})
	if err != nil {
		return nil, fmt.Errorf("encode record %d: %w", r.Number, err)
	}
	return append(text, '\n'), nil
}

// problem says why a search is unclear; empty if it is not.
func (o SearchOrder) problem() string {
	hasRevisions, hasTimes := o.From != 0 || o.To != 0, !o.Since.IsZero() || !o.Until.IsZero()
	switch {
	case o.Lineage == "":
		return "it names no lineage"
	case len(o.Key) == 0 && !o.Prefix:
		return "it names no key"
	case hasRevisions && hasTimes:
		return "it has revisions and times"
	case o.From < 0, o.To < 0, o.Limit < 0, o.Values < 0:
		return "revisions and limits are not negative"
	}
	return ""
}
