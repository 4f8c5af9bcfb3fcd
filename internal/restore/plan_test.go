// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restore_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobs"
	"github.com/etcd-operator/etcd-operator/internal/restore"
)

// TestStories runs the scripts in testdata/etcdrestore. Each file is one story after another; "new" begins one, with an EtcdRestore er of
// cluster a, which has the revision 1000 and three volumes. Its words are fields of the spec. The other commands say what happens:
// "spec" changes the spec of er, "cluster" the cluster, "backup" a backup, "volume" a volume, "other" another EtcdRestore, "restore"
// how far the cluster has come, "search" what the Job says that looks for the target in the log; "after" is how much time
// goes by; "task" is what the Job of a restore of a prefix says. Each prints what the plan does until it waits.
//
// If it fails, run with -rewrite and read the diff before you commit it.
func TestStories(t *testing.T) { runStories(t, "testdata/etcdrestore") }

// TestPrefixStories runs the scripts in testdata/prefix in the same way: those of an EtcdRestore with a prefix.
func TestPrefixStories(t *testing.T) { runStories(t, "testdata/prefix") }

func runStories(t *testing.T, folder string) {
	datadriven.Walk(t, folder, func(t *testing.T, path string) {
		var w *requestWorld
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "new" {
				w = newRequestWorld(t)
			}
			w.T = t
			w.happens(d)
			return w.settles()
		})
	})
}

// A requestWorld is an EtcdRestore and what it is about. It fails its test where a step does what none may.
type requestWorld struct {
	*testing.T
	view   restore.View
	etcd   int64  // its revision
	silent string // why it cannot be asked
}

func newRequestWorld(t *testing.T) *requestWorld {
	return &requestWorld{T: t, etcd: 1000, view: restore.View{
		Now: start, Store: &v1beta1.EtcdBackupStore{ObjectMeta: metav1.ObjectMeta{Name: "offsite"}},
		Restore: &v1beta1.EtcdRestore{
			ObjectMeta: metav1.ObjectMeta{Name: "er", Namespace: "default", UID: "er-1", CreationTimestamp: metav1.NewTime(start)},
			Spec:       v1beta1.EtcdRestoreSpec{Cluster: "a"},
		},
		Cluster: &v1beta1.EtcdCluster{
			ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "default", UID: "a-1"},
			Spec:       v1beta1.EtcdClusterSpec{Size: ptr.To[int32](3), Version: "3.6.16"},
			Status:     v1beta1.EtcdClusterStatus{ClusterID: "c1", Revision: 1000, NextSerial: 3},
		},
		Volumes: []restore.Volume{{Name: "a-0"}, {Name: "a-1"}, {Name: "a-2"}, {Name: "a-5", Quarantined: true}},
		Backups: []v1beta1.EtcdBackup{*newVerifiedBackup("first", 400), *newVerifiedBackup("second", 800)},
	}}
}

func newVerifiedBackup(name string, revision int64) *v1beta1.EtcdBackup {
	return &v1beta1.EtcdBackup{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		Status: v1beta1.EtcdBackupStatus{
			Conditions: []metav1.Condition{{Type: v1beta1.ConditionComplete, Status: metav1.ConditionTrue}},
			Store:      "offsite", Path: "v1/default/a/" + name, Revision: revision, EtcdVersion: "3.6.10", ClusterID: "c1", ClusterUID: "a-1",
			StartedAt: &metav1.Time{Time: start.Add(time.Duration(revision-1000) * time.Minute)}, ManifestSHA256: "sum-" + name,
			Keys: ptr.To[int64](40), Verified: &v1beta1.Verification{
				At: metav1.NewTime(start), Took: metav1.Duration{Duration: time.Duration(revision) * time.Millisecond},
			},
		},
	}
}

// happens has one thing happen.
func (w *requestWorld) happens(d *datadriven.TestData) {
	for _, arg := range d.CmdArgs {
		value := strings.Join(arg.Vals, " ")
		switch d.Cmd {
		case "new", "spec":
			w.spec(arg.Key, value)
		case "cluster":
			w.cluster(arg.Key, value)
		case "backup":
			w.backup(d.CmdArgs[0].Key, arg.Key, value)
		case "volume":
			w.view.Volumes = slices.DeleteFunc(w.view.Volumes, func(v restore.Volume) bool { return v.Name == arg.Key })
		case "other":
			w.other(arg.Key, value)
		case "restore":
			w.comes(arg.Key, value)
		case "search":
			w.view.Search = searchEnds(w.T, w.view.Search, w.view.Now, arg.Key, value)
		case "task":
			w.view.Task = taskEnds(w.T, w.view.Task, w.view.Now, arg.Key, value)
		case "after":
			passes, err := time.ParseDuration(arg.Key)
			if err != nil {
				w.Fatal(err)
			}
			w.view.Now = w.view.Now.Add(passes)
		default:
			w.Fatalf("%s: unknown command %q", d.Pos, d.Cmd)
		}
	}
}

func (w *requestWorld) spec(key, value string) {
	s := &w.view.Restore.Spec
	switch key {
	case "backup":
		s.Backup = value
	case "store":
		s.Store = value
	case "from":
		s.From = &v1beta1.RestoreFrom{Cluster: value}
	case "at":
		s.From = &v1beta1.RestoreFrom{At: value}
	case "prefix":
		s.Prefix = value
	case "confirm":
		s.Confirm = value
	case "skip":
		s.SkipSafetyBackup = true
	case "revision", "time", "deleted-key":
		s.Target = targetIs(key, value)
	case "decryption":
		s.Decryption = &v1beta1.SecretReference{Secret: value}
	case "undo":
		s.Undo = true
	case "keep":
		s.UndoKeepRevisions = true
	case "deleted":
		w.view.Restore.DeletionTimestamp = &metav1.Time{Time: w.view.Now}
	case "accepted", "of": // the operator has made it for that loss, of the cluster with that UID
		annotation := map[string]string{"accepted": v1beta1.AnnotationAccepted, "of": v1beta1.AnnotationClusterUID}[key]
		metav1.SetMetaDataAnnotation(&w.view.Restore.ObjectMeta, annotation, value)
	default:
		w.Fatalf("unknown field %q", key)
	}
}

func (w *requestWorld) cluster(key, value string) {
	c := w.view.Cluster
	number, _ := strconv.ParseInt(value, 10, 64)
	switch key {
	case "none":
		w.view.Cluster = nil
	case "deleted":
		c.DeletionTimestamp = &metav1.Time{Time: w.view.Now}
	case "id":
		c.Status.ClusterID = value
	case "revision":
		c.Status.Revision, w.etcd = number, number
	case "writes": // and its status does not say so yet
		w.etcd += number
	case "silent":
		w.silent = value
	case "answers":
		w.silent = ""
	case "survivor":
		c.Status.QuorumLoss = &v1beta1.QuorumLoss{Survivors: []v1beta1.Survivor{{Name: "a-1", Revision: number}}}
	case "accepts":
		c.Spec.Recovery.AcceptDataLoss = value
	case "offers":
		c.Status.QuorumLoss = &v1beta1.QuorumLoss{Backup: &v1beta1.QuorumLossBackup{Accept: value}}
	case "untold":
		c.Status.QuorumLoss = nil
	case "serves":
		c.Status.QuorumLoss = nil
		c.Status.Conditions = []metav1.Condition{{Type: v1beta1.ConditionAvailable, Status: metav1.ConditionTrue}}
	case "size":
		c.Spec.Size = ptr.To(int32(number)) //nolint:gosec // a small number
	case "adopts":
		c.Status.Adoption = &v1beta1.AdoptionStatus{}
	case "owns":
		c.Status.Adoption.CompletedAt = &metav1.Time{Time: w.view.Now}
	case "paused":
		w.view.Paused = "spec.paused is true"
	case "unpaused":
		w.view.Paused = ""
	case "forbidden":
		w.view.Forbidden = "spec.image is not allowed"
	case "allowed":
		w.view.Forbidden = ""
	case "ephemeral":
		c.Spec.Storage.Ephemeral = &v1beta1.Ephemeral{}
	case "store":
		c.Spec.Backup = &v1beta1.Backup{Store: value}
	case "encrypts":
		c.Spec.Backup = &v1beta1.Backup{Encryption: &v1beta1.BackupEncryption{Recipients: []string{value}}}
	default:
		w.Fatalf("unknown word %q of the cluster", key)
	}
}

func (w *requestWorld) backup(name, key, value string) {
	i := slices.IndexFunc(w.view.Backups, func(b v1beta1.EtcdBackup) bool { return b.Name == name })
	if i < 0 {
		w.view.Backups = append(w.view.Backups, *newVerifiedBackup(name, 900))
		i = len(w.view.Backups) - 1
	}
	b := &w.view.Backups[i]
	is := func(kind string, status metav1.ConditionStatus, reason string) {
		meta.SetStatusCondition(&b.Status.Conditions, metav1.Condition{Type: kind, Status: status, Reason: reason, Message: value})
	}
	switch key {
	case name:
	case "gone":
		w.view.Backups = slices.Delete(w.view.Backups, i, i+1)
	case "sum":
		b.Status.ManifestSHA256 = value
	case "etcd":
		b.Status.EtcdVersion = value
	case "encrypted":
		b.Status.Encrypted = true
	case "recipient":
		b.Spec.Encryption = &v1beta1.BackupEncryption{Recipients: []string{value}}
	case "log": // its term and its index
		b.Status.Log = &v1beta1.LogPosition{}
		if _, err := fmt.Sscanf(value, "%d/%d", &b.Status.Log.Term, &b.Status.Log.Index); err != nil {
			w.Fatal(err)
		}
	case "begun":
		b.Status.StartedAt = &metav1.Time{Time: w.view.Now}
	case "size":
		b.Status.DatabaseSize = ptr.To(resource.MustParse(value))
	case "by":
		b.Status.Program = value
	case "of-another":
		b.Status.ClusterID = "c0"
	case "untried":
		b.Status.Verified = nil
	case "incomplete":
		is(v1beta1.ConditionComplete, metav1.ConditionFalse, "Running")
	case "complete":
		is(v1beta1.ConditionComplete, metav1.ConditionTrue, "Stored")
		b.Status.FinishedAt = &metav1.Time{Time: w.view.Now}
	case "trial":
		is(v1beta1.ConditionVerified, metav1.ConditionUnknown, v1beta1.ReasonVerificationPending)
	case "unwanted":
		is(v1beta1.ConditionVerified, metav1.ConditionUnknown, v1beta1.ReasonNotWanted)
	case "verified":
		is(v1beta1.ConditionVerified, metav1.ConditionTrue, v1beta1.ReasonTrialPassed)
		b.Status.Verified = &v1beta1.Verification{At: metav1.NewTime(w.view.Now)}
	case "different":
		is(v1beta1.ConditionVerified, metav1.ConditionFalse, "Different")
	case "of":
		metav1.SetMetaDataAnnotation(&b.ObjectMeta, v1beta1.AnnotationRestore, value)
	default:
		w.Fatalf("unknown word %q of a backup", key)
	}
}

// other is another EtcdRestore of the cluster: its name, and its phase. One that is younger has a name that ends with a y.
func (w *requestWorld) other(name, phase string) {
	w.view.Others = slices.DeleteFunc(w.view.Others, func(o v1beta1.EtcdRestore) bool { return o.Name == name })
	if phase == "" {
		return
	}
	o := v1beta1.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), CreationTimestamp: metav1.NewTime(start)}}
	if strings.HasSuffix(name, "y") {
		o.CreationTimestamp = metav1.NewTime(start.Add(time.Hour))
	}
	o.Status.Phase = v1beta1.RestorePhase(phase)
	w.view.Others = append(w.view.Others, o)
}

// comes is how far the restore is that the cluster has.
func (w *requestWorld) comes(key, value string) {
	c := w.view.Cluster
	if key == "by" {
		c.Status.Restore = &v1beta1.RestoreStatus{Request: value, RequestUID: value, Backup: "third", Revision: 5, Bump: 5000}
		return
	}
	s := c.Status.Restore
	switch key {
	case "bump":
		s.Bump, _ = strconv.ParseInt(value, 10, 64)
	case "progress":
		s.Progress = value
	case "problem":
		s.Problem = value
	case "failure":
		s.Failure = &v1beta1.RestoreFailure{Member: "a-6", Message: value}
	case "gone":
		s.Failure = &v1beta1.RestoreFailure{Member: "a-6", Message: value, Final: true}
	case "filled":
		s.RestoredAt, s.Progress, s.Problem, s.Failure = &metav1.Time{Time: w.view.Now}, "", "", nil
	case "adopted":
		c.Status.Bootstrap = &v1beta1.Bootstrap{Members: s.Members, Restore: s.ID()}
	case "served":
		s.CompletedAt, c.Status.ClusterID, s.Progress = &metav1.Time{Time: w.view.Now}, "c2", ""
	case "cancelled":
		*s = restore.Reversed(s, "the jobs to be gone")
	case "over":
		s.CompletedAt, s.Progress = &metav1.Time{Time: w.view.Now}, ""
	default:
		w.Fatalf("unknown word %q of a restore", key)
	}
}

// settles obeys until the plan waits, and prints what it does.
func (w *requestWorld) settles() string {
	var out strings.Builder
	for range 20 {
		step, because := restore.Next(w.observes())
		fmt.Fprintf(&out, "%s (%s)\n", step, because)
		switch s := step.(type) {
		case restore.Record:
			w.view.Restore.Status = s.Status
		case restore.BackUp:
			b := newVerifiedBackup(s.Name, 1000)
			b.Status.Conditions = nil
			b.Annotations = map[string]string{
				v1beta1.AnnotationRestore: string(w.view.Restore.UID), v1beta1.AnnotationPreview: s.Preview,
			}
			b.CreationTimestamp, b.Status.StartedAt, b.Status.Verified = metav1.NewTime(w.view.Now), nil, nil
			w.view.Backups = append(w.view.Backups, *b)
		case restore.Rescue:
			w.rescues(s)
		case restore.FindTarget:
			w.view.Search = searchBegins(s)
			fmt.Fprintf(&out, "  it looks for %s\n", lookedFor(s))
		case restore.DropSearch:
			w.view.Search = jobs.Observed{}
		case restore.StartTask:
			w.view.Task = jobs.Observed{Exists: true, Owned: true, Name: "er-" + string(s.Order.Verb), UID: "task-1", For: s.For}
			fmt.Fprintf(&out, "  %s\n", ordered(s))
		case restore.DropTask:
			w.view.Task = jobs.Observed{}
		case restore.Begin:
			w.begins(s)
			fmt.Fprintf(&out, "  members %v, set aside %v, begins at %d, lost from %d, undo %t %s\n", s.Plan.Members, s.Plan.SetAside,
				s.Plan.Revision+s.Plan.Bump, s.Plan.FromRevision, s.Plan.Undo || s.Plan.Undoes, s.Plan.Backup)
		case restore.Wait:
			w.view.Restore.Status = s.Status
			return out.String() + w.status()
		case restore.Done:
			return out.String()
		}
	}
	return out.String() + "never settles\n"
}

// observes asks etcd where that is needed.
func (w *requestWorld) observes() restore.View {
	v := w.view
	if restore.NeedsRevision(v) {
		if v.Revision, v.Unasked = w.etcd, w.silent; v.Unasked != "" {
			v.Revision = 0
		}
	}
	return v
}

func (w *requestWorld) rescues(s restore.Rescue) {
	for name, volume := range s.Volumes {
		b := newVerifiedBackup(name, 1000)
		b.Status.Conditions, b.Status.Verified, b.Spec.Volume = nil, nil, volume
		b.Annotations = map[string]string{v1beta1.AnnotationRestore: string(w.view.Restore.UID)}
		if len(s.Recipients) > 0 {
			b.Spec.Encryption = &v1beta1.BackupEncryption{Recipients: s.Recipients}
		}
		w.view.Backups = append(w.view.Backups, *b)
	}
}

// begins fails if the restore was not confirmed, or another one is under way.
func (w *requestWorld) begins(s restore.Begin) {
	c := w.view.Cluster
	p := w.view.Restore.Status.Preview
	ours := c.Status.Restore != nil && c.Status.Restore.RequestUID == string(w.view.Restore.UID)
	confirmed := p != nil && (w.view.Restore.Spec.Confirm == p.Confirm || w.accepts(p))
	if !s.Plan.Undo && !s.Plan.Undoes && (!confirmed || p.Backup != s.Plan.Backup) {
		w.Error("it begins, and was not confirmed")
	}
	if !ours && c.IsRestoring() {
		w.Error("it begins beside another one")
	}
	c.Status.Restore, c.Status.NextSerial = &s.Plan, max(c.Status.NextSerial, s.NextSerial)
}

// accepts says whether a person has accepted just that, and quorum is lost for good.
func (w *requestWorld) accepts(p *v1beta1.RestorePreview) bool {
	c, loss := w.view.Cluster, fmt.Sprintf("backup/%s@%d", p.Backup, p.Revision)
	return w.view.Restore.Annotations[v1beta1.AnnotationAccepted] == loss && c.Spec.Recovery.AcceptDataLoss == loss &&
		c.Status.QuorumLoss != nil && c.Status.QuorumLoss.Backup.Accept == loss
}

func (w *requestWorld) status() string {
	s := w.view.Restore.Status
	var out strings.Builder
	for _, c := range s.Conditions {
		if c.Type == v1beta1.ConditionReady {
			continue // it follows from the others
		}
		fmt.Fprintf(&out, "  %s=%s %s", c.Type, c.Status, c.Reason)
	}
	if p := s.Preview; p != nil {
		fmt.Fprintf(&out, "  %s of %s", p.Confirm, p.Backup)
		if p.LostRevisions != nil {
			fmt.Fprintf(&out, ", %d lost", *p.LostRevisions)
		}
		if p.LastVerificationDuration != nil {
			fmt.Fprintf(&out, ", took %s", p.LastVerificationDuration.Duration)
		}
		if p.Log != nil {
			fmt.Fprintf(&out, ", log %s of %s from revision %d to %d of %s, next %d", p.Log.Lineage, p.Log.Size, p.Log.BackupRevision, p.Revision,
				p.Time.UTC().Format(time.TimeOnly), p.Log.NextRevision)
		}
		if p.Message != "" {
			fmt.Fprintf(&out, " [%s]", p.Message)
		}
	}
	if c := s.Changes; c != nil {
		fmt.Fprintf(&out, "  changed %d+%d+%d, left %d", c.Created, c.Updated, c.Deleted, c.Skipped)
	}
	if s.UndoUntil != nil {
		fmt.Fprintf(&out, "  until %s", s.UndoUntil.Format(time.RFC3339))
	}
	if len(s.SetAside) > 0 {
		fmt.Fprintf(&out, "  set aside %v", s.SetAside)
	}
	return strings.TrimSpace(out.String()) + "\n"
}
