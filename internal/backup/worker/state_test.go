// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package worker_test

import (
	"bytes"
	"os"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/backup/worker"
)

// recorded are the lines of a Job, those with records too, whose values may be long.
func (w *world) recorded(order jobspec.Order) (lines []jobspec.Line) {
	w.Helper()
	var out bytes.Buffer
	in := w.in
	in.Out = &out
	worker.Main(w.Context(), []string{onVolume(order).Encode()}, in)
	must(w, jobspec.ReadRecords(&out, func(line jobspec.Line) bool {
		if line.Progress == nil {
			lines = append(lines, line)
		}
		return true
	}))
	return lines
}

// TestStateIsThatOfEtcd: the keys below a prefix, of a full backup and the log after it, are those that etcd had at that revision.
func TestStateIsThatOfEtcd(t *testing.T) {
	t.Parallel()
	r, order, at := logged(t)
	must(t, os.MkdirAll(r.in.Folders.Scratch, 0o750))
	client := r.client(r.cluster, "m1")
	for name, change := range map[string]func(*jobspec.LocateOrder){
		"before a deletion":  func(o *jobspec.LocateOrder) { o.BeforeDelete = "b" },
		"a revision":         func(o *jobspec.LocateOrder) { o.Revision = at["delete b"].Last.Revision },
		"a time":             func(o *jobspec.LocateOrder) { o.Time = at["put c"].Ended },
		"the full backup":    func(o *jobspec.LocateOrder) { o.Revision = o.Backups[0].Revision },
		"just before a time": func(o *jobspec.LocateOrder) { o.Time, o.Exclusive = at["put b"].Ended, true },
	} {
		for _, prefix := range []string{"", "key-09", "b", "nobody"} {
			target := order
			change(&target)
			lines := r.recorded(jobspec.Order{Verb: jobspec.State, State: &jobspec.StateOrder{Prefix: []byte(prefix), Target: target}})
			done := lines[len(lines)-1].Done
			if done == nil || done.Located == nil || done.Recorded.Records != int64(len(lines)-1) {
				t.Fatalf("%s: %+v", name, lines[len(lines)-1].Failed)
			}
			from, options := prefix, []clientv3.OpOption{clientv3.WithRev(done.Located.Revision), clientv3.WithPrefix()}
			if prefix == "" {
				from, options = "\x00", []clientv3.OpOption{clientv3.WithRev(done.Located.Revision), clientv3.WithFromKey()}
			}
			want, err := client.Get(t.Context(), from, options...)
			must(t, err)
			if len(want.Kvs) != len(lines)-1 {
				t.Errorf("%s, %q: %d keys, and etcd has %d", name, prefix, len(lines)-1, len(want.Kvs))
				continue
			}
			for i, kv := range want.Kvs {
				k := *lines[i].Record
				if string(kv.Key) != string(k.Key) || string(kv.Value) != string(k.Value) || kv.ModRevision != k.Revision ||
					kv.CreateRevision != k.CreateRevision || kv.Version != k.Version || kv.Lease != k.Lease {
					t.Errorf("%s: %+v, and etcd has %s", name, k, kv)
				}
			}
		}
	}
	late := order
	late.Time = time.Now().Add(time.Hour)
	r.fails(jobspec.Order{Verb: jobspec.State, State: &jobspec.StateOrder{Target: late}}, jobspec.NotReached, true, "the nearest before that")
	found, err := os.ReadDir(r.in.Folders.Scratch)
	must(t, err)
	if len(found) != 0 {
		t.Errorf("it leaves %v", found)
	}
}

// TestSearchFindsWhatEtcdDid in the log of a real etcd.
func TestSearchFindsWhatEtcdDid(t *testing.T) {
	t.Parallel()
	r, _, at := logged(t)
	lines := r.recorded(jobspec.Order{Verb: jobspec.Search, Search: &jobspec.SearchOrder{
		Namespace: "default", Cluster: "example", Lineage: at["put a"].Lineage, Key: []byte("b"), Before: true,
	}})
	if len(lines) != 3 || lines[2].Done == nil {
		t.Fatalf("%+v", lines)
	}
	put, deleted := *lines[0].Record, *lines[1].Record
	if put.Revision != at["put b"].First.Revision || put.Deleted || string(put.Value) != "v" || put.Version != 1 || put.Before != nil {
		t.Errorf("%+v", put)
	}
	if deleted.Revision != at["delete b"].First.Revision || !deleted.Deleted || !deleted.Time.Equal(at["delete b"].Began) ||
		deleted.Before == nil || string(*deleted.Before) != "v" {
		t.Errorf("%+v", deleted)
	}
}

// TestStateHasABound: more than the log of a Pod has room for is refused, and nothing of it is left in the scratch.
func TestStateHasABound(t *testing.T) {
	w := newWorld(t)
	m := w.backedUp("uid-1", database(t, 22000), nil)
	state := func(prefix string) jobspec.Order {
		return jobspec.Order{Verb: jobspec.State, State: &jobspec.StateOrder{Prefix: []byte(prefix), Target: jobspec.LocateOrder{
			Backups:  []jobspec.FullBackup{{Path: path, Revision: m.Revision, ClusterID: "c1", Finished: m.FinishedAt}},
			Revision: m.Revision,
		}}}
	}
	w.fails(state("key-"), jobspec.NoRoom, true, "below the prefix there are 22000 keys")
	if lines := w.recorded(state("key-2199")); len(lines) != 12 || lines[11].Done == nil { // 2199, and 21990 to 21999
		t.Errorf("%d lines, the last is %+v", len(lines), lines[len(lines)-1])
	}
	left, err := os.ReadDir(w.in.Folders.Scratch)
	must(t, err)
	if len(left) != 0 {
		t.Errorf("it leaves %v", left)
	}
}
