// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package worker_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/backup/log"
	"github.com/etcd-operator/etcd-operator/internal/etcd/process"
)

// logged is a full backup of a real etcd, and the log after it: keys a and b are put, b is deleted, and c is put, each in a segment of its
// own. It returns when each of these was in the store, and the revision.
func logged(t *testing.T) (*running, jobspec.LocateOrder, map[string]log.Header) {
	t.Helper()
	r := newRunning(t, "3.6.16", 1)
	r.full()
	facts := *r.does(r.backup()).Backup
	follow := r.follow(facts.Revision)
	f := log.Folder{Namespace: "default", Cluster: "example", Lineage: follow.Follow.Lineage}
	member := r.client(r.cluster, "m1")
	found := map[string]log.Header{}
	for _, what := range []string{"put a", "put b", "delete b", "put c"} {
		var verb, key string
		_, err := fmt.Sscan(what, &verb, &key)
		must(t, err)
		if verb == "put" {
			_, err = member.Put(t.Context(), key, "v")
		} else {
			_, err = member.Delete(t.Context(), key)
		}
		must(t, err)
		r.until(follow, func() bool {
			all := r.segments(f)
			if len(all) == len(found)+1 {
				found[what] = all[len(found)].Header
			}
			return found[what].Events > 0
		})
		time.Sleep(2 * time.Millisecond) // the next one has another time
	}
	return r, jobspec.LocateOrder{Backups: []jobspec.FullBackup{
		{Path: path, Revision: facts.Revision, ClusterID: facts.ClusterID, Finished: facts.FinishedAt},
	}}, found
}

// TestTargetsAreFound in the log of a real etcd, and members are restored to what was found: just before a key was deleted it is there.
func TestTargetsAreFound(t *testing.T) {
	t.Parallel()
	r, order, at := logged(t)
	locate := func(change func(*jobspec.LocateOrder)) jobspec.Order {
		o := order
		change(&o)
		return jobspec.Order{Verb: jobspec.Locate, Locate: &o}
	}
	for name, c := range map[string]struct {
		change     func(*jobspec.LocateOrder)
		want, left string // what is the last change, and the first one that is left out
	}{
		"before a deletion": {func(o *jobspec.LocateOrder) { o.BeforeDelete = "b" }, "put b", "delete b"},
		"a revision":        {func(o *jobspec.LocateOrder) { o.Revision = at["delete b"].Last.Revision }, "delete b", "put c"},
		"a time":            {func(o *jobspec.LocateOrder) { o.Time = at["put b"].Ended }, "put b", "delete b"},
		"just before a time": {func(o *jobspec.LocateOrder) {
			o.Time, o.Exclusive = at["put b"].Ended, true
		}, "put a", "put b"},
		"the end": {func(o *jobspec.LocateOrder) { o.Time = at["put c"].Ended }, "put c", ""},
	} {
		found := r.does(locate(c.change)).Located
		want := jobspec.Located{
			Path: path, Lineage: at["put a"].Lineage, Revision: at[c.want].Last.Revision, At: at[c.want].Ended, Size: found.Size,
			LeftRevision: at[c.left].First.Revision, LeftAt: at[c.left].Began,
		}
		if *found != want || found.Size == 0 {
			t.Errorf("%s: %+v, want %+v", name, *found, want)
		}
		if name == "before a deletion" {
			r.hasRestored(*found)
		}
	}
	r.fails(locate(func(o *jobspec.LocateOrder) { o.BeforeDelete = "d" }), jobspec.NotReached, true, `no deletion of key "d"`)
	r.fails(locate(func(o *jobspec.LocateOrder) { o.Revision = 1 }), jobspec.NotReached, true, "no full backup is older than revision 1")
	r.fails(locate(func(o *jobspec.LocateOrder) { o.Time = time.Now().Add(time.Hour) }), jobspec.NotReached, true, "the nearest before that")
	r.fails(locate(func(*jobspec.LocateOrder) {}), jobspec.UnsupportedJobSpec, true, "one of a revision, a time, and a key")
	r.fails(locate(func(o *jobspec.LocateOrder) {
		o.Revision = 1
		o.Backups = append(o.Backups, jobspec.FullBackup{Path: "v1/default/other/uid-1", ClusterID: "1"})
	}), jobspec.UnsupportedJobSpec, true, "is no full backup of cluster example")
	damaged := log.Folder{Namespace: "default", Cluster: "example", Lineage: at["put a"].Lineage}.Object(at["delete b"].First)
	r.put(damaged, []byte("nothing"))
	r.fails(locate(func(o *jobspec.LocateOrder) { o.Revision = at["put c"].First.Revision }), jobspec.Corrupt, true, damaged)
}

// hasRestored restores a member to what was found: it has key b, and nothing that came later.
func (r *running) hasRestored(found jobspec.Located) {
	r.Helper()
	c := process.New(r.T, 1)
	m := c.Member("m1")
	r.in.Folders.Member = filepath.Dir(m.Data)
	done := r.does(jobspec.Order{Verb: jobspec.Restore, Restore: &jobspec.RestoreOrder{
		Path: found.Path, DataDirectory: filepath.Base(m.Data), Member: "m1", Minor: "3.6", Token: "t",
		InitialCluster: map[string]string{"m1": c.PeerURL("m1")},
		Target:         &jobspec.TargetOrder{Lineage: found.Lineage, Revision: found.Revision},
	}})
	if done.Reached == nil || done.Reached.Revision != found.Revision || done.Reached.LeftRevision != found.LeftRevision {
		r.Errorf("%+v was found, and %+v is reached", found, done.Reached)
	}
	m.Start("3.6.16", c.Joins("existing", "m1")...)
	c.Serves("m1")
	r.hasTheKeysOf("m1", c, found.Revision)
	if b, err := r.client(c, "m1").Get(r.Context(), "b"); err != nil || b.Count != 1 {
		r.Errorf("key b is not there: %+v, %v", b, err)
	}
	m.Stop()
}
