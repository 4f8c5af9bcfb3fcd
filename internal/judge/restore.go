package judge

import (
	"fmt"
	"slices"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// restore is what the status says of the restore that the spec wants. It begins only where nothing was.
func restore(c *v1alpha1.EtcdCluster) cluster.Restore {
	r := cluster.Restore{Wanted: c.Spec.Bootstrap != nil && c.Spec.Bootstrap.Restore != nil}
	s := c.Status.Restore
	if s == nil {
		return r
	}
	r.Done, r.Progress, r.Problem = s.RestoredAt != nil, s.Progress, s.Problem
	if s.Failure == nil {
		return r
	}
	failed := fmt.Sprintf("the data of %s cannot be restored: %s", s.Failure.Member, s.Failure.Message)
	if s.Failure.Final && r.Problem == "" {
		r.Problem = failed + "; it is tried again after a pause"
	} else {
		r.Failure = failed + "; it is tried again"
	}
	return r
}

// isRestored says whether the volumes that there are now are those of the first members, and each is marked as one that has the data.
// What the status says was so when it was written.
func (j *judgement) isRestored() bool {
	s := j.c.Status.Restore
	for _, volume := range j.v.Volumes {
		if volume.ClusterID == "" || volume.Token != string(j.c.UID) || !slices.Contains(s.Members, volume.Name) {
			return false
		}
	}
	return len(j.v.Volumes) == len(s.Members)
}
