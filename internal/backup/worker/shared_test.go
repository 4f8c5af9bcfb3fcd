// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package worker_test

import (
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
	"github.com/etcd-operator/etcd-operator/internal/backup/archive"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
)

// bucket speaks as much of S3 as a look at a store needs, and counts what it sends.
type bucket struct {
	objects map[string]string
	refuses map[string]string // names, and the code of the answer
	reads   atomic.Int64
	sent    atomic.Int64 // bytes
}

func (b *bucket) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/b/")
	if r.URL.Query().Has("list-type") {
		var all strings.Builder
		for name, content := range b.objects {
			_, _ = fmt.Fprintf(&all, `<Contents><Key>%s</Key><Size>%d</Size><LastModified>2026-11-24T10:00:00.000Z</LastModified></Contents>`,
				name, len(content))
		}
		_, _ = fmt.Fprintf(w, `<ListBucketResult><IsTruncated>false</IsTruncated>%s</ListBucketResult>`, all.String())
		return
	}
	b.reads.Add(1)
	if code := b.refuses[name]; code != "" {
		w.WriteHeader(http.StatusForbidden)
		_, _ = fmt.Fprintf(w, `<Error><Code>%s</Code></Error>`, code)
		return
	}
	content, has := b.objects[name]
	if !has {
		w.WriteHeader(http.StatusNotFound)
		_, _ = fmt.Fprint(w, `<Error><Code>NoSuchKey</Code></Error>`)
		return
	}
	http.ServeContent(&counting{w, &b.sent}, r, "", time.Time{}, strings.NewReader(content))
}

type counting struct {
	http.ResponseWriter
	sent *atomic.Int64
}

func (c *counting) Write(p []byte) (int, error) {
	n, err := c.ResponseWriter.Write(p)
	c.sent.Add(int64(n))
	return n, err
}

// TestFault100SharedBucket: thousands of large objects of others in one bucket, of which some cannot be read, are no reason not to be
// ready. A look reads little of some of them, and the next one goes on with the others.
func TestFault100SharedBucket(t *testing.T) {
	w := newWorld(t)
	large := strings.Repeat("0123456789abcdef", 5<<16) // 5 MiB
	b := &bucket{objects: map[string]string{"snapshot.db": string(snapshotOf(database(t, 20)))}, refuses: map[string]string{}}
	for n := range 1200 {
		b.objects[fmt.Sprintf("builds/%04d.gz", n)] = large
	}
	for n := range 100 {
		b.refuses[fmt.Sprintf("builds/%04d.gz", n)] = "InvalidObjectState"
	}
	b.refuses["builds/0100.gz"] = "AccessDenied"
	server := httptest.NewServer(b)
	defer server.Close()
	for name, content := range map[string]string{"accessKeyID": "a", "secretAccessKey": "b"} {
		must(t, os.WriteFile(filepath.Join(w.in.Folders.Keys, name), []byte(content), 0o600))
	}
	order := check(jobspec.CheckOrder{First: archive.NamesOf([]string{"snapshot.db"})})
	order.Store.S3 = &v1beta1.S3Store{
		Bucket: "b", Endpoint: server.URL, Region: "us-east-1", PathStyle: true, Credentials: &v1beta1.SecretReference{Secret: "keys"},
	}
	for n := range 4 {
		b.reads.Store(0)
		b.sent.Store(0)
		lines := w.says(order)
		done := lines[len(lines)-1].Done
		if done == nil {
			t.Fatalf("look %d: the store is not ready: %+v", n+1, lines[len(lines)-1].Failed)
		}
		t.Logf("look %d: %d requests, %d bytes; %d wait, %d cannot be read: %s",
			n+1, b.reads.Load(), b.sent.Load(), done.Check.Waiting, done.Check.Unread, done.Check.Trouble)
		if b.reads.Load() > 512 || b.sent.Load() > 512*128<<10 || done.Check.Backups != 1 {
			t.Errorf("look %d: %d requests, %d bytes; %+v", n+1, b.reads.Load(), b.sent.Load(), done.Check)
		}
		for _, line := range lines {
			if line.Looked != nil && line.Looked.Memory != nil {
				order.Check.Memory = line.Looked.Memory
			}
		}
		if n == 3 && (done.Check.Waiting != 0 || done.Check.Unread != 101 || b.reads.Load() > 101 || done.Check.Trouble == "") {
			t.Errorf("at the end: %d requests; %+v", b.reads.Load(), done.Check)
		}
	}
}
