// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package screen

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// Summary is what kubectl etcd fleet shows of one cluster of many, by its own status alone. Its JSON is what scripts read.
type Summary struct {
	Context   string `json:"context"` // of the kubeconfig
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Healthy is true while the cluster is Available and nothing is Degraded.
	Healthy      bool   `json:"healthy"`
	State        string `json:"state"`
	Degraded     string `json:"degraded,omitempty"` // the reason
	Size         int    `json:"size"`
	ReadyMembers int    `json:"readyMembers"`
	Version      string `json:"version,omitempty"`
	// VerifiedBackup is the time of the newest backup that was restored on trial, and LogUntil that up to which a continuous log has every
	// change.
	VerifiedBackup *time.Time `json:"verifiedBackup,omitempty"`
	LogUntil       *time.Time `json:"logUntil,omitempty"`
}

// SummaryOf are the facts about one cluster of many.
func SummaryOf(context string, c *v1beta1.EtcdCluster) Summary {
	s := Summary{
		Context: context, Namespace: c.Namespace, Name: c.Name, Healthy: IsHealthy(c), State: stateOf(c), Size: c.Size(),
		ReadyMembers: int(c.Status.ReadyMembers), Version: c.Status.Version,
	}
	if degraded := meta.FindStatusCondition(c.Status.Conditions, v1beta1.ConditionDegraded); degraded != nil &&
		degraded.Status == metav1.ConditionTrue {
		s.Degraded = degraded.Reason
	}
	if b := c.Status.Backup; b != nil && b.Verified != nil {
		s.VerifiedBackup = timeOf(&b.Verified.Time)
	}
	if l := c.Status.Log; l != nil && l.Until != nil {
		s.LogUntil = timeOf(&l.Until.Time)
	}
	return s
}

// Fleet is one line for each cluster.
func Fleet(all []Summary, now time.Time) string {
	rows := [][]string{{"CONTEXT", "NAMESPACE", "NAME", "STATUS", "READY", "VERSION", "DEGRADED", "VERIFIED BACKUP", "LOGGED"}}
	for _, s := range all {
		rows = append(rows, []string{
			s.Context, s.Namespace, s.Name, s.State, fmt.Sprintf("%d/%d", s.ReadyMembers, s.Size), dash(s.Version), dash(s.Degraded),
			ago(now, s.VerifiedBackup), ago(now, s.LogUntil),
		})
	}
	return Table(rows)
}

func ago(now time.Time, then *time.Time) string {
	if then == nil {
		return "-"
	}
	return age(now, *then) + " ago"
}
