package diagnosis

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/plugin/screen"
)

// verifiedAge is how old the newest verified backup may be: the alert EtcdNoVerifiedBackup.
const verifiedAge = 48 * time.Hour

// backups say whether there is one that can be restored, and whether the next ones can be made.
func backups(f Facts) []Finding {
	var findings []Finding
	if b := f.Cluster.Status.Backup; b != nil {
		if c := meta.FindStatusCondition(b.Conditions, v1beta1.ConditionBackedUp); c != nil && c.Status == metav1.ConditionFalse {
			findings = append(findings, Finding{WillBeAProblem, sentence(c.Type, *c), "correct what the message names", pageBackup})
		}
		if c := meta.FindStatusCondition(b.Conditions, v1beta1.ConditionRetentionApplied); c != nil && c.Status == metav1.ConditionFalse {
			findings = append(findings, Finding{
				Hint, sentence(c.Type, *c), "let the store delete, or delete old backups there", "operations/backup.md#deleting",
			})
		}
	}
	if !f.knows(Backups) {
		return findings
	}
	return append(append(findings, newest(f)...), verified(f)...)
}

// newest is what the last backup that has ended says, where no schedule says it.
func newest(f Facts) []Finding {
	hasSchedule := f.Cluster.Spec.Backup != nil && f.Cluster.Spec.Backup.Schedule != ""
	for _, b := range f.backups() {
		proof := meta.FindStatusCondition(b.Status.Conditions, v1beta1.ConditionVerified)
		switch {
		case b.Status.Phase == v1beta1.BackupFailed && !hasSchedule:
			complete := meta.FindStatusCondition(b.Status.Conditions, v1beta1.ConditionComplete)
			what := "the newest backup, " + b.Name + ", has failed"
			if complete != nil {
				what += ": " + reasoned(complete.Reason, complete.Message)
			}
			return one(WillBeAProblem, what, "correct what it names, and make another one: "+makeOne(f), pageBackup)
		case b.Status.Phase == v1beta1.BackupComplete && proof != nil && proof.Status == metav1.ConditionFalse:
			return one(DataAtRisk, "the newest backup, "+b.Name+", cannot be restored: "+reasoned(proof.Reason, proof.Message),
				"make another one: "+makeOne(f), pageBackup)
		case b.Status.Phase == v1beta1.BackupComplete, b.Status.Phase == v1beta1.BackupFailed:
			return nil
		}
	}
	return nil
}

// verified says that none can be relied on, or only an old one.
func verified(f Facts) []Finding {
	var best *v1beta1.EtcdBackup
	for _, b := range f.backups() {
		if screen.IsVerified(&b) {
			best = &b
			break
		}
	}
	wanted := f.Cluster.Spec.Backup != nil && f.Cluster.Spec.Backup.Schedule != "" && f.Cluster.Spec.Backup.Verify != v1beta1.VerifyNever
	since := f.Cluster.CreationTimestamp.Time
	if best != nil {
		since = screen.TakenAt(best)
	}
	old := f.Now.Sub(since) > verifiedAge
	switch {
	case best == nil && wanted && old:
		return one(WillBeAProblem, "there is no verified backup, although there is a schedule",
			"see why backups fail or are not verified: kubectl etcd backups "+
				f.Cluster.Name, "runbooks/EtcdNoVerifiedBackup.md")
	case best == nil:
		return one(Hint, "there is no verified backup", makeOne(f), "operations/backup.md")
	case old && wanted:
		return one(WillBeAProblem, fmt.Sprintf("the newest verified backup, %s, is %s old", best.Name, age(f.Now.Sub(since))),
			"see why later ones fail or are not verified: kubectl etcd backups "+f.Cluster.Name, "runbooks/EtcdNoVerifiedBackup.md")
	case old:
		return one(Hint, fmt.Sprintf("the newest verified backup, %s, is %s old, and there is no schedule", best.Name, age(f.Now.Sub(since))),
			"set spec.backup.schedule, or make one: "+makeOne(f), "operations/backup.md#by-a-schedule")
	}
	return nil
}

func makeOne(f Facts) string {
	line := "kubectl etcd backup " + f.Cluster.Name + " -n " + f.Cluster.Namespace
	if f.Cluster.Spec.Backup == nil {
		line += " --store STORE"
	}
	return line + " --wait"
}

// stores are those that the cluster names, and that cannot be used.
func stores(f Facts) []Finding {
	if f.Cluster.Spec.Backup == nil || !f.knows(Stores) {
		return nil
	}
	name := f.Cluster.Spec.Backup.Store
	store := find(f.Stores, func(s v1beta1.EtcdBackupStore) bool { return s.Name == name })
	if store == nil {
		return one(WillBeAProblem, "spec.backup.store names EtcdBackupStore "+name+", which does not exist", "create it", "operations/stores.md")
	}
	c := meta.FindStatusCondition(store.Status.Conditions, v1beta1.ConditionReady)
	if c == nil || c.Status != metav1.ConditionFalse {
		return nil
	}
	return one(WillBeAProblem, "EtcdBackupStore "+name+" is not ready: "+reasoned(c.Reason, c.Message), "correct what the message names",
		"operations/stores.md#check-store-health")
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
			findings = append(findings, Finding{
				Hint, "EtcdRestore " + r.Name + " does not go on: " + reasoned(c.Reason, c.Message), "do what the message says, or delete it",
				"operations/restore.md#what-stops-a-restore",
			})
		}
	}
	return findings
}
