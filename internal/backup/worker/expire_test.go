// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package worker_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/backup/log"
)

// logged puts so many segments of a lineage into the store, each of ten revisions from 11 on.
func (w *world) logged(cluster, lineage string, segments int) {
	w.Helper()
	f := log.Folder{Namespace: "default", Cluster: cluster, Lineage: lineage}
	must(w, os.MkdirAll(w.file(f.String()), 0o750))
	for n := range segments {
		must(w, os.WriteFile(w.file(f.Object(log.Position{Revision: int64(n)*10 + 11})), []byte("segment"), 0o600))
	}
}

// left is how many segments of a lineage are there, and the first of them.
func (w *world) segmentsLeft(cluster, lineage string) (n int, first string) {
	w.Helper()
	all := w.stored(log.Folder{Namespace: "default", Cluster: cluster, Lineage: lineage}.String())
	if len(all) == 0 {
		return 0, ""
	}
	return len(all), filepath.Base(all[0])
}

// removeWithLog deletes the backup uid-1 of example, whose log is needed after that revision of its present lineage.
func removeWithLog(base int64) jobspec.Order {
	order := remove("")
	order.Delete.Log = &log.Retained{Namespace: "default", Cluster: "example", Lineage: "c2-0", Gone: "c1"}
	if base > 0 {
		order.Delete.Log.From = []log.KeptFrom{{Lineage: "c2-0", Base: base}}
	}
	return order
}

// TestDeleteWithItsLog: what no other backup needs goes with it, whole lineages and the beginning of the present one, and nothing else.
func TestDeleteWithItsLog(t *testing.T) {
	w := newWorld(t)
	w.backedUp("uid-1", database(t, 3), nil)
	w.logged("example", "c1-0", 3)
	w.logged("example", "c2-0", 2500) // several pages
	w.logged("other", "c1-0", 3)
	w.put("v1/default/example/log/c2-0/notes.txt", []byte("of a person"))
	w.put("v1/default/example/log/c1-0/00000000000000000011.0000000000.segment.bak", []byte("of a person"))
	for range 2 { // a Job whose answer was lost
		w.does(removeWithLog(21_005)) // within a segment
		n, first := w.segmentsLeft("example", "c2-0")
		if n != 401+1 || !strings.HasPrefix(first, "00000000000000021001.") {
			t.Errorf("%d are left of the present lineage, from %s on", n, first)
		}
		if n, first := w.segmentsLeft("example", "c1-0"); n != 1 || !strings.HasSuffix(first, ".bak") {
			t.Errorf("%d are left of the old lineage: %s", n, first)
		}
		if n, _ := w.segmentsLeft("other", "c1-0"); n != 3 {
			t.Errorf("%d are left of another cluster", n)
		}
	}
	w.does(removeWithLog(0)) // the last backup
	if n, _ := w.segmentsLeft("example", "c2-0"); n != 401+1 {
		t.Errorf("without a backup, %d are left of the present lineage", n)
	}
	w.does(remove(""))
	if n, _ := w.segmentsLeft("other", "c1-0"); n != 3 {
		t.Errorf("without an order about the log, %d are left", n)
	}
}

// TestDeletionOfALogGoesOn after a Job that was ended at any moment: the next one deletes the rest.
func TestDeletionOfALogGoesOn(t *testing.T) {
	w := newWorld(t)
	w.logged("example", "c2-0", 40)
	for n := range 5 {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Duration(n)*time.Millisecond, cancel)
		w.saysWithin(ctx, removeWithLog(211))
		if n, first := w.segmentsLeft("example", "c2-0"); n < 20 || n == 20 && first[:20] != fmt.Sprintf("%020d", 211) {
			t.Errorf("%d are left, from %s on", n, first)
		}
	}
	w.does(removeWithLog(211))
	if n, first := w.segmentsLeft("example", "c2-0"); n != 20 || first[:20] != fmt.Sprintf("%020d", 211) {
		t.Errorf("%d are left, from %s on", n, first)
	}
}

// TestLogOfAnotherCluster is not deleted by an order that is about a backup of this one.
func TestLogOfAnotherCluster(t *testing.T) {
	w := newWorld(t)
	m := w.backedUp("uid-1", database(t, 3), nil)
	w.logged("other", "c1-0", 3)
	other := removeWithLog(0)
	other.Delete.Log.Cluster = "other"
	w.fails(other, jobspec.UnsupportedJobSpec, true, "not that of the cluster of the backup")
	foreign := removeWithLog(0)
	foreign.Delete.Path = "old/snapshot.db"
	w.fails(foreign, jobspec.UnsupportedJobSpec, true, "has no log")
	forgets := removeWithLog(0)
	forgets.Delete.Log.Lineage = ""
	w.fails(forgets, jobspec.UnsupportedJobSpec, true, "no lineage is named")
	if n, _ := w.segmentsLeft("other", "c1-0"); n != 3 || len(w.stored(path)) < 2 {
		t.Errorf("%d segments are left", n)
	}
	// Where another backup lies in its place, nothing is deleted: what the order says of the others may be wrong.
	w.logged("example", "c1-0", 3)
	replaced := removeWithLog(0)
	replaced.Delete.ManifestSHA256 = "of another backup"
	if done := w.does(replaced); done.Left == "" || m.SHA256 == "" {
		t.Errorf("%+v", done)
	}
	if n, _ := w.segmentsLeft("example", "c1-0"); n != 3 {
		t.Errorf("%d segments are left", n)
	}
}

// TestLockedSegmentsStay until another backup is deleted: the one that is deleted now does not wait for them.
func TestLockedSegmentsStay(t *testing.T) {
	w := newWorld(t)
	var deletions atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, r *http.Request) {
		prefix := r.URL.Query().Get("prefix")
		switch {
		case r.Method == http.MethodDelete && strings.HasSuffix(r.URL.Path, ".segment"):
			deletions.Add(1)
			answer.WriteHeader(http.StatusForbidden)
			_, _ = fmt.Fprint(answer, `<Error><Code>AccessDenied</Code><Message>object protected by object lock</Message></Error>`)
		case r.Method == http.MethodGet && r.URL.Query().Get("delimiter") != "":
			_, _ = fmt.Fprintf(answer, `<ListBucketResult><CommonPrefixes><Prefix>%sc1-0/</Prefix></CommonPrefixes></ListBucketResult>`, prefix)
		case r.Method == http.MethodGet && strings.Contains(prefix, "/log/"):
			_, _ = fmt.Fprintf(answer, `<ListBucketResult><Contents><Key>%s%020d.%010d.segment</Key><Size>1</Size>
				<LastModified>2026-11-28T12:00:00Z</LastModified></Contents></ListBucketResult>`, prefix, 11, 0)
		case r.Method == http.MethodGet:
			_, _ = fmt.Fprint(answer, `<ListBucketResult></ListBucketResult>`)
		}
	}))
	t.Cleanup(server.Close)
	for name, content := range map[string]string{"accessKeyID": "a", "secretAccessKey": "b"} {
		must(t, os.WriteFile(filepath.Join(w.in.Folders.Keys, name), []byte(content), 0o600))
	}
	order := removeWithLog(0)
	order.Store.S3 = &v1beta1.S3Store{
		Bucket: "b", Endpoint: server.URL, Region: "us-east-1", PathStyle: true, Credentials: &v1beta1.SecretReference{Secret: "keys"},
	}
	if w.does(order); deletions.Load() == 0 {
		t.Error("it did not try to delete the segment")
	}
}
