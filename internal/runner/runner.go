// Package runner carries out the order of a Job, and says how far it is (package task).
//
// It must never decide whether something is to be done: whoever gave the order has. It knows nothing of Kubernetes, and never
// prints what a file of keys holds.
package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/task"
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
		Keys: task.KeysFolder, CA: task.CAFolder, Identities: task.IdentitiesFolder, Client: task.ClientFolder,
		Volume: task.VolumeFolder, Scratch: task.ScratchFolder, Member: task.MemberFolder,
	}
}

// Run carries out an order. Its last line is Done, or Failed, which is the error, too.
func Run(ctx context.Context, order task.Order, in Environment) error {
	say := newSpeaker(in.Out, in.Now)
	done, err := carryOut(ctx, order, in, say)
	if err != nil {
		return errors.Join(err, say.line(task.Line{Failed: new(failure(err))}))
	}
	return say.line(task.Line{Done: &done})
}

func carryOut(ctx context.Context, order task.Order, in Environment, say *speaker) (task.Done, error) {
	do := map[task.Verb]func(context.Context, job) (task.Done, error){
		task.Check: check, task.Backup: backup, task.Unpack: unpack, task.Verify: verify, task.Restore: restore, task.Delete: remove,
	}[order.Verb]
	if do == nil || !isWhole(order) {
		return task.Done{}, &unclear{fmt.Sprintf("verb %q without what it needs", order.Verb)}
	}
	j := job{Order: order, Environment: in, say: say}
	if order.Verb == task.Verify {
		return do(ctx, j)
	}
	where, err := j.open(ctx)
	if err != nil {
		return task.Done{}, err
	}
	defer where.Close() //nolint:errcheck // it ends idle connections
	j.where = where
	return do(ctx, j)
}

// job is one order while it is carried out.
type job struct {
	task.Order
	Environment
	say   *speaker
	where objects
}

func isWhole(o task.Order) bool {
	switch o.Verb {
	case task.Check:
		return o.Check != nil
	case task.Backup:
		return o.Backup != nil
	case task.Unpack, task.Verify:
		return o.Trial != nil
	case task.Restore:
		return o.Restore != nil
	case task.Delete:
		return o.Delete != nil
	}
	return false
}

// unclear is an order that makes no sense.
type unclear struct{ why string }

func (e *unclear) Error() string { return "the order is not clear: " + e.why }
