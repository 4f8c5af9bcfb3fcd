// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"fmt"
	"strings"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// Beside is what is known of the Pod of a new member, which runs detached beside the members that it is to replace.
type Beside struct {
	Ready         bool // its etcd answers linearizable reads: it has a leader
	Unschedulable bool // no node has room for it beside the others
}

// How long new members may take to serve beside the old ones, after the last volume was filled. Then they are left for the time after the
// old ones have stopped, as if they had not been started.
const (
	// toStart is for a Pod to be made: a quota may refuse it.
	toStart = 30 * time.Second
	// toServe is for an image to be pulled and a small database to be read, and for each GiB more toLoad: etcd needs a tenth of it.
	toServe = 2 * time.Minute
	toLoad  = time.Minute
	// lookAgain is how soon they are looked at again: no watch of the restore reports Pods of members.
	lookAgain = time.Second
)

// leaveBeside fills no volume of a new member once one of them may have run with the others: it would come back without what it has
// acknowledged since. Before an old member is stopped a person can begin again; after that the lost one is replaced by the cluster's rules.
func leaveBeside(v VolumesView) VolumesStep {
	lost := lacking(v, func(m string) bool { return isFilled(v, m) && v.Claims[m].DeletionTimestamp == nil })
	s := v.Cluster.Status.Restore
	switch {
	case len(v.Beside) == 0 || len(lost) == 0:
		return nil
	case s.RestoredAt != nil:
		return VolumesWait{Status: status(v, "the members to be replaced by "+strings.Join(s.Members, ", "), "")}
	}
	return refuse(v, fmt.Sprintf("volumes of %s were lost after the new members had begun to run, and are not filled again beside the "+
		"others: delete EtcdRestore %s, which leaves the old members as they are, and create another one", strings.Join(lost, ", "), s.Request))
}

// awaitBeside waits for the new members, while the old ones serve: the time in which etcd reads its database is none without etcd, data
// that cannot be used is found before a member has stopped, and until then the restore can be cancelled. Where the old members do not
// serve there is nothing to wait for.
func awaitBeside(v VolumesView) VolumesStep {
	s := v.Cluster.Status.Restore
	if !v.Cluster.IsRestoring() || s.RestoredAt != nil || len(unfilled(v)) > 0 || !isAvailable(v.Cluster) {
		return nil
	}
	_, compared := cluster.Compare(v.Hashes, 0)
	switch {
	case compared.Differ:
		problem := fmt.Sprintf("the new members do not have the same data: %s; the old members serve on: delete EtcdRestore %s, and create "+
			"another one", compared.Message, s.Request)
		return VolumesWait{Status: Refused(v, problem), Until: v.Now.Add(late)}
	case len(v.Hashes) > 0 || !mayServe(v):
		return nil
	}
	return VolumesWait{
		Status: status(v, strings.Join(s.Members, ", ")+" to serve beside the members that they replace", ""), Until: v.Now.Add(lookAgain),
	}
}

// mayServe says whether new members may yet serve beside the old ones.
func mayServe(v VolumesView) bool {
	filled, s := filledAt(v), v.Cluster.Status.Restore
	patience := toServe
	if s.DatabaseSize != nil {
		patience += time.Duration(s.DatabaseSize.Value()>>30) * toLoad
	}
	for _, m := range s.Members {
		pod, there := v.Beside[m]
		if pod.Unschedulable || !there && !v.Now.Before(filled.Add(toStart)) {
			return false
		}
	}
	return v.Now.Before(filled.Add(patience))
}

// filledAt is when the last Job of the members ended; long ago if they are gone.
func filledAt(v VolumesView) (last time.Time) {
	for _, m := range v.Cluster.Status.Restore.Members {
		if at := v.Jobs[m].EndedAt; at.After(last) {
			last = at
		}
	}
	return last
}
