package runner

import (
	"errors"
	"fmt"

	"github.com/etcd-operator/etcd-operator/internal/archive"
	"github.com/etcd-operator/etcd-operator/internal/datadir"
	"github.com/etcd-operator/etcd-operator/internal/store"
	"github.com/etcd-operator/etcd-operator/internal/task"
)

// failure says why a Job failed, and whether another try could succeed.
func failure(err error) task.Failed {
	reason, final := reasonOf(err)
	failed := task.Failed{Reason: reason, Message: err.Error(), Final: final}
	if advice := store.KindOf(err).Advice(); advice != "" && reason != task.Corrupt {
		failed.Message += ": " + advice
	}
	var stored *store.Error
	if errors.As(err, &stored) {
		failed.Kind = string(stored.Kind)
		failed.Until = stored.Until
	}
	return failed
}

func reasonOf(err error) (reason task.Reason, final bool) {
	for _, known := range known {
		if known.is(err) {
			return known.reason, known.final
		}
	}
	return task.InternalFailure, false
}

// known are the errors that a person can do something about, the most special first.
var known = []struct {
	is     func(error) bool
	reason task.Reason
	final  bool
}{
	{as[*unclear], task.OrderNotClear, true},
	{as[*differentError], task.Different, true},
	{as[*authError], task.AuthEnabled, false},
	{as[*archive.FormatError], task.NewerFormat, true},
	{is(archive.ErrWrongKey), task.WrongKey, true},
	{as[*archive.MissingPartError], task.Corrupt, true},
	{as[*archive.CorruptError], task.Corrupt, true},
	{is(archive.ErrForeign), task.Corrupt, true},
	{is(archive.ErrNoHash), task.Corrupt, true},
	{as[*sourceError], task.MemberFailed, false}, // before ErrTruncated: a stream that breaks off is cut
	{is(archive.ErrTruncated), task.Corrupt, true},
	{is(archive.ErrTooLarge), task.Corrupt, true},
	{as[*datadir.RoomError], task.NoRoom, true},
	{as[*datadir.ExistsError], task.NotEmpty, true},
	{as[*datadir.BusyError], task.InternalFailure, false},
	{as[*datadir.VersionError], task.WrongVersion, true},
	{as[*datadir.HashError], task.Corrupt, true},
	{as[*datadir.SizeError], task.Corrupt, true},
	{as[*datadir.DamagedError], task.Corrupt, true},
	{as[*datadir.CorruptError], task.Corrupt, true},
	{is(store.Locked), task.StoreLocked, false},
	{as[*store.Error], task.StoreFailed, false},
}

func is(target error) func(error) bool { return func(err error) bool { return errors.Is(err, target) } }

func as[E error](err error) bool {
	var found E
	return errors.As(err, &found)
}

// sourceError is that of the member that sends the snapshot, or of all that could.
type sourceError struct{ err error }

func (e *sourceError) Error() string { return e.err.Error() }
func (e *sourceError) Unwrap() error { return e.err }

// authError says that etcd answers its users only.
type authError struct{ member string }

func (e *authError) Error() string {
	return fmt.Sprintf("%s sends snapshots to its user root only: authentication is enabled in etcd, and the operator is not a user of it; "+
		"disable it (etcdctl auth disable), or back the cluster up as root", e.member)
}

// differentError says that the etcd of a trial does not have the data that the backup is of.
type differentError struct{ what, want, got string }

func (e *differentError) Error() string {
	return fmt.Sprintf("etcd on the restored data has another %s than was backed up: %s instead of %s", e.what, e.got, e.want)
}
