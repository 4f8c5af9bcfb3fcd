// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package worker_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/backup/worker"
)

// slowStore speaks as much of S3 as a backup needs. A part is taken only when it is let through.
type slowStore struct {
	address string
	through chan struct{} // closed: all are
	waiting chan struct{} // closed with the first part that waits
	once    sync.Once
}

func newSlowStore(t *testing.T) *slowStore {
	t.Helper()
	s := &slowStore{through: make(chan struct{}), waiting: make(chan struct{})}
	server := httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(server.Close)
	s.address = server.URL
	return s
}

func (s *slowStore) serve(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // a part that breaks off is none
	switch {
	case r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, ".part"):
		s.once.Do(func() { close(s.waiting) })
		select {
		case <-s.through:
		case <-r.Context().Done():
		}
	case r.Method == http.MethodGet && r.URL.Query().Has("list-type"):
		_, _ = fmt.Fprint(w, `<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>`)
	case r.Method == http.MethodGet:
		w.WriteHeader(http.StatusNotFound)
		_, _ = fmt.Fprint(w, `<Error><Code>NoSuchKey</Code></Error>`)
	}
}

// TestFault96SlowUpload: while a snapshot is read, its member can use no page again. A store so slow that the database takes half of what
// is left of its quota ends the backup, and not the cluster's writes.
func TestFault96SlowUpload(t *testing.T) {
	t.Parallel()
	r := newRunning(t, "3.6.16", 1)
	r.fill(10)
	slow := newSlowStore(t)
	for name, content := range map[string]string{"accessKeyID": "a", "secretAccessKey": "b"} {
		must(t, os.WriteFile(filepath.Join(r.in.Folders.Keys, name), []byte(content), 0o600))
	}
	order := r.backup()
	order.Store.S3 = &v1beta1.S3Store{
		Bucket: "b", Endpoint: slow.address, Region: "us-east-1", PathStyle: true, Credentials: &v1beta1.SecretReference{Secret: "keys"},
	}
	order.Backup.Quota = 40 << 20

	var out bytes.Buffer
	in := r.in
	in.Out = &out
	ended := make(chan int)
	go func() { ended <- worker.Main(t.Context(), []string{order.Encode()}, in) }()
	<-slow.waiting
	r.writeMiB(25)
	if exit := <-ended; exit != worker.ExitFailed {
		t.Fatalf("it ended with %d, and said %s", exit, out.String())
	}
	lines := r.read(&out)
	failed := lines[len(lines)-1].Failed
	const words = "the store is too slow for the writes"
	if failed == nil || failed.Reason != jobspec.StoreFailed || failed.Final || !strings.Contains(failed.Message, words) {
		t.Errorf("%+v", failed)
	}
	// What has grown is no reason by itself: the next attempt has its own half.
	close(slow.through)
	out.Reset()
	if exit := worker.Main(t.Context(), []string{order.Encode()}, in); exit != worker.ExitDone {
		t.Errorf("the next attempt ended with %d, and said %s", exit, out.String())
	}
}

// writeMiB writes so many values of 1 MiB.
func (r *running) writeMiB(count int) {
	r.Helper()
	client := r.client(r.cluster, "m1")
	for n := range count {
		ctx, cancel := context.WithTimeout(r.Context(), time.Minute)
		_, err := client.Put(ctx, fmt.Sprintf("large-%d", n), strings.Repeat(rand.Text(), 1<<20/26))
		cancel()
		must(r, err)
	}
}
