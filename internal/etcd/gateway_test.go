// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/certs/pki"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/etcd/process"
)

// post asks the HTTP gateway of etcd, as Patroni and APISIX do, and returns the status and what it answers.
func (w *owned) post(secret *corev1.Secret, path, token string, body any) (int, map[string]any) {
	w.t.Helper()
	pair := pki.Pair{CertPEM: secret.Data[corev1.TLSCertKey], KeyPEM: secret.Data[corev1.TLSPrivateKeyKey]}
	config := must(pki.ClientConfig(secret.Data[specs.CAKey], pair))(w.t)
	config.ServerName = specs.Host(w.c, "a-0")
	transport := &http.Transport{TLSClientConfig: config}
	defer transport.CloseIdleConnections()
	text := must(json.Marshal(body))(w.t)
	request := must(http.NewRequestWithContext(w.t.Context(), http.MethodPost, "https://"+w.member.Client+path, bytes.NewReader(text)))(w.t)
	if token != "" {
		request.Header.Set("Authorization", token)
	}
	response := must((&http.Client{Transport: transport, Timeout: patience}).Do(request))(w.t)
	defer func() { _ = response.Body.Close() }()
	var answer map[string]any
	_ = json.Unmarshal(must(io.ReadAll(response.Body))(w.t), &answer) // what it says of an error need not be JSON
	return response.StatusCode, answer
}

// TestPasswordThroughTheGateway: the HTTP gateway of every version refuses a certificate with a common name once authentication is
// enabled, and takes that of a user with a password, which has none: it logs in and writes. Without its password it is no user.
func TestPasswordThroughTheGateway(t *testing.T) {
	ofVersions(t, process.Versions, func(t *testing.T, version string) {
		w := newOwned(t)
		w.start(version)
		app := &v1beta1.EtcdUser{
			ObjectMeta: metav1.ObjectMeta{Name: "app", Namespace: "ns", UID: "u2"},
			Spec:       v1beta1.EtcdUserSpec{Cluster: "a", Authentication: v1beta1.PasswordAuthentication},
		}
		secret := must(w.held().MakeUser(rand.Reader, time.Now(), w.c, app, nil))(t)
		password := string(secret.Data[specs.PasswordKey])
		prepareAuth(t, w.operator(), "app", password)
		want(t, "enabling", w.operator().EnableAuth(t.Context()), nil)

		credentials := map[string]string{"name": "app", "password": password}
		if code, answer := w.post(w.secrets[w.c.ClientSecret()], "/v3/auth/authenticate", "", credentials); code != http.StatusBadRequest {
			t.Errorf("with a common name: %d %v", code, answer)
		}
		code, answer := w.post(secret, "/v3/auth/authenticate", "", credentials)
		token, _ := answer["token"].(string)
		if code != http.StatusOK || token == "" {
			t.Fatalf("logging in: %d %v", code, answer)
		}
		encoded := base64.StdEncoding.EncodeToString([]byte("k"))
		put := map[string]string{"key": encoded, "value": encoded}
		if code, answer := w.post(secret, "/v3/kv/put", token, put); code != http.StatusOK {
			t.Errorf("a write: %d %v", code, answer)
		}
		if code, _ := w.post(secret, "/v3/kv/put", "", put); code == http.StatusOK {
			t.Error("a write without a password was taken")
		}
		wrong := map[string]string{"name": "app", "password": password + "x"}
		if code, _ := w.post(secret, "/v3/auth/authenticate", "", wrong); code == http.StatusOK {
			t.Error("another password was taken")
		}
	})
}
