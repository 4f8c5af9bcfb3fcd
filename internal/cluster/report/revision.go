// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
)

// revisionEvery is how long an outdated revision may stay in the status before
// it alone is a reason to write it.
const revisionEvery = 10 * time.Minute

// Revised is the status after the step with the revision of etcd's data that the cluster is known to have,
// if the status is written anyway or its revision is older than revisionEvery. The lowest confirmed
// revision counts, not what one member that is ahead says alone.
func Revised(before, after v1beta1.EtcdClusterStatus, v cluster.View, now time.Time) v1beta1.EtcdClusterStatus {
	for i := range after.Members {
		if last := after.Members[i].LastDefragmentation; last != nil && last.Time.IsZero() {
			last.Time = metav1.Time{Time: now.UTC().Truncate(time.Second)}
		}
	}
	if check := after.LastHashCheck; check != nil && check.Time.IsZero() {
		at := metav1.Time{Time: now.UTC().Truncate(time.Second)}
		check.Time = at
		if check.Verdict == v1beta1.HashesEqual {
			check.EqualTime = &at
		}
	}
	lowest, highest := plan.Confirmed(v)
	_, missing := plan.Missing(v)
	switch {
	case after.ClusterID == "" || after.Recovering != "" || v.Newer != "" || v.Unread != "" || missing || lowest == 0:
		return after
	case lowest == after.Revision, lowest < after.Revision && highest >= after.Revision:
		return after
	case equality.Semantic.DeepEqual(before, after) && isRecent(after.RevisionTime, now) && lowest > after.Revision:
		return after
	}
	if lowest < after.Revision {
		after.Recoveries++ // the loss of what came after was accepted
	}
	after.Revision, after.RevisionTime = lowest, &metav1.Time{Time: now.UTC().Truncate(time.Second)}
	return after
}

func isRecent(at *metav1.Time, now time.Time) bool {
	return at != nil && now.Sub(at.Time).Abs() < revisionEvery
}
