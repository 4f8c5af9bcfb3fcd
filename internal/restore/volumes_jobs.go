// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobs"
)

// patience is how long Jobs are waited for. A restore continues as soon as it can: members are stopped for it.
var patience = jobs.Policy{Unread: 2 * time.Minute, First: 20 * time.Second, Last: 20 * time.Second}

// leaveJobs refuses to continue beside a foreign Job that has the name of one of ours.
func leaveJobs(v VolumesView) VolumesStep {
	for _, m := range unfilled(v) {
		if job := v.Jobs[m]; job.State(patience, v.Now) == jobs.Foreign {
			return refuse(v, fmt.Sprintf("job %s is in the way: it is not of this EtcdCluster; delete it", job.Name))
		}
	}
	return nil
}

// isAbout says whether the Job fills the volume that the member has now.
func isAbout(v VolumesView, job jobs.Observed, m string) bool {
	claim, there := v.Claims[m]
	return there && job.For == string(claim.UID)
}

// dropJobs deletes a Job that has filled, or fills, a volume that is gone: it says nothing about the one that has its name now.
func dropJobs(v VolumesView) VolumesStep {
	for _, m := range unfilled(v) {
		if job := v.Jobs[m]; job.Owned && !job.Deleting && !isAbout(v, job, m) {
			return DeleteJob{m, job.UID, "it is about a volume that is gone"}
		}
	}
	return nil
}

// cleanUp deletes Jobs once all volumes have the data.
func cleanUp(v VolumesView) VolumesStep {
	if v.Cluster.Status.Restore.RestoredAt == nil || len(unfilled(v)) > 0 {
		return nil
	}
	return deleteJobs(v, v.Cluster.Status.Restore.Members)
}

func deleteJobs(v VolumesView, members []string) VolumesStep {
	for _, m := range members {
		if job := v.Jobs[m]; job.Owned && !job.Deleting {
			return DeleteJob{m, job.UID, "it is not needed any more"}
		}
	}
	return nil
}

// Pauses after a Job that failed. One that another try is not known to fix lasts in proportion to what the try took: a backup that
// is damaged at its end is not read over and over.
const (
	late    = 2 * time.Minute
	latest  = time.Hour
	tenfold = 10
	// readAgain is how often the log of a Job that has ended is tried to be read.
	readAgain = 5 * time.Second
)

// failure says why the Job of a member has failed, and when there is another try; nil if it has not.
func failure(v VolumesView, m string) (failed *v1beta1.RestoreFailure, again time.Time) {
	job := v.Jobs[m]
	said := job.Failed()
	switch {
	case !job.Exists || !job.Ended || job.Done() != nil || isFilled(v, m):
		return nil, again
	case said == nil && job.Unread != "":
		return &v1beta1.RestoreFailure{Member: m, Message: "what its job said cannot be read: " + job.Unread}, job.EndedAt.Add(patience.Unread)
	case said == nil:
		failed = &v1beta1.RestoreFailure{Member: m, Message: "its job ended without saying why: " + job.Trouble}
		return failed, job.EndedAt.Add(patience.Pause(1))
	case said.Final:
		took := min(job.EndedAt.Sub(job.Begun), latest)
		return &v1beta1.RestoreFailure{Member: m, Message: said.Message, Final: true}, job.EndedAt.Add(min(max(late, tenfold*took), latest))
	default:
		return &v1beta1.RestoreFailure{Member: m, Message: said.Message}, job.EndedAt.Add(patience.Pause(1))
	}
}

// lasting is what is still true of a failure: not when the volume has the data, nor when another try gets on that may succeed.
func lasting(v VolumesView, failed *v1beta1.RestoreFailure) *v1beta1.RestoreFailure {
	if failed == nil || v.Cluster.Status.Restore == nil || isFilled(v, failed.Member) {
		return nil
	}
	if job := v.Jobs[failed.Member]; !failed.Final && job.Exists && !job.Ended && job.Progress.Read > 0 {
		return nil
	}
	return failed
}

// retry tries a Job again that has failed, after a pause. What it left on the volume is begun again.
func retry(v VolumesView) VolumesStep {
	for _, m := range unfilled(v) {
		if failed, again := failure(v, m); failed != nil && !v.Now.Before(again) && !v.Jobs[m].Deleting {
			return DeleteJob{m, v.Jobs[m].UID, "it failed, and is tried again"}
		}
	}
	return nil
}

func createJobs(v VolumesView) VolumesStep {
	missing := lacking(v, func(m string) bool { return isFilled(v, m) || v.Jobs[m].Exists })
	if len(missing) == 0 {
		return nil
	}
	return CreateJobs{missing}
}

// awaitRetry reports why a Job has failed, first that of one which only a person can fix.
func awaitRetry(v VolumesView) VolumesStep {
	var shown *v1beta1.RestoreFailure
	var until time.Time
	for _, m := range unfilled(v) {
		failed, again := failure(v, m)
		if failed == nil {
			continue
		}
		if v.Jobs[m].Unread != "" {
			again = v.Now.Add(readAgain)
		}
		if until.IsZero() || again.Before(until) {
			until = again
		}
		if shown == nil || failed.Final && !shown.Final {
			shown = failed
		}
	}
	if shown == nil {
		return nil
	}
	s := status(v, "the next try to restore the data of "+shown.Member, "")
	s.Failure = shown
	return VolumesWait{Status: s, Until: until}
}

// progress is what the slowest of the Jobs says.
func progress(v VolumesView) string {
	slowest, at := "", 2.0
	for _, m := range unfilled(v) {
		done, p := 0.0, v.Jobs[m].Progress
		if p.Total > 0 {
			done = float64(p.Read) / float64(p.Total)
		}
		if done < at {
			slowest, at = m, done
		}
	}
	if slowest == "" {
		if v.Cluster.IsRestoring() {
			return "the members to be replaced by " + strings.Join(v.Cluster.Status.Restore.Members, ", ") + ", whose volumes have the data"
		}
		return "the cluster to begin with its volumes"
	}
	job := v.Jobs[slowest]
	switch {
	case job.Unread != "":
		return fmt.Sprintf("the job that restores the data of %s, whose log cannot be read: %s", slowest, job.Unread)
	case job.Trouble != "":
		return fmt.Sprintf("the job that restores the data of %s to run: %s", slowest, job.Trouble)
	case job.Progress.Total == 0:
		return fmt.Sprintf("the job that restores the data of %s to begin", slowest)
	}
	tens := int(at*10) * 10 // not every per cent is a write
	return fmt.Sprintf("the data of %s to be restored: more than %d %% of %s", slowest, tens, size(job.Progress.Total))
}

// size is a number of bytes for people.
func size(bytes int64) string {
	const ki, mi = 1 << 10, 1 << 20
	unit := int64(ki)
	if bytes >= 10*mi {
		unit = mi
	}
	return resource.NewQuantity((bytes+unit-1)/unit*unit, resource.BinarySI).String()
}
