package store_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/store"
)

// What a write asks for is one request with headers that every store knows, or may ignore.
func TestS3WriteRequest(t *testing.T) {
	until := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, test := range map[string]struct {
		change func(*store.S3)
		want   map[string]string // empty: not there
	}{
		"plain": {func(*store.S3) {}, map[string]string{
			"If-None-Match": "*", "X-Amz-Checksum-Sha256": "7XACtDnprIRfIjV9giusFERzD722AW0+yUMil7nsn3M=",
			"Content-Encoding": "", "X-Amz-Trailer": "", "X-Amz-Sdk-Checksum-Algorithm": "", "X-Amz-Server-Side-Encryption": "",
			"X-Amz-Object-Lock-Mode": "",
		}},
		"AES256": {func(c *store.S3) { c.Encryption.AES256 = true }, map[string]string{"X-Amz-Server-Side-Encryption": "AES256"}},
		"KMS": {func(c *store.S3) { c.Encryption = store.Encryption{KMS: true, KMSKey: "key"} }, map[string]string{
			"X-Amz-Server-Side-Encryption": "aws:kms", "X-Amz-Server-Side-Encryption-Aws-Kms-Key-Id": "key",
		}},
		"lock": {func(c *store.S3) { c.Lock = store.Lock{Mode: store.Compliance, Until: until} }, map[string]string{
			"X-Amz-Object-Lock-Mode": "COMPLIANCE", "X-Amz-Object-Lock-Retain-Until-Date": "2030-01-02T03:04:05Z",
		}},
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
