// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package objectstore_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/objectstore"
	"github.com/etcd-operator/etcd-operator/internal/etcd/process"
)

// newGCS runs fake-gcs-server, and a server that gives tokens for the key of a service account.
func newGCS(t *testing.T) world {
	t.Helper()
	address := process.FreeAddress(t)
	_, port, err := net.SplitHostPort(address)
	must(t, err)
	run(t, address, "fake-gcs-server", "-scheme", "http", "-host", "127.0.0.1", "-port", port, "-public-host", address,
		"-external-url", "http://"+address, "-backend", "memory", "-log-level", "error")
	answer, err := http.Post("http://"+address+"/storage/v1/b?project=p", "application/json", strings.NewReader(`{"name": "backups"}`))
	must(t, err)
	must(t, answer.Body.Close())
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("create bucket: %s", answer.Status)
	}
	key := serviceAccount(t, tokens(t, http.StatusOK, `{"access_token": "token", "token_type": "Bearer", "expires_in": 3600}`))
	return world{address: address, refusals: gcsRefusals, config: func(address string, ca []byte, prefix string) objectstore.Config {
		c := inGoogle(address, key, address)
		c.CA, c.Spec.GCS.Prefix = ca, prefix
		return c
	}}
}

var gcsRefusals = []refusal{
	{"right", 403, googleError(403, "forbidden", "does not have storage.objects access"), objectstore.Forbidden, "forbidden"},
	{"login", 401, googleError(401, "authError", "Invalid Credentials"), objectstore.Forbidden, "authError"},
	{"bucket", 404, googleError(404, "notFound", "The specified bucket does not exist."), objectstore.NoBucket, "notFound"},
	{"busy", 429, googleError(429, "rateLimitExceeded", "The rate of change is too high."), objectstore.Busy, "rateLimitExceeded"},
	{"quota", 403, googleError(403, "quotaExceeded", "quota"), objectstore.Full, "quotaExceeded"},
}

func googleError(status int, reason, message string) string {
	return fmt.Sprintf(`{"error": {"code": %d, "message": %q, "errors": [{"reason": %q, "message": %[2]q}]}}`, status, message, reason)
}

func TestGCS(t *testing.T) {
	conforms(t, newGCS(t).open)
}

func TestGCSFaults(t *testing.T) {
	survives(t, newGCS(t))
}

// The server that gives tokens compares the clock, too.
func TestGCSTokenRefused(t *testing.T) {
	w := newGCS(t)
	for name, test := range map[string]struct {
		body string
		want objectstore.Kind
	}{
		"key":  {`{"error": "invalid_grant", "error_description": "Invalid JWT Signature."}`, objectstore.Forbidden},
		"skew": {`{"error": "invalid_grant", "error_description": "Invalid JWT: Token must be in a reasonable timeframe."}`, objectstore.Skewed},
	} {
		t.Run(name, func(t *testing.T) {
			config := w.config("http://"+w.address, nil, "")
			config.Keys[v1beta1.KeyCredentialsJSON] = serviceAccount(t, tokens(t, http.StatusBadRequest, test.body))
			refuses(t, open(t, config), test.want)
		})
	}
}

func TestGCSTakesKeysOfServiceAccountsOnly(t *testing.T) {
	for _, key := range []string{"", "{}", `{"type": "external_account", "credential_source": {"url": "http://127.0.0.1"}}`, "not JSON"} {
		_, err := objectstore.Open(t.Context(), inGoogle("", key+" "))
		wantKind(t, err, objectstore.Invalid)
	}
}

func TestGCSIsNotSentElsewhere(t *testing.T) {
	t.Setenv("STORAGE_EMULATOR_HOST", "127.0.0.1:1")
	_, err := objectstore.Open(t.Context(), inGoogle("", ""))
	wantKind(t, err, objectstore.Invalid)
}

// tokens is a server of tokens with one answer.
func tokens(t *testing.T, status int, body string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body) // the client may have gone
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// inGoogle is a bucket at an endpoint, with the key of a service account.
func inGoogle(endpoint, key string, allowed ...string) objectstore.Config {
	return objectstore.Config{
		Spec: v1beta1.EtcdBackupStoreSpec{GCS: &v1beta1.GCSStore{Bucket: "backups", Endpoint: endpoint}},
		Keys: map[string]string{v1beta1.KeyCredentialsJSON: key}, Allowed: allowed,
	}
}

func serviceAccount(t *testing.T, tokenURI string) string {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	must(t, err)
	der, err := x509.MarshalPKCS8PrivateKey(private)
	must(t, err)
	key, err := json.Marshal(map[string]string{
		"type": "service_account", "client_email": "backup@example.invalid", "token_uri": tokenURI,
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
	})
	must(t, err)
	return string(key)
}
