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

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/internal/plugin/progress"
)

// Waiting is the newest EtcdRestore that asks for exactly this and has not begun; nil if there is none.
func Waiting(all []Restore, want Spec) *Restore {
	for _, r := range newest(all) {
		begun := r.Status.Phase != "" && r.Status.Phase != PhasePending && r.Status.Phase != PhasePreviewed
		if !begun && r.DeletionTimestamp == nil && asksFor(r.Spec, want) {
			return &r
		}
	}
	return nil
}

// asksFor says whether a restore is the one that is wanted, whatever it was confirmed with.
func asksFor(is, want Spec) bool {
	is.Confirm = ""
	if want.KeepFor == nil {
		is.KeepFor = nil
	}
	return reflect.DeepEqual(is, want)
}

// Undoable is the newest EtcdRestore of the cluster that can still be undone, or is being undone; else why there is none.
func Undoable(all []Restore, cluster string, now time.Time) (r *Restore, why string) {
	for _, r := range newest(all) {
		if r.Spec.Cluster == cluster && r.Spec.Confirm != "" {
			return &r, settled(&r, now)
		}
	}
	return nil, fmt.Sprintf("nothing was restored into %s: there is nothing to undo", cluster)
}

// settled says why a restore cannot be undone; empty if it can.
func settled(r *Restore, now time.Time) string {
	complete, until := meta.FindStatusCondition(r.Status.Conditions, ConditionComplete), r.Status.UndoUntil
	isRunning := r.Status.Phase == PhaseBackingUp || r.Status.Phase == PhaseRestoring || r.Status.Phase == PhaseUndoing
	switch {
	case r.Status.Phase == PhaseUndone:
		return fmt.Sprintf("%s %s is undone already", Kind, r.Name)
	case complete != nil && complete.Reason == ReasonReplaced:
		return fmt.Sprintf("%s %s can no longer be undone: %s", Kind, r.Name, complete.Message)
	case isRunning:
		return "" // it is stopped
	case until == nil:
		return fmt.Sprintf("%s %s has changed nothing: there is nothing to undo", Kind, r.Name)
	case !now.Before(until.Time):
		return fmt.Sprintf("%s %s could be undone until %s: the volumes that it set aside are no longer kept", Kind, r.Name, clock(until))
	}
	return ""
}

func newest(all []Restore) []Restore {
	return slices.SortedFunc(slices.Values(all), func(a, b Restore) int {
		return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), cmp.Compare(b.Name, a.Name))
	})
}

// IsPreviewed says whether the preview can be shown; problem says why there is none.
func IsPreviewed(r *Restore) (is bool, problem string) {
	previewed := meta.FindStatusCondition(r.Status.Conditions, ConditionPreviewed)
	switch {
	case previewed == nil || !isSeen(r):
		return false, ""
	case previewed.Status == metav1.ConditionTrue:
		return r.Status.Preview != nil && r.Status.Preview.Confirm != "", ""
	case previewed.Reason == v1alpha1.ReasonRefused:
		return false, previewed.Message
	}
	return false, ""
}

// isSeen says whether the status is about the spec as it is.
func isSeen(r *Restore) bool { return r.Status.ObservedGeneration >= r.Generation }

// Words is a preview in words.
func Words(r *Restore, now time.Time) string {
	p := r.Status.Preview
	var out strings.Builder
	fmt.Fprintf(&out, "All data of EtcdCluster %s would be replaced by backup %s:\n", r.Spec.Cluster, cmp.Or(p.Backup, r.Spec.Backup))
	fmt.Fprintf(&out, "  revision   %d\n", p.Revision)
	if p.Time != nil {
		ago := duration.HumanDuration(now.Sub(p.Time.Time))
		fmt.Fprintf(&out, "  time       %s, %s ago: what was written later is lost\n", clock(p.Time), ago)
	}
	if p.Keys != nil {
		fmt.Fprintf(&out, "  keys       %d\n", *p.Keys)
	}
	if p.LostRevisions != nil {
		fmt.Fprintf(&out, "  lost       %d revisions\n", *p.LostRevisions)
	}
	if p.LastDrill != nil {
		fmt.Fprintf(&out, "  takes      about %s, as the last trial of the backup did; clients are not served meanwhile\n", p.LastDrill.Duration)
	}
	safety := "A backup of the data as it is now is taken first."
	if r.Spec.SkipSafetyBackup {
		safety = "No backup of the data as it is now is taken."
	}
	fmt.Fprintf(&out, "%s The volumes of today are set aside, not deleted: 'kubectl etcd undo' brings them back.\n", safety)
	return out.String()
}

// Command is what confirms the restore.
func Command(r *Restore) string {
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
func Progress(r *Restore) progress.Progress {
	what := "restore " + r.Name
	if r.Spec.Undo {
		what = "undo of " + what
	}
	return progress.Progress{What: what, Message: cmp.Or(r.Status.Message, strings.ToLower(r.Status.Phase), "it is about to begin")}
}

// Ended says whether a confirmed restore, or its undo, has come to an end, and what is wrong if it has not gone well.
func Ended(r *Restore) (ended bool, problem string) {
	done := PhaseComplete
	if r.Spec.Undo {
		done = PhaseUndone
	}
	complete := meta.FindStatusCondition(r.Status.Conditions, ConditionComplete)
	switch {
	case !isSeen(r):
		return false, ""
	case r.Status.Phase == done:
		return true, ""
	case complete != nil && complete.Reason == ReasonReplaced:
		return true, complete.Message
	case complete != nil && complete.Reason == ReasonUnconfirmed && !r.Spec.Undo:
		return true, "nothing was restored: the preview was made again meanwhile; look at it with --preview"
	}
	return false, ""
}

func clock(at *metav1.Time) string { return at.UTC().Format(time.RFC3339) }

// Result says what there is after a restore that has gone well, or its undo.
func Result(r *Restore) string {
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

// Pending are restores that have yet to come to an end, each in a sentence.
func Pending(all []Restore, cluster string) []string {
	var sentences []string
	for _, r := range newest(all) {
		isOver := r.Status.Phase == PhaseComplete && !r.Spec.Undo || r.Status.Phase == PhaseUndone
		switch {
		case r.Spec.Cluster != cluster || isOver:
		case r.Status.Phase == PhasePreviewed && r.Spec.Confirm == "" && r.Status.Preview != nil:
			sentences = append(sentences, fmt.Sprintf("restore %s is not confirmed, and does nothing; to begin it: %s", r.Name, Command(&r)))
		default:
			sentences = append(sentences, progress.Line(Progress(&r)))
		}
	}
	return sentences
}
