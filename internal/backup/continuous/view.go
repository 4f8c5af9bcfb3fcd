// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package continuous decides what to do next for the continuous log of one EtcdCluster, and says how far it is. The same View always
// gives the same Step.
//
// It must never import a client, a clock, a logger or a context. It never takes a full backup of another history for the base of a log,
// and never lets the log go on after a gap without saying so.
package continuous

import (
	"slices"
	"strings"
	"time"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobs"
)

// View is one observation of the log of a cluster: facts only, as plain values.
type View struct {
	Cluster, UID string
	Wanted       bool          // spec.backup.continuous is given
	Flush        time.Duration // how long a change may wait
	Hold         Obstacle      // why no process may keep the log now
	Obstacle     Obstacle      // why none can be started, and no full backup be made; one that runs may go on

	Lineage string // of the history that the cluster has now; empty: it has not formed
	For     string // what a process would be started for; empty: no member is known
	Fulls   []Full // of the lineage, which can be restored and were requested since status.since; the lowest revision first
	Asked   Asked  // the EtcdBackup that status.fullBackup names
	Job     jobs.Observed
	Status  v1beta1.LogStatus
	Now     time.Time
}

// Obstacle is why something cannot be done now, and what is to be done; empty if it can.
type Obstacle struct{ Reason, Message string }

// Full is a full backup that is complete.
type Full struct {
	Name     string
	Revision int64
	Time     time.Time // when it was begun
}

// Asked is a full backup that was requested for the log.
type Asked struct {
	Exists   bool
	Foreign  bool // an EtcdBackup that was not made for this cluster has the name
	Deleting bool
	Complete bool
	Failed   string // why it never will be complete; empty: it may yet be
}

// policy is how long the log waits for its Job, and between two tries.
var policyOfJobs = jobs.Policy{Unread: time.Minute, First: time.Second, Last: 5 * time.Minute}

func (v View) state() jobs.State { return v.Job.State(policyOfJobs, v.Now) }

// needsFull says whether there is no full backup that the log leads on from.
func (v View) needsFull() bool { return len(v.run()) == 0 }

// run are the full backups from which the log leads on without a gap, or from which it can begin.
func (v View) run() []Full {
	least := int64(0)
	if v.Status.Base != nil {
		least = v.Status.Base.Revision
	}
	i := slices.IndexFunc(v.Fulls, func(f Full) bool { return f.Revision >= least })
	if i < 0 {
		return nil
	}
	return v.Fulls[i:]
}

// isOfLineage says whether a Job was started for the lineage of the status.
func (v View) isOfLineage() bool {
	return v.Status.Lineage != "" && strings.HasPrefix(v.Job.For, v.Status.Lineage+"/")
}

// isInterrupted says whether the last gap has no end yet.
func isInterrupted(s v1beta1.LogStatus) bool { return len(s.Gaps) > 0 && s.Gaps[0].Before == nil }
