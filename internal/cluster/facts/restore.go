package facts

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// restoring is what the status says of the restore that the spec wants, or of one in place from the moment on from which members
// give way to it.
func restoring(c *v1alpha1.EtcdCluster) cluster.Restore {
	r := cluster.Restore{Wanted: c.Spec.Bootstrap != nil && c.Spec.Bootstrap.Restore != nil}
	s := c.Status.Restore
	if s == nil {
		return r
	}
	r.Done, r.Progress, r.Problem = s.RestoredAt != nil, s.Progress, s.Problem
	if gives(c) {
		r.InPlace, r.Undo, r.KeepFor = s.ID(), s.Undo, ptr.Deref(s.KeepFor, metav1.Duration{Duration: v1alpha1.DefaultQuarantine}).Duration
	}
	r.Filling = c.IsRestoring() && !gives(c)
	if s.Failure != nil && s.Failure.Final && r.Problem == "" {
		r.Problem = s.Failing()
	} else {
		r.Failure = s.Failing()
	}
	return r
}

// gives says whether members give way to those of a restore in place: the volumes of these once had the data, and there is no way
// back but its undo.
func gives(c *v1alpha1.EtcdCluster) bool {
	return c.IsRestoring() && c.Status.Restore.RestoredAt != nil
}

// choose takes down the members that the others give way to, whether or not anything of them is there.
func (j *builder) choose() {
	if !gives(j.c) {
		return
	}
	for _, name := range j.c.Status.Restore.Members {
		j.member(name).Chosen = true
	}
}

// isChosen says whether the others give way to the member of that name.
func (j *builder) isChosen(name string) bool {
	return gives(j.c) && slices.Contains(j.c.Status.Restore.Members, name)
}

// isAwaited says whether a volume is of a member that is to come by a restore in place, and that nobody gives way to yet.
func (j *builder) isAwaited(name string) bool {
	return j.c.IsRestoring() && !gives(j.c) && slices.Contains(j.c.Status.Restore.Members, name)
}

// isRestored says whether the volumes that there are now are those of the first members, and each is marked as one that has the data.
// What the status says was so when it was written.
func (j *builder) isRestored() bool {
	s := j.c.Status.Restore
	if j.v.Restore.InPlace != "" {
		return j.hasAllChosen()
	}
	for _, volume := range j.v.Volumes {
		if volume.ClusterID == "" || volume.Token != string(j.c.UID) || !slices.Contains(s.Members, volume.Name) {
			return false
		}
	}
	return len(j.v.Volumes) == len(s.Members)
}

// hasAllChosen says whether the volume of each member that the others give way to is there, and is marked as one that has the data.
// Those that come back by an undo are taken as they are.
func (j *builder) hasAllChosen() bool {
	s := j.c.Status.Restore
	if s.Undo {
		return true
	}
	filled := 0
	for _, volume := range j.v.Volumes {
		if volume.ClusterID != "" && volume.Token == string(j.c.UID) && slices.Contains(s.Members, volume.Name) {
			filled++
		}
	}
	return filled == len(s.Members)
}
