// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package backup_test

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
)

// bySnapshot is a backup by VolumeSnapshot whose name the status has.
func bySnapshot() backup.Seen {
	s := seen()
	s.Store = nil
	s.Backup.Spec.VolumeSnapshot = &v1beta1.VolumeSnapshotBackup{ClassName: "fast"}
	s.Backup.Status.Job = &v1beta1.JobReference{Name: "b-1", Task: backup.Backup}
	s.Source = backup.Source{
		Member: "a-2", Revision: 7, Version: "3.6.16", Database: 20 << 20, StorageClass: "ssd", Size: "8Gi", At: start,
	}
	return s
}

const taken = `apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshot
metadata:
  annotations:
    etcd-operator.dev/backup-uid: b-uid
    etcd-operator.dev/cluster-id: c1
    etcd-operator.dev/cluster-uid: c-uid
    etcd-operator.dev/database-size: "20971520"
    etcd-operator.dev/etcd-version: 3.6.16
    etcd-operator.dev/observed-at: "2026-11-24T10:00:00Z"
    etcd-operator.dev/recoveries: "0"
    etcd-operator.dev/revision: "7"
    etcd-operator.dev/storage-class: ssd
    etcd-operator.dev/volume-size: 8Gi
  labels:
    app.kubernetes.io/component: backup
    app.kubernetes.io/managed-by: etcd-operator
    etcd-operator.dev/backup: b
    etcd-operator.dev/cluster: a
    etcd-operator.dev/member: a-2
  name: b-1
  namespace: ns
spec:
  source:
    persistentVolumeClaimName: a-2
  volumeSnapshotClassName: fast
`

// TestVolumeSnapshot: it says of what it is, so that the EtcdBackup can be written again by it.
func TestVolumeSnapshot(t *testing.T) {
	v := backup.Facts(bySnapshot())
	step, _ := backup.Next(v)
	create, creates := step.(backup.CreateSnapshot)
	if !creates {
		t.Fatal(step)
	}
	got, err := yaml.Marshal(backup.VolumeSnapshot(v, create))
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != taken {
		t.Errorf("%s", got)
	}
}

// TestSources: voters that serve, the leader last; no learner.
func TestSources(t *testing.T) {
	if got := strings.Join(backup.Sources(seen().Cluster), " "); got != "a-2 a-0" {
		t.Error(got)
	}
}

// TestSnapshotsAreSeen: what each state of a VolumeSnapshot means, and how long it is waited for.
func TestSnapshotsAreSeen(t *testing.T) {
	for _, c := range []struct{ status, after, want string }{
		{"", "1m", "wait for VolumeSnapshot b-1 to be ready: no snapshot controller has begun"},
		{"", "11m", "record: VolumeSnapshot b-1: no snapshot controller has begun"},
		{"boundVolumeSnapshotContentName: c", "1m", "wait for VolumeSnapshot b-1 to be ready: its CSI driver has not taken it yet"},
		{"boundVolumeSnapshotContentName: c", "11m", "record: VolumeSnapshot b-1: its CSI driver has not taken it yet"},
		{"{boundVolumeSnapshotContentName: c, creationTime: '2026-11-24T10:00:01Z'}", "5h", "its CSI driver is copying it"},
		{"error: {message: no room}", "30s", "wait for VolumeSnapshot b-1 to be ready: no room"},
		{"error: {message: no room}", "2m", "record: VolumeSnapshot b-1: no room; attempt 0 failed"},
		{
			"{readyToUse: true, restoreSize: 2Gi}", "2s",
			"record: revision 7, or a later one, of EtcdCluster a is in VolumeSnapshot b-1 of the volume of a-2, 8Gi",
		},
		{"{readyToUse: true, restoreSize: 9Gi, error: {message: old}}", "2s", "of the volume of a-2, 9Gi"},
	} {
		s := bySnapshot()
		late, _ := time.ParseDuration(c.after)
		s.Now = start.Add(late)
		s.Snapshot = &unstructured.Unstructured{}
		text := strings.Replace(taken, "metadata:\n", "metadata:\n  uid: s-uid\n  creationTimestamp: '2026-11-24T10:00:00Z'\n", 1)
		if err := yaml.Unmarshal([]byte(text+"status: {}\n"), &s.Snapshot.Object); err != nil {
			t.Fatal(err)
		}
		var status map[string]any
		if err := yaml.Unmarshal([]byte(c.status), &status); err != nil {
			t.Fatal(err)
		}
		s.Snapshot.Object["status"] = status
		if step, _ := backup.Next(backup.Facts(s)); !strings.Contains(step.String(), c.want) {
			t.Errorf("%s after %s: %s", c.status, c.after, step)
		}
	}
}

// TestWhenAMemberIsAsked: only where a VolumeSnapshot may be taken next.
func TestWhenAMemberIsAsked(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*backup.Seen)
		want   bool
	}{
		"named, and not taken": {func(*backup.Seen) {}, true},
		"not begun":            {func(s *backup.Seen) { s.Backup.Status.Job = nil }, true},
		"being taken":          {func(s *backup.Seen) { s.Backup.Status.Job.UID = "s-uid" }, false},
		"ready":                {func(s *backup.Seen) { s.Backup.Status.VolumeSnapshot = &v1beta1.VolumeSnapshotReference{} }, false},
		"in a store":           {func(s *backup.Seen) { s.Backup.Spec.VolumeSnapshot = nil }, false},
		"in the pause after a failure": {func(s *backup.Seen) {
			s.Backup.Status.Job, s.Backup.Status.RetryAt = nil, at(start.Add(time.Minute))
		}, false},
	} {
		s := bySnapshot()
		c.change(&s)
		if got := backup.NeedsSource(s); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestOrderToTrySnapshot: an etcd is started on a volume that is made of the VolumeSnapshot; no store is asked.
func TestOrderToTrySnapshot(t *testing.T) {
	s := bySnapshot()
	s.Backup.Status.Job, s.Backup.Status.Revision = nil, 7
	s.Backup.Status.VolumeSnapshot = &v1beta1.VolumeSnapshotReference{Name: "b-1", UID: "s-uid", StorageClass: "ssd"}
	s.Backup.Status.EtcdVersion = "3.6.16"
	job, orders := ordered(t, s, backup.Verify, nil)
	if len(orders) != 2 || orders[0].Verb != jobspec.Rescue || !orders[0].Rescue.InPlace || orders[1].Verb != jobspec.Verify ||
		!orders[1].Trial.Stopped || orders[1].Trial.Least != 7 {
		t.Errorf("orders %+v", orders)
	}
	volumes := job.Spec.Template.Spec.Volumes
	if len(volumes) != 1 || volumes[0].Ephemeral.VolumeClaimTemplate.Spec.DataSource.Name != "b-1" {
		t.Errorf("volumes %+v", volumes)
	}
}
