// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restore_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobs"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/restore"
)

// targetIs is the target of a script: its revision, its time, or a key that was deleted.
func targetIs(key, value string) *v1beta1.RestoreTarget {
	switch key {
	case "revision":
		revision, _ := strconv.ParseInt(value, 10, 64)
		return &v1beta1.RestoreTarget{Revision: revision}
	case "time":
		return &v1beta1.RestoreTarget{Time: value}
	}
	return &v1beta1.RestoreTarget{BeforeDelete: value}
}

// lookedFor is what the Job gets.
func lookedFor(s restore.FindTarget) string {
	what := ""
	switch o := s.Order; {
	case o.Revision > 0:
		what = fmt.Sprintf("revision %d", o.Revision)
	case !o.Time.IsZero():
		what = o.Time.Format(time.RFC3339Nano)
	default:
		what = "the deletion of " + o.BeforeDelete
	}
	for i, b := range s.Order.Backups {
		what += []string{", ", " after "}[btoi(i == 0)] + fmt.Sprintf("%s@%d", b.Path, b.Revision)
	}
	return what
}

func btoi(is bool) int {
	if is {
		return 1
	}
	return 0
}

// searchBegins is the Job that was created.
func searchBegins(s restore.FindTarget) jobs.Observed {
	return jobs.Observed{Exists: true, Owned: true, Name: "search", UID: "search-1", For: s.For}
}

// searchEnds is what the Job says: "found" has the path of a backup, and the log after it leads to the revision of "up-to".
func searchEnds(t *testing.T, job jobs.Observed, now time.Time, word, value string) jobs.Observed {
	t.Helper()
	job.Ended, job.EndedAt = true, now
	switch word {
	case "found":
		job.Lines = []jobspec.Line{{Done: &jobspec.Done{Located: &jobspec.Located{Path: value}}}}
	case "up-to":
		found := job.Lines[0].Done.Located
		found.Revision, _ = strconv.ParseInt(value, 10, 64)
		found.Lineage, found.Size, found.At = "c1-0", 1<<20, now.Add(-time.Minute)
		found.LeftRevision, found.LeftAt = found.Revision+1, now.Add(-time.Second)
	case "size":
		size, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		job.Lines[0].Done.Located.Size = size
	case "fails":
		job.Lines = []jobspec.Line{{Failed: &jobspec.Failed{Reason: jobspec.NotReached, Message: value, Final: true}}}
	case "silent":
		job.Lines, job.Trouble = nil, value
	case "says":
		job.Ended, job.Progress.Message = false, value
	case "deleting":
		job.Deleting = true
	case "unread":
		job.Lines, job.Unread = nil, value
	case "of-another":
		return jobs.Observed{Exists: true, Name: "search"}
	case "for-another":
		job.For = "something else"
	default:
		t.Fatalf("unknown word %q of a search", word)
	}
	return job
}
