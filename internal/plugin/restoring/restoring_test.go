// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restoring

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

type er = v1beta1.EtcdRestore

var now = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

// at is an EtcdRestore of cluster a that was created so many minutes ago.
func at(minutes int, change func(*er)) er {
	r := er{Spec: v1beta1.EtcdRestoreSpec{Cluster: "a", Backup: "b1"}}
	r.Name, r.CreationTimestamp = "r", metav1.NewTime(now.Add(-time.Duration(minutes)*time.Minute))
	change(&r)
	return r
}

func complete(reason string) []metav1.Condition {
	return []metav1.Condition{{
		Type: v1beta1.ConditionComplete, Status: metav1.ConditionFalse, Reason: reason, Message: "because of " + reason,
	}}
}

// TestUndoable: the last restore of the cluster that was confirmed, while its volumes are kept or it is still running.
func TestUndoable(t *testing.T) {
	done := func(until time.Duration) func(*er) {
		return func(r *er) {
			r.Spec.Confirm, r.Status.Phase, r.Status.UndoUntil = "a@5->3", v1beta1.RestoreComplete, ptr.To(metav1.NewTime(now.Add(until)))
		}
	}
	tests := map[string]struct {
		all []er
		why string
	}{
		"none": {nil, "nothing was restored into a"},
		"kept": {[]er{at(5, done(time.Hour))}, ""},
		"prefix": {[]er{at(5, func(r *er) {
			r.Spec.Confirm, r.Spec.Prefix, r.Status.Phase, r.Status.SafetyBackup = "x", "/shop/", v1beta1.RestoreComplete, "r-safety"
		})}, ""},
		"prefix, not secured": {[]er{at(5, func(r *er) {
			r.Spec.Confirm, r.Spec.Prefix, r.Status.Phase = "x", "/shop/", v1beta1.RestoreComplete
		})}, "there is nothing to undo"},
		"expired":     {[]er{at(5, done(-time.Hour))}, "no longer kept"},
		"of another":  {[]er{at(5, func(r *er) { done(time.Hour)(r); r.Spec.Cluster = "b" })}, "nothing was restored into a"},
		"unconfirmed": {[]er{at(1, func(*er) {}), at(5, done(time.Hour))}, ""},
		"newer":       {[]er{at(1, done(-time.Hour)), at(5, done(time.Hour))}, "no longer kept"},
		"running":     {[]er{at(5, func(r *er) { r.Spec.Confirm, r.Status.Phase = "x", v1beta1.RestoreBackingUp })}, ""},
		"undone":      {[]er{at(5, func(r *er) { done(time.Hour)(r); r.Status.Phase = v1beta1.RestoreUndone })}, "undone already"},
		"replaced": {[]er{at(5, func(r *er) {
			done(time.Hour)(r)
			r.Status.Conditions = complete(v1beta1.ReasonReplaced)
		})}, "because of Replaced"},
	}
	for name, test := range tests {
		r, why := Undoable(test.all, "a", now)
		if why == "" && r == nil || (why == "") != (test.why == "") || !strings.Contains(why, test.why) {
			t.Errorf("%s: %q, wanted %q", name, why, test.why)
		}
	}
}

// TestEnded: a wait ends with the phase that was asked for, and when it can never come; a status of an older spec says nothing.
func TestEnded(t *testing.T) {
	tests := map[string]struct {
		change  func(*er)
		ended   bool
		problem string
	}{
		"restoring":  {func(r *er) { r.Status.Phase = v1beta1.RestoreRunning }, false, ""},
		"complete":   {func(r *er) { r.Status.Phase = v1beta1.RestoreComplete }, true, ""},
		"old status": {func(r *er) { r.Status.Phase, r.Generation = v1beta1.RestoreComplete, 2 }, false, ""},
		"not undone": {func(r *er) { r.Status.Phase, r.Spec.Undo = v1beta1.RestoreComplete, true }, false, ""},
		"undone":     {func(r *er) { r.Status.Phase, r.Spec.Undo = v1beta1.RestoreUndone, true }, true, ""},
		"replaced": {func(r *er) {
			r.Spec.Undo, r.Status.Conditions = true, complete(v1beta1.ReasonReplaced)
		}, true, "because of Replaced"},
		"unconfirmed": {func(r *er) { r.Status.Conditions = complete(v1beta1.ReasonUnconfirmed) }, true, "was made again"},
	}
	for name, test := range tests {
		r := at(1, test.change)
		ended, problem := Ended(&r)
		if ended != test.ended || !strings.Contains(problem, test.problem) || (problem == "") != (test.problem == "") {
			t.Errorf("%s: %v %q", name, ended, problem)
		}
	}
}

// TestWaiting: the same question is asked once, whatever defaults the answer has; another question is another EtcdRestore.
func TestWaiting(t *testing.T) {
	asked := at(1, func(r *er) {
		r.Spec.KeepFor, r.Spec.Confirm, r.Status.Phase = &metav1.Duration{Duration: time.Hour}, "old", v1beta1.RestorePreviewed
	})
	begun := at(0, func(r *er) { r.Status.Phase = v1beta1.RestoreRunning })
	going := at(0, func(r *er) { r.DeletionTimestamp = ptr.To(metav1.NewTime(now)) })
	all := []er{begun, going, asked}
	if r := Waiting(all, v1beta1.EtcdRestoreSpec{Cluster: "a", Backup: "b1"}); r == nil || r.Status.Phase != v1beta1.RestorePreviewed {
		t.Errorf("waiting %+v", r)
	}
	for _, other := range []v1beta1.EtcdRestoreSpec{{Cluster: "a", Backup: "b2"}, {Cluster: "a", Backup: "b1", SkipSafetyBackup: true}} {
		if r := Waiting(all, other); r != nil {
			t.Errorf("%+v is not what was asked for", other)
		}
	}
}

// TestCommandAsksForTheSame: what a preview says to go on with has every choice in it.
func TestCommandAsksForTheSame(t *testing.T) {
	r := at(1, func(r *er) {
		r.Namespace = "default"
		r.Spec = v1beta1.EtcdRestoreSpec{
			Cluster: "a", Store: "s", From: &v1beta1.RestoreFrom{Cluster: "x/a", At: "latest"}, SkipSafetyBackup: true,
			Decryption: &v1beta1.SecretReference{Secret: "keys"}, KeepFor: &metav1.Duration{Duration: time.Hour},
		}
		r.Status.Preview = &v1beta1.RestorePreview{Confirm: "a@5->3"}
	})
	want := "kubectl etcd restore a -n default --store s --from x/a --at latest --skip-safety-backup --decryption keys --keep-for 1h0m0s " +
		"--confirm 'a@5->3'"
	if is := Command(&r); is != want {
		t.Errorf("command %s\nwanted %s", is, want)
	}
	r.Spec.From = nil
	for want, target := range map[string]v1beta1.RestoreTarget{
		" --store s --to-time 2026-11-24T10:00:00Z --exclusive --skip": {Time: "2026-11-24T10:00:00Z", Exclusive: true},
		" --store s --to-revision 18 --skip":                           {Revision: 18},
		` --store s --before-delete '/it'\''s here' --skip`:            {BeforeDelete: "/it's here"},
	} {
		r.Spec.Target = &target
		if is := Command(&r); !strings.Contains(is, want) {
			t.Errorf("command %s\nwanted %s", is, want)
		}
	}
}

// TestSight: a new cluster is there when it serves the data; until then it is said what it waits for.
func TestSight(t *testing.T) {
	available := []metav1.Condition{{Type: v1beta1.ConditionAvailable, Status: metav1.ConditionTrue, Message: "well"}}
	down := []metav1.Condition{{Type: v1beta1.ConditionAvailable, Status: metav1.ConditionFalse, Message: "no quorum"}}
	at := ptr.To(metav1.NewTime(now))
	full := &v1beta1.RestoreFailure{Member: "a-0", Message: "full"}
	tests := map[string]struct {
		restore *v1beta1.RestoreStatus
		all     []metav1.Condition
		served  bool
		what    string
	}{
		"new":     {nil, nil, false, "waiting for the operator"},
		"problem": {&v1beta1.RestoreStatus{Problem: "no backup"}, available, false, "no backup"},
		"failure": {&v1beta1.RestoreStatus{Failure: full}, nil, false, "a-0 cannot be restored: full"},
		"filling": {&v1beta1.RestoreStatus{Progress: "the data"}, nil, false, "waiting for the data"},
		"filled":  {&v1beta1.RestoreStatus{RestoredAt: at}, available, false, "well"},
		"served":  {&v1beta1.RestoreStatus{RestoredAt: at, CompletedAt: at}, available, true, "well"},
		"down":    {&v1beta1.RestoreStatus{RestoredAt: at, CompletedAt: at}, down, false, "no quorum"},
	}
	for name, test := range tests {
		c := &v1beta1.EtcdCluster{Status: v1beta1.EtcdClusterStatus{Restore: test.restore, Conditions: test.all}}
		if served, what := ClusterProgress(c); served != test.served || !strings.Contains(what, test.what) {
			t.Errorf("%s: %v %q", name, served, what)
		}
	}
}

// TestCluster: a new cluster has of the backup's what belongs to the data, and members also where that hibernates; nothing else of it.
func TestCluster(t *testing.T) {
	source := &v1beta1.EtcdCluster{Spec: v1beta1.EtcdClusterSpec{
		Size: ptr.To[int32](0), Version: "3.6.16", Paused: true, Backup: &v1beta1.Backup{Store: "offsite"},
		TLS: v1beta1.TLS{Mode: v1beta1.TLSDisabled}, Auth: v1beta1.Auth{Enabled: true},
		ImagePullSecrets: []v1beta1.ImagePullSecret{{Name: "registry"}},
	}}
	c, err := Cluster("default", "a2", v1beta1.Restore{Backup: "b1"}, nil, source, Choices{})
	if err != nil {
		t.Fatal(err)
	}
	s := c.Spec
	if s.Version != "3.6.16" || s.TLS.Mode != v1beta1.TLSDisabled || c.Size() != v1beta1.DefaultSize || s.Paused || s.Backup != nil {
		t.Errorf("spec %+v", s)
	}
	if !s.Auth.Enabled || len(s.ImagePullSecrets) != 1 {
		t.Errorf("authentication %+v, pull secrets %v", s.Auth, s.ImagePullSecrets)
	}
}

// TestWords: a preview says what the operator does, and how much of what would be lost is known.
func TestWords(t *testing.T) {
	previewed := func(p v1beta1.RestorePreview, change func(*er)) string {
		r := at(1, func(r *er) { r.Namespace = "default"; r.Status.Preview = &p; change(r) })
		return Words(&r, now)
	}
	asIs := func(*er) {}
	for name, test := range map[string]struct {
		text  string
		words []string
	}{
		"known": {previewed(v1beta1.RestorePreview{Revision: 42, FromRevision: 50, LostRevisions: ptr.To[int64](8)}, asIs), []string{
			"lost       8 revisions, and what is written from now on", "members of today serve while new volumes are filled",
			"Users, roles, passwords and authentication of etcd become those of the backup", "is taken first",
			"set aside for 7d: until then 'kubectl etcd undo a -n default'",
		}},
		"etcd is silent": {previewed(v1beta1.RestorePreview{
			FromRevision: 50, LostRevisions: ptr.To[int64](8), Message: "etcd cannot be asked for its revision: no quorum",
		}, asIs), []string{"8 revisions or more", "etcd cannot be asked for its revision: no quorum"}},
		"of another cluster": {previewed(v1beta1.RestorePreview{FromRevision: 50}, asIs), []string{
			"all up to revision 50: the backup is of another",
		}},
		"with the log": {previewed(v1beta1.RestorePreview{Revision: 42, Log: &v1beta1.RestoreLog{
			Lineage: "c1-0", BackupRevision: 40, Size: ptr.To(resource.MustParse("4Mi")), NextRevision: 43,
			NextAt: ptr.To(metav1.NewMicroTime(time.Date(2026, 11, 24, 10, 0, 0, 5000, time.UTC))),
		}}, asIs), []string{
			"revision   42: the backup's 40, and 4Mi of changes from the log", "left out   from revision 43 of 2026-11-24T10:00:00.000005Z on",
		}},
		"nothing is known": {previewed(v1beta1.RestorePreview{}, asIs), []string{"which revision that is, is not known"}},
		"as it is asked for": {previewed(v1beta1.RestorePreview{}, func(r *er) {
			r.Spec.SkipSafetyBackup, r.Spec.KeepFor = true, &metav1.Duration{Duration: 10 * time.Minute}
		}), []string{"No backup of the data as it is now", "set aside for 10m"}},
	} {
		for _, words := range test.words {
			if !strings.Contains(test.text, words) {
				t.Errorf("%s: it does not say %q:\n%s", name, words, test.text)
			}
		}
		if strings.Contains(test.text, "clients are not served meanwhile") {
			t.Errorf("%s: members serve while volumes are filled:\n%s", name, test.text)
		}
	}
}

// TestNotes: a user who restores into a new cluster learns what its spec does not say.
func TestNotes(t *testing.T) {
	backup := &v1beta1.EtcdBackup{Status: v1beta1.EtcdBackupStatus{Revision: 42, StartedAt: ptr.To(metav1.NewTime(now))}}
	source := &v1beta1.EtcdCluster{Spec: v1beta1.EtcdClusterSpec{Auth: v1beta1.Auth{Enabled: true}}}
	for name, test := range map[string]struct {
		source *v1beta1.EtcdCluster
		change func(*v1beta1.EtcdCluster)
		has    []string
		lacks  string
	}{
		"with users": {source, func(*v1beta1.EtcdCluster) {}, []string{
			"revision 42, as it was at 2026-11-24T12:00:00Z", "spec.auth.enabled is that of EtcdCluster x/a", "EtcdRoles are not copied",
		}, "is not there"},
		"without source": {nil, func(*v1beta1.EtcdCluster) {}, []string{
			"x/a is not there", "if it is on, set spec.auth.enabled",
		}, "is that of EtcdCluster"},
		"without TLS": {source, func(c *v1beta1.EtcdCluster) { c.Spec.TLS.Mode = v1beta1.TLSDisabled }, nil, "EtcdUsers"},
	} {
		c, err := Cluster("default", "a2", v1beta1.Restore{Backup: "b1"}, backup, test.source, Choices{})
		if err != nil {
			t.Fatal(err)
		}
		test.change(c)
		said := strings.Join(Notes(c, backup, "x/a", test.source), "\n")
		for _, words := range test.has {
			if !strings.Contains(said, words) {
				t.Errorf("%s: it does not say %q:\n%s", name, words, said)
			}
		}
		if strings.Contains(said, test.lacks) {
			t.Errorf("%s: it says %q:\n%s", name, test.lacks, said)
		}
	}
}
