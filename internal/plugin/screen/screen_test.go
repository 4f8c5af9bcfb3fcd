// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package screen

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

var rewrite = flag.Bool("rewrite", false, "write what is said into testdata")

var now = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

// TestScreens: what people and scripts read of each cluster in testdata.
func TestScreens(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) < 4 {
		t.Fatal("testdata:", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			s := Of(read(t, file))
			golden(t, file[:len(file)-len(".yaml")]+".txt", Text(s, now, 120))
			raw, err := json.MarshalIndent(s, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			golden(t, file[:len(file)-len(".yaml")]+".json", string(raw)+"\n")
		})
	}
}

// TestOverview: several clusters have a line each, in the order in which they come.
func TestOverview(t *testing.T) {
	var all []Status
	for _, name := range []string{"healthy", "quorum-lost", "restoring"} {
		all = append(all, Of(read(t, "testdata/"+name+".yaml")))
	}
	golden(t, "testdata/overview.txt", Overview(all))
}

// TestBestIsVerified: the newest verified backup comes first, whatever is newer.
func TestBestIsVerified(t *testing.T) {
	backups := read(t, "testdata/healthy.yaml").Backups
	for range 6 {
		var names []string
		for _, b := range Best(backups) {
			names = append(names, b.Name)
		}
		if want := []string{"daily-2", "daily-1", "running", "broken"}; !slices.Equal(names, want) {
			t.Fatalf("best: %v, wanted %v", names, want)
		}
		backups = append(backups[1:], backups[0])
	}
}

// TestIsHealthy: clients are served, and nothing is wrong.
func TestIsHealthy(t *testing.T) {
	c := read(t, "testdata/healthy.yaml").Cluster
	if !IsHealthy(&c) {
		t.Error("it is healthy")
	}
	meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{Type: v1beta1.ConditionDegraded, Status: metav1.ConditionTrue})
	if IsHealthy(&c) {
		t.Error("it is degraded")
	}
}

// TestOutcome: a backup that is stored is only good where its trial passed, or none was requested.
func TestOutcome(t *testing.T) {
	for reason, good := range map[string]bool{v1beta1.ReasonNotWanted: true, "Different": false, v1beta1.ReasonVerificationPending: false} {
		b := &v1beta1.EtcdBackup{Status: v1beta1.EtcdBackupStatus{Phase: v1beta1.BackupComplete}}
		status := metav1.ConditionUnknown
		if reason == "Different" {
			status = metav1.ConditionFalse
		}
		b.Status.Conditions = []metav1.Condition{
			{Type: v1beta1.ConditionComplete, Status: metav1.ConditionTrue}, {Type: v1beta1.ConditionVerified, Status: status, Reason: reason},
		}
		if ended, problem, result := Outcome(b); !ended || (problem == "") != good || (result != "") != good {
			t.Errorf("%s: %t, %q, %q", reason, ended, problem, result)
		}
	}
}

func read(t *testing.T, file string) Objects {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var o Objects
	if err := yaml.UnmarshalStrict(raw, &o); err != nil {
		t.Fatal(file, err)
	}
	return o
}

func golden(t *testing.T, file, is string) {
	t.Helper()
	if *rewrite {
		if err := os.WriteFile(file, []byte(is), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if is != string(want) {
		t.Errorf("%s is\n%s\nwanted\n%s", file, is, want)
	}
}
