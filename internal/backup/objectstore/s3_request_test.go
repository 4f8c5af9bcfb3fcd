// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package objectstore_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/objectstore"
)

// What a write asks for is one request with headers that every store knows, or may ignore.
func TestS3WriteRequest(t *testing.T) {
	until := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, test := range map[string]struct {
		change func(*objectstore.Config)
		want   map[string]string // empty: not there
	}{
		"plain": {func(*objectstore.Config) {}, map[string]string{
			"If-None-Match": "*", "X-Amz-Checksum-Sha256": "7XACtDnprIRfIjV9giusFERzD722AW0+yUMil7nsn3M=",
			"Content-Encoding": "", "X-Amz-Trailer": "", "X-Amz-Sdk-Checksum-Algorithm": "", "X-Amz-Server-Side-Encryption": "",
			"X-Amz-Object-Lock-Mode": "",
		}},
		"SSE": {func(c *objectstore.Config) {
			c.Spec.S3.Encryption = &v1beta1.S3Encryption{Mode: v1beta1.EncryptionSSE}
		}, map[string]string{"X-Amz-Server-Side-Encryption": "AES256"}},
		"KMS": {func(c *objectstore.Config) {
			c.Spec.S3.Encryption = &v1beta1.S3Encryption{Mode: v1beta1.EncryptionKMS, Key: "key"}
		}, map[string]string{
			"X-Amz-Server-Side-Encryption": "aws:kms", "X-Amz-Server-Side-Encryption-Aws-Kms-Key-Id": "key",
		}},
		"lock": {func(c *objectstore.Config) {
			c.Spec.S3.Lock, c.LockedUntil = &v1beta1.S3Lock{Mode: v1beta1.LockCompliance, Days: 30}, until
		}, map[string]string{"X-Amz-Object-Lock-Mode": "COMPLIANCE", "X-Amz-Object-Lock-Retain-Until-Date": "2030-01-02T03:04:05Z"}},
		"lock that a user can remove": {func(c *objectstore.Config) {
			c.Spec.S3.Lock, c.LockedUntil = &v1beta1.S3Lock{Mode: v1beta1.LockGovernance, Days: 30}, until
		}, map[string]string{"X-Amz-Object-Lock-Mode": "GOVERNANCE", "X-Amz-Object-Lock-Retain-Until-Date": "2030-01-02T03:04:05Z"}},
		"lock, and no backup": {func(c *objectstore.Config) {
			c.Spec.S3.Lock = &v1beta1.S3Lock{Mode: v1beta1.LockCompliance, Days: 30}
		}, map[string]string{"X-Amz-Object-Lock-Mode": "", "X-Amz-Object-Lock-Retain-Until-Date": ""}},
	} {
		t.Run(name, func(t *testing.T) {
			var requests []http.Header
			server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				requests = append(requests, r.Header)
			}))
			defer server.Close()
			config := s3Config(server.URL, "")
			test.change(&config)
			put(t, open(t, config), "a", "content")
			if len(requests) != 1 {
				t.Fatalf("%d requests", len(requests))
			}
			for header, want := range test.want {
				if got := requests[0].Get(header); got != want {
					t.Errorf("%s: %q, want %q", header, got, want)
				}
			}
		})
	}
}

// TestS3HeadRequest: the first bytes of a large object are all that is asked for.
func TestS3HeadRequest(t *testing.T) {
	var ranges []string
	var sent atomic.Int64
	content := strings.Repeat("0123456789abcdef", 1<<20) // 16 MiB
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ranges = append(ranges, r.Header.Get("Range"))
		http.ServeContent(&counted{w, &sent}, r, "", day, strings.NewReader(content))
	}))
	defer server.Close()
	s := open(t, s3Config(server.URL, ""))
	head, err := s.Head(t.Context(), "a.gz", 128<<10)
	must(t, err)
	server.Close() // waits until the answer is counted whole
	if string(head) != content[:128<<10] || len(ranges) != 1 || ranges[0] != "bytes=0-131071" || sent.Load() != 128<<10 {
		t.Errorf("%d bytes, of %d that were sent by %v", len(head), sent.Load(), ranges)
	}
}

var day = time.Date(2026, 11, 24, 10, 0, 0, 0, time.UTC)

// counted counts the bytes of answers.
type counted struct {
	http.ResponseWriter
	sent *atomic.Int64
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.ResponseWriter.Write(p)
	c.sent.Add(int64(n))
	return n, err
}
