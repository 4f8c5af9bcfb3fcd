// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package encryption encrypts what lies in a store by age: backups, and the segments of a log.
//
// It must never tell an identity, and never return a byte that age has not authenticated.
package encryption

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"filippo.io/age"
)

var (
	// ErrWrongKey means that none of the identities given decrypts what was encrypted.
	ErrWrongKey = errors.New("no identity given decrypts this backup")

	// ErrWrongRecipient means that something is no public key of age.
	ErrWrongRecipient = errors.New("not a recipient of age")
)

// Recipients are those who can read what is encrypted. The zero value is nobody: nothing is encrypted.
type Recipients struct {
	keys  []age.Recipient
	names []string
}

// ParseRecipients reads age's public keys: age1…, or age1pq1… for all of them.
func ParseRecipients(texts []string) (Recipients, error) {
	if len(texts) == 0 {
		return Recipients{}, nil
	}
	keys, err := age.ParseRecipients(strings.NewReader(strings.Join(texts, "\n")))
	if err != nil {
		return Recipients{}, fmt.Errorf("%w: %w", ErrWrongRecipient, err)
	}
	if len(keys) != len(texts) {
		return Recipients{}, fmt.Errorf("%w: there are %d keys in %d texts", ErrWrongRecipient, len(keys), len(texts))
	}
	return Recipients{keys, texts}, nil
}

// Names are the public keys.
func (r Recipients) Names() []string { return r.names }

// Encrypt is a writer that encrypts to all recipients, or the destination itself if there are none. It must be
// closed after success only. It does not close its destination.
func (r Recipients) Encrypt(destination io.Writer) (io.WriteCloser, error) {
	if len(r.keys) == 0 {
		return plain{destination}, nil
	}
	encrypted, err := age.Encrypt(destination, r.keys...)
	if err != nil {
		return nil, fmt.Errorf("encrypt: %w", err)
	}
	return encrypted, nil
}

type plain struct{ io.Writer }

func (plain) Close() error { return nil }

// Identities decrypt. The zero value decrypts nothing.
type Identities struct {
	keys    []age.Identity
	problem error // why there are none, although a text was given
}

// ParseIdentities reads the text of a file as age-keygen makes it. What cannot be read is told when something is to be decrypted.
func ParseIdentities(text []byte) Identities {
	if len(bytes.TrimSpace(text)) == 0 {
		return Identities{}
	}
	keys, err := age.ParseIdentities(bytes.NewReader(text))
	return Identities{keys, err}
}

// Check says beforehand whether something can be decrypted, of which the names of recipients are known, or how they begin. What age cannot
// tell the name of may fit.
func (i Identities) Check(names []string) error {
	if i.problem != nil {
		return fmt.Errorf("%w: the identities cannot be read: %w", ErrWrongKey, i.problem)
	}
	if len(i.keys) == 0 {
		return fmt.Errorf("%w: none was given, and it is encrypted to %s", ErrWrongKey, strings.Join(names, ", "))
	}
	for _, key := range i.keys {
		own, isKnown := nameOf(key)
		isOwn := func(name string) bool { return strings.HasPrefix(own, name) }
		if !isKnown || slices.ContainsFunc(names, isOwn) {
			return nil
		}
	}
	return fmt.Errorf("%w: it is encrypted to %s", ErrWrongKey, strings.Join(names, ", "))
}

// nameOf is the recipient that an identity is of.
func nameOf(key age.Identity) (name string, isKnown bool) {
	switch key := key.(type) {
	case *age.X25519Identity:
		return key.Recipient().String(), true
	case *age.HybridIdentity:
		return key.Recipient().String(), true
	}
	return "", false
}

// Decrypt is the stream that Encrypt was given. The names are those of its recipients, for errors. The error is ErrWrongKey, or age's.
func (i Identities) Decrypt(stream io.Reader, names []string) (io.Reader, error) {
	if i.problem != nil || len(i.keys) == 0 {
		return nil, i.Check(names)
	}
	decrypted, err := age.Decrypt(stream, i.keys...)
	if noMatch := new(age.NoIdentityMatchError); errors.As(err, &noMatch) {
		return nil, fmt.Errorf("%w: it is encrypted to %s", ErrWrongKey, strings.Join(names, ", "))
	}
	return decrypted, err
}
