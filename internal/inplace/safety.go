package inplace

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
)

// SafetyBackup is the name of the backup of what the cluster has before the restore.
func SafetyBackup(r *v1alpha1.EtcdRestore) string { return r.Name + "-safety" }

// skip is what a person may do who cannot, or need not, wait for the safety backup.
const skip = "set spec.skipSafetyBackup to true to restore without it"

// backUpFirst waits for the safety backup as long as it takes: only a person can say that none is needed.
func backUpFirst(v View) Step {
	if v.Restore.Spec.SkipSafetyBackup {
		return nil
	}
	name := SafetyBackup(v.Restore)
	i := slices.IndexFunc(v.Backups, func(b v1alpha1.EtcdBackup) bool { return b.Name == name })
	if i < 0 {
		return BackUp{Name: name, Store: storeOf(v)}
	}
	b := &v.Backups[i]
	if b.Annotations[v1alpha1.AnnotationRestore] != string(v.Restore.UID) {
		return backingUp(v, fmt.Sprintf("EtcdBackup %s is not of this EtcdRestore: delete it, which leaves what is stored, or create an "+
			"EtcdRestore of another name", name))
	}
	complete := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionComplete)
	if complete == nil || complete.Status != metav1.ConditionTrue {
		return backingUp(v, fmt.Sprintf("the restore waits for the safety backup %s%s; %s", name, quoted(complete), skip))
	}
	return awaitTrial(v, b)
}

// storeOf is where the safety backup goes: where the cluster's backups go, or else where the one lies that is restored.
func storeOf(v View) string {
	if own := v.Cluster.Spec.Backup; own != nil && own.Store != "" {
		return own.Store
	}
	b, _ := chosen(v)
	return cmp.Or(v.Restore.Spec.Store, b.Status.Store)
}

// awaitTrial waits for the trial of the safety backup, if one is wanted.
func awaitTrial(v View, b *v1alpha1.EtcdBackup) Step {
	verified := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionVerified)
	switch {
	case verified == nil:
	case verified.Status == metav1.ConditionTrue, verified.Reason == v1alpha1.ReasonNotWanted, verified.Reason == v1alpha1.ReasonEncrypted:
		return nil
	case verified.Status == metav1.ConditionFalse:
		return backingUp(v, fmt.Sprintf("the safety backup %s has failed its trial%s; delete it, and another one is made, or %s", b.Name,
			quoted(verified), skip))
	}
	return backingUp(v, fmt.Sprintf("the restore waits for the trial of the safety backup %s%s; %s", b.Name, quoted(verified), skip))
}

func quoted(c *metav1.Condition) string {
	if c == nil || c.Message == "" {
		return ""
	}
	return ": " + c.Message
}

func backingUp(v View, message string) Step {
	step := wait(v, v1alpha1.RestoreBackingUp, v1alpha1.ReasonSafetyBackup, message)
	step.Status.SafetyBackup = SafetyBackup(v.Restore)
	return step
}
