// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"fmt"
	"strings"
	"time"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// Step is the one next thing to do for an EtcdDrill. The set is closed, and String is the sentence that people read in logs, events
// and tests.
//
//sumtype:decl
type Step interface {
	fmt.Stringer
	step()
}

type (
	// Record writes facts into the status. The API server refuses it if the object has changed since it was read.
	Record struct {
		Status v1beta1.EtcdDrillStatus // the whole status as it is to be, but for phase and conditions
		What   string                  // as a sentence
		Event  string                  // its reason; empty: there is none
	}
	// Finish ends the drill: nothing but its Job is touched after it.
	Finish struct {
		Status  v1beta1.EtcdDrillStatus
		Phase   v1beta1.DrillPhase
		Reason  string // of the condition
		Message string
	}
	// CreateJob creates the Job that the status names.
	CreateJob struct{ Name string }
	// DeleteJob deletes the Job with this UID, and its Pod.
	DeleteJob struct{ Name, UID, Because string }
	// Disrupt deletes the Pods with the least grace, after the volumes that are named with them: only those of these UIDs.
	Disrupt struct{ Targets []v1beta1.DrillTarget }
	// CreateCluster creates the throw-away cluster that begins with the backup.
	CreateCluster struct {
		Name   string
		Backup v1beta1.DrillBackup
	}
	// DeleteCluster deletes that cluster, by its UID; its volume goes with it.
	DeleteCluster struct{ Name, UID string }
	// RemoveFinalizer deletes the NetworkPolicy with which an earlier version has isolated a member, and then lets the object go.
	RemoveFinalizer struct{}
	// Wait changes nothing until something outside changes. For completes the sentence "waiting for".
	Wait struct {
		Reason string // of the condition
		For    string
		Until  time.Time // when to look again if no watch reports a change; zero: soon, since a log has to be read
	}
	// Done means that nothing is left to do.
	Done struct{}
)

func (Record) step()    {}
func (Finish) step()    {}
func (CreateJob) step() {}
func (DeleteJob) step() {}
func (Disrupt) step()   {}
func (Wait) step()      {}
func (Done) step()      {}

func (CreateCluster) step()   {}
func (DeleteCluster) step()   {}
func (RemoveFinalizer) step() {}

func (s Record) String() string { return "record: " + s.What }
func (s Finish) String() string {
	return fmt.Sprintf("end as %s (%s): %s", s.Phase, s.Reason, s.Message)
}
func (s CreateJob) String() string { return "create job " + s.Name }
func (s DeleteJob) String() string { return fmt.Sprintf("delete job %s: %s", s.Name, s.Because) }

func (s Disrupt) String() string {
	var all []string
	for _, t := range s.Targets {
		what := "pod " + t.Member
		if t.VolumeUID != "" {
			what = "volume and " + what
		}
		all = append(all, what)
	}
	return "delete " + strings.Join(all, ", ")
}

func (s CreateCluster) String() string {
	return fmt.Sprintf("create EtcdCluster %s, which begins with EtcdBackup %s", s.Name, s.Backup.Name)
}
func (s DeleteCluster) String() string { return "delete EtcdCluster " + s.Name + " and its volume" }
func (RemoveFinalizer) String() string {
	return "end the isolation of an earlier version, and remove the finalizer"
}

func (s Wait) String() string { return "wait for " + s.For }
func (Done) String() string   { return "done" }
