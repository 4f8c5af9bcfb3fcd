// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package continuous_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/continuous"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobs"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
)

var (
	noon    = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	builder = continuous.JobBuilder{Version: "0.10.0", Image: jobs.Image{Operator: "registry.example/etcd-operator:v1"}}
)

// seen is a cluster that is well, whose log is wanted, and one full backup in a store that is ready.
func seen() continuous.Seen {
	c := &v1beta1.EtcdCluster{
		ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "ns", UID: "u"},
		Spec: v1beta1.EtcdClusterSpec{Backup: &v1beta1.Backup{Store: "offsite", Continuous: &v1beta1.Continuous{
			Flush: metav1.Duration{Duration: 2 * time.Second}, SegmentSize: resource.MustParse("1Mi"),
		}}},
		Status: v1beta1.EtcdClusterStatus{ClusterID: "c1", Version: "3.6.16", Members: []v1beta1.MemberStatus{
			{Name: "a-0", ID: "10", Role: v1beta1.RoleLeader, Healthy: true, DBSize: resource.NewQuantity(1<<20, resource.BinarySI)},
			{Name: "a-1", ID: "11", Role: v1beta1.RoleVoter, Healthy: true, DBSize: resource.NewQuantity(1<<20, resource.BinarySI)},
			{Name: "a-2", ID: "12", Role: v1beta1.RoleLearner, Healthy: true},
			{Name: "a-3", Role: v1beta1.RoleUnlisted},
		}},
	}
	store := &v1beta1.EtcdBackupStore{
		ObjectMeta: metav1.ObjectMeta{Name: "offsite", Namespace: "ns"},
		Spec:       v1beta1.EtcdBackupStoreSpec{Volume: &v1beta1.VolumeStore{Claim: "backups"}},
	}
	store.Status.Conditions = []metav1.Condition{{Type: v1beta1.ConditionReady, Status: metav1.ConditionTrue}}
	return continuous.Seen{Cluster: c, Store: store, Backups: []v1beta1.EtcdBackup{*complete(c, "first", 100)}, Now: noon}
}

func complete(c *v1beta1.EtcdCluster, name string, revision int64) *v1beta1.EtcdBackup {
	b := continuous.NewFull(c, name)
	b.CreationTimestamp = metav1.NewTime(noon.Add(-time.Hour))
	b.Status = v1beta1.EtcdBackupStatus{
		Phase: v1beta1.BackupComplete, Store: "offsite", Cluster: "a", ClusterUID: "u", ClusterID: "c1", Revision: revision,
		StartedAt:  &metav1.Time{Time: noon.Add(-time.Hour)},
		Conditions: []metav1.Condition{{Type: v1beta1.ConditionComplete, Status: metav1.ConditionTrue}},
	}
	return b
}

// TestLineage: what may have replaced acknowledged writes under the same cluster ID is counted.
func TestLineage(t *testing.T) {
	c := &v1beta1.EtcdCluster{}
	if got := continuous.Lineage(c); got != "" {
		t.Errorf("before it has formed: %q", got)
	}
	c.Status.ClusterID = "c1"
	for want, change := range map[string]func(){
		"00000000000000c1-0": func() {},
		"00000000000000c1-2": func() { c.Status.Recoveries = 2 },
		"00000000000000c1-5": func() { c.Status.Recoveries, c.Status.Log = 2, &v1beta1.LogStatus{Forks: 3} },
	} {
		c.Status.Recoveries, c.Status.Log = 0, nil
		if change(); continuous.Lineage(c) != want {
			t.Errorf("%q, want %q", continuous.Lineage(c), want)
		}
	}
}

// TestWhenNoLogIsKept, and what is said then.
func TestWhenNoLogIsKept(t *testing.T) {
	for reason, change := range map[string]func(*continuous.Seen){
		"":                                     func(*continuous.Seen) {},
		v1beta1.ReasonDeleting:                 func(s *continuous.Seen) { s.Cluster.DeletionTimestamp = &metav1.Time{Time: noon} },
		v1beta1.ReasonPaused:                   func(s *continuous.Seen) { s.Paused = "spec.paused is true" },
		v1beta1.ReasonClusterNotFormed:         func(s *continuous.Seen) { s.Cluster.Status.ClusterID = "" },
		v1beta1.ReasonRecovering:               func(s *continuous.Seen) { s.Cluster.Status.Recovering = "a-0" },
		v1beta1.ReasonClusterHibernated:        func(s *continuous.Seen) { s.Cluster.Spec.Size = new(int32(0)) },
		v1beta1.ReasonVersionUnsupported:       func(s *continuous.Seen) { s.Cluster.Status.Version = "3.5.17" },
		v1beta1.ReasonVersionUnsupported + " ": func(s *continuous.Seen) { s.Cluster.Status.Version = "3.6.1" },
	} {
		s := seen()
		change(&s)
		if got := builder.Facts(s).Hold; got.Reason != strings.TrimSpace(reason) || (got.Message == "") != (reason == "") {
			t.Errorf("%q: %+v", reason, got)
		}
	}
}

// TestWhenNothingIsStarted: a process that runs goes on meanwhile.
func TestWhenNothingIsStarted(t *testing.T) {
	for reason, change := range map[string]func(*continuous.Seen){
		"":                               func(*continuous.Seen) {},
		v1beta1.ReasonStoreMissing:       func(s *continuous.Seen) { s.Store = nil },
		v1beta1.ReasonStoreUnready:       func(s *continuous.Seen) { s.Store.Status.Conditions[0].Status = metav1.ConditionFalse },
		v1beta1.ReasonNoMemberAnswers:    func(s *continuous.Seen) { s.Cluster.Status.Members = nil },
		v1beta1.ReasonStoreUnready + " ": func(s *continuous.Seen) { s.Store.Status.Conditions = nil },
	} {
		s := seen()
		change(&s)
		if got := builder.Facts(s).Obstacle; got.Reason != strings.TrimSpace(reason) || (got.Message == "") != (reason == "") {
			t.Errorf("%q: %+v", reason, got)
		}
	}
}

// TestFullBackups: what a log may begin after.
func TestFullBackups(t *testing.T) {
	for name, change := range map[string]func(*v1beta1.EtcdBackup){
		"of another cluster ID":     func(b *v1beta1.EtcdBackup) { b.Status.ClusterID = "c2" },
		"of another EtcdCluster":    func(b *v1beta1.EtcdBackup) { b.Status.ClusterUID = "v" },
		"in another store":          func(b *v1beta1.EtcdBackup) { b.Status.Store = "onsite" },
		"of the volume of a member": func(b *v1beta1.EtcdBackup) { b.Spec.Volume = "a-0" },
		"by VolumeSnapshot":         func(b *v1beta1.EtcdBackup) { b.Spec.VolumeSnapshot = &v1beta1.VolumeSnapshotBackup{} },
		"found in the store":        func(b *v1beta1.EtcdBackup) { b.Spec.Found = "v1/ns/a/x" },
		"gone from the store":       func(b *v1beta1.EtcdBackup) { b.Annotations[v1beta1.AnnotationGone] = "it was deleted" },
		"on its way out":            func(b *v1beta1.EtcdBackup) { b.DeletionTimestamp = &metav1.Time{Time: noon} },
		"not complete":              func(b *v1beta1.EtcdBackup) { b.Status.Conditions = nil },
		"of an unknown revision":    func(b *v1beta1.EtcdBackup) { b.Status.Revision = 0 },
		"older than the last interruption": func(b *v1beta1.EtcdBackup) {
			b.CreationTimestamp = metav1.NewTime(noon.Add(-2*time.Hour - time.Second))
		},
	} {
		s := seen()
		s.Cluster.Status.Log = &v1beta1.LogStatus{Since: &metav1.Time{Time: noon.Add(-2 * time.Hour)}}
		other := complete(s.Cluster, "other", 90)
		change(other)
		s.Backups = append(s.Backups, *other)
		if got := builder.Facts(s).Fulls; len(got) != 1 || got[0].Name != "first" || got[0].Revision != 100 {
			t.Errorf("%s: %+v", name, got)
		}
	}
	s := seen()
	s.Backups = append(s.Backups, *complete(s.Cluster, "other", 90))
	if got := builder.Facts(s).Fulls; len(got) != 2 || got[0].Name != "other" {
		t.Errorf("the oldest is not first: %+v", got)
	}
}

// TestRequestedFullBackup: whose it is, and how far.
func TestRequestedFullBackup(t *testing.T) {
	s := seen()
	s.Cluster.Status.Log = &v1beta1.LogStatus{FullBackup: "first"}
	if got := builder.Facts(s).Asked; got != (continuous.Asked{Exists: true, Complete: true}) {
		t.Errorf("%+v", got)
	}
	b := &s.Backups[0]
	b.Status.Phase, b.Status.Conditions[0] = v1beta1.BackupFailed, metav1.Condition{Type: v1beta1.ConditionComplete, Message: "full"}
	b.Annotations[v1beta1.AnnotationClusterUID], b.DeletionTimestamp = "v", &metav1.Time{Time: noon}
	if got := builder.Facts(s).Asked; got != (continuous.Asked{Exists: true, Foreign: true, Deleting: true, Failed: "full"}) {
		t.Errorf("%+v", got)
	}
}

// TestWhatHasAProcessStartedAgain: what it reads only when it starts. Who leads, and how large the database is, does not.
func TestWhatHasAProcessStartedAgain(t *testing.T) {
	before := builder.Facts(seen()).For
	for name, change := range map[string]func(*continuous.Seen){
		"another member":        func(s *continuous.Seen) { s.Cluster.Status.Members[2].Role = v1beta1.RoleVoter },
		"a member less":         func(s *continuous.Seen) { s.Cluster.Status.Members = s.Cluster.Status.Members[:1] },
		"without TLS":           func(s *continuous.Seen) { s.Cluster.Spec.TLS.Mode = v1beta1.TLSDisabled },
		"authentication":        func(s *continuous.Seen) { s.Cluster.Spec.Auth.Enabled = true },
		"another certificate":   func(s *continuous.Seen) { s.Client = "2" },
		"another time to flush": func(s *continuous.Seen) { s.Cluster.Spec.Backup.Continuous.Flush.Duration++ },
		"another size":          func(s *continuous.Seen) { s.Cluster.Spec.Backup.Continuous.SegmentSize = resource.MustParse("2Mi") },
		"encryption": func(s *continuous.Seen) {
			s.Cluster.Spec.Backup.Encryption = &v1beta1.BackupEncryption{Recipients: []string{"age1one"}}
		},
		"another store":           func(s *continuous.Seen) { s.Store.Spec.Volume.Path = "etcd" },
		"other keys of the store": func(s *continuous.Seen) { s.Store.Status.Sources = "2" },
		"another history":         func(s *continuous.Seen) { s.Cluster.Status.Recoveries++ },
		"another Secret to pull images by": func(s *continuous.Seen) {
			s.Cluster.Spec.ImagePullSecrets = []v1beta1.ImagePullSecret{{Name: "registry"}}
		},
	} {
		s := seen()
		if change(&s); builder.Facts(s).For == before {
			t.Errorf("%s: it goes on", name)
		}
	}
	later := builder
	later.Version = "0.11.0"
	if later.Facts(seen()).For == before {
		t.Error("another operator: it goes on")
	}
	s := seen()
	m := s.Cluster.Status.Members
	m[0].Role, m[1].Role, m[0].Healthy = v1beta1.RoleVoter, v1beta1.RoleLeader, false
	m[1].DBSize = resource.NewQuantity(1<<30, resource.BinarySI)
	s.Backups = nil
	if builder.Facts(s).For != before {
		t.Error("another leader: it is started again")
	}
}

// TestOrder is what a process gets: followers first, and up to which size it may ask for hashes, which hold up clients.
func TestOrder(t *testing.T) {
	s := seen()
	v := builder.Facts(s)
	v.Status.Base = &v1beta1.BackupPoint{Name: "first", Revision: 100}
	job := builder.Job(s, v)
	order, err := jobspec.ParseOrder(job.Spec.Template.Spec.Containers[0].Args[1])
	if err != nil {
		t.Fatal(err)
	}
	f := order.Follow
	got := fmt.Sprint(f.Namespace, f.Cluster, f.Lineage, f.ClusterID, f.Base, f.Flush, f.SegmentSize, f.Hash, f.Secure)
	if want := fmt.Sprint("ns", "a", "00000000000000c1-0", "c1", 100, 2*time.Second, 1<<20, time.Hour, true); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if len(f.Recipients) > 0 {
		t.Errorf("it is encrypted to %v", f.Recipients)
	}
	if len(f.Members) != 2 || f.Members[0].Name != "a-1" || f.Members[1].Name != "a-0" {
		t.Errorf("%+v", f.Members)
	}
	if job.Annotations[v1beta1.AnnotationAsked] != v.For || job.Name != "a-log" {
		t.Errorf("%+v", job.ObjectMeta)
	}
	s.Cluster.Spec.Backup.Continuous = &v1beta1.Continuous{}
	s.Cluster.Spec.Backup.Encryption = &v1beta1.BackupEncryption{Recipients: []string{"age1one", "age1two"}}
	order, err = jobspec.ParseOrder(builder.Job(s, v).Spec.Template.Spec.Containers[0].Args[1])
	if err != nil || order.Follow.HashBelow != 256<<20 || order.Follow.Flush != time.Second || order.Follow.SegmentSize != 8<<20 {
		t.Errorf("%+v, %v", order.Follow, err)
	}
	if got := order.Follow.Recipients; len(got) != 2 || got[0] != "age1one" || got[1] != "age1two" {
		t.Errorf("encrypted to %v", got)
	}
}
