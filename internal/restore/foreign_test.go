// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restore_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/restore"
)

// snapshot is of another program, in a folder that looks like one of the cluster's, and an etcd has served it.
func snapshot(name string, noHash bool) v1beta1.EtcdBackup {
	b := newVerifiedBackup(name, 990)
	b.Status.Program, b.Status.Path, b.Status.NoHash = "etcdctl", "v1/default/a/"+name+".db", noHash
	b.Status.ClusterID, b.Status.ClusterUID = "", ""
	b.Status.Verified = &v1beta1.Verification{At: metav1.NewTime(start.Add(time.Hour)), Took: metav1.Duration{Duration: time.Hour}}
	return *b
}

// TestFault101PreviewOfSnapshots: it cannot be checked whether a snapshot without etcd's sha256 is whole, which the preview says,
// beside what is not known of etcd.
func TestFault101PreviewOfSnapshots(t *testing.T) {
	const words = "does not end with etcd's sha256"
	for _, c := range []struct {
		name   string
		silent bool
		want   []string
	}{
		{"whole", false, nil},
		{"copied", false, []string{words}},
		{"copied", true, []string{words, "etcd cannot be asked"}},
	} {
		w := newRequestWorld(t)
		w.view.Backups = append(w.view.Backups, snapshot("whole", false), snapshot("copied", true))
		w.view.Restore.Spec.Backup, w.view.Revision = c.name, 1000
		if c.silent {
			w.view.Unasked = "no quorum"
		}
		step, _ := restore.Next(w.view)
		record, is := step.(restore.Record)
		if !is || record.Status.Preview == nil {
			t.Fatalf("%s: %v", c.name, step)
		}
		message := record.Status.Preview.Message
		for _, want := range c.want {
			if !strings.Contains(message, want) || !strings.Contains(record.What, want) {
				t.Errorf("%s: the preview says %q, and the event %q, without %q", c.name, message, record.What, want)
			}
		}
		if len(c.want) == 0 && message != "" {
			t.Errorf("%s: the preview says %q", c.name, message)
		}
	}
}

// TestSnapshotsAreOfNoCluster: what took how long for a snapshot of another program says nothing of a cluster's backups.
func TestSnapshotsAreOfNoCluster(t *testing.T) {
	w := newRequestWorld(t)
	w.view.Backups[1].Status.Verified = nil
	w.view.Backups = append(w.view.Backups, snapshot("whole", false))
	w.view.Restore.Spec.Store, w.view.Revision = "offsite", 1000
	step, _ := restore.Next(w.view)
	record, is := step.(restore.Record)
	if !is || record.Status.Preview == nil || record.Status.Preview.Backup != "second" {
		t.Fatalf("%v", step)
	}
	if took := record.Status.Preview.LastVerificationDuration; took == nil || took.Duration != 400*time.Millisecond {
		t.Errorf("the last drill took %v, and not that of the first backup", took)
	}
}
