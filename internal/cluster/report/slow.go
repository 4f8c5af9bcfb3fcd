// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// anomalies are by which members are slow.
func anomalies(all []cluster.Anomaly) []v1beta1.Anomaly {
	var said []v1beta1.Anomaly
	for _, a := range all {
		said = append(said, v1beta1.Anomaly{
			Member: a.Member, Signal: a.Signal, Value: a.Figure(a.Value), Usual: a.Figure(a.Usual),
			Since: metav1.NewTime(a.Since.UTC().Truncate(time.Second)),
		})
	}
	return said
}

// performance says which members are slow, or else that disks are slower than etcd needs: of all, most often.
func performance(v cluster.View) metav1.Condition {
	var all []string
	for _, a := range v.Anomalies {
		all = append(all, a.Member+" is slower than the others: "+a.Signal+" "+a.Figure(a.Value)+", usually "+a.Figure(a.Usual))
	}
	if len(all) == 0 && len(v.SlowDisks) > 0 {
		return slowDisks(v.SlowDisks)
	}
	if len(all) == 0 {
		return metav1.Condition{
			Type: v1beta1.ConditionPerformanceDegraded, Status: metav1.ConditionFalse, Reason: v1beta1.ReasonAsExpected,
			Message: "no member is slower than the others",
		}
	}
	return metav1.Condition{
		Type: v1beta1.ConditionPerformanceDegraded, Status: metav1.ConditionTrue, Reason: v1beta1.ReasonSlowMember,
		Message: strings.Join(all, "; ") + "; leadership is moved away from a slow member; look at its disk, its CPU and its node",
	}
}

// slowDisks names no value that was measured: each change of the message is a write.
func slowDisks(disks []cluster.Anomaly) metav1.Condition {
	var all []string
	for _, d := range disks {
		all = append(all, d.Member+" ("+d.Signal+" above "+d.Figure(d.Usual)+")")
	}
	return metav1.Condition{
		Type: v1beta1.ConditionPerformanceDegraded, Status: metav1.ConditionTrue, Reason: v1beta1.ReasonSlowDisk,
		Message: "by the mean of ten minutes, disks take longer than etcd advises for the slowest of a hundred writes: " +
			strings.Join(all, ", ") + "; give members faster disks, or such that nothing else writes to",
	}
}
