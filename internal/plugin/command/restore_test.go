// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// backedUp is the backup b1 of cluster a.
func backedUp() *v1beta1.EtcdBackup {
	b := &v1beta1.EtcdBackup{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "b1"}, Spec: v1beta1.EtcdBackupSpec{Cluster: "a"}}
	b.Status = verified
	b.Status.Cluster, b.Status.EtcdVersion = "a", "3.7.1"
	return b
}

// TestRestoreToANewCluster: it is like the one of the backup, and is followed until it serves the data.
func TestRestoreToANewCluster(t *testing.T) {
	source := cluster("a", available)
	source.Spec = v1beta1.EtcdClusterSpec{Size: ptr.To[int32](5), Version: "3.7.1", Paused: true}
	w := newWorld(t, source, backedUp())
	looks := 0
	w.operator = func(o client.Object) error {
		c, is := o.(*v1beta1.EtcdCluster)
		if !is || c.Name != "a2" {
			return nil
		}
		c.Status.Restore = &v1beta1.RestoreStatus{Revision: 42, Progress: "the volumes to be created"}
		if looks++; looks > 3 {
			c.Status.Restore.RestoredAt, c.Status.Restore.CompletedAt = ptr.To(metav1.Now()), ptr.To(metav1.Now())
			c.Status.Conditions = []metav1.Condition{available}
		}
		return nil
	}
	wantExit(t, w.run(t.Context(), "restore", "--to", "a2", "--backup", "b1", "--size", "3"), Done)
	wantText(t, &w.out, "EtcdCluster a2 serves the data of revision 42")
	wantText(t, &w.err, "restore to a2: waiting for the volumes to be created")
	made, err := clusterOf(t.Context(), &Kubernetes{Client: w.client, Namespace: "default"}, "a2")
	if err != nil || made.Size() != 3 || made.Spec.Version != "3.7.1" || made.Spec.Paused || made.Spec.Bootstrap.Restore.Backup != "b1" {
		t.Errorf("made %+v: %v", made.Spec, err)
	}
}

// TestRestoreDry: what would be created is printed; without the backup's cluster its minor version is known.
func TestRestoreDry(t *testing.T) {
	w := newWorld(t, backedUp())
	wantExit(t, w.run(t.Context(), "restore", "--to", "a2", "--backup", "b1", "--storage-size", "20Gi", "--dry-run"), Done)
	wantText(t, &w.out, "kind: EtcdCluster", "version: \"3.7\"", "size: 20Gi", "backup: b1")
	var all v1beta1.EtcdClusterList
	if err := w.client.List(t.Context(), &all); err != nil || len(all.Items) != 0 {
		t.Error("something was created:", len(all.Items), err)
	}
	wantExit(t, w.run(t.Context(), "restore", "--to", "a2", "--store", "offsite", "--from", "x/a", "--at", "latest", "--dry-run"), Done)
	wantText(t, &w.out, "store: offsite", "cluster: x/a", "at: latest")
	wantExit(t, w.run(t.Context(), "restore", "--to", "a2", "--store", "offsite", "--before-delete", "/a b", "--dry-run"), Done)
	wantText(t, &w.out, "target:", "beforeDelete: /a b")
	wantExit(t, w.run(t.Context(), "restore", "--to", "a2", "--backup", "b1", "--expires-after", "4h", "--dry-run"), Done)
	wantText(t, &w.out, "expiresAfter: 4h0m0s", "deletionPolicy: Delete")
}

// TestRestoreUsage: what makes no sense is refused before anybody is asked.
func TestRestoreUsage(t *testing.T) {
	w := newWorld(t, cluster("a"), backedUp())
	for _, line := range []string{
		"restore --backup b1", "restore a --to b --backup b1", "restore a", "restore a --backup b1 --store s",
		"restore a --backup b1 --at latest", "restore a --backup b1 --exclusive", "restore a --store s --at 17 --to-revision 18",
		"restore --to b --backup b1 --prefix /a", "restore a --backup b1 --prefix /a --keep-for 1h",
		"restore a --backup b1 --to-revision 18 --before-delete /a", "restore a --backup b1 --to-revision -1",
		"restore --to b --backup b1 --preview", "restore a --backup b1 --size 3", "restore a --backup b1 --preview --confirm x",
		"restore --to b --backup nobody", "restore nobody --backup b1 --preview", "restore --to b --backup b1 --storage-size many",
	} {
		wantExit(t, w.run(t.Context(), strings.Fields(line)...), Failed)
	}
}

// inPlace plays the operator for EtcdRestores: a preview first, and what was confirmed is done.
func inPlace(w *world) {
	w.operator = func(o client.Object) error {
		r, is := o.(*v1beta1.EtcdRestore)
		if !is {
			return nil
		}
		s := &r.Status
		s.Phase = v1beta1.RestorePreviewed
		s.Conditions = []metav1.Condition{condition(v1beta1.ConditionPreviewed, metav1.ConditionTrue, v1beta1.ReasonPreviewMade)}
		s.Preview = &v1beta1.RestorePreview{
			Backup: "b1", Revision: 42, Time: ptr.To(metav1.NewTime(noon.Add(-2 * time.Hour))), Keys: ptr.To[int64](7),
			LostRevisions: ptr.To[int64](8), LastVerificationDuration: &metav1.Duration{Duration: 12 * time.Second}, Confirm: "a@50->42",
		}
		if r.Spec.Confirm == s.Preview.Confirm {
			s.Phase, s.UndoUntil = v1beta1.RestoreComplete, ptr.To(metav1.NewTime(noon.Add(time.Hour)))
		}
		if r.Spec.Undo {
			s.Phase = v1beta1.RestoreUndone
		}
		return w.client.Update(w.t.Context(), r.DeepCopy())
	}
}

func (w *world) restores() []v1beta1.EtcdRestore {
	w.t.Helper()
	all, err := restoresOf(w.t.Context(), &Kubernetes{Client: w.client, Namespace: "default"})
	if err != nil {
		w.t.Fatal(err)
	}
	return all
}

// TestRestoreInPlace: a preview says what would be lost and how to go on, and restores nothing; what it says confirms it, once.
func TestRestoreInPlace(t *testing.T) {
	w := newWorld(t, cluster("a", available), backedUp())
	inPlace(w)
	wantExit(t, w.run(t.Context(), "restore", "a", "--backup", "b1", "--preview"), Done)
	wantText(t, &w.out, "All data of EtcdCluster a would be replaced by backup b1", "lost       8 revisions",
		"120m ago: what was written later is lost", "kubectl etcd restore a -n default --backup b1 --confirm 'a@50->42'")
	wantExit(t, w.run(t.Context(), "restore", "a", "--backup", "b1"), Failed)
	wantText(t, &w.err, "look at the preview")
	wantExit(t, w.run(t.Context(), "restore", "a", "--backup", "b1", "--confirm", "a@49->42"), Failed)
	wantText(t, &w.err, "confirmed by 'a@50->42' now")
	if all := w.restores(); len(all) != 1 || all[0].Spec.Confirm != "" {
		t.Errorf("one preview is enough, and confirms nothing: %+v", all)
	}
	wantExit(t, w.run(t.Context(), "restore", "a", "--backup", "b1", "--confirm", "a@50->42"), Done)
	wantText(t, &w.out, "serves the data of the backup, which had revision 42", "kubectl etcd undo a -n default")
	wantExit(t, w.run(t.Context(), "undo", "a"), Done)
	wantText(t, &w.out, "serves the data again that it had before")
	wantExit(t, w.run(t.Context(), "undo", "a"), Failed)
	wantText(t, &w.err, "is undone already")
}

// TestRestoreOfAPrefix: the preview says how many keys would be changed, and the same command line with what it says confirms that.
func TestRestoreOfAPrefix(t *testing.T) {
	w := newWorld(t, cluster("a", available), backedUp())
	inPlace(w)
	play := w.operator
	w.operator = func(o client.Object) error {
		err := play(o)
		if r, is := o.(*v1beta1.EtcdRestore); is {
			r.Status.Preview.Changes = &v1beta1.KeyChanges{Revision: 50, Created: 3}
			r.Status.SafetyBackup, r.Status.UndoUntil, r.Status.Message = "r-safety", nil, "3 keys created, 0 updated, 0 deleted"
		}
		return err
	}
	wantExit(t, w.run(t.Context(), "restore", "a", "--backup", "b1", "--prefix", "/a b/", "--preview"), Done)
	wantText(t, &w.out, `below "/a b/" would become as backup b1`, "create     3", "--prefix '/a b/' --confirm 'a@50->42'")
	wantExit(t, w.run(t.Context(), "restore", "a", "--backup", "b1", "--prefix", "/a b/", "--confirm", "a@50->42"), Done)
	wantText(t, &w.out, "3 keys created", "kubectl etcd undo a -n default")
	if all := w.restores(); len(all) != 1 || all[0].Spec.Prefix != "/a b/" {
		t.Errorf("%+v", all)
	}
	wantExit(t, w.run(t.Context(), "undo", "a"), Done)
}

// TestRestoreIsTyped: in a terminal a person confirms by typing what the preview says; anything else leaves everything as it is.
func TestRestoreIsTyped(t *testing.T) {
	w := newWorld(t, cluster("a", available), backedUp())
	inPlace(w)
	for _, no := range []string{"yes\n", "\n", "a@50->42x"} {
		w.typed = no
		wantExit(t, w.run(t.Context(), "restore", "a", "--backup", "b1"), Failed)
	}
	if all := w.restores(); len(all) != 1 || all[0].Spec.Confirm != "" {
		t.Fatalf("nothing was confirmed: %+v", all)
	}
	w.typed = "a@50->42\n"
	wantExit(t, w.run(t.Context(), "restore", "a", "--backup", "b1"), Done)
	wantText(t, &w.out, "Type a@50->42 to go on")
}

// TestUndoNeedsARestore: what cannot be undone is said, and nothing is changed.
func TestUndoNeedsARestore(t *testing.T) {
	w := newWorld(t, cluster("a", available))
	wantExit(t, w.run(t.Context(), "undo", "a"), Failed)
	wantText(t, &w.err, "there is nothing to undo")
}

// TestRestoreFromAnotherNamespace: the cluster of the backup is looked for where it is, be it named or known by the backup's folder, and
// never a namesake taken for it.
func TestRestoreFromAnotherNamespace(t *testing.T) {
	source, namesake, found := cluster("a", available), cluster("a", available), backedUp()
	source.Namespace, source.Spec = "x", v1beta1.EtcdClusterSpec{Version: "3.7.1", Auth: v1beta1.Auth{Enabled: true}}
	namesake.Spec.Version = "3.5.35"
	found.Status.Path = "v1/x/a/u"
	w := newWorld(t, source, namesake, found)
	for _, line := range []string{
		"restore --to a2 --store offsite --from x/a --at latest --dry-run", "restore --to a2 --backup b1 --dry-run",
	} {
		w.out.Reset()
		w.err.Reset()
		wantExit(t, w.run(t.Context(), strings.Fields(line)...), Done)
		wantText(t, &w.out, "version: 3.7.1", "auth:\n    enabled: true")
		wantText(t, &w.err, "spec.auth.enabled is that of EtcdCluster x/a")
	}
}
