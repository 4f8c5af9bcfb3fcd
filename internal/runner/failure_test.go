package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/archive"
	"github.com/etcd-operator/etcd-operator/internal/datadir"
	"github.com/etcd-operator/etcd-operator/internal/store"
	"github.com/etcd-operator/etcd-operator/internal/task"
)

// Each error is told in the words of whoever refused, and then what to do.
func TestFailure(t *testing.T) {
	until := time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC)
	forbidden := &store.Error{Kind: store.Forbidden, Do: "write", Name: "a", Code: "AccessDenied", Words: "no"}
	locked := &store.Error{Kind: store.Locked, Do: "delete", Name: "a", Until: until}
	room := &datadir.RoomError{Folder: "/data", Need: 20, Free: 10}
	for name, c := range map[string]struct {
		err    error
		reason task.Reason
		final  bool
		words  string
	}{
		"store":                {forbidden, task.StoreFailed, false, "write a: forbidden (AccessDenied): no; check the credentials"},
		"store, through parts": {fmt.Errorf("write backup: %w", forbidden), task.StoreFailed, false, "; check the credentials"},
		"store is full": {
			&store.Error{Kind: store.Full, Do: "write", Name: "a"}, task.StoreFailed, false, "free space in the store",
		},
		"locked":            {locked, task.StoreLocked, false, "until 2027-01-02T03:04:05Z; wait until the lock ends"},
		"missing part":      {&archive.MissingPartError{Part: "p"}, task.Corrupt, true, "p is not in the store, but in the manifest"},
		"corrupt":           {&archive.CorruptError{Object: "p", Problem: "x"}, task.Corrupt, true, "p is corrupt: x; restore another backup"},
		"of somebody else":  {archive.ErrForeign, task.Corrupt, true, "not a backup of this operator's"},
		"no sum":            {archive.ErrNoHash, task.Corrupt, true, "as etcdctl snapshot save writes it"},
		"cut":               {archive.ErrTruncated, task.Corrupt, true, "ends too early"},
		"too long":          {archive.ErrTooLarge, task.Corrupt, true, "too long"},
		"newer format":      {&archive.FormatError{Format: 2, OperatorVersion: "0.9.0"}, task.NewerFormat, true, "restore it by operator v0.9.0"},
		"wrong key":         {archive.ErrWrongKey, task.WrongKey, true, "whose key identities has the identity"},
		"wrong recipient":   {archive.ErrWrongRecipient, task.WrongKey, true, "correct encryption.recipients"},
		"snapshot is cut":   {&sourceError{"m1", archive.ErrTruncated}, task.MemberFailed, false, "m1: the stream ends too early; it is tried"},
		"snapshot is wrong": {&sourceError{"m1", &archive.CorruptError{Object: "database"}}, task.MemberFailed, false, "m1: database is corrupt"},
		"root only":         {&authError{"m1"}, task.AuthEnabled, false, "etcdctl auth disable"},
		"no room":           {fmt.Errorf("make: %w", room), task.NoRoom, true, "10 bytes free, and needs 20; give the volume the room"},
		"disk is full":      {&fs.PathError{Op: "write", Path: "db", Err: syscall.ENOSPC}, task.NoRoom, true, "give the volume more room"},
		"not empty":         {&datadir.ExistsError{Path: "/data", ClusterID: 1, MemberID: 2}, task.NotEmpty, true, "of cluster 1; nothing was"},
		"busy":              {&datadir.BusyError{Folder: "/data"}, task.InternalFailure, false, "another process makes a data directory"},
		"too old":           {&datadir.VersionError{Database: "3.7", Minor: "3.6"}, task.WrongVersion, true, "run etcd 3.7 or the next minor"},
		"other database":    {&datadir.HashError{}, task.Corrupt, true, "not 0000"},
		"other size":        {&datadir.SizeError{Want: 2, Got: 1}, task.Corrupt, true, "after 1 of 2 bytes"},
		"damaged":           {&datadir.DamagedError{Why: "x"}, task.Corrupt, true, "was damaged already"},
		"alarm CORRUPT":     {&datadir.CorruptError{Members: []uint64{1}}, task.Corrupt, true, "alarm CORRUPT, of members [1]; the backup is of"},
		"different":         {different("etcd", "hash", uint32(1), 2), task.Different, true, "etcd has hash 2, and it was 1 when"},
		"etcd of the trial": {&trialError{context.DeadlineExceeded}, task.InternalFailure, false, "look at the log of the container etcd"},
		"gone":              {&goneError{"v1/a/b/c"}, task.Corrupt, true, "v1/a/b/c is not in the store"},
		"unclear":           {&unclear{"x"}, task.OrderNotClear, true, "the image of the operator that made them"},
		"told to end":       {&stoppedError{&store.Error{Kind: store.Unreachable}}, task.InternalFailure, false, "told to end"},
		"anything else":     {errors.New("x"), task.InternalFailure, false, "x; it is tried again"},
	} {
		t.Run(name, func(t *testing.T) {
			failed := failure(c.err)
			if failed.Reason != c.reason || failed.Final != c.final || !strings.Contains(failed.Message, c.words) {
				t.Errorf("%+v, and it should be %s, final %t, with %q", failed, c.reason, c.final, c.words)
			}
			if strings.Contains(failed.Message, "\n") {
				t.Errorf("it has lines: %q", failed.Message)
			}
			var stored *store.Error
			isStored := errors.As(c.err, &stored) && c.reason != task.InternalFailure
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
	err := oneLine([]error{errors.New("a"), &store.Error{Kind: store.Full, Do: "write", Name: "b"}})
	if failed := failure(err); failed.Message != "a; write b: full; "+store.Full.Advice() || failed.Kind != "full" {
		t.Errorf("%+v", failed)
	}
}
