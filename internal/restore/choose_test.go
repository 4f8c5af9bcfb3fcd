// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restore_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/restore"
)

// backups are those of a namespace, in no order.
func backups() []v1beta1.EtcdBackup {
	old := start.Add(-8 * time.Hour)
	changed := func(name string, change func(*v1beta1.EtcdBackup)) v1beta1.EtcdBackup {
		b := newBackup(name, 5, old)
		change(&b)
		return b
	}
	return []v1beta1.EtcdBackup{
		newBackup("old", 10, start.Add(-3*time.Hour)), newBackup("new", 30, start.Add(-time.Hour)),
		newBackup("middle", 20, start.Add(-2*time.Hour)),
		newBackup("of-its-successor", 15, start.Add(-90*time.Minute)),
		changed("torn", func(b *v1beta1.EtcdBackup) {
			b.Status.Conditions, b.Status.Revision, b.Status.StartedAt = nil, 40, &metav1.Time{Time: start}
		}),
		changed("leaving", func(b *v1beta1.EtcdBackup) {
			b.DeletionTimestamp, b.Spec.DeletionPolicy = &metav1.Time{Time: start}, v1beta1.DeleteBackup
			b.Status.StartedAt = &metav1.Time{Time: start}
		}),
		changed("large", func(b *v1beta1.EtcdBackup) { b.Status.DatabaseSize = resource.NewQuantity(8<<30, resource.BinarySI) }),
		changed("above-quota", func(b *v1beta1.EtcdBackup) { b.Status.DatabaseSize = resource.NewQuantity(7<<30, resource.BinarySI) }),
		changed("newer", func(b *v1beta1.EtcdBackup) { b.Status.EtcdVersion = "3.7.3" }),
		changed("no-version", func(b *v1beta1.EtcdBackup) { b.Status.EtcdVersion = "" }),
		changed("secret", func(b *v1beta1.EtcdBackup) { b.Status.Encrypted = true }),
		changed("snapshot", func(b *v1beta1.EtcdBackup) { b.Status.Program, b.Status.Path = "etcdctl", "etcd.db" }),
		changed("snapshot-tried", func(b *v1beta1.EtcdBackup) {
			b.Status.Program, b.Status.Path, b.Status.Verified = "etcdctl", "older.db", &v1beta1.Verification{}
		}),
		// They are the newest, have the highest revisions, and lie in folders with names as those of backups of the cluster.
		changed("snapshot-in-folders", func(b *v1beta1.EtcdBackup) {
			b.Status.Program, b.Status.Path, b.Status.Verified = "etcdctl", "backups/default/a/etcd.db", &v1beta1.Verification{}
			b.Status.StartedAt, b.Status.Revision, b.Status.ClusterID, b.Status.ClusterUID = &metav1.Time{Time: start}, 90, "", ""
		}),
		changed("snapshot-in-ours", func(b *v1beta1.EtcdBackup) {
			b.Status.Program, b.Status.Path, b.Status.Verified = "etcdctl", "v1/default/a/etcd.db", &v1beta1.Verification{}
			b.Status.StartedAt, b.Status.Revision = &metav1.Time{Time: start}, 91
		}),
		changed("different", func(b *v1beta1.EtcdBackup) {
			b.Status.Conditions = append(b.Status.Conditions, metav1.Condition{
				Type: v1beta1.ConditionVerified, Status: metav1.ConditionFalse, Message: "another hash",
			})
		}),
		changed("of-other", func(b *v1beta1.EtcdBackup) {
			b.Status.Path, b.Status.StartedAt = "v1/other/b/of-other", &metav1.Time{Time: start}
		}),
		changed("in-other-store", func(b *v1beta1.EtcdBackup) { b.Status.Store, b.Status.StartedAt = "s3", &metav1.Time{Time: start} }),
	}
}

// TestLatestAfterARecovery: the newest is of the history that the cluster has now, although what was given up has a higher revision.
func TestLatestAfterARecovery(t *testing.T) {
	all := backups()
	for i := range all {
		all[i].Status.ClusterID = "c"
		if all[i].Name == "old" {
			all[i].Status.Recoveries = 1
		}
	}
	want := restore.Request{Cluster: &v1beta1.EtcdCluster{}, Restore: v1beta1.Restore{Store: "offsite"}}
	want.Cluster.Name, want.Cluster.Namespace, want.Cluster.Spec.Version = "a", "default", "3.6.16"
	want.Cluster.Spec.Storage.Size = ptr.To(resource.MustParse("8Gi"))
	if got, problem := restore.Choose(want, all, &v1beta1.EtcdBackupStore{}); got == nil || got.Name != "old" {
		t.Errorf("%+v is restored: %s", got, problem)
	}
}

// TestChoose: which backup is meant, and what is said of one that cannot be restored.
func TestChoose(t *testing.T) {
	ready := func(status metav1.ConditionStatus, message string) *v1beta1.EtcdBackupStore {
		return &v1beta1.EtcdBackupStore{Status: v1beta1.EtcdBackupStoreStatus{
			Conditions: []metav1.Condition{{Type: v1beta1.ConditionReady, Status: status, Message: message}},
		}}
	}
	in := func(store, cluster, at string) v1beta1.Restore {
		return v1beta1.Restore{Store: store, Cluster: cluster, At: at}
	}
	for _, c := range []struct {
		want  v1beta1.Restore
		store *v1beta1.EtcdBackupStore
		gives string // a name, or words of the problem
	}{
		{v1beta1.Restore{Backup: "middle"}, nil, "=middle"},
		{v1beta1.Restore{Backup: "none"}, nil, "there is no EtcdBackup none"},
		{v1beta1.Restore{Backup: "torn"}, nil, "torn cannot be restored: it is not complete"},
		{v1beta1.Restore{Backup: "leaving"}, nil, "it is being deleted with what is stored"},
		{v1beta1.Restore{Backup: "large"}, nil, "larger storage.size"},
		{v1beta1.Restore{Backup: "above-quota"}, nil, "larger than the quota of etcd"},
		{v1beta1.Restore{Backup: "newer"}, nil, "spec.version 3.7"},
		{v1beta1.Restore{Backup: "no-version"}, nil, "which is no release"},
		{v1beta1.Restore{Backup: "secret"}, nil, "bootstrap.restore.decryption"},
		{v1beta1.Restore{Backup: "secret", Decryption: &v1beta1.SecretReference{Secret: "age"}}, nil, "=secret"},
		{v1beta1.Restore{Backup: "snapshot"}, nil, "kubectl annotate etcdbackups.etcd-operator.dev snapshot etcd-operator.dev/verify"},
		{v1beta1.Restore{Backup: "snapshot-tried"}, nil, "=snapshot-tried"},
		{v1beta1.Restore{Backup: "snapshot-in-ours"}, nil, "=snapshot-in-ours"},
		{v1beta1.Restore{Backup: "different"}, nil, "another hash; choose another one, by its name or by an earlier time"},
		{in("offsite", "", ""), ready(metav1.ConditionTrue, ""), "=new"},
		{in("offsite", "", "latest"), ready(metav1.ConditionFalse, "read only"), "=new"}, // it can be read
		{in("offsite", "", "29"), ready(metav1.ConditionTrue, ""), "=of-its-successor"},
		{in("offsite", "", "14"), ready(metav1.ConditionTrue, ""), "=old"},
		{in("offsite", "", "2026-11-24T07:30:00Z"), ready(metav1.ConditionTrue, ""), "=old"},
		{in("offsite", "", "2026-11-24T09:00:00+01:00"), ready(metav1.ConditionTrue, ""), "=middle"},
		{in("offsite", "", "4"), ready(metav1.ConditionTrue, ""), "not newer than 4: the oldest is EtcdBackup secret of revision 5"},
		{in("offsite", "", "2020-01-01T00:00:00Z"), ready(metav1.ConditionTrue, ""), "begun at 2026-11-24T02:00:00Z"},
		{in("offsite", "", "99999999999999999999"), ready(metav1.ConditionTrue, ""), "that is not newer than"},
		{in("offsite", "default/a", ""), ready(metav1.ConditionTrue, ""), "=new"},
		{in("offsite", "other/b", ""), ready(metav1.ConditionTrue, ""), "=of-other"},
		{
			in("offsite", "other/a", ""), ready(metav1.ConditionTrue, ""),
			"no backup of cluster other/a that is complete; it has backups of default/a, other/b",
		},
		{in("elsewhere", "", ""), nil, "there is no EtcdBackupStore elsewhere"},
		{in("elsewhere", "", ""), &v1beta1.EtcdBackupStore{}, "EtcdBackupStore elsewhere was not looked at yet"},
		{in("elsewhere", "", ""), ready(metav1.ConditionFalse, "access denied"), "is not ready: access denied"},
		{in("elsewhere", "", ""), ready(metav1.ConditionTrue, ""), "within a minute after the store is created"},
	} {
		all := backups()
		for range 2 {
			w := newVolumesWorld(t, c.want)
			chosen, problem := restore.Choose(restore.BootstrapRequest(w.view.Cluster), all, c.store)
			if chosen != nil {
				problem += "=" + chosen.Name
			}
			if !strings.Contains(problem, c.gives) || (chosen != nil) != (c.gives[0] == '=') {
				t.Errorf("%+v gives %q, and not %q", c.want, problem, c.gives)
			}
			slices.Reverse(all)
		}
	}
}

// TestChooseForTheSpec: what of the spec keeps a backup from being restored.
func TestChooseForTheSpec(t *testing.T) {
	for words, change := range map[string]func(*v1beta1.EtcdClusterSpec){
		"storage.ephemeral has no volume": func(s *v1beta1.EtcdClusterSpec) { s.Storage.Ephemeral = &v1beta1.Ephemeral{} },
		"volume size of 100Mi":            func(s *v1beta1.EtcdClusterSpec) { s.Storage.Size = ptr.To(resource.MustParse("100Mi")) },
		"quota of etcd, 1024 bytes":       func(s *v1beta1.EtcdClusterSpec) { s.Etcd.Quota = ptr.To(resource.MustParse("1Ki")) },
		"is not known to this operator":   func(s *v1beta1.EtcdClusterSpec) { s.Version = "3.9.0" },
		"with spec.version 3.6":           func(s *v1beta1.EtcdClusterSpec) { s.Version = "3.5" },
	} {
		w := newVolumesWorld(t, v1beta1.Restore{Backup: "first"})
		change(&w.view.Cluster.Spec)
		if step := w.settles(); !strings.Contains(step.String(), words) || len(w.view.Claims) > 0 {
			t.Errorf("%q says %q", words, step)
		}
	}
}

// TestChooseDespiteClocks: within one cluster ID the newest is that of the highest revision, whatever the clocks of nodes were. Across
// cluster IDs one for the future counts by when it was seen.
func TestChooseDespiteClocks(t *testing.T) {
	of := func(name, id string, revision int64, began, created time.Time) v1beta1.EtcdBackup {
		b := newBackup(name, revision, began)
		b.Status.ClusterID, b.CreationTimestamp = id, metav1.NewTime(created)
		b.Status.Conditions[0].LastTransitionTime = b.CreationTimestamp
		return b
	}
	all := []v1beta1.EtcdBackup{
		of("ahead", "c0", 90, start.AddDate(10, 0, 0), start.Add(-5*time.Hour)),
		of("first", "c1", 10, start.Add(-3*time.Hour), start.Add(-3*time.Hour)),
		of("late", "c1", 30, time.Unix(0, 0), start.Add(-time.Hour)),
		of("middle", "c1", 20, start.Add(-2*time.Hour), start.Add(-2*time.Hour)),
	}
	store := &v1beta1.EtcdBackupStore{}
	for at, gives := range map[string]string{"latest": "late", "29": "middle", start.Add(-4 * time.Hour).Format(time.RFC3339): "ahead"} {
		w := newVolumesWorld(t, v1beta1.Restore{Store: "offsite", At: at})
		chosen, problem := restore.Choose(restore.BootstrapRequest(w.view.Cluster), all, store)
		if chosen == nil || chosen.Name != gives {
			t.Errorf("%s gives %v (%s), and not %s", at, chosen, problem, gives)
		}
	}
}

// TestChooseSaysWhatIsHidden: a store may have the backup that is meant, and too many others to show it.
func TestChooseSaysWhatIsHidden(t *testing.T) {
	w := newVolumesWorld(t, v1beta1.Restore{Store: "offsite", Cluster: "lost"})
	store := &v1beta1.EtcdBackupStore{ObjectMeta: metav1.ObjectMeta{Name: "offsite"}}
	for hidden, want := range map[int32]bool{0: false, 31: true} {
		store.Status.Hidden = hidden
		_, problem := restore.Choose(restore.BootstrapRequest(w.view.Cluster), backups(), store)
		if got := strings.Contains(problem, "31 older backups in the store have no EtcdBackup: create one with spec.store offsite"); got != want {
			t.Errorf("with %d hidden ones it says %q", hidden, problem)
		}
	}
}

// TestChooseMixesNoClusters: several EtcdClusters may have had one name: GitOps has created it again, or two Kubernetes share a bucket. In
// place only backups of this very EtcdCluster are meant by a time. A new cluster begins with none while it is not clear which is meant.
func TestChooseMixesNoClusters(t *testing.T) {
	of := func(name, uid string, revision int64, ago time.Duration) v1beta1.EtcdBackup {
		b := newBackup(name, revision, start.Add(-ago))
		b.Status.ClusterUID, b.Status.ClusterID = uid, "id of "+uid
		return b
	}
	full, more := of("full", "old", 9000, 3*time.Hour), of("fuller", "old", 9100, 2*time.Hour)
	empty, other := of("empty", "new", 2, time.Hour), of("other", "blue", 70, 4*time.Hour)
	all := func(backups ...v1beta1.EtcdBackup) []v1beta1.EtcdBackup { return backups }
	ago := func(before time.Duration) string { return start.Add(-before).Format(time.RFC3339) }
	store := &v1beta1.EtcdBackupStore{ObjectMeta: metav1.ObjectMeta{Name: "offsite"}}
	for about, c := range map[string]struct {
		inPlace     bool
		cluster, at string
		all         []v1beta1.EtcdBackup
		gives       []string // =name, or words of the problem
	}{
		"in place, its own":         {true, "", "", []v1beta1.EtcdBackup{full, empty}, []string{"=empty"}},
		"in place, an earlier time": {true, "", "9000", []v1beta1.EtcdBackup{full, empty}, []string{"=empty"}},
		"in place, none of its own": {true, "", "", all(full, other), []string{"of this EtcdCluster", "EtcdBackup full", "spec.backup"}},
		"in place, named, one":      {true, "a", "", []v1beta1.EtcdBackup{full, more}, []string{"=fuller"}},
		"in place, named, two":      {true, "a", "", all(full, more, empty), []string{"EtcdBackup empty", "EtcdBackup fuller", "spec.backup"}},
		"new, one":                  {false, "", "", []v1beta1.EtcdBackup{full, more}, []string{"=fuller"}},
		"new, two": {
			false, "", "latest", all(full, more, empty),
			[]string{"EtcdBackup empty of revision 2", "EtcdBackup fuller of revision 9100", "bootstrap.restore.backup"},
		},
		"new, of two only one is so old": {false, "", ago(90 * time.Minute), all(full, more, empty), []string{"=fuller"}},
		"new, of two at that time": {
			false, "", ago(150 * time.Minute), all(full, more, other), []string{"EtcdBackup full", "EtcdBackup other"},
		},
	} {
		w := newVolumesWorld(t, v1beta1.Restore{})
		w.view.Cluster.UID = "new"
		from := v1beta1.Restore{Store: "offsite", Cluster: c.cluster, At: c.at}
		want := restore.Request{Restore: from, Cluster: w.view.Cluster, InPlace: c.inPlace}
		chosen, problem := restore.Choose(want, c.all, store)
		if chosen != nil {
			problem = "=" + chosen.Name
		}
		for _, words := range c.gives {
			if !strings.Contains(problem, words) {
				t.Errorf("%s: %q, and not %q", about, problem, words)
			}
		}
	}
}
