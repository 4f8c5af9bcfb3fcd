// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package worker carries out the order of a Job, and reports its progress (package jobspec).
//
// It must never decide whether something is to be done: the author of the order has. It asks nothing of Kubernetes, needs
// no file but those of a volume that it was given, and never prints what a file of keys holds.
package worker

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

// Environment is where an order is carried out.
type Environment struct {
	Out     io.Writer // of lines
	Now     func() time.Time
	Folders Folders
	Getenv  func(string) string // for the identity of a ServiceAccount, which webhooks of clouds put there
}

// Folders are where the Job finds what is not in its order. Tests have others than Pods.
type Folders struct {
	Keys, CA, Identities, Client, Volume, Scratch, Member string
	Trial                                                 string // where the etcd of a trial answers; empty: task.TrialAddress
}

// InPod are the folders of a Pod.
func InPod() Folders {
	return Folders{
		Keys: jobspec.KeysFolder, CA: jobspec.CAFolder, Identities: jobspec.IdentitiesFolder, Client: jobspec.ClientFolder,
		Volume: jobspec.VolumeFolder, Scratch: jobspec.ScratchFolder, Member: jobspec.MemberFolder,
	}
}

// How a Job's process ends.
const (
	ExitDone    = 0
	ExitFailed  = 1
	ExitUnclear = 2 // the order could not be read
)

// Main carries out the order that a process got as its one argument, and returns how it ends. It says the same in its
// last line: Done or Failed, of which there is exactly one.
func Main(ctx context.Context, arguments []string, in Environment) (exit int) {
	order, err := only(arguments)
	if err != nil {
		_ = newProgressWriter(in.Out, in.Now).line(jobspec.Line{Failed: new(failure(err))}) // the exit code says it, too
		return ExitUnclear
	}
	if err := Run(ctx, order, in); err != nil {
		return ExitFailed
	}
	return ExitDone
}

func only(arguments []string) (jobspec.Order, error) {
	if len(arguments) != 1 {
		return jobspec.Order{}, &unclear{"it must be the one argument"}
	}
	order, err := jobspec.ParseOrder(arguments[0])
	if err != nil {
		return jobspec.Order{}, &unclear{err.Error()}
	}
	return order, nil
}

// Run carries out an order. Its last line is Done, or Failed, which is the error, too.
func Run(ctx context.Context, order jobspec.Order, in Environment) error {
	say := newProgressWriter(in.Out, in.Now)
	done, err := carryOut(ctx, order, in, say)
	if err != nil {
		return errors.Join(err, say.line(jobspec.Line{Failed: new(failure(stopped(ctx, err)))}))
	}
	return say.line(jobspec.Line{Done: &done})
}

func carryOut(ctx context.Context, order jobspec.Order, in Environment, say *progressWriter) (jobspec.Done, error) {
	if problem := order.Problem(); problem != "" {
		return jobspec.Done{}, &unclear{problem}
	}
	j := job{Order: order, Environment: in, say: say, members: etcd.NewPool()}
	defer j.members.Keep(owner, nil) // which closes all connections
	switch order.Verb {              //nolint:exhaustive // those that need no store
	case jobspec.Verify:
		return verify(ctx, j)
	case jobspec.Rescue:
		return rescue(ctx, j)
	case jobspec.Write:
		return measureWrites(ctx, j)
	}
	if j.Restore != nil && j.Restore.Stopped {
		return restoreRescued(ctx, j)
	}
	where, err := j.open(ctx)
	if err != nil {
		return jobspec.Done{}, err
	}
	defer where.Close() //nolint:errcheck // it ends idle connections
	j.where = where
	return j.do(ctx)
}

// job is one order while it is carried out.
type job struct {
	jobspec.Order
	Environment
	say     *progressWriter
	where   objects
	members *etcd.Pool
}

// owner of all connections to members.
const owner = "task"

func (j job) do(ctx context.Context) (jobspec.Done, error) {
	switch j.Verb {
	case jobspec.Check:
		return check(ctx, j)
	case jobspec.Backup:
		return backup(ctx, j)
	case jobspec.Unpack:
		return unpack(ctx, j)
	case jobspec.Verify:
		return verify(ctx, j)
	case jobspec.Restore:
		return restore(ctx, j)
	case jobspec.Delete:
		return remove(ctx, j)
	case jobspec.Follow:
		return follow(ctx, j)
	case jobspec.Locate:
		return locate(ctx, j)
	case jobspec.Search:
		return searchLog(ctx, j)
	case jobspec.State:
		return stateOf(ctx, j)
	case jobspec.Compare:
		return compareKeys(ctx, j)
	case jobspec.Apply:
		return apply(ctx, j)
	case jobspec.Revert:
		return revert(ctx, j)
	default:
		return jobspec.Done{}, &unclear{string(j.Verb)}
	}
}

// stopped is the error of a Job that was terminated: what failed because of that is no news.
func stopped(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return &stoppedError{err}
}
