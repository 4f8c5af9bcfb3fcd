// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package objectstore

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"
	"unicode"
)

// Kind is what is wrong, which is the same for all stores. errors.Is(err, store.NotFound) asks for it.
type Kind string

// Every kind. Advice has what to do about it.
const (
	Unknown     Kind = "unknown"      // the store said something that this package does not know
	Invalid     Kind = "invalid"      // the call or the configuration makes no sense; no request was sent
	NotFound    Kind = "not found"    // the object
	NoBucket    Kind = "no bucket"    // the bucket, container or folder of the volume
	Exists      Kind = "exists"       // an object of that name with other content
	Changed     Kind = "changed"      // the object became another one while it was read
	TooLarge    Kind = "too large"    // the object has more bytes than were asked for
	Forbidden   Kind = "forbidden"    // credentials are wrong or expired, or lack a right; a volume is read-only
	Locked      Kind = "locked"       // by object lock, a retention policy, immutability or a hold
	Full        Kind = "full"         // no space, or a quota is reached
	Skewed      Kind = "skewed"       // the clocks of store and node differ too much
	WrongRegion Kind = "wrong region" // the bucket is at another endpoint
	Untrusted   Kind = "untrusted"    // the certificate of the endpoint
	Slow        Kind = "slow"         // below SlowestRate
	Busy        Kind = "busy"         // the store asks for fewer requests, or failed by itself
	Unreachable Kind = "unreachable"  // no connection, or it broke
	Unsupported Kind = "unsupported"  // the store lacks something that is needed, such as conditional writes
)

// Error makes a kind something to compare with; it is never returned alone.
func (k Kind) Error() string { return string(k) }

// advice is one sentence for each kind: what the user should do.
var advice = map[Kind]string{
	Unknown:     "look the store's own words up in its documentation",
	Invalid:     "correct the configuration of the store",
	NotFound:    "check whether something else deletes objects of this bucket",
	NoBucket:    "create the bucket, or correct its name; the operator creates none",
	Exists:      "give every backup store a prefix of its own: something else writes the same names",
	Changed:     "make sure that nothing overwrites objects below this prefix, then try again",
	TooLarge:    "check whether the prefix belongs to backups: this object is not one of them",
	Forbidden:   "check the credentials, when they expire, and their rights to list, read, write and delete below the prefix",
	Locked:      "wait until the lock ends, or remove it in the store; until then the object costs space",
	Full:        "free space in the store, raise its quota, or keep fewer backups",
	Skewed:      "synchronise the clock of the node with NTP; signatures are only valid for some minutes",
	WrongRegion: "set region and endpoint to those of the bucket",
	Untrusted:   "give the certificate authority of the endpoint, in PEM",
	Slow:        "look for what limits the bandwidth between cluster and store; backups need 128 KiB per second",
	Busy:        "try again later; if it stays, ask the store's provider about limits of requests",
	Unreachable: "check endpoint, DNS, network policies and firewalls between cluster and store",
	Unsupported: "use a store that has conditional writes (If-None-Match), or a newer version of it",
}

// Advice is what the user should do, in one sentence without a full stop.
func (k Kind) Advice() string { return advice[k] }

// Error is what a store, or the network before it, did not do.
type Error struct {
	Kind    Kind
	Do      string    // the verb: write, read, list, delete
	Name    string    // of the object or folder
	Code    string    // the provider's own, such as SignatureDoesNotMatch; empty if it has none
	Message string    // the provider's own
	Until   time.Time // if Locked: when the lock ends; zero if that is not known, or not a matter of time
	cause   error
}

// Error says verb, object, kind and the provider's words. It has no advice: the caller that shows it to people adds that.
func (e *Error) Error() string {
	object := e.Name
	if object == "" {
		object = "the store" // the folder that everything is in
	}
	text := fmt.Sprintf("%s %s: %s", e.Do, object, e.Kind)
	if !e.Until.IsZero() {
		text += " until " + e.Until.UTC().Format(time.RFC3339)
	}
	if e.Code != "" {
		text += " (" + quoted(e.Code) + ")"
	}
	if e.Message != "" {
		text += ": " + quoted(e.Message)
	}
	return text
}

// longestQuote is how many characters of an endpoint's answer are quoted: the user who named the endpoint may read the message,
// and the answer may come from a server that this user cannot reach.
const longestQuote = 200

// quoted is the beginning of foreign text, in characters that can be printed.
func quoted(words string) string {
	var kept []rune
	for _, r := range strings.Join(strings.Fields(words), " ") {
		if !unicode.IsPrint(r) {
			continue
		}
		if len(kept) == longestQuote {
			return string(kept) + "…"
		}
		kept = append(kept, r)
	}
	return string(kept)
}

// Unwrap is the error of the library.
func (e *Error) Unwrap() error { return e.cause }

// Is compares with a Kind. NotFound is an fs.ErrNotExist as well, and Exists an fs.ErrExist, for callers that know no stores.
func (e *Error) Is(target error) bool {
	switch target {
	case fs.ErrNotExist:
		return e.Kind == NotFound
	case fs.ErrExist:
		return e.Kind == Exists
	}
	kind, ok := target.(Kind)
	return ok && kind == e.Kind
}

// KindOf is the kind of an error of this package, and Unknown for any other.
func KindOf(err error) Kind {
	if e := (*Error)(nil); errors.As(err, &e) {
		return e.Kind
	}
	return Unknown
}
