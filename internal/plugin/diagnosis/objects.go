// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// newest is what the last backup that has ended says of itself.
func newest(f Facts) []Finding {
	makeOne := "kubectl etcd backup CLUSTER --wait"
	if f.Cluster.Spec.Backup == nil {
		makeOne = "kubectl etcd backup CLUSTER --store STORE --wait"
	}
	for _, b := range f.backups() {
		if b.Status.Phase != v1beta1.BackupComplete && b.Status.Phase != v1beta1.BackupFailed {
			continue
		}
		if c := meta.FindStatusCondition(b.Status.Conditions, v1beta1.ConditionVerified); c != nil && c.Status == metav1.ConditionFalse {
			return advice{DataAtRisk, "make another one", makeOne, pageBackup}.of("the newest backup, " + b.Name + ": " + sentence(*c))
		}
		hasSchedule := f.Cluster.Spec.Backup != nil && f.Cluster.Spec.Backup.Schedule != "" // whose condition says it
		c := meta.FindStatusCondition(b.Status.Conditions, v1beta1.ConditionComplete)
		if c != nil && c.Status == metav1.ConditionFalse && !hasSchedule {
			return advice{WillBeAProblem, "correct what the message names, and make another one", makeOne, pageBackup}.of(
				"the newest backup, " + b.Name + ": " + sentence(*c))
		}
		return nil
	}
	return nil
}

// stores is what the store says that the cluster names.
func stores(f Facts) []Finding {
	if f.Cluster.Spec.Backup == nil {
		return nil
	}
	for _, s := range f.Stores {
		c := meta.FindStatusCondition(s.Status.Conditions, v1beta1.ConditionReady)
		if s.Name == f.Cluster.Spec.Backup.Store && c != nil && c.Status == metav1.ConditionFalse {
			return advice{
				WillBeAProblem, "correct what the message names", "kubectl describe etcdbackupstores.etcd-operator.dev " + s.Name,
				"operations/stores.md#check-store-health",
			}.of("EtcdBackupStore " + s.Name + ": " + sentence(*c))
		}
	}
	return nil
}

// restores are those in place that do not go on.
func restores(f Facts) []Finding {
	var findings []Finding
	for _, r := range f.Restores {
		c := meta.FindStatusCondition(r.Status.Conditions, v1beta1.ConditionComplete)
		if r.Spec.Cluster != f.Cluster.Name || c == nil || c.Status != metav1.ConditionFalse {
			continue
		}
		switch v1beta1.CurrentReason(c.Reason) {
		case v1beta1.ReasonRefused, v1beta1.ReasonRestoreFailing, v1beta1.ReasonSafetyBackup, v1beta1.ReasonUnconfirmed,
			v1beta1.ReasonPaused:
			findings = append(findings, advice{
				Hint, "do what the message says, or delete it", "kubectl describe etcdrestores.etcd-operator.dev " + r.Name,
				"operations/restore.md#what-stops-a-restore",
			}.of("EtcdRestore "+r.Name+": "+sentence(*c))...)
		}
	}
	return findings
}

// leaseExpired is after how long a Lease that is not renewed says that nobody leads, if it does not say so itself.
const leaseExpired = 15 * time.Second

// operator says that nobody writes conditions any more: the only thing that they cannot say themselves.
func operator(f Facts) []Finding {
	namespace, lease := f.Operator()
	since, led := f.led()
	if namespace == "" || led || !f.knows(Lease) {
		return nil
	}
	return advice{
		RedundancyLost, "see the operator's Pods and their logs", "kubectl get pods -n " + namespace, "runbooks/EtcdOperatorWithoutLeader.md",
	}.of("no replica of the operator holds Lease " + namespace + "/" + lease + since +
		": nothing heals, backs up or upgrades, and conditions stay as they were")
}

// led says whether a replica of the operator leads, and if none does since when.
func (f Facts) led() (since string, is bool) {
	if f.Lease == nil || ptr.Deref(f.Lease.Spec.HolderIdentity, "") == "" || f.Lease.Spec.RenewTime == nil {
		return "", false
	}
	expired := leaseExpired
	if s := f.Lease.Spec.LeaseDurationSeconds; s != nil {
		expired = time.Duration(*s) * time.Second
	}
	idle := f.Now.Sub(f.Lease.Spec.RenewTime.Time)
	// The clocks of this machine and of the operator's may differ: twice the time is no mistake.
	return ", since " + age(idle), idle <= 2*expired
}

// mostWarnings is how many warnings are said: the newest ones.
const mostWarnings = 5

// warned are the newest warnings of the last hour, each once.
func warned(f Facts) []Finding {
	var lines []string
	for _, e := range f.warnings() {
		line := fmt.Sprintf("%s ago %s %s: %s", age(f.Now.Sub(lastSeen(e))), e.InvolvedObject.Kind, e.InvolvedObject.Name,
			strings.Trim(e.Reason+": "+strings.TrimSpace(e.Message), ": "))
		if len(lines) < mostWarnings {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return advice{Hint, "see what they name", runEvents, "operations/troubleshoot.md#events"}.of(
		"warnings of the last hour: " + strings.Join(lines, "; "))
}

func age(d time.Duration) string { return duration.HumanDuration(d) }
