// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"errors"
	"fmt"

	"github.com/etcd-operator/etcd-operator/internal/backup/encryption"
)

var (
	// ErrWrongKey means that none of the identities given decrypts the backup.
	ErrWrongKey = encryption.ErrWrongKey

	// ErrWrongRecipient means that something is no public key of age.
	ErrWrongRecipient = encryption.ErrWrongRecipient

	// ErrTruncated means that a stream ended before all of it had come.
	ErrTruncated = errors.New("the stream ends too early")

	// ErrTooLarge means that a stream does not end where it must.
	ErrTooLarge = errors.New("the stream is too long")

	// ErrNoHash means that a snapshot has no sha256 of etcd's at its end, so that it cannot be checked whether it is
	// what etcd sent: it is a copy of a data directory's file, or was cut.
	ErrNoHash = errors.New("the snapshot does not end with etcd's sha256")

	// ErrForeign means that something is no backup of this format, or not the one that its name says.
	ErrForeign = errors.New("not a backup of this operator's")
)

// MissingPartError means that the manifest names a part that is not in the store.
type MissingPartError struct {
	Part string // whole name of the object
}

func (e *MissingPartError) Error() string {
	return e.Part + " is not in the store, but in the manifest: the backup cannot be restored"
}

// CorruptError means that an object, or the database that is made of all parts, is not what was written.
type CorruptError struct {
	Object  string // whole name of the object, or "database"
	Problem string
}

func (e *CorruptError) Error() string { return e.Object + " is corrupt: " + e.Problem }

// FormatError means that a newer operator wrote the manifest.
type FormatError struct {
	Format          int
	OperatorVersion string // which wrote it; empty if the manifest does not say so
}

func (e *FormatError) Error() string {
	by := "a newer operator"
	if e.OperatorVersion != "" {
		by = "operator v" + e.OperatorVersion + " or newer"
	}
	return fmt.Sprintf("the backup has format %d, and this operator reads format %d: restore it by %s", e.Format, formatRecoveries, by)
}

func corrupt(object, format string, arguments ...any) error {
	return &CorruptError{Object: object, Problem: fmt.Sprintf(format, arguments...)}
}
