// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// safetyBackup is the backup of what the cluster had when that preview was confirmed; nil if there is none. One that was made for an
// earlier preview, whose confirmation has expired, lacks what was written since.
func safetyBackup(v View, p *v1beta1.RestorePreview) *v1beta1.EtcdBackup {
	for i := range v.Backups {
		b := &v.Backups[i]
		made := b.Annotations[v1beta1.AnnotationPreview]
		if isOurBackup(v, b) && (made == "" || made == madeAt(p)) {
			return b
		}
	}
	return nil
}

func isOurBackup(v View, b *v1beta1.EtcdBackup) bool {
	return b.Annotations[v1beta1.AnnotationRestore] == string(v.Restore.UID)
}

func madeAt(p *v1beta1.RestorePreview) string { return p.MadeAt.UTC().Format(time.RFC3339) }

// longestName is how long the name of an EtcdBackup may be.
const longestName = 63

// safetyName is the first one that no backup has which was made for an earlier preview.
func safetyName(v View) string {
	name := v.Restore.Name + "-safety"
	for i := 2; ; i++ {
		at := slices.IndexFunc(v.Backups, func(b v1beta1.EtcdBackup) bool { return b.Name == name })
		if at < 0 || !isOurBackup(v, &v.Backups[at]) {
			return name
		}
		suffix := fmt.Sprintf("-safety-%d", i)
		name = strings.TrimRight(v.Restore.Name[:min(len(v.Restore.Name), longestName-len(suffix))], "-.") + suffix
	}
}

// skip is what to do if the safety backup cannot, or need not, be waited for.
const skip = "set spec.skipSafetyBackup to true to restore without it"

// backUpFirst waits for the safety backup as long as it takes: only a person can say that none is needed.
func backUpFirst(v View) Step {
	if v.Restore.Spec.SkipSafetyBackup {
		return nil
	}
	b := safetyBackup(v, v.Restore.Status.Preview)
	if b == nil {
		return makeSafetyBackup(v, safetyName(v))
	}
	name := b.Name
	complete := meta.FindStatusCondition(b.Status.Conditions, v1beta1.ConditionComplete)
	if complete == nil || complete.Status != metav1.ConditionTrue {
		return backingUp(v, name, fmt.Sprintf("the restore waits for the safety backup %s%s; %s", name, quoted(complete), skip))
	}
	return awaitTrial(v, b)
}

func makeSafetyBackup(v View, name string) Step {
	recipients, problem := recipientsOf(v)
	isTaken := slices.ContainsFunc(v.Backups, func(b v1beta1.EtcdBackup) bool { return b.Name == name })
	switch {
	case isTaken:
		return backingUp(v, name, fmt.Sprintf("EtcdBackup %s is not of this EtcdRestore: delete it, which leaves what is stored, or create an "+
			"EtcdRestore of another name", name))
	case problem != "":
		return backingUp(v, name, problem+", or "+skip)
	}
	step := BackUp{Name: name, Store: storeOf(v), Recipients: recipients, Preview: madeAt(v.Restore.Status.Preview)}
	if b, _ := chosen(v); step.Store == "" {
		step.Snapshot = b.Spec.VolumeSnapshot
	}
	return step
}

// recipientsOf are the recipients of the safety backup, if the cluster names none for its backups: those of the backup that is
// restored, if it is encrypted.
func recipientsOf(v View) (recipients []string, problem string) {
	b, _ := chosen(v)
	own := v.Cluster.Spec.Backup
	switch {
	case own != nil && own.Encryption != nil, !b.Status.Encrypted:
		return nil, ""
	case b.Spec.Encryption != nil:
		return b.Spec.Encryption.Recipients, ""
	}
	return nil, fmt.Sprintf("EtcdBackup %s is encrypted, and the safety backup would not be: name its recipients in "+
		"spec.backup.encryption of EtcdCluster %s", b.Name, v.Cluster.Name)
}

// storeOf is the store of the safety backup: that of the cluster's backups, or else that of the backup that is restored. The undo of a
// prefix reads both backups, by one Job: they are in one store.
func storeOf(v View) string {
	if v.Restore.Spec.IsPartial() {
		return v.Store.Name
	}
	if own := v.Cluster.Spec.Backup; own != nil && own.Store != "" {
		return own.Store
	}
	b, _ := chosen(v)
	return cmp.Or(v.Restore.Spec.Store, b.Status.Store)
}

// awaitTrial waits for the trial of the safety backup, if one is wanted.
func awaitTrial(v View, b *v1beta1.EtcdBackup) Step {
	verified := meta.FindStatusCondition(b.Status.Conditions, v1beta1.ConditionVerified)
	switch {
	case verified == nil:
	case needsNoTrial(verified):
		return nil
	case verified.Status == metav1.ConditionFalse:
		return backingUp(v, b.Name, fmt.Sprintf("the safety backup %s has failed its trial%s; delete it, which leaves "+
			"what is stored, and another one is made, or %s", b.Name,
			quoted(verified), skip))
	}
	return backingUp(v, b.Name, fmt.Sprintf("the restore waits for the trial of the safety backup %s%s; %s", b.Name, quoted(verified), skip))
}

// needsNoTrial says whether the backup has passed its trial, or gets none.
func needsNoTrial(verified *metav1.Condition) bool {
	return verified.Status == metav1.ConditionTrue || verified.Reason == v1beta1.ReasonNotWanted ||
		verified.Reason == v1beta1.ReasonEncrypted
}

func quoted(c *metav1.Condition) string {
	if c == nil || c.Message == "" {
		return ""
	}
	return ": " + c.Message
}

func backingUp(v View, name, message string) Step {
	step := wait(v, v1beta1.RestoreBackingUp, v1beta1.ReasonSafetyBackup, message)
	step.Status.SafetyBackup = name
	return step
}
