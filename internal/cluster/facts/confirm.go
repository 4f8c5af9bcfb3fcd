// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// Doubt is what to read of one member from the API server itself: the cache says that something
// is gone which a decision may depend on, or that a Pod exists which does not answer or should
// be gone by now. A cache may have missed an event.
type Doubt struct {
	Member      string
	Pod, Volume bool
}

// doubts are those about a snapshot of the lists and of etcd's answers, by member.
func doubts(s Snapshot) []Doubt {
	j := begin(s)
	j.kubernetes()
	j.etcd()
	if !j.v.Planned() || j.v.IsDisplaced() {
		return nil
	}
	var all []Doubt
	for _, m := range j.sorted() {
		doubt := Doubt{
			Member: m.Name,
			Pod:    isDoubtful(m) || j.v.Formed() && cluster.MayHoldData(m) && !cluster.HasPod(m),
			Volume: !j.v.Want.Ephemeral && m.Volume != cluster.Kept && (j.v.Formed() || len(j.pods) > 0),
		}
		if doubt.Pod || doubt.Volume {
			all = append(all, doubt)
		}
	}
	return all
}

// isDoubtful says whether the cache may show a Pod that no longer exists.
func isDoubtful(m cluster.Member) bool {
	return m.Pod.Overdue || m.Pod.Ready && !m.Pod.IsTerminating() && !m.Answers
}

// confirm corrects what the cache showed by what the API server said.
func (j *builder) confirm() {
	for _, m := range j.sorted() {
		named := j.Named[m.Name]
		switch {
		case !named.AskedPod:
		case named.Pod != nil:
			j.pod(named.Pod)
		default:
			j.losePod(m.Name)
		}
		if named.Volume != nil {
			j.confirmVolume(named.Volume)
		}
	}
}

// losePod corrects what the cache said of a Pod that is gone.
func (j *builder) losePod(name string) {
	m := j.member(name)
	m.Pod, m.Damage, m.Foreign, m.Answers, m.Healthy = cluster.Pod{}, "", "", false, false
	if j.v.Want.Ephemeral {
		m.Volume = cluster.NoVolume
	}
	delete(j.pods, name)
}

// confirmVolume records a volume that the cache does not show.
func (j *builder) confirmVolume(claim *corev1.PersistentVolumeClaim) {
	if isQuarantined(claim) || j.ownedByOther(claim) {
		return
	}
	m := j.member(claim.Name)
	m.Volume, m.Unused = volumeState(claim), specs.IsUnused(claim)
	m.DataDirectory = claim.Annotations[v1beta1.AnnotationDataDirectory]
	if lacksLabels(j.c, claim) && specs.Foreign(j.c, claim) == "" {
		j.v.Misfits = append(j.v.Misfits, cluster.Object{
			Kind: "PersistentVolumeClaim", Name: claim.Name, Part: cluster.Labels, Why: "its labels were removed",
		})
	}
}
