// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package stores_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/archive"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/backup/stores"
)

// settles has the store looked at once more, and returns the Job that did it. Nil: no change of the answer.
func (w *world) settles(t *testing.T, answer func([]jobspec.Line) []jobspec.Line) stores.CreateJob {
	t.Helper()
	var job stores.CreateJob
	w.answer = answer
	w.v.Now = w.v.Now.Add(6 * time.Minute)
	for range 9 {
		step, _ := stores.Next(w.view())
		wait, waits := step.(stores.Wait)
		if waits && !w.v.Job.Exists && !wait.Until.IsZero() {
			return job
		}
		if created, is := step.(stores.CreateJob); is {
			job = created
		}
		if record, is := step.(stores.Record); is && record.Memory != nil {
			w.v.Memory = record.Memory
		}
		w.obey(step)
		if w.v.Job.Exists && !w.v.Job.Ended {
			w.endJob()
		}
	}
	t.Fatal("it never rests")
	return job
}

// unseen is an answer of a Job that has not looked at so many objects of others, of which it names some.
func unseen(checked jobspec.Checked, names ...string) func([]jobspec.Line) []jobspec.Line {
	return func(all []jobspec.Line) []jobspec.Line {
		end := all[len(all)-1]
		end.Done.Check.Waiting, end.Done.Check.Unread, end.Done.Check.Trouble = checked.Waiting, checked.Unread, checked.Trouble
		looked := jobspec.Looked{Memory: archive.Memory{"nothing": []byte("12345")}}
		return append(all[:len(all)-1], jobspec.Line{Looked: &looked}, jobspec.Line{Looked: &jobspec.Looked{Unseen: archive.NamesOf(names)}}, end)
	}
}

// TestLimitDeletesNothing: what a look has left out is not gone, and the store is ready.
func TestLimitDeletesNothing(t *testing.T) {
	const found, named, ours = "old/snapshot.db", "old/named.db", "v1/old/a/1"
	for name, c := range map[string]struct {
		answer func([]jobspec.Line) []jobspec.Line
		gone   []string // paths whose EtcdBackups are deleted, or said to be gone
		says   string
	}{
		"all are named": {
			unseen(jobspec.Checked{Waiting: 2000, Unread: 1, Trouble: "403"}, append(many(1999), found, named)...), nil,
			"; of foreign objects, 2000 wait to be looked at",
		},
		"some are named": {unseen(jobspec.Checked{Waiting: 5000}, many(10)...), nil, "5000 wait"},
		"some cannot be read": {
			unseen(jobspec.Checked{Unread: 2, Trouble: "403 InvalidObjectState"}, found, named), nil,
			"2 cannot be read, and are tried again later: 403",
		},
		"others wait":        {unseen(jobspec.Checked{Waiting: 3}, many(3)...), []string{found, named}, "3 wait"},
		"one of both waits":  {unseen(jobspec.Checked{Waiting: 1}, named), []string{found}, "1 wait"},
		"all were looked at": {unseen(jobspec.Checked{}), []string{found, named}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t.Errorf)
			w.v.Backups = []v1beta1.EtcdBackup{own("mine", "offsite"), {Spec: v1beta1.EtcdBackupSpec{Store: "offsite", Found: named}}}
			w.v.Backups[1].Name, w.v.Backups[1].Namespace = "by-hand", "ns"
			w.complete("mine")
			w.lies(ours, "first", "", "", start)
			w.lies(found, "", "", "", start)
			w.lies(named, "", "", "", start)
			for i := range w.content {
				if strings.HasPrefix(w.content[i].Path, "old/") {
					w.content[i].Program, w.content[i].Backup = "etcdctl", jobspec.Facts{Stored: 1, StartedAt: start}
				}
			}
			w.settles(t, nil)
			before := len(w.v.Backups)
			w.gone(found)
			w.gone(named)
			w.settles(t, c.answer)
			if ready := w.ready(); ready.Status != "True" || !strings.Contains(ready.Message, c.says) ||
				c.says == "" && strings.Contains(ready.Message, "others") {
				t.Errorf("Ready=%s: %s", ready.Status, ready.Message)
			}
			for _, path := range []string{found, named, ours} {
				if isGone := w.isGone(path); isGone != slices.Contains(c.gone, path) {
					t.Errorf("%s: gone %t", path, isGone)
				}
			}
			if mine := w.v.Backups[w.find("mine")]; mine.Annotations[v1beta1.AnnotationGone] != "" {
				t.Errorf("the backup of the operator is said to be gone: %v", mine.Annotations)
			}
			if len(c.gone) == 0 && len(w.v.Backups) != before {
				t.Errorf("%d EtcdBackups of %d", len(w.v.Backups), before)
			}
			if job := w.settles(t, c.answer); len(job.Memory) != 1 || !job.First.Has(named) || job.First.Has(ours) {
				t.Errorf("the next job is %+v", job)
			}
		})
	}
}

// isGone says whether no EtcdBackup stands for a path, or one that says that nothing lies there.
func (w *world) isGone(path string) bool {
	for _, b := range w.v.Backups {
		if b.Spec.Found == path {
			return strings.Contains(b.Annotations[v1beta1.AnnotationFound], "nothing lies there")
		}
	}
	return true
}

func many(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("builds/%d.gz", i))
	}
	return names
}

// TestAppendOnlyStoreSaysWhatWaits: what is kept of a message from look to look is not what waits.
func TestAppendOnlyStoreSaysWhatWaits(t *testing.T) {
	w := newWorld(t.Errorf)
	w.settles(t, func(all []jobspec.Line) []jobspec.Line {
		all[len(all)-1].Done.Check.Kept = "403"
		return unseen(jobspec.Checked{Waiting: 7})(all)
	})
	for _, waiting := range []int{6, 5, 0} {
		w.settles(t, unseen(jobspec.Checked{Waiting: waiting}))
		want := fmt.Sprintf("403; of foreign objects, %d wait", waiting)
		if message := w.ready().Message; waiting > 0 && !strings.Contains(message, want) || waiting == 0 && !strings.HasSuffix(message, ": 403") {
			t.Errorf("%d wait: %s", waiting, message)
		}
	}
}

// TestNewestIsNoSnapshotOfOthers: of which cluster one is, and whether it is whole, is not known.
func TestNewestIsNoSnapshotOfOthers(t *testing.T) {
	w := newWorld(t.Errorf)
	w.lies("v1/old/a/1", "first", "", "", start.Add(-time.Hour))
	w.content = append(w.content, jobspec.Found{
		Path: "etcd.db", Program: "etcdctl", Backup: jobspec.Facts{Stored: 1, Revision: 99, StartedAt: start},
	})
	w.settles(t, nil)
	if newest := w.v.Store.Status.Newest; newest == nil || newest.Revision != 7 {
		t.Errorf("the newest is %+v", newest)
	}
}

// TestOrderIsOneArgument: Linux takes 128 KiB, and what is remembered and named must leave room for the store.
func TestOrderIsOneArgument(t *testing.T) {
	w := newWorld(t.Errorf)
	for n := range 5000 {
		b := v1beta1.EtcdBackup{Spec: v1beta1.EtcdBackupSpec{Store: "offsite", Found: fmt.Sprintf("old/%d.db", n)}}
		b.Name, b.Namespace = fmt.Sprintf("named-%d", n), "ns"
		w.v.Backups = append(w.v.Backups, b)
	}
	job := w.settles(t, nil)
	order := jobspec.Order{Verb: jobspec.Check, Check: &jobspec.CheckOrder{
		Memory: archive.Memory{"nothing": make([]byte, 8192*archive.NameSize)}, First: job.First,
	}}
	if size := len(order.Encode()); size > 96<<10 || job.First.Len() != 4000 {
		t.Errorf("an order has %d bytes, and names %d objects", size, job.First.Len())
	}
}
