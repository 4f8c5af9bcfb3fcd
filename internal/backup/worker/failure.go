// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/etcd-operator/etcd-operator/internal/backup/archive"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/backup/log"
	logwriter "github.com/etcd-operator/etcd-operator/internal/backup/log/writer"
	"github.com/etcd-operator/etcd-operator/internal/backup/objectstore"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/restore/datadir"
	"github.com/etcd-operator/etcd-operator/internal/restore/target"
)

// failure says why a Job failed, in the words of the server that refused, what to do about it, and whether another try fails in the
// same way.
func failure(err error) jobspec.Failed {
	found := meaning{reason: jobspec.InternalFailure, advice: "it is tried again; if it stays, report it with the log of the Job"}
	for _, m := range meanings {
		if m.is(err) {
			found = m
			break
		}
	}
	failed := jobspec.Failed{Reason: found.reason, Message: err.Error(), Final: found.final}
	var stored *objectstore.Error
	if errors.As(err, &stored) && (found.reason == jobspec.StoreFailed || found.reason == jobspec.StoreLocked) {
		found.advice, failed.Kind, failed.Until = stored.Kind.Advice(), string(stored.Kind), stored.Until
	}
	if found.advice != "" {
		failed.Message += "; " + found.advice
	}
	return failed
}

// meaning is that of one kind of error.
type meaning struct {
	is     func(error) bool
	reason jobspec.Reason
	final  bool
	advice string // one sentence; empty if the error says what to do, or its kind of store error does
}

const (
	otherBackup  = "restore another backup, and look for what changes or deletes objects of this store"
	otherLineage = "make a full backup, and begin another lineage after it"
	damagedHere  = "the backup is of a database that was damaged already: restore another one"
)

// meanings are the errors that a person can do something about, the most special first: an error may be several of them.
var meanings = []meaning{
	{as[*stoppedError], jobspec.InternalFailure, false, "it is tried again"},
	{
		as[*growthError], jobspec.StoreFailed, false,
		"make the way to the store faster, raise spec.etcd.quota (and the volume), or back up when less is written; it is tried again",
	},
	{is(objectstore.Locked), jobspec.StoreLocked, false, ""}, // replaced by the advice of its kind
	{as[*unclear], jobspec.UnsupportedJobSpec, true, "make sure that the Jobs run the image of the operator that made them"},
	{as[*differentError], jobspec.Different, true, "do not rely on this backup: make another one"},
	{as[*trialError], jobspec.InternalFailure, false, "look at the log of the container etcd of this Pod"},
	{
		as[*authError], jobspec.AuthEnabled, false,
		"set spec.auth.enabled of the EtcdCluster to true, and the next Job asks as root; or disable authentication (etcdctl auth disable)",
	},
	{as[*outdatedError], jobspec.Outdated, true, ""},
	{as[*compactedError], jobspec.MemberFailed, false, "it is tried again, at the revision that the cluster then has"},
	{
		as[*keySizeError], jobspec.MemberFailed, true,
		"raise max-request-bytes in spec.etcd.extraArgs of the EtcdCluster, and restore again: what was written before stays",
	},
	{
		etcd.IsFull, jobspec.NoRoom, false,
		"etcd has raised the alarm NOSPACE: raise spec.etcd.quota (and the volume), or delete keys; it is tried again",
	},
	{as[*sourceError], jobspec.MemberFailed, false, "it is tried again, and asks all members again"},
	{as[*goneError], jobspec.Corrupt, true, otherBackup},
	{as[*archive.FormatError], jobspec.NewerFormat, true, ""},
	{is(archive.ErrWrongKey), jobspec.WrongKey, true, "give a Secret whose key identities has the identity, as age-keygen prints it"},
	{is(archive.ErrWrongRecipient), jobspec.WrongKey, true, "correct encryption.recipients: each is a line age1… that age-keygen prints"},
	{as[*archive.MissingPartError], jobspec.Corrupt, true, otherBackup},
	{as[*archive.CorruptError], jobspec.Corrupt, true, otherBackup},
	{is(archive.ErrForeign), jobspec.Corrupt, true, otherBackup},
	{is(archive.ErrNoHash), jobspec.Corrupt, true, "it may be incomplete: give a snapshot as etcdctl snapshot save writes it"},
	{is(archive.ErrTruncated), jobspec.Corrupt, true, otherBackup},
	{is(archive.ErrTooLarge), jobspec.Corrupt, true, otherBackup},
	{as[*logwriter.FencedError], jobspec.Fenced, false, "the next process goes on where the log ends; there must be one only"},
	{is(etcd.ErrCompacted), jobspec.Overtaken, true, "make a full backup, after which the log goes on: between both there is a gap"},
	{as[*logwriter.AheadError], jobspec.SetBack, true, otherLineage},
	{as[*logwriter.ForkedError], jobspec.SetBack, true, otherLineage},
	{as[*unsearchableError], jobspec.NotReached, true, ""},
	{as[*stateError], jobspec.NoRoom, true, ""},
	{is(log.TooEarly), jobspec.NotReached, true, "restore another backup, or to another target"},
	{is(log.TooLate), jobspec.NotReached, true, "restore to an earlier target"},
	{is(log.InGap), jobspec.NotReached, true, "restore to a target before or after the gap"},
	{is(target.NotDeleted), jobspec.NotReached, true, "look whether the key is right, or give a time or a revision as the target"},
	{is(log.NotFound), jobspec.NotReached, true, "restore to a revision or a time"},
	{is(log.Unclear), jobspec.UnsupportedJobSpec, true, "give a revision or a time"},
	{is(log.Newer), jobspec.NewerFormat, true, ""},
	{is(log.TooLarge), jobspec.MemberFailed, true, "lower --max-request-bytes of the members, and make a full backup"},
	{as[*log.Error], jobspec.Corrupt, true, otherLineage + "; look for what changes objects of this store"},
	{as[*objectstore.Error], jobspec.StoreFailed, false, ""}, // as above
	{as[*datadir.RoomError], jobspec.NoRoom, true, "give the volume the room that is needed"},
	{is(syscall.ENOSPC), jobspec.NoRoom, true, "give the volume more room: something else writes to it, too"},
	{as[*datadir.ExistsError], jobspec.NotEmpty, true, "nothing was changed: restore to a volume that is empty"},
	{as[*datadir.BusyError], jobspec.InternalFailure, false, "it is tried again when the other process has ended"},
	{as[*datadir.RunningError], jobspec.MemberFailed, false, "it is tried again when the member has stopped"},
	{as[*datadir.VersionError], jobspec.WrongVersion, true, ""},
	{as[*datadir.HashError], jobspec.Corrupt, true, otherBackup},
	{as[*datadir.SizeError], jobspec.Corrupt, true, otherBackup},
	{as[*datadir.SequenceError], jobspec.Corrupt, true, otherBackup},
	{as[*datadir.DifferentError], jobspec.Different, true, "do not rely on this log: restore a backup alone"},
	{as[*datadir.DamagedError], jobspec.Corrupt, true, damagedHere},
	{as[*datadir.CorruptError], jobspec.Corrupt, true, damagedHere},
}

func is(target error) func(error) bool { return func(err error) bool { return errors.Is(err, target) } }

func as[E error](err error) bool {
	var found E
	return errors.As(err, &found)
}

// oneLine joins errors for people: errors.Join has a line for each.
func oneLine(all []error) error {
	if len(all) == 0 {
		return nil
	}
	return joined(all)
}

type joined []error

func (j joined) Error() string {
	words := make([]string, 0, len(j))
	for _, err := range j {
		words = append(words, err.Error())
	}
	return strings.Join(words, "; ")
}

func (j joined) Unwrap() []error { return j }

// unclear is an order that makes no sense.
type unclear struct{ why string }

func (e *unclear) Error() string { return "the order is not clear: " + e.why }

// stoppedError says that the Job was terminated before it had done its work.
type stoppedError struct{ err error }

func (e *stoppedError) Error() string { return "the Job was terminated: " + e.err.Error() }
func (e *stoppedError) Unwrap() error { return e.err }

// sourceError is that of the member that sends the snapshot, or of all that could.
type sourceError struct {
	member string
	err    error
}

func (e *sourceError) Error() string { return e.member + ": " + e.err.Error() }
func (e *sourceError) Unwrap() error { return e.err }

// authError says that etcd answers its users only.
type authError struct{ member, what string }

func (e *authError) Error() string {
	return e.member + " " + e.what + " to its user root only: authentication is enabled in etcd"
}

// goneError says that a backup is not where it was.
type goneError struct{ path string }

func (e *goneError) Error() string {
	return e.path + " is not in the store: it was deleted, or never was complete"
}

// trialError says that the etcd of a trial did not answer, which says nothing of the backup.
type trialError struct{ err error }

func (e *trialError) Error() string {
	return "the etcd that runs on the restored data cannot be asked: " + e.err.Error()
}
func (e *trialError) Unwrap() error { return e.err }

// differentError says that the data that was restored is not that of which the backup was made.
type differentError struct{ who, what, want, got string }

func (e *differentError) Error() string {
	return fmt.Sprintf("%s has %s %s, and it was %s when the backup was made", e.who, e.what, e.got, e.want)
}
