// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package stores

import (
	"fmt"
	"time"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/archive"
)

// Step is the one next thing to do. The set is closed, and String is the sentence that people read in logs and tests.
//
//sumtype:decl
type Step interface {
	fmt.Stringer
	step()
}

type (
	// CreateJob looks at the store.
	CreateJob struct {
		Asked  Asked
		Memory archive.Memory // of the last Job
		First  archive.Names  // of objects that EtcdBackups stand for
	}
	// DeleteJob deletes the Job with this UID.
	DeleteJob struct{ UID, Because string }
	// Record makes EtcdBackups of what was found, deletes those of what is no longer there, and then writes the status: in this
	// order, so that it is done again after a crash.
	Record struct {
		Create, Update, Delete []v1beta1.EtcdBackup
		Status                 v1beta1.EtcdBackupStoreStatus
		Memory                 archive.Memory // for the next Job; nil: there is none
	}
	// Wait changes nothing but what the condition says.
	Wait struct {
		For    string
		Status v1beta1.EtcdBackupStoreStatus
		Until  time.Time // when to look again; zero: a watch reports it
	}
)

func (CreateJob) step() {}
func (DeleteJob) step() {}
func (Record) step()    {}
func (Wait) step()      {}

func (s CreateJob) String() string {
	if s.Asked.Try {
		return "look at the store, and try to write"
	}
	return "look at the store"
}

func (s DeleteJob) String() string { return "delete the job: " + s.Because }

func (s Record) String() string {
	if s.Status.Failures > 0 {
		return "record that the look has failed"
	}
	return fmt.Sprintf("record what the store says: %d backups; %d new, %d changed, %d gone",
		s.Status.Backups, len(s.Create), len(s.Update), len(s.Delete))
}

func (s Wait) String() string {
	if s.Until.IsZero() {
		return "wait for " + s.For
	}
	return fmt.Sprintf("wait for %s, until %s", s.For, s.Until.UTC().Format(time.RFC3339))
}
