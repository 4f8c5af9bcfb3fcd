// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package restoring says what kubectl etcd requests when it restores, and how it shows what the operator answers.
//
// It must never do I/O: what it says follows from objects and from what the user chose.
package restoring

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/plugin/progress"
)

// longestName is how long the part of a generated name may be that is given: the safety backup has that name, too.
const longestName = 50

// New is an EtcdRestore that requests a preview, and nothing else yet.
func New(namespace string, spec v1beta1.EtcdRestoreSpec) *v1beta1.EtcdRestore {
	return &v1beta1.EtcdRestore{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: spec.Cluster[:min(len(spec.Cluster), longestName)] + "-"},
		Spec:       spec,
	}
}

// Waiting is the newest EtcdRestore that requests exactly this and has not begun; nil if there is none.
func Waiting(all []v1beta1.EtcdRestore, want v1beta1.EtcdRestoreSpec) *v1beta1.EtcdRestore {
	for _, r := range newest(all) {
		begun := r.Status.Phase != "" && r.Status.Phase != v1beta1.RestorePending && r.Status.Phase != v1beta1.RestorePreviewed
		if !begun && r.DeletionTimestamp == nil && asksFor(r.Spec, want) {
			return &r
		}
	}
	return nil
}

// asksFor says whether a restore is the one that is wanted, whatever it was confirmed with.
func asksFor(is, want v1beta1.EtcdRestoreSpec) bool {
	is.Confirm = ""
	if want.KeepFor == nil {
		is.KeepFor = nil
	}
	return reflect.DeepEqual(is, want)
}

// Undoable is the newest EtcdRestore of the cluster that can still be undone, or is being undone; else why there is none.
func Undoable(all []v1beta1.EtcdRestore, cluster string, now time.Time) (r *v1beta1.EtcdRestore, why string) {
	for _, r := range newest(all) {
		if r.Spec.Cluster == cluster && r.Spec.Confirm != "" {
			return &r, settled(&r, now)
		}
	}
	return nil, fmt.Sprintf("nothing was restored into %s: there is nothing to undo", cluster)
}

// settled says why a restore cannot be undone; empty if it can.
func settled(r *v1beta1.EtcdRestore, now time.Time) string {
	complete, until := meta.FindStatusCondition(r.Status.Conditions, v1beta1.ConditionComplete), r.Status.UndoUntil
	phase := r.Status.Phase
	isRunning := phase == v1beta1.RestoreBackingUp || phase == v1beta1.RestoreRunning || phase == v1beta1.RestoreUndoing
	switch {
	case phase == v1beta1.RestoreUndone:
		return fmt.Sprintf("EtcdRestore %s is undone already", r.Name)
	case complete != nil && complete.Reason == v1beta1.ReasonReplaced:
		return fmt.Sprintf("EtcdRestore %s can no longer be undone: %s", r.Name, complete.Message)
	case isRunning:
		return "" // it is stopped
	case r.Spec.IsPartial() && phase == v1beta1.RestoreComplete && r.Status.SafetyBackup != "":
		return ""
	case until == nil:
		return fmt.Sprintf("EtcdRestore %s has changed nothing: there is nothing to undo", r.Name)
	case !now.Before(until.Time):
		return fmt.Sprintf("EtcdRestore %s could be undone until %s: the volumes that it set aside are no longer kept", r.Name, clock(until))
	}
	return ""
}

func newest(all []v1beta1.EtcdRestore) []v1beta1.EtcdRestore {
	return slices.SortedFunc(slices.Values(all), func(a, b v1beta1.EtcdRestore) int {
		return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), cmp.Compare(b.Name, a.Name))
	})
}

// IsPreviewed says whether the preview can be shown; problem says why there is none.
func IsPreviewed(r *v1beta1.EtcdRestore) (is bool, problem string) {
	previewed := meta.FindStatusCondition(r.Status.Conditions, v1beta1.ConditionPreviewed)
	switch {
	case previewed == nil || !isSeen(r):
		return false, ""
	case previewed.Status == metav1.ConditionTrue:
		return r.Status.Preview != nil && r.Status.Preview.Confirm != "", ""
	case previewed.Reason == v1beta1.ReasonRefused:
		return false, previewed.Message
	}
	return false, ""
}

// isSeen says whether the status is about the spec as it is.
func isSeen(r *v1beta1.EtcdRestore) bool { return r.Status.ObservedGeneration >= r.Generation }

// Words is a preview in words.
func Words(r *v1beta1.EtcdRestore, now time.Time) string {
	p := r.Status.Preview
	if p.Changes != nil {
		return prefixWords(r, now)
	}
	var out strings.Builder
	fmt.Fprintf(&out, "All data of EtcdCluster %s would be replaced by backup %s:\n", r.Spec.Cluster, cmp.Or(p.Backup, r.Spec.Backup))
	fmt.Fprintf(&out, "  revision   %d%s\n", p.Revision, replayed(p.Log))
	if p.Time != nil {
		ago := duration.HumanDuration(now.Sub(p.Time.Time))
		fmt.Fprintf(&out, "  time       %s, %s ago: what was written later is lost\n", clock(p.Time), ago)
	}
	if p.Keys != nil {
		fmt.Fprintf(&out, "  keys       %d\n", *p.Keys)
	}
	fmt.Fprintf(&out, "  lost       %s\n", lost(p))
	if l := p.Log; l != nil && l.NextRevision > 0 && l.NextAt != nil {
		fmt.Fprintf(&out, "  left out   from revision %d of %s on\n", l.NextRevision, l.NextAt.UTC().Format(time.RFC3339Nano))
	}
	if took := cmp.Or(p.LastVerificationDuration, p.LastDrill); took != nil { //nolint:staticcheck // an operator of 0.7 writes the old one
		fmt.Fprintf(&out, "  takes      about %s, as the last verification of a backup did\n", took.Duration)
	}
	if p.Message != "" {
		fmt.Fprintf(&out, "%s\n", p.Message)
	}
	out.WriteString(follows(r))
	return out.String()
}

// lost is what the cluster has more than the backup, as far as revisions can be compared.
func lost(p *v1beta1.RestorePreview) string {
	switch {
	case p.LostRevisions == nil && p.FromRevision > 0:
		return fmt.Sprintf("all up to revision %d: the backup is of another cluster, or from before an earlier restore", p.FromRevision)
	case p.LostRevisions == nil:
		return "what the cluster has; which revision that is, is not known"
	case p.Message != "":
		return fmt.Sprintf("%d revisions or more", *p.LostRevisions)
	}
	return fmt.Sprintf("%d revisions, and what is written from now on", *p.LostRevisions)
}

// follows says what the operator does once the preview is confirmed.
func follows(r *v1beta1.EtcdRestore) string {
	safety := "A backup of the data as it is now is taken first; the restore waits for it."
	if r.Spec.SkipSafetyBackup {
		safety = "No backup of the data as it is now is taken."
	}
	return fmt.Sprintf(`%s
The members of today serve while new volumes are filled; what is written then is lost, too. Clients are without etcd only for the restart
after that.
Users, roles, passwords and authentication of etcd become those of the backup; then EtcdUsers, EtcdRoles and spec.auth are applied again.
Revisions go on above all that clients are known to have seen: those that watch list again.
The volumes of today are set aside for %s: until then 'kubectl etcd undo %s -n %s' brings their data back.
`, safety, duration.HumanDuration(r.Spec.Keep()), r.Spec.Cluster, r.Namespace)
}

// Command is what confirms the restore.
func Command(r *v1beta1.EtcdRestore) string {
	source := "--backup " + r.Spec.Backup
	if r.Spec.Store != "" {
		source = "--store " + r.Spec.Store
		if from := r.Spec.From; from != nil && from.Cluster != "" {
			source += " --from " + from.Cluster
		}
		if from := r.Spec.From; from != nil && from.At != "" {
			source += " --at " + from.At
		}
	}
	source += flags(r.Spec.Target)
	if r.Spec.IsPartial() {
		source += " --prefix " + quote(r.Spec.Prefix)
	}
	if r.Spec.SkipSafetyBackup {
		source += " --skip-safety-backup"
	}
	if r.Spec.Decryption != nil {
		source += " --decryption " + r.Spec.Decryption.Secret
	}
	if r.Spec.KeepFor != nil {
		source += " --keep-for " + r.Spec.KeepFor.Duration.String()
	}
	return fmt.Sprintf("kubectl etcd restore %s -n %s %s --confirm '%s'", r.Spec.Cluster, r.Namespace, source, r.Status.Preview.Confirm)
}

// Progress is how far a confirmed restore is, or its undo.
func Progress(r *v1beta1.EtcdRestore) progress.Progress {
	what := "restore " + r.Name
	if r.Spec.Undo {
		what = "undo of " + what
	}
	return progress.Progress{What: what, Message: cmp.Or(r.Status.Message, strings.ToLower(string(r.Status.Phase)), "it is about to begin")}
}

// Ended says whether a confirmed restore, or its undo, has come to an end, and what is wrong if it has failed.
func Ended(r *v1beta1.EtcdRestore) (ended bool, problem string) {
	done := v1beta1.RestoreComplete
	if r.Spec.Undo {
		done = v1beta1.RestoreUndone
	}
	complete := meta.FindStatusCondition(r.Status.Conditions, v1beta1.ConditionComplete)
	switch {
	case !isSeen(r):
		return false, ""
	case r.Status.Phase == done:
		return true, ""
	case complete != nil && complete.Reason == v1beta1.ReasonReplaced:
		return true, complete.Message
	case complete != nil && complete.Reason == v1beta1.ReasonUnconfirmed && !r.Spec.Undo:
		return true, "nothing was restored: the preview was made again meanwhile; look at it with --preview"
	}
	return false, ""
}

func clock(at *metav1.Time) string { return at.UTC().Format(time.RFC3339) }

// Result says what there is after a restore that has succeeded, or its undo.
func Result(r *v1beta1.EtcdRestore) string {
	if r.Spec.IsPartial() {
		return prefixResult(r)
	}
	if r.Spec.Undo {
		return fmt.Sprintf("EtcdCluster %s serves the data again that it had before restore %s", r.Spec.Cluster, r.Name)
	}
	text := "EtcdCluster " + r.Spec.Cluster + " serves the data of the backup"
	if p := r.Status.Preview; p != nil && p.Revision > 0 {
		text += fmt.Sprintf(", which had revision %d", p.Revision)
	}
	if until := r.Status.UndoUntil; until != nil {
		text += fmt.Sprintf("; 'kubectl etcd undo %s -n %s' brings back what was there, until %s", r.Spec.Cluster, r.Namespace, clock(until))
	}
	return text
}

// Pending are restores that have not ended, each in a sentence.
func Pending(all []v1beta1.EtcdRestore, cluster string) []string {
	var sentences []string
	for _, r := range newest(all) {
		isOver := r.Status.Phase == v1beta1.RestoreComplete && !r.Spec.Undo || r.Status.Phase == v1beta1.RestoreUndone
		switch {
		case r.Spec.Cluster != cluster || isOver:
		case r.Status.Phase == v1beta1.RestorePreviewed && r.Spec.Confirm == "" && r.Status.Preview != nil:
			sentences = append(sentences, fmt.Sprintf("restore %s is not confirmed, and does nothing; to begin it: %s", r.Name, Command(&r)))
		default:
			sentences = append(sentences, progress.Line(Progress(&r)))
		}
	}
	return sentences
}
