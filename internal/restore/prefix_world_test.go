// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restore_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/backup/jobs"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/restore"
)

// ordered is what the Job gets.
func ordered(s restore.StartTask) string {
	moment := func(at jobspec.Located) string { return fmt.Sprintf("%s@%d %s", at.Path, at.Revision, at.Lineage) }
	switch o := s.Order; {
	case o.Apply != nil:
		return fmt.Sprintf("of %s, compared at %d with digest %s", moment(o.Apply.At), o.Apply.Revision, o.Apply.Digest)
	case o.Revert != nil:
		return fmt.Sprintf("of %s, after %s", moment(o.Revert.Before), moment(o.Revert.At))
	case o.Compare.Target != nil:
		return lookedFor(restore.FindTarget{Order: *o.Compare.Target})
	default:
		return "of " + moment(*o.Compare.At)
	}
}

// taskEnds is what the Job says: "changes" has how many keys are created, updated and deleted, and "left" how many were changed by others.
func taskEnds(t *testing.T, job jobs.Observed, now time.Time, word, value string) jobs.Observed {
	t.Helper()
	job.Ended, job.EndedAt = true, now
	switch word {
	case "changes":
		c := &jobspec.Changes{Revision: 1000, Same: 7, Digest: strings.ReplaceAll(value, "+", "") + "3456789abcdef"}
		if _, err := fmt.Sscanf(value, "%d+%d+%d", &c.Create, &c.Update, &c.Delete); err != nil {
			t.Fatal(err)
		}
		job.Lines = []jobspec.Line{{Done: &jobspec.Done{Changes: c}}}
	case "left":
		if _, err := fmt.Sscan(value, &job.Lines[0].Done.Changes.Skipped); err != nil {
			t.Fatal(err)
		}
	case "at": // the backup, and the revision that the log leads to after it
		found := jobspec.Located{Lineage: "c1-0", At: now.Add(-time.Minute)}
		if _, err := fmt.Sscanf(value, "%s %d", &found.Path, &found.Revision); err != nil {
			t.Fatal(err)
		}
		job.Lines[0].Done.Located = &found
	case "outdated":
		job.Lines = []jobspec.Line{{Failed: &jobspec.Failed{Reason: jobspec.Outdated, Message: value, Final: true}}}
	default:
		return searchEnds(t, job, now, word, value)
	}
	return job
}
