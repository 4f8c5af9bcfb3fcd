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

	"github.com/etcd-operator/etcd-operator/internal/plugin/progress"
)

// Waiting is the newest EtcdRestore that asks for exactly this and was not confirmed yet; nil if there is none.
func Waiting(all []Restore, want Spec) *Restore {
	for _, r := range newest(all) {
		if r.Spec.Confirm == "" && !r.Spec.Undo && r.DeletionTimestamp == nil && asksFor(r.Spec, want) {
			return &r
		}
	}
	return nil
}

// asksFor says whether a restore is the one that is wanted. What was not chosen may have a default.
func asksFor(is, want Spec) bool {
	if want.KeepFor == nil {
		is.KeepFor = nil
	}
	return reflect.DeepEqual(is, want)
}

// Undoable is the newest EtcdRestore of the cluster that can still be undone, or is being undone; else why there is none.
func Undoable(all []Restore, cluster string, now time.Time) (*Restore, string) {
	why := fmt.Sprintf("nothing was restored into %s: there is nothing to undo", cluster)
	for _, r := range newest(all) {
		if r.Spec.Cluster != cluster || r.Spec.Confirm == "" {
			continue
		}
		until := r.Status.UndoUntil
		switch {
		case r.Status.Phase == PhaseUndone:
			return nil, fmt.Sprintf("%s %s is undone already", Kind, r.Name)
		case until == nil:
			return nil, fmt.Sprintf("%s %s has set no volumes aside: there is nothing to undo", Kind, r.Name)
		case !now.Before(until.Time):
			return nil, fmt.Sprintf("%s %s could be undone until %s: the volumes that it set aside are no longer kept",
				Kind, r.Name, clock(until))
		}
		return &r, ""
	}
	return nil, why
}

func newest(all []Restore) []Restore {
	return slices.SortedFunc(slices.Values(all), func(a, b Restore) int {
		return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), cmp.Compare(b.Name, a.Name))
	})
}

// IsPreviewed says whether the preview can be shown; problem says why there will be none.
func IsPreviewed(r *Restore) (is bool, problem string) {
	if r.Status.Phase == PhaseFailed {
		return false, r.Status.Message
	}
	previewed := meta.FindStatusCondition(r.Status.Conditions, ConditionPreviewed)
	return previewed != nil && previewed.Status == metav1.ConditionTrue && r.Status.Preview != nil && r.Status.Preview.Confirm != "", ""
}

// Words is a preview in words.
func Words(r *Restore, now time.Time) string {
	p := r.Status.Preview
	var out strings.Builder
	fmt.Fprintf(&out, "All data of EtcdCluster %s would be replaced by backup %s:\n", r.Spec.Cluster, cmp.Or(p.Backup, r.Spec.Backup))
	fmt.Fprintf(&out, "  revision   %d\n", p.Revision)
	if p.Time != nil {
		fmt.Fprintf(&out, "  time       %s, %s ago: what was written later is lost\n", clock(p.Time), duration.HumanDuration(now.Sub(p.Time.Time)))
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
	switch r.Status.Phase {
	case done:
		return true, ""
	case PhaseFailed:
		return true, cmp.Or(r.Status.Message, "it failed")
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
