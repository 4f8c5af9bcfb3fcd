package restore

import (
	"fmt"
	"strings"
	"time"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
)

// Step is the one next thing to do. The set is closed.
//
//sumtype:decl
type Step interface {
	fmt.Stringer
	step()
}

type (
	// Record writes status.restore.
	Record struct {
		Status v1alpha1.RestoreStatus
		What   string
		Event  string // its reason; empty: none
	}
	// CreateVolumes creates the volumes of members.
	CreateVolumes struct{ Members []string }
	// CreateJobs creates the Jobs that fill volumes, all at once.
	CreateJobs struct{ Members []string }
	// MarkVolume writes on a volume that it has the data of the cluster with this ID.
	MarkVolume struct{ Member, ClusterID string }
	// DeleteJob deletes a Job whose work is done, or that is tried again.
	DeleteJob struct{ Member, UID, Because string }
	// Wait changes nothing but what the status says.
	Wait struct {
		Status v1alpha1.RestoreStatus
		Until  time.Time // zero: a watch tells
	}
	// Done means that there is nothing to restore, or no longer.
	Done struct{}
)

func (Record) step()        {}
func (CreateVolumes) step() {}
func (CreateJobs) step()    {}
func (MarkVolume) step()    {}
func (DeleteJob) step()     {}
func (Wait) step()          {}
func (Done) step()          {}

func (s Record) String() string        { return s.What }
func (s CreateVolumes) String() string { return "create volumes of " + strings.Join(s.Members, ", ") }

func (s CreateJobs) String() string {
	return "create jobs that fill volumes of " + strings.Join(s.Members, ", ")
}
func (s MarkVolume) String() string { return "volume of " + s.Member + " has the data" }
func (s DeleteJob) String() string  { return "delete job of " + s.Member + ": " + s.Because }
func (s Wait) String() string {
	if s.Status.Problem != "" {
		return "refuse: " + s.Status.Problem
	}
	return "wait for " + s.Status.Progress
}
func (s Done) String() string { return "done" }
