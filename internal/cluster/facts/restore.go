// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// restoring is what the status says of the restore that the spec wants, or of one in place once its members replace
// the others.
func restoring(c *v1beta1.EtcdCluster) cluster.Restore {
	r := cluster.Restore{Wanted: c.Spec.Bootstrap != nil && c.Spec.Bootstrap.Restore != nil}
	s := c.Status.Restore
	if s == nil {
		return r
	}
	r.Done, r.Progress, r.Problem = s.RestoredAt != nil, s.Progress, s.Problem
	if isReplacing(c) {
		r.InPlace, r.Undo, r.KeepFor = s.ID(), s.Undo, ptr.Deref(s.KeepFor, metav1.Duration{Duration: v1beta1.DefaultQuarantine}).Duration
	}
	r.Filling = c.IsRestoring() && !isReplacing(c)
	if s.Failure != nil && s.Failure.Final && r.Problem == "" {
		r.Problem = s.Failing()
	} else {
		r.Failure = s.Failing()
	}
	return r
}

// isReplacing says whether the members of a restore in place replace the others: the volumes of the new ones have had the data, and only
// an undo goes back. While a running cluster is adopted none is replaced: its quorum depends on them.
func isReplacing(c *v1beta1.EtcdCluster) bool {
	return c.IsRestoring() && c.Status.Restore.RestoredAt != nil && !c.IsAdopting()
}

// choose records the members that replace the others, whether or not they have any object.
func (j *builder) choose() {
	if !isReplacing(j.c) {
		return
	}
	for _, name := range j.c.Status.Restore.Members {
		j.member(name).Chosen = true
	}
}

// isChosen says whether the member of that name replaces the others.
func (j *builder) isChosen(name string) bool {
	return isReplacing(j.c) && slices.Contains(j.c.Status.Restore.Members, name)
}

// isAwaited says whether a volume is of a member of a restore in place that replaces no other yet.
func (j *builder) isAwaited(name string) bool {
	return j.c.IsRestoring() && !isReplacing(j.c) && slices.Contains(j.c.Status.Restore.Members, name)
}

// beside are the members of a restore in place before they replace those of today. They are in no other list, so that no rule takes them
// for members that were removed or have data of another cluster. In a cluster that is to hibernate, or no longer restored, they are that.
func (j *builder) beside() []cluster.Member {
	if !j.v.Restore.Filling || j.v.Want.Size == 0 || j.v.Want.Ephemeral || j.c.IsAdopting() {
		return nil
	}
	all := make([]cluster.Member, 0, len(j.c.Status.Restore.Members))
	for _, name := range j.c.Status.Restore.Members {
		m := cluster.Member{Name: name, Started: true}
		for i := range j.Volumes {
			claim := &j.Volumes[i]
			volume := history(claim)
			if claim.Name == name && j.isFilled(volume) && volumeState(claim) == cluster.Kept && !isQuarantined(claim) {
				m.Volume, m.Version = cluster.Kept, volume.Version
			}
		}
		all = append(all, m)
	}
	return all
}

// isFilled says whether the volume is of a member of the restore, and is marked as one that has the data.
func (j *builder) isFilled(volume cluster.Volume) bool {
	return volume.ClusterID != "" && volume.Token == string(j.c.UID) && slices.Contains(j.c.Status.Restore.Members, volume.Name)
}

// noteBeside notes the Pod of a member that is to serve beside the others, and says whether it is one.
func (j *builder) noteBeside(pod *corev1.Pod) bool {
	for i := range j.v.Beside {
		if m := &j.v.Beside[i]; m.Name == pod.Name {
			m.Pod = podFacts(pod)
			m.Pod.Clients = j.clients(pod)
			return true
		}
	}
	return false
}

// isRestored says whether the volumes that there are now are those of the first members, and each is marked as one that has the data.
// The status is only true of the time when it was written.
func (j *builder) isRestored() bool {
	s := j.c.Status.Restore
	if j.v.Restore.InPlace != "" {
		return j.hasAllChosen()
	}
	for _, volume := range j.v.Volumes {
		if !j.isFilled(volume) {
			return false
		}
	}
	return len(j.v.Volumes) == len(s.Members)
}

// hasAllChosen says whether the volume of each member that replaces the others is there, and is marked as one that has the data.
// Those that come back by an undo are taken as they are, and so are all if one of them has a Pod: it may have run with the others, so
// that none is begun again, and one whose volume is lost by now is replaced as in any cluster.
func (j *builder) hasAllChosen() bool {
	s := j.c.Status.Restore
	if s.Undo || slices.ContainsFunc(s.Members, func(name string) bool { return j.pods[name] != nil }) {
		return true
	}
	filled := 0
	for _, volume := range j.v.Volumes {
		if j.isFilled(volume) {
			filled++
		}
	}
	return filled == len(s.Members)
}
