// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package worker_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/archive"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
)

func check(o jobspec.CheckOrder) jobspec.Order { return jobspec.Order{Verb: jobspec.Check, Check: &o} }

// TestChecksAreNotLocked: what a check writes is deleted at once, whatever lock the store has for backups.
func TestChecksAreNotLocked(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"accessKeyID", "secretAccessKey"} {
		must(t, os.WriteFile(filepath.Join(w.in.Folders.Keys, name), []byte("a"), 0o600))
	}
	var locks []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			locks = append(locks, r.Header.Get("X-Amz-Object-Lock-Mode"))
		}
		_, _ = io.WriteString(w, `<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>`)
	}))
	defer server.Close()
	order := check(jobspec.CheckOrder{Write: true})
	order.Store.S3 = &v1beta1.S3Store{
		Bucket: "b", Endpoint: server.URL, PathStyle: true, Credentials: &v1beta1.SecretReference{Secret: "keys"},
		Lock: &v1beta1.S3Lock{Mode: v1beta1.LockCompliance, Days: 30},
	}
	w.says(order)
	if len(locks) == 0 || slices.ContainsFunc(locks, func(mode string) bool { return mode != "" }) {
		t.Errorf("locks of what was written: %q", locks)
	}
}

// What is in a store is reported by name, each with what is wrong with it.
func TestWhatLiesInAStore(t *testing.T) {
	w := newWorld(t)
	db := database(t, 20)
	m := w.backedUp("uid-1", db, nil)
	w.backedUp("uid-2", db, nil)
	w.backedUp("uid-3", db, nil)
	w.backedUp("uid-4", db, nil)
	rewrite := func(id, old, with string) {
		name := "v1/default/example/" + id + "/manifest.json"
		content, err := os.ReadFile(w.file(name))
		must(t, err)
		w.put(name, bytes.Replace(content, []byte(old), []byte(with), 1))
	}
	rewrite("uid-2", `"revision": 21`, `"revision": 22`)
	rewrite("uid-3", `"format": 1`, `"format": 3`)
	must(t, os.Remove(w.file("v1/default/example/uid-4/manifest.json"))) // torn
	w.put("old/v2/Full-00000000-00000900-1700000000", snapshotOf(db))
	w.put("readme.txt", []byte("hello"))

	lines := w.says(check(jobspec.CheckOrder{Write: true}))
	want := []struct{ path, program, problem string }{
		{"v1/default/example/uid-1", "", ""},
		{"v1/default/example/uid-2", "", "is corrupt: its sha256 is not the one that it names; restore another backup"},
		{"v1/default/example/uid-3", "", "has format 3, and this operator reads format 2: restore it by operator v0.5.0"},
		{"old/v2/Full-00000000-00000900-1700000000", "gardener/etcd-backup-restore", ""},
	}
	if len(lines) != len(want)+2 || lines[len(want)].Looked == nil {
		t.Fatalf("%d lines: %+v", len(lines), lines)
	}
	for i, want := range want {
		got := lines[i].Found
		if got == nil || got.Path != want.path || got.Program != want.program || !strings.Contains(got.Problem, want.problem) ||
			(got.Problem == "") != (want.problem == "") {
			t.Errorf("%+v, and it should be %+v", got, want)
		}
	}
	first := lines[0].Found.Backup
	if first.Revision != 21 || first.Name != "nightly" || first.ManifestSHA256 != m.SHA256 || first.Database != int64(len(db)) {
		t.Errorf("%+v", first)
	}
	if second := lines[1].Found.Backup; second.ID != "uid-2" || second.Cluster != "example" || second.Revision != 0 || second.Stored == 0 {
		t.Errorf("of a damaged manifest is reported: %+v", second)
	}
	if foreign := lines[3].Found.Backup; foreign.Revision != 900 || !foreign.StartedAt.Equal(time.Unix(1700000000, 0)) {
		t.Errorf("%+v", foreign)
	}
	checked := lines[len(lines)-1].Done.Check
	if checked == nil || checked.Backups != 4 || checked.Unknown != 1 || checked.Stored < 3*m.StoredBytes || checked.Skew != 0 {
		t.Errorf("%+v", checked)
	}
}

// TestFaultStoreIsNotThere: the Pod has no volume, or a folder that it may not write to.
func TestStoreThatCannotBeUsed(t *testing.T) {
	w := newWorld(t)
	must(t, os.WriteFile(w.file(""), nil, 0o600)) // a file where the folder of backups should be
	w.fails(check(jobspec.CheckOrder{Write: true}), jobspec.StoreFailed, false, "")
	must(t, os.RemoveAll(w.in.Folders.Volume))
	w.fails(check(jobspec.CheckOrder{}), jobspec.StoreFailed, false, "no bucket: no volume is mounted there; create the bucket")
}

// More manifests than are read at a time.
func TestManyBackups(t *testing.T) {
	w := newWorld(t)
	db := database(t, 1)
	for n := range 30 {
		w.backedUp(fmt.Sprintf("uid-%02d", n), db, nil)
	}
	lines := w.says(check(jobspec.CheckOrder{}))
	for n := range 30 {
		if found := lines[n].Found; found == nil || found.Backup.ID != fmt.Sprintf("uid-%02d", n) {
			t.Errorf("line %d is %+v", n, lines[n])
		}
	}
}

// TestPartsThatAreGone: a manifest alone is no backup, and a list shows that.
func TestPartsThatAreGone(t *testing.T) {
	w := newWorld(t)
	m := w.backedUp("uid-1", database(t, 2000), nil)
	w.backedUp("uid-2", database(t, 2000), nil)
	if len(m.Parts) < 2 {
		t.Fatalf("%d parts", len(m.Parts))
	}
	must(t, os.Remove(w.file("v1/default/example/uid-1/"+m.Parts[1].Name)))
	must(t, os.Truncate(w.file("v1/default/example/uid-2/"+m.Parts[0].Name), 1))
	for _, line := range w.says(check(jobspec.CheckOrder{}))[:2] {
		if !strings.Contains(line.Found.Problem, "parts of it are missing") {
			t.Errorf("%+v", line.Found)
		}
	}
}

// TestManifestOfTheFuture: what a node with a wrong clock has written was begun when the store has it from, if that clock is right.
func TestManifestOfTheFuture(t *testing.T) {
	w := newWorld(t)
	w.backedUp("uid-1", database(t, 1), func(j *archive.Job) { j.Manifest.StartedAt = time.Now().AddDate(10, 0, 0) })
	w.age("v1/default/example/uid-1", 1000*time.Hour)
	written, err := os.Stat(w.file("v1/default/example/uid-1/manifest.json"))
	must(t, err)
	if began := w.says(check(jobspec.CheckOrder{}))[0].Found.Backup.StartedAt; began.Sub(written.ModTime()).Abs() > time.Hour {
		t.Errorf("it was begun at %s, and is in the store since %s", began, written.ModTime())
	}
}

// TestSweep: what an upload has left is deleted when no process can still write to it, by the clock of the store. What has
// a manifest never is.
func TestSweep(t *testing.T) {
	const day, hour = 24 * time.Hour, time.Hour
	for name, c := range map[string]struct {
		ahead time.Duration // by which the clock of the Job is
		write bool
		young string // how old the youngest object elsewhere is
		torn  time.Duration
		swept bool
	}{
		"old":            {write: true, torn: day + hour, swept: true},
		"not old enough": {write: true, torn: day - hour},
		"the clock of the node is two days ahead":  {ahead: 2 * day, write: true, torn: hour},
		"the clock of the node is two days behind": {ahead: -2 * day, write: true, torn: day + hour, swept: true},
		"nothing shows the time of the store":      {torn: day + hour},
		"another backup shows the time":            {torn: day + hour, young: "uid-2", swept: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.in.Now = func() time.Time { return time.Now().Add(c.ahead) }
			db := database(t, 3)
			w.backedUp("uid-1", db, nil)
			must(t, os.Remove(w.file(path+"/manifest.json")))
			w.age(path, c.torn)
			w.backedUp("uid-3", db, nil)
			w.age("v1/default/example/uid-3", 400*day) // as old as it is, it has a manifest
			if c.young != "" {
				w.backedUp(c.young, db, nil)
			}
			done := w.does(check(jobspec.CheckOrder{Write: c.write, Sweep: true}))
			if isGone := len(w.stored(path)) == 0; isGone != c.swept || (done.Check.Swept == 1) != c.swept {
				t.Errorf("gone %t, and it says %+v", isGone, done.Check)
			}
			if len(w.stored("v1/default/example/uid-3")) < 2 {
				t.Error("a backup was swept")
			}
		})
	}
}

// TestSweepLooksAgain: a manifest that comes after the list was made is seen.
func TestSweepIsAskedFor(t *testing.T) {
	w := newWorld(t)
	w.backedUp("uid-1", database(t, 3), func(j *archive.Job) { j.Manifest.Upload = "first" })
	must(t, os.Remove(w.file(path+"/manifest.json")))
	w.age(path, 48*time.Hour)
	if w.does(check(jobspec.CheckOrder{Write: true})); len(w.stored(path)) == 0 {
		t.Error("it was swept without a request")
	}
}

// TestSweepLeavesOthers: a foreign folder, which has a name as one of ours, stays with all that is in it.
func TestSweepLeavesOthers(t *testing.T) {
	for name, files := range map[string][]string{
		"reports":             {"january.csv", "february.csv"},
		"parts of a download": {"movie.part", "000001.part.tmp"},
		"one beside a part":   {"000000.part", "notes.txt"},
		"one after a part":    {"first.000000.part", "zzz"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.backedUp("uid-9", database(t, 1), nil)
			for _, file := range files {
				w.put("v1/team-a/reports/2024/"+file, []byte("content"))
			}
			w.age("v1/team-a/reports/2024", 1000*time.Hour)
			done := w.does(check(jobspec.CheckOrder{Write: true, Sweep: true}))
			if left := w.stored("v1/team-a/reports/2024"); len(left) != len(files) || done.Check.Swept != 0 || done.Check.Unknown != len(files) {
				t.Errorf("%v is left, and it says %+v", left, done.Check)
			}
		})
	}
}

// TestSharedStore: thousands of objects of others are no reason not to be ready. Each look knows what the one before has found out.
func TestSharedStore(t *testing.T) {
	w := newWorld(t)
	db := database(t, 20)
	w.backedUp("uid-1", db, nil)
	w.put("snapshot.db", snapshotOf(db))
	w.put("cut.db", snapshotOf(db)[:9000])
	w.put("copied.db", db)
	for n := range 600 {
		name := fmt.Sprintf("builds/%04d.gz", n)
		w.put(name, nil)
		must(t, os.Truncate(w.file(name), 1<<20))
	}
	var order jobspec.CheckOrder
	for n, waiting := range []int{603 - 512, 0, 0} {
		order.First = archive.NamesOf([]string{"cut.db"})
		lines := w.says(check(order))
		found, unseen := map[string]jobspec.Found{}, archive.Names(nil)
		for _, line := range lines {
			if line.Found != nil {
				found[line.Found.Path] = *line.Found
			}
			if line.Looked != nil {
				unseen = append(unseen, line.Looked.Unseen...)
				if line.Looked.Memory != nil {
					order.Memory = line.Looked.Memory
				}
			}
		}
		checked := lines[len(lines)-1].Done.Check
		if checked.Waiting != waiting || unseen.Len() != waiting || checked.Unread != 0 || checked.Backups != len(found) {
			t.Fatalf("look %d: %d names; %+v", n+1, unseen.Len(), checked)
		}
		if f := found[path]; f.Backup.Revision != 21 || f.Problem != "" {
			t.Errorf("look %d: %+v", n+1, f)
		}
		if f := found["cut.db"]; !strings.Contains(f.Problem, "it is torn: 9000 bytes") {
			t.Errorf("look %d: %+v", n+1, f)
		}
		if n >= 1 && (len(found) != 4 || !found["copied.db"].NoHash || found["snapshot.db"].NoHash) {
			t.Errorf("look %d: %+v", n+1, found)
		}
	}
}
