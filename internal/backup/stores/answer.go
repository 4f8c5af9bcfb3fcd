// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package stores

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
)

// record is what the answer of a Job that has ended means.
func record(v View) Record {
	found, looked, end := split(v.Job.Lines)
	status := v.status()
	asked := v.asked()
	status.CheckedBy, status.CheckedAt = v.Job.UID, ptr.To(metav1.NewTime(v.Now))
	status.ObservedGeneration, status.Request, status.Sources = asked.Generation, asked.Request, asked.Sources
	switch {
	case end.Failed != nil:
		status.Failures++
		return Record{Status: v.is(status, metav1.ConditionFalse, reasonOf(*end.Failed), end.Failed.Message)}
	case end.Done == nil || end.Done.Check == nil:
		return Record{Status: unsaid(v, status)}
	}
	status.Failures = 0
	if asked.Try {
		status.TriedAt, status.ClockSkew = status.CheckedAt, nil
	}
	checked := *end.Done.Check
	if checked.Skew != 0 {
		status.ClockSkew = &metav1.Duration{Duration: checked.Skew}
	}
	l := list(v, found, checked, looked.Unseen)
	count(&status, l, checked)
	reason, message := usable(v, l, checked)
	step := l.step
	step.Memory = looked.Memory
	step.Status = v.is(status, metav1.ConditionTrue, reason, message)
	return step
}

// split is what was found, what is known of foreign objects, and the line by which the Job ended.
func split(lines []jobspec.Line) (found []jobspec.Found, looked jobspec.Looked, end jobspec.Line) {
	for _, line := range lines {
		if line.Found != nil {
			found = append(found, *line.Found)
		}
		if line.Looked != nil {
			looked.Unseen = append(looked.Unseen, line.Looked.Unseen...)
			if line.Looked.Memory != nil {
				looked.Memory = line.Looked.Memory
			}
		}
		end = line
	}
	return found, looked, end
}

// unsaid is the status after a Job that ended without a word, as one does that is evicted. That says nothing of the store, unless
// it happens again.
func unsaid(v View, status v1beta1.EtcdBackupStoreStatus) v1beta1.EtcdBackupStoreStatus {
	status.Failures++
	if status.Failures == 1 && v.isUsable() {
		return status
	}
	why := cmp.Or(v.Job.Trouble, v.Job.Unread)
	return v.is(status, metav1.ConditionFalse, v1beta1.ReasonCheckFailed, "the Job that looks at the store failed: "+why)
}

// usable is the reason and the message of a store that can be used. Whether it deletes is known after a look that tried.
func usable(v View, l listing, checked jobspec.Checked) (reason, message string) {
	reason, message = v1beta1.ReasonUsable, "the store can be listed, written and read"
	switch before := v.ready(); {
	case checked.Kept != "":
		reason, message = v1beta1.ReasonAppendOnly, message+", but deletes nothing: "+checked.Kept
	case !v.asked().Try && v.isUsable() && before.Reason == v1beta1.ReasonAppendOnly:
		kept, _, _ := strings.Cut(before.Message, ofOthers)
		reason, message = before.Reason, kept
	}
	if l.lost > 0 {
		message += fmt.Sprintf("; the log of the Job has lost %d backups of its list, so that no EtcdBackup is deleted", l.lost)
	}
	return reason, message + unseen(checked)
}

// ofOthers begins what is said of objects that are not the operator's.
const ofOthers = "; of foreign objects, "

// unseen says which foreign objects may hold snapshots that are not known; empty if none does. The store can be used all the same.
func unseen(checked jobspec.Checked) string {
	var parts []string
	if checked.Waiting > 0 {
		parts = append(parts, fmt.Sprintf("%d wait to be looked at, the newest first, some at each look: to restore a snapshot that is "+
			"among them, create an EtcdBackup with its path in spec.found; a prefix of its own spares the store all of this", checked.Waiting))
	}
	if checked.Unread > 0 {
		parts = append(parts, fmt.Sprintf("%d cannot be read, and are tried again later", checked.Unread))
	}
	switch {
	case len(parts) == 0:
		return ""
	case checked.Trouble != "":
		return ofOthers + strings.Join(parts, "; ") + ": " + checked.Trouble
	}
	return ofOthers + strings.Join(parts, "; ")
}

// count is what the status says of all backups. The sums are those of the Job: its log may have lost lines.
func count(status *v1beta1.EtcdBackupStoreStatus, l listing, checked jobspec.Checked) {
	status.Backups = int32(min(max(checked.Backups, len(l.found)), 1<<31-1))
	status.Hidden = int32(min(l.hidden, 1<<31-1))
	status.StoredSize = v1beta1.SizeOf(checked.Stored)
	status.Newest = l.newest()
	status.Shown = l.view.shown(l.after())
}

// running is the status while a Job looks. A store stays as usable as it was, unless Kubernetes says for some time that the Job
// does not run.
func running(v View) v1beta1.EtcdBackupStoreStatus {
	late := v.Now.Sub(v.Job.Created) >= startsWithin
	switch {
	case late && v.Job.Trouble != "":
		return v.unusable(v1beta1.ReasonCheckBlocked, "the Job that looks at the store does not run: "+v.Job.Trouble)
	case v.Store.Status.CheckedAt != nil && v.Store.Status.ObservedGeneration == v.Store.Generation:
		return v.status()
	}
	message := "the store is being looked at for the first time with this spec"
	if late {
		message += fmt.Sprintf("; that was begun at %s: kubectl describe pods -l job-name=%s --namespace=%s says what it waits for",
			v.Job.Created.UTC().Format(time.RFC3339), JobName(&v.Store), v.Store.Namespace)
	}
	return v.is(v.status(), metav1.ConditionUnknown, v1beta1.ReasonFirstCheck, message)
}

func (v View) ready() metav1.Condition {
	if c := meta.FindStatusCondition(v.Store.Status.Conditions, v1beta1.ConditionReady); c != nil {
		return *c
	}
	return metav1.Condition{}
}

// isUsable says whether the store was usable, as the spec is now.
func (v View) isUsable() bool {
	ready := v.ready()
	return ready.Status == metav1.ConditionTrue && ready.ObservedGeneration == v.Store.Generation
}

func (v View) unusable(reason, message string) v1beta1.EtcdBackupStoreStatus {
	return v.is(v.status(), metav1.ConditionFalse, reason, message)
}

// longestMessage is in bytes. Kubernetes takes 32768 characters.
const longestMessage = 4096

// is is the status with that condition.
func (v View) is(
	status v1beta1.EtcdBackupStoreStatus, value metav1.ConditionStatus, reason, message string,
) v1beta1.EtcdBackupStoreStatus {
	meta.SetStatusCondition(&status.Conditions, metav1.Condition{
		Type: v1beta1.ConditionReady, Status: value, Reason: reason, Message: shortened(message, longestMessage),
		ObservedGeneration: v.Store.Generation, LastTransitionTime: metav1.NewTime(v.Now),
	})
	return status
}

// reasons of what stores answer, by store.Kind.
var reasons = map[string]string{
	"unknown": v1beta1.ReasonStoreUnknown, "invalid": v1beta1.ReasonStoreInvalid, "not found": v1beta1.ReasonStoreInterfered,
	"no bucket": v1beta1.ReasonStoreNoBucket, "exists": v1beta1.ReasonStoreInterfered, "changed": v1beta1.ReasonStoreInterfered,
	"too large": v1beta1.ReasonStoreInterfered, "forbidden": v1beta1.ReasonStoreForbidden, "locked": v1beta1.ReasonStoreLocked,
	"full": v1beta1.ReasonStoreFull, "skewed": v1beta1.ReasonStoreClockSkew, "wrong region": v1beta1.ReasonStoreWrongRegion,
	"untrusted": v1beta1.ReasonStoreUntrusted, "slow": v1beta1.ReasonStoreSlow, "busy": v1beta1.ReasonStoreBusy,
	"unreachable": v1beta1.ReasonStoreUnreachable, "unsupported": v1beta1.ReasonStoreUnsupported,
}

// reasonOf is how the store answered, as a reason. What a Job of another version says is none that Kubernetes must take.
func reasonOf(failed jobspec.Failed) string {
	if reason, known := reasons[failed.Kind]; known {
		return reason
	}
	return v1beta1.ReasonCheckFailed
}
