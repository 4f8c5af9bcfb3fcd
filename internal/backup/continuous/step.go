// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package continuous

import (
	"fmt"
	"time"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// Step is the one next thing to do. The set is closed, and String is the sentence that people read in logs, events and tests.
//
//sumtype:decl
type Step interface {
	fmt.Stringer
	step()
}

type (
	// Record writes facts into the status. The API server refuses it if the object has changed since it was read.
	Record struct {
		Status v1beta1.LogStatus // the whole status as it is to be, but for what the report adds
		What   string            // as a sentence
		Event  string            // its reason; empty: there is none
		Warns  bool
	}
	// CreateBackup creates the EtcdBackup that the status names.
	CreateBackup struct{ Name string }
	// CreateJob starts the process that keeps the log.
	CreateJob struct{ Name string }
	// DeleteJob deletes the Job with this UID, and its Pod, which has time to end.
	DeleteJob struct{ Name, UID, Because string }
	// Rest changes nothing. Reason and Because say why if that is not as wanted.
	Rest struct {
		Reason, Because string
		Until           time.Time // when to look again; zero: a watch reports the change
		Running         bool      // a Job is there, whose progress no watch reports
	}
)

func (Record) step()       {}
func (CreateBackup) step() {}
func (CreateJob) step()    {}
func (DeleteJob) step()    {}
func (Rest) step()         {}

func (s Record) String() string       { return "record: " + s.What }
func (s CreateBackup) String() string { return "create EtcdBackup " + s.Name }
func (s CreateJob) String() string    { return "create job " + s.Name }
func (s DeleteJob) String() string    { return fmt.Sprintf("delete job %s: %s", s.Name, s.Because) }

func (s Rest) String() string {
	if s.Because == "" {
		return "rest"
	}
	return "rest: " + s.Because
}
