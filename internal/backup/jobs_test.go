// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package backup_test

import (
	"strings"
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/backup"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
)

// recorded is the status that the plan writes next.
func recorded(t *testing.T, v backup.View) backup.Record {
	t.Helper()
	step, because := backup.Next(v)
	record, records := step.(backup.Record)
	if !records {
		t.Fatalf("%s (%s)", step, because)
	}
	return record
}

// TestJobOfAnotherIsNotBelieved: neither one that took the place of ours, nor one that was there before it.
func TestJobOfAnotherIsNotBelieved(t *testing.T) {
	v := whileRunning().view()
	v.Job.Ended, v.Job.Lines = true, []jobspec.Line{{Done: &jobspec.Done{Backup: &jobspec.Facts{ManifestSHA256: "theirs"}}}}
	replaced := v
	replaced.Job.UID = "another"
	early := v
	early.Status.Job = v.Status.Job.DeepCopy()
	early.Status.Job.UID, early.Job.Owned = "", false
	for _, v := range []backup.View{replaced, early} {
		s := recorded(t, v).Status
		if s.ManifestSHA256 != "" || s.Failure == nil || s.Job != nil || s.RetryAt == nil {
			t.Errorf("status %+v", s)
		}
	}
}

// TestNameIsTakenBack: of a Job that has nothing to work with any more, and the attempt does not count.
func TestNameIsTakenBack(t *testing.T) {
	w := newWorld()
	step, _ := backup.Next(w.view())
	w.obey(step)
	w.v.Store = stores["missing"]
	s := recorded(t, w.view()).Status
	if s.Job != nil || s.Attempts != 0 || s.Jobs != 1 || s.Failure != nil {
		t.Errorf("status %+v", s)
	}
}

// TestFolderOfItsOwn: for an attempt that a store's lock keeps from clearing what an earlier one has left, and no other one's.
func TestFolderOfItsOwn(t *testing.T) {
	seen := map[string]bool{}
	w := whileRunning()
	for range 3 {
		path := w.v.Status.Path
		if seen[path] || !strings.HasPrefix(path, "v1/ns/a/11111111-2222") {
			t.Errorf("attempt %d writes to %s", w.v.Status.Attempts, path)
		}
		seen[path] = true
		w.finish(0, locked)
		for range 7 {
			step, _ := backup.Next(w.view())
			w.obey(step)
			w.passRetry()
		}
	}
}
