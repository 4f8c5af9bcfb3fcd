// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package backup_test

import (
	"cmp"
	"encoding/json"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
)

// seen is a backup of a cluster that is well, in a store that is ready.
func seen() backup.Seen {
	ready := metav1.Condition{Type: v1beta1.ConditionReady, Status: metav1.ConditionTrue}
	return backup.Seen{
		Backup: &v1beta1.EtcdBackup{
			ObjectMeta: metav1.ObjectMeta{Name: "b", Namespace: "ns", UID: "b-uid", CreationTimestamp: metav1.NewTime(start)},
			Spec:       v1beta1.EtcdBackupSpec{Cluster: "a"},
		},
		Store: &v1beta1.EtcdBackupStore{
			ObjectMeta: metav1.ObjectMeta{Name: "offsite"},
			Spec:       v1beta1.EtcdBackupStoreSpec{Volume: &v1beta1.VolumeStore{Claim: "backups"}},
			Status:     v1beta1.EtcdBackupStoreStatus{Conditions: []metav1.Condition{ready}},
		},
		Cluster: &v1beta1.EtcdCluster{
			ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "ns", UID: "c-uid"},
			Spec: v1beta1.EtcdClusterSpec{Version: "3.6.16", Backup: &v1beta1.Backup{
				Store: "offsite", Encryption: &v1beta1.BackupEncryption{Recipients: []string{"age1theirs"}},
				Decryption: &v1beta1.SecretReference{Secret: "theirs"}, Verify: v1beta1.VerifyDaily,
			}},
			Status: v1beta1.EtcdClusterStatus{
				ClusterID: "c1", Version: "3.6.16",
				Conditions: []metav1.Condition{{Type: v1beta1.ConditionAvailable, Message: "all is well", Reason: v1beta1.ReasonHealthy}},
				Members: []v1beta1.MemberStatus{
					{Name: "a-0", ID: "10", Role: v1beta1.RoleLeader, Healthy: true},
					{Name: "a-1", ID: "11", Role: v1beta1.RoleVoter},
					{Name: "a-2", ID: "12", Role: v1beta1.RoleVoter, Healthy: true},
					{Name: "a-3", ID: "13", Role: v1beta1.RoleLearner, Healthy: true},
					{Name: "a-4", Role: v1beta1.RoleUnlisted, Healthy: true},
				},
			},
		},
		Now: start,
	}
}

// TestFactsOfTheCluster: what the EtcdBackup does not say is as the cluster says.
func TestFactsOfTheCluster(t *testing.T) {
	s := seen()
	v := backup.Facts(s)
	want := backup.Cluster{
		Name: "a", Exists: true, UID: "c-uid", ID: "c1", Answering: 3, Why: "all is well", Verify: v1beta1.VerifyDaily,
	}
	if v.Cluster != want {
		t.Errorf("cluster %+v, want %+v", v.Cluster, want)
	}
	if v.Store != (backup.Store{Name: "offsite", Exists: true, Ready: true}) || v.Recipients[0] != "age1theirs" || v.Decryption != "theirs" {
		t.Errorf("store %+v, recipients %v, decryption %s", v.Store, v.Recipients, v.Decryption)
	}
	s.Backup.Spec.Store = "mine"
	s.Backup.Spec.Encryption = &v1beta1.BackupEncryption{Recipients: []string{"age1mine"}}
	s.Backup.Spec.Decryption = &v1beta1.SecretReference{Secret: "mine"}
	if v := backup.Facts(s); v.Store.Name != "mine" || v.Recipients[0] != "age1mine" || v.Decryption != "mine" {
		t.Errorf("store %s, recipients %v, decryption %s", v.Store.Name, v.Recipients, v.Decryption)
	}
	s.Backup.Status.Path, s.Backup.Status.Store = "v1/ns/a/b-uid", "first"
	if v := backup.Facts(s); v.Store.Name != "first" {
		t.Errorf("something may have been written to first, and the store is %s", v.Store.Name)
	}
}

// TestClusterThatCannotBeAsked: the facts that a plan waits for.
func TestClusterThatCannotBeAsked(t *testing.T) {
	for name, change := range map[string]func(*backup.Seen){
		"gone":       func(s *backup.Seen) { s.Cluster = nil },
		"being gone": func(s *backup.Seen) { s.Cluster.DeletionTimestamp = &metav1.Time{Time: start} },
	} {
		s := seen()
		change(&s)
		if got := backup.Facts(s).Cluster; got != (backup.Cluster{Name: "a"}) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	s := seen()
	s.Cluster.Spec.Size = ptr.To[int32](0)
	if backup.Facts(s).Cluster.Hibernated {
		t.Error("a cluster of size 0 is hibernated although members answer: a backup is made before they end")
	}
	for i := range s.Cluster.Status.Members {
		s.Cluster.Status.Members[i].Healthy = false
	}
	if !backup.Facts(s).Cluster.Hibernated {
		t.Error("a cluster of size 0 is not hibernated")
	}
	s = seen()
	s.Cluster.DeletionTimestamp, s.Cluster.Finalizers = &metav1.Time{Time: start}, []string{v1beta1.FinalizerLastBackup}
	if !backup.Facts(s).Cluster.Exists {
		t.Error("a cluster that waits for its last backup is gone")
	}
	s = seen()
	s.Cluster.Status.Conditions[0].Reason = v1beta1.ReasonAuthenticationRequired
	for i := range s.Cluster.Status.Members {
		s.Cluster.Status.Members[i].Healthy = false
	}
	if c := backup.Facts(s).Cluster; !c.Locked || c.Answering != 0 {
		t.Errorf("authentication is enabled: %+v", c)
	}
	s = seen()
	s.Cluster.Status.Conditions[0].Reason = v1beta1.ReasonCorrupt
	if backup.Facts(s).Cluster.Corrupt != "all is well" {
		t.Error("the alarm CORRUPT is not a fact")
	}
}

// TestStoreThatIsNotReady: with its own words.
func TestStoreThatIsNotReady(t *testing.T) {
	s := seen()
	s.Store.Status.Conditions[0] = metav1.Condition{Type: v1beta1.ConditionReady, Status: metav1.ConditionFalse, Message: "no such bucket"}
	if got := backup.Facts(s).Store; got != (backup.Store{Name: "offsite", Exists: true, Why: "no such bucket"}) {
		t.Errorf("%+v", got)
	}
	s.Store.Status.Conditions = nil
	if got := backup.Facts(s).Store; got.Ready || got.Why == "" {
		t.Errorf("%+v", got)
	}
	s.Store = nil
	if got := backup.Facts(s).Store; got != (backup.Store{Name: "offsite"}) {
		t.Errorf("%+v", got)
	}
}

// TestNewestVerified: of this cluster, not of one that had its name.
func TestNewestVerified(t *testing.T) {
	s := seen()
	of := func(uid string, began time.Time, isVerified bool) v1beta1.EtcdBackup {
		b := v1beta1.EtcdBackup{Status: v1beta1.EtcdBackupStatus{ClusterUID: uid, StartedAt: at(began)}}
		if isVerified {
			b.Status.Verified = &v1beta1.Verification{}
		}
		return b
	}
	s.Others = []v1beta1.EtcdBackup{
		of("c-uid", start.Add(-3*time.Hour), true), of("c-uid", start.Add(-5*time.Hour), true),
		of("c-uid", start, false), of("other", start, true),
		{},
	}
	if got := backup.Facts(s).Cluster.LastVerified; !got.Equal(start.Add(-3 * time.Hour)) {
		t.Errorf("the newest is of %s", got)
	}
}

// TestNewestVerifiedDespiteClocks: a backup for the future keeps no trial from being made on each day until then.
func TestNewestVerifiedDespiteClocks(t *testing.T) {
	s := seen()
	for revision, began := range []time.Time{start.AddDate(10, 0, 0), start.Add(-time.Hour)} {
		b := v1beta1.EtcdBackup{Status: v1beta1.EtcdBackupStatus{ClusterUID: "c-uid", ClusterID: "c", Revision: int64(5 + revision)}}
		b.Status.Conditions = []metav1.Condition{{
			Type: v1beta1.ConditionComplete, Status: metav1.ConditionTrue,
			LastTransitionTime: metav1.NewTime(start.Add(-time.Hour * time.Duration(3-2*revision))),
		}}
		b.Status.StartedAt, b.Status.Verified = &metav1.Time{Time: began}, &v1beta1.Verification{}
		s.Others = append(s.Others, b)
	}
	if got := backup.Facts(s).Cluster.LastVerified; !got.Equal(start.Add(-time.Hour)) {
		t.Errorf("the newest is of %s", got)
	}
	s.Others = s.Others[:1]
	if got := backup.Facts(s).Cluster.LastVerified; !got.Equal(start.Add(-3 * time.Hour)) {
		t.Errorf("the one for the future is of %s", got)
	}
}

// TestListingThatCannotBeRead: it is a problem of the backup, not of the operator.
func TestListingThatCannotBeRead(t *testing.T) {
	s := seen()
	s.Backup.Spec = v1beta1.EtcdBackupSpec{Found: "v1/x", Store: "offsite"}
	if backup.Facts(s).Listed != nil {
		t.Error("nothing was listed")
	}
	s.Backup.Annotations = map[string]string{v1beta1.AnnotationFound: "{"}
	if l := backup.Facts(s).Listed; l == nil || l.Problem == "" {
		t.Errorf("listed %+v", l)
	}
	s.Backup.Annotations[v1beta1.AnnotationFound] = `{"path":"v1/x","backup":{"revision":7}}`
	if l := backup.Facts(s).Listed; l == nil || l.Problem != "" || l.Backup.Revision != 7 {
		t.Errorf("listed %+v", l)
	}
}

// TestSameBackup: what the list of a store has may be of this EtcdBackup by its name, and of one that the operator has made by its folder
// as well. Two Kubernetes have schedules for the same time in one bucket, and a safety backup that is made again has the same name.
func TestSameBackup(t *testing.T) {
	for about, c := range map[string]struct {
		upload, reason string
		facts          jobspec.Facts
		path, store    string
		path2, problem string // of the status, and of the list
		want           int
	}{
		"by name":           {facts: jobspec.Facts{Name: "b", Namespace: "ns", Cluster: "a"}, want: 1},
		"in another store":  {facts: jobspec.Facts{Name: "b", Namespace: "ns", Cluster: "a"}, store: "other"},
		"another namespace": {facts: jobspec.Facts{Name: "b", Namespace: "other", Cluster: "a"}},
		"another cluster":   {facts: jobspec.Facts{Name: "b", Namespace: "ns", Cluster: "other"}},
		"another name":      {facts: jobspec.Facts{Name: "other", Namespace: "ns", Cluster: "a"}},
		"by its folder": {
			upload: "old", reason: "schedule", path: "v1/ns/a/old",
			facts: jobspec.Facts{Name: "b", Namespace: "ns", Cluster: "a", ClusterUID: "c-before"}, want: 1,
		},
		"another folder": {
			upload: "old", reason: "schedule", path: "v1/ns/a/older",
			facts: jobspec.Facts{Name: "b", Namespace: "ns", Cluster: "a", ClusterUID: "c-before"},
		},
		"with the mark of another": {upload: "old", path: "v1/ns/a/old", facts: jobspec.Facts{Name: "other", Namespace: "ns", Cluster: "a"}},
		"its own":                  {path: "v1/ns/a/b-uid", facts: jobspec.Facts{Name: "b", Namespace: "ns", Cluster: "a"}, want: 1},
		"damaged":                  {upload: "old", path: "v1/ns/a/old", problem: "its sha256 is not the one that it names", want: 1},
		"made again":               {reason: "restore", facts: jobspec.Facts{Name: "b", Namespace: "ns", Cluster: "a", ClusterUID: "c-uid"}},
		"something is written yet": {facts: jobspec.Facts{Name: "b", Namespace: "ns", Cluster: "a"}, path2: "v1/ns/a/b-uid"},
	} {
		s := seen()
		s.Backup.Annotations = map[string]string{v1beta1.AnnotationUpload: c.upload, v1beta1.AnnotationReason: c.reason}
		s.Backup.Spec.Store, s.Backup.Status.Path, s.Backup.Status.Store = "offsite", c.path2, "offsite"
		s.Backup.Name, s.Backup.Namespace, s.Backup.UID, s.Backup.Spec.Cluster = "b", "ns", "b-uid", "a"
		text, err := json.Marshal(jobspec.Found{Path: cmp.Or(c.path, "v1/ns/a/old"), Problem: c.problem, Backup: c.facts})
		if err != nil {
			t.Fatal(err)
		}
		o := v1beta1.EtcdBackup{Spec: v1beta1.EtcdBackupSpec{Store: cmp.Or(c.store, "offsite"), Found: "x"}}
		o.Annotations = map[string]string{v1beta1.AnnotationFound: string(text)}
		s.Others = []v1beta1.EtcdBackup{o, {}}
		if got := len(backup.Facts(s).Again); got != c.want {
			t.Errorf("%s: %d", about, got)
		}
	}
}
