// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package screen

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/plugin/progress"
	"github.com/etcd-operator/etcd-operator/internal/plugin/restoring"
)

// next says what the operator does next, and what a person has to do.
func next(o Objects) []string {
	var all []string
	c := &o.Cluster
	if len(c.Status.Conditions) == 0 {
		all = append(all, "no operator has looked at the cluster yet")
	}
	asked := restoring.Pending(o.Restores, c.Name)
	if r := c.Status.Restore; r != nil && r.CompletedAt.IsZero() && !r.IsCancelled() && len(asked) == 0 {
		all = append(all, volumesOf(r)...) // an EtcdRestore says the same of its own
	}
	if going := meta.FindStatusCondition(c.Status.Conditions, v1beta1.ConditionProgressing); going != nil && mentions(going.Reason) {
		all = append(all, going.Message)
	}
	all = append(all, WaysOn(c.Status.QuorumLoss)...)
	all = append(all, underWay(o.Backups)...)
	all = append(all, asked...)
	if hint := unprotected(c, o.Backups); hint != "" {
		all = append(all, hint)
	}
	if b := c.Status.Backup; b != nil && !b.Next.IsZero() {
		all = append(all, "the schedule makes the next backup at "+b.Next.UTC().Format(time.RFC3339))
	}
	if len(all) == 0 {
		all = append(all, "nothing is left to do")
	}
	return all
}

// WaysOn are what a person may accept where quorum is lost for good.
func WaysOn(loss *v1beta1.QuorumLoss) []string {
	const lost = "quorum is lost for good: spec.recovery.acceptDataLoss: "
	var all []string
	if loss == nil {
		return nil
	}
	if loss.Accept != "" {
		all = append(all, lost+loss.Accept+" goes on from the best survivor")
	}
	b := loss.Backup
	switch {
	case b == nil:
	case b.Accept == "":
		all = append(all, fmt.Sprintf("quorum is lost for good: EtcdBackup %s is the newest verified one, %s; Degraded says what there is to do "+
			"before it can be restored", b.Name, cost(b)))
	default:
		all = append(all, fmt.Sprintf("%s%s goes back to the newest verified backup, %s", lost, b.Accept, cost(b)))
	}
	return all
}

// cost is what going back to a backup loses.
func cost(b *v1beta1.QuorumLossBackup) string {
	of := "of " + b.Time.UTC().Format(time.RFC3339)
	if b.Lost == nil {
		return of + ", and loses what was written later"
	}
	return fmt.Sprintf("%s, and loses %d revisions", of, *b.Lost)
}

// mentions says whether the message of Progressing names something that is still to come.
func mentions(reason string) bool {
	return v1beta1.CurrentReason(reason) != v1beta1.ReasonUpToDate && reason != v1beta1.ReasonRefused // Degraded says what was refused
}

// volumesOf says how far the volumes are that get the data of a backup.
func volumesOf(r *v1beta1.RestoreStatus) []string {
	var all []string
	if r.Progress != "" {
		all = append(all, "restore: waiting for "+r.Progress)
	}
	if r.Problem != "" {
		all = append(all, "restore: "+r.Problem)
	}
	return all
}

func underWay(backups []v1beta1.EtcdBackup) []string {
	var all []string
	for _, b := range Newest(backups) {
		switch b.Status.Phase {
		case v1beta1.BackupComplete, v1beta1.BackupFailed:
		default:
			all = append(all, progress.Line(progress.OfBackup(&b)))
		}
	}
	return all
}

// unprotected says how to get a verified backup where there is none.
func unprotected(c *v1beta1.EtcdCluster, backups []v1beta1.EtcdBackup) string {
	for i := range backups {
		if IsVerified(&backups[i]) {
			return ""
		}
	}
	why, store := "", ""
	if c.Spec.Backup == nil {
		why, store = ", and spec.backup.store names no store", " --store STORE"
	}
	return fmt.Sprintf("there is no verified backup%s: 'kubectl etcd backup %s%s --wait' makes one", why, c.Name, store)
}
