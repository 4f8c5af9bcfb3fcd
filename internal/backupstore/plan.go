// Package backupstore decides the one next step for an EtcdBackupStore: when it is looked at, and what the answer means. The same
// View always gives the same Step.
//
// It must never import a client, a clock, a logger or a context.
package backupstore

import (
	"fmt"
	"time"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/internal/task"
)

// View is one observation of an EtcdBackupStore.
type View struct {
	Store   v1alpha1.EtcdBackupStore
	Backups []v1alpha1.EtcdBackup // all of the namespace, by name
	Job     Job
	NoImage string // why the operator does not know its own image; empty if it does
	Now     time.Time
}

// Job is the one that looks at the store. There is one at a time, by its name.
type Job struct {
	Exists   bool
	Deleting bool
	UID      string
	Ended    bool
	Lines    []task.Line // Found and the last one; of one that has ended
	Trouble  string      // why its Pod does not run, or how it ended, in the words of Kubernetes
}

// Step is the one next thing to do. The set is closed.
//
//sumtype:decl
type Step interface {
	fmt.Stringer
	step()
}

type (
	// CreateJob looks at the store.
	CreateJob struct{ Order task.CheckOrder }
	// DeleteJob deletes the Job with this UID, whose answer is recorded.
	DeleteJob struct{ UID string }
	// Record makes EtcdBackups of what was found, deletes those of what is no longer there, and then writes the status: in this
	// order, so that it is done again after a crash.
	Record struct {
		Create, Update, Delete []v1alpha1.EtcdBackup
		Status                 v1alpha1.EtcdBackupStoreStatus
	}
	// Wait changes nothing but what the condition says.
	Wait struct {
		Status v1alpha1.EtcdBackupStoreStatus
		Until  time.Time // when to look again; zero: a watch tells
	}
)

func (CreateJob) step() {}
func (DeleteJob) step() {}
func (Record) step()    {}
func (Wait) step()      {}

func (CreateJob) String() string { return "look at the store" }
func (DeleteJob) String() string { return "delete the job whose answer is recorded" }
func (s Record) String() string {
	return fmt.Sprintf("record what the store says: %d backups, %d new, %d gone", s.Status.Backups, len(s.Create), len(s.Delete))
}

func (s Wait) String() string {
	if s.Until.IsZero() {
		return "wait for the answer of the store"
	}
	return "wait until " + s.Until.UTC().Format(time.RFC3339)
}

// How long after a look the next one is. A store that fails is asked again soon: most faults are short, or are just
// being mended by a person.
const always = 5 * time.Minute

var afterFailure = []time.Duration{10 * time.Second, 20 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, always}

// tries is how often writing is tried, which leaves something behind in stores that lock what is written.
const tries = time.Hour

// JobName is the name of the Job that looks at a store.
func JobName(store *v1alpha1.EtcdBackupStore) string { return "etcd-store-" + string(store.UID) }

// Next is the one step to take now.
func Next(v View) Step {
	status := *v.Store.Status.DeepCopy()
	status.Type = typeOf(v.Store.Spec)
	switch job := v.Job; {
	case !v.Store.DeletionTimestamp.IsZero():
		return Wait{Status: status}
	case job.Exists && job.Deleting:
		return Wait{Status: status}
	case job.Exists && job.UID == status.CheckedBy:
		return DeleteJob{job.UID}
	case job.Exists && job.Ended:
		return record(v, status)
	case job.Exists:
		return Wait{Status: running(v, status)}
	case v.NoImage != "":
		return Wait{Status: unusable(v, status, v1alpha1.ReasonNoImage, v.NoImage)}
	}
	if due := dueAt(v); v.Now.Before(due) {
		return Wait{Status: status, Until: due}
	}
	return CreateJob{task.CheckOrder{Write: isTryDue(v), Sweep: isTryDue(v)}}
}

// isAsked says whether somebody wants to know now: by another spec, or by the annotation.
func isAsked(v View) bool {
	s := v.Store
	return s.Status.CheckedAt == nil || s.Status.ObservedGeneration != s.Generation ||
		s.Annotations[v1alpha1.AnnotationCheck] != s.Status.Request
}

func dueAt(v View) time.Time {
	if isAsked(v) {
		return v.Now
	}
	pause := always
	if n := int(v.Store.Status.Failures); n > 0 {
		pause = afterFailure[min(n, len(afterFailure))-1]
	}
	due := v.Store.Status.CheckedAt.Add(pause)
	if v.Now.Add(pause).Before(due) { // the clock was put back
		return v.Now
	}
	return due
}

func isTryDue(v View) bool {
	tried := v.Store.Status.TriedAt
	return isAsked(v) || v.Store.Status.Failures > 0 || tried == nil || v.Now.Sub(tried.Time) >= tries || v.Now.Before(tried.Time)
}

func typeOf(spec v1alpha1.EtcdBackupStoreSpec) string {
	switch {
	case spec.S3 != nil:
		return "S3"
	case spec.GCS != nil:
		return "GCS"
	case spec.Azure != nil:
		return "Azure"
	default:
		return "Volume"
	}
}
