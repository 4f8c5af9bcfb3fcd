// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"fmt"
	"strings"
	"time"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// VolumesStep is the one next thing to do for the volumes. The set is closed.
//
//sumtype:decl
type VolumesStep interface {
	fmt.Stringer
	volumesStep()
}

type (
	// VolumesRecord writes status.restore.
	VolumesRecord struct {
		Status v1beta1.RestoreStatus
		What   string
		Event  string // its reason; empty: none
	}
	// CreateVolumes creates the volumes of members.
	CreateVolumes struct{ Members []string }
	// CreateJobs creates the Jobs that fill volumes, all at once.
	CreateJobs struct{ Members []string }
	// MarkVolumes writes on volumes that they have the data of the cluster with this ID, one write for each.
	MarkVolumes struct {
		Members   []string
		ClusterID string
	}
	// DeleteJob deletes a Job whose work is done, or that is tried again.
	DeleteJob struct{ Member, UID, Because string }
	// VolumesWait changes nothing but what the status says.
	VolumesWait struct {
		Status v1beta1.RestoreStatus
		Until  time.Time // zero: a watch reports it
	}
	// VolumesDone means that there is nothing to restore, or no longer.
	VolumesDone struct{}
)

func (VolumesRecord) volumesStep() {}
func (CreateVolumes) volumesStep() {}
func (CreateJobs) volumesStep()    {}
func (MarkVolumes) volumesStep()   {}
func (DeleteJob) volumesStep()     {}
func (VolumesWait) volumesStep()   {}
func (VolumesDone) volumesStep()   {}

func (s VolumesRecord) String() string { return s.What }
func (s CreateVolumes) String() string { return "create volumes of " + strings.Join(s.Members, ", ") }

func (s CreateJobs) String() string {
	return "create jobs that fill volumes of " + strings.Join(s.Members, ", ")
}

func (s MarkVolumes) String() string {
	return "mark volumes as filled: " + strings.Join(s.Members, ", ")
}
func (s DeleteJob) String() string { return "delete job of " + s.Member + ": " + s.Because }
func (s VolumesWait) String() string {
	if s.Status.Problem != "" {
		return "refuse: " + s.Status.Problem
	}
	return "wait for " + s.Status.Progress
}
func (s VolumesDone) String() string { return "done" }
