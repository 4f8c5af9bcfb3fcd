// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// cloneSize is how many members the throw-away cluster has of which quorum is lost; all but one of them are deleted.
const cloneSize = 3

// loseQuorum deletes all members but one of the throw-away cluster, once that has served the backup, and waits until none of them is a
// member any more: the operator has recovered the quorum from the one that is left, and others have joined.
func loseQuorum(v View) Step {
	s := v.Status
	if v.Spec.Action != v1beta1.LoseQuorum || s.StartedAt == nil || v.Now.After(v.limit()) {
		return nil
	}
	if s.Targets == nil {
		return v.loseClone()
	}
	if left := present(s.Targets, v.Restored.Members); left != nil {
		return Disrupt{Targets: left}
	}
	isListed := func(t v1beta1.DrillTarget) bool {
		return slices.ContainsFunc(v.Restored.Members, func(m Member) bool { return m.Name == t.Member })
	}
	if slices.ContainsFunc(s.Targets, isListed) || len(v.Restored.Members) < cloneSize {
		return Wait{
			Reason: v1beta1.ReasonRecoveryAwaited,
			For:    fmt.Sprintf("EtcdCluster %s to recover its quorum from the member that is left", s.Restored),
		}
	}
	return nil
}

// loseClone writes down which members go; nothing before the throw-away cluster serves.
func (v View) loseClone() Step {
	if !v.Restored.Exists || v.Restored.NotWhole != "" || v.Restored.Keys == nil || len(v.Restored.Members) < cloneSize {
		return nil
	}
	s := v.status()
	for _, m := range v.Restored.Members[1:] {
		if m.PodUID == "" || m.VolumeUID == "" {
			return nil
		}
		s.Targets = append(s.Targets, v1beta1.DrillTarget{Member: m.Name, PodUID: m.PodUID, VolumeUID: m.VolumeUID})
	}
	s.QuorumLostAt = new(metav1.NewMicroTime(v.Now))
	return Record{Status: s, Event: "DrillQuorumLost", What: fmt.Sprintf("LoseQuorum: %s of EtcdCluster "+
		"%s", Disrupt{Targets: s.Targets}, s.Restored)}
}

// present are those of the targets that are still there.
func present(targets []v1beta1.DrillTarget, members []Member) []v1beta1.DrillTarget {
	var left []v1beta1.DrillTarget
	for _, t := range targets {
		i := slices.IndexFunc(members, func(m Member) bool { return m.Name == t.Member })
		if i < 0 {
			continue
		}
		m := members[i]
		hasVolume := t.VolumeUID != "" && m.VolumeUID == t.VolumeUID && !m.VolumeLeaves
		if hasVolume || t.PodUID != "" && m.PodUID == t.PodUID && !m.PodLeaves {
			left = append(left, t)
		}
	}
	return left
}

func namesOf(targets []v1beta1.DrillTarget) string {
	var names []string
	for _, t := range targets {
		names = append(names, t.Member)
	}
	return strings.Join(names, ", ")
}
