// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"fmt"
	"time"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// Step is the one next thing to do for an EtcdBackup. The set is closed, and String is the sentence that people
// read in logs, events and tests.
//
//sumtype:decl
type Step interface {
	fmt.Stringer
	// about says what is common to all steps of a kind.
	about() Kind
}

// Kind is what the operator needs to know of a step apart from how it is carried out.
type Kind struct {
	Event string // reason of the event that reports its success; empty: there is none
	Warns bool   // that event is a warning
	Rests bool   // it changes nothing
	// Until is when to look again if no watch reports a change before; zero: when a watch reports a change. Soon: the Job that is
	// waited for reports its progress only in its log.
	Until time.Time
	Soon  bool
}

type (
	// Record writes facts into the status. The API server refuses it if the object has changed since it was read.
	Record struct {
		// Status is the whole status as it is to be, but for phase, progress and conditions, which follow from it.
		Status v1beta1.EtcdBackupStatus
		What   string // as a sentence
		Event  string
		Warns  bool
	}
	// CreateJob creates the Job that the status names.
	CreateJob struct{ Name, Task string }
	// DeleteJob deletes the Job with this UID, and its Pods.
	DeleteJob struct{ Name, UID, Because string }
	// CreateSnapshot has the VolumeSnapshot taken that the status names, of the volume of a member.
	CreateSnapshot struct {
		Name   string
		Source Source
	}
	// DeleteSnapshot deletes the VolumeSnapshot with this UID.
	DeleteSnapshot struct{ Name, UID, Because string }
	// AddFinalizer keeps the object until what is stored is deleted.
	AddFinalizer struct{}
	// RemoveFinalizer lets Kubernetes delete the object.
	RemoveFinalizer struct {
		Because string
		Event   string
		Warns   bool
	}
	// Mark puts the name of the folder in the store on the object.
	Mark struct{ Upload string }
	// Wait changes nothing until something outside changes. For completes the sentence "waiting for".
	Wait struct {
		Task   string // that waits; empty: none
		For    string
		Reason string    // of the condition that the task is about; empty: it is as it was
		Until  time.Time // when to look again; zero: a watch reports the change
		Soon   bool      // no watch reports the progress of the Job
	}
	// Refuse changes nothing because the backup has failed for good. Because says why.
	Refuse struct{ Reason, Because string }
	// Done means that nothing is left to do.
	Done struct{}
)

func (s Record) about() Kind          { return Kind{Event: s.Event, Warns: s.Warns} }
func (s CreateJob) about() Kind       { return Kind{Event: s.Task + "Started"} }
func (s DeleteJob) about() Kind       { return Kind{} }
func (s CreateSnapshot) about() Kind  { return Kind{Event: "BackupStarted"} }
func (s DeleteSnapshot) about() Kind  { return Kind{} }
func (s AddFinalizer) about() Kind    { return Kind{} }
func (s RemoveFinalizer) about() Kind { return Kind{Event: s.Event, Warns: s.Warns} }
func (s Mark) about() Kind            { return Kind{} }
func (s Wait) about() Kind            { return Kind{Rests: true, Until: s.Until, Soon: s.Soon} }
func (s Refuse) about() Kind          { return Kind{Rests: true} }
func (s Done) about() Kind            { return Kind{Rests: true} }

func (s Record) String() string    { return "record: " + s.What }
func (s CreateJob) String() string { return fmt.Sprintf("create job %s (%s)", s.Name, s.Task) }

func (s DeleteJob) String() string { return fmt.Sprintf("delete job %s: %s", s.Name, s.Because) }
func (s CreateSnapshot) String() string {
	return fmt.Sprintf("create VolumeSnapshot %s of the volume of %s, which has revision %d", s.Name, s.Source.Member, s.Source.Revision)
}

func (s DeleteSnapshot) String() string {
	return fmt.Sprintf("delete VolumeSnapshot %s: %s", s.Name, s.Because)
}
func (s AddFinalizer) String() string    { return "add the finalizer" }
func (s RemoveFinalizer) String() string { return "remove the finalizer: " + s.Because }
func (s Mark) String() string            { return "put the name of the folder " + s.Upload + " on the object" }
func (s Wait) String() string            { return "wait for " + s.For }
func (s Refuse) String() string          { return "refuse: " + s.Because }
func (s Done) String() string            { return "done" }

// KindOf says what is common to all steps like this one.
func KindOf(s Step) Kind { return s.about() }
