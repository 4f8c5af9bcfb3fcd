// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/etcd-operator/etcd-operator/internal/backup/archive"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/backup/objectstore"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/restore/datadir"
)

// Each error is reported in the words of the server that refused, and then what to do.
func TestFailure(t *testing.T) {
	until := time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC)
	forbidden := &objectstore.Error{Kind: objectstore.Forbidden, Do: "write", Name: "a", Code: "AccessDenied", Message: "no"}
	locked := &objectstore.Error{Kind: objectstore.Locked, Do: "delete", Name: "a", Until: until}
	room := &datadir.RoomError{Folder: "/data", Need: 20, Free: 10}
	for name, c := range map[string]struct {
		err    error
		reason jobspec.Reason
		final  bool
		words  string
	}{
		"store":                {forbidden, jobspec.StoreFailed, false, "write a: forbidden (AccessDenied): no; check the credentials"},
		"store, through parts": {fmt.Errorf("write backup: %w", forbidden), jobspec.StoreFailed, false, "; check the credentials"},
		"store is full": {
			&objectstore.Error{Kind: objectstore.Full, Do: "write", Name: "a"}, jobspec.StoreFailed, false, "free space in the store",
		},
		"locked":           {locked, jobspec.StoreLocked, false, "until 2027-01-02T03:04:05Z; wait until the lock ends"},
		"missing part":     {&archive.MissingPartError{Part: "p"}, jobspec.Corrupt, true, "p is not in the store, but in the manifest"},
		"corrupt":          {&archive.CorruptError{Object: "p", Problem: "x"}, jobspec.Corrupt, true, "p is corrupt: x; restore another backup"},
		"of somebody else": {archive.ErrForeign, jobspec.Corrupt, true, "not a backup of this operator's"},
		"no sum":           {archive.ErrNoHash, jobspec.Corrupt, true, "as etcdctl snapshot save writes it"},
		"cut":              {archive.ErrTruncated, jobspec.Corrupt, true, "ends too early"},
		"too long":         {archive.ErrTooLarge, jobspec.Corrupt, true, "too long"},
		"newer format": {
			&archive.FormatError{Format: 2, OperatorVersion: "0.9.0"}, jobspec.NewerFormat, true,
			"restore it by operator v0.9.0",
		},
		"wrong key":       {archive.ErrWrongKey, jobspec.WrongKey, true, "whose key identities has the identity"},
		"wrong recipient": {archive.ErrWrongRecipient, jobspec.WrongKey, true, "correct encryption.recipients"},
		"snapshot is cut": {
			&sourceError{"m1", archive.ErrTruncated}, jobspec.MemberFailed, false,
			"m1: the stream ends too early; it is tried",
		},
		"snapshot is wrong": {
			&sourceError{"m1", &archive.CorruptError{Object: "database"}}, jobspec.MemberFailed, false,
			"m1: database is corrupt",
		},
		"root only": {&authError{"m1", "sends snapshots"}, jobspec.AuthEnabled, false, "etcdctl auth disable"},
		"outdated":  {&outdatedError{"x"}, jobspec.Outdated, true, "x; the keys are compared again"},
		"compacted while reading": {
			&compactedError{7}, jobspec.MemberFailed, false, "compacted revision 7, at which keys were being read; it is tried again",
		},
		"key is too large": {
			&keySizeError{[]byte("/a"), 9, etcd.ErrTooLarge}, jobspec.MemberFailed, true, `key "/a", whose value has 9 bytes, is larger than the`,
		},
		"etcd is full": {
			fmt.Errorf("write keys: %w", rpctypes.ErrNoSpace), jobspec.NoRoom, false,
			"database space exceeded; etcd has raised the alarm NOSPACE: raise spec.etcd.quota",
		},
		"keys for root only": {&authError{"m1", servesKeys}, jobspec.AuthEnabled, false, "m1 serves these keys to its user root only"},
		"no room":            {fmt.Errorf("make: %w", room), jobspec.NoRoom, true, "10 bytes free, and needs 20; give the volume the room"},
		"disk is full":       {&fs.PathError{Op: "write", Path: "db", Err: syscall.ENOSPC}, jobspec.NoRoom, true, "give the volume more room"},
		"not empty": {
			&datadir.ExistsError{Path: "/data", ClusterID: 1, MemberID: 2}, jobspec.NotEmpty, true,
			"of cluster 1; nothing was",
		},
		"busy":           {&datadir.BusyError{Folder: "/data"}, jobspec.InternalFailure, false, "another process makes a data directory"},
		"too old":        {&datadir.VersionError{Database: "3.7", Minor: "3.6"}, jobspec.WrongVersion, true, "run etcd 3.7 or the next minor"},
		"other database": {&datadir.HashError{}, jobspec.Corrupt, true, "not 0000"},
		"other size":     {&datadir.SizeError{Want: 2, Got: 1}, jobspec.Corrupt, true, "after 1 of 2 bytes"},
		"damaged":        {&datadir.DamagedError{Why: "x"}, jobspec.Corrupt, true, "was damaged already"},
		"alarm CORRUPT": {
			&datadir.CorruptError{Members: []uint64{1}}, jobspec.Corrupt, true,
			"alarm CORRUPT, of members [1]; the backup is of",
		},
		"different":         {different("etcd", "hash", uint32(1), 2), jobspec.Different, true, "etcd has hash 2, and it was 1 when"},
		"etcd of the trial": {&trialError{context.DeadlineExceeded}, jobspec.InternalFailure, false, "look at the log of the container etcd"},
		"gone":              {&goneError{"v1/a/b/c"}, jobspec.Corrupt, true, "v1/a/b/c is not in the store"},
		"unclear":           {&unclear{"x"}, jobspec.UnsupportedJobSpec, true, "the image of the operator that made them"},
		"terminated":        {&stoppedError{&objectstore.Error{Kind: objectstore.Unreachable}}, jobspec.InternalFailure, false, "was terminated"},
		"anything else":     {errors.New("x"), jobspec.InternalFailure, false, "x; it is tried again"},
	} {
		t.Run(name, func(t *testing.T) {
			failed := failure(c.err)
			if failed.Reason != c.reason || failed.Final != c.final || !strings.Contains(failed.Message, c.words) {
				t.Errorf("%+v, and it should be %s, final %t, with %q", failed, c.reason, c.final, c.words)
			}
			if strings.Contains(failed.Message, "\n") {
				t.Errorf("it has lines: %q", failed.Message)
			}
			var stored *objectstore.Error
			isStored := errors.As(c.err, &stored) && c.reason != jobspec.InternalFailure
			if isStored && failed.Kind != string(stored.Kind) || !isStored && failed.Kind != "" {
				t.Errorf("the store's kind is %q", failed.Kind)
			}
		})
	}
	if got := failure(locked); !got.Until.Equal(until) {
		t.Errorf("locked until %s", got.Until)
	}
}

// Several problems are one line, and the first that a person can act on decides.
func TestSeveralProblems(t *testing.T) {
	if oneLine(nil) != nil {
		t.Error("no problem is one")
	}
	err := oneLine([]error{errors.New("a"), &objectstore.Error{Kind: objectstore.Full, Do: "write", Name: "b"}})
	if failed := failure(err); failed.Message != "a; write b: full; "+objectstore.Full.Advice() || failed.Kind != "full" {
		t.Errorf("%+v", failed)
	}
}
