// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"crypto/rand"
	"net/http"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/etcd/process"
)

// TestFault84KindsOfUsers: every version keeps the kind with which a user was added, whatever is set later, and says nothing of it: a
// user without a password cannot log in by the one that it is given, and one that has a password can until it is deleted. A user that is
// deleted and added has the kind with which it was added last.
func TestFault84KindsOfUsers(t *testing.T) {
	ofVersions(t, process.Versions, func(t *testing.T, version string) {
		w := newOwned(t)
		w.start(version)
		holder := &v1beta1.EtcdUser{
			ObjectMeta: metav1.ObjectMeta{Name: "job", Namespace: "ns", UID: "u2"},
			Spec:       v1beta1.EtcdUserSpec{Cluster: "a", Authentication: v1beta1.PasswordAuthentication},
		}
		secret := must(w.held().MakeUser(rand.Reader, time.Now(), w.c, holder, nil))(t)
		password := string(secret.Data[specs.PasswordKey])
		prepareAuth(t, w.operator(), "job", "")
		_ = must(w.operator().AddUser(t.Context(), "app", password))(t)
		want(t, "enabling", w.operator().EnableAuth(t.Context()), nil)
		logsIn := func(user string, can bool) {
			t.Helper()
			code, answer := w.post(secret, "/v3/auth/authenticate", "", map[string]string{"name": user, "password": password})
			if (code == http.StatusOK) != can {
				t.Errorf("%s logs in: %d %v", user, code, answer)
			}
		}
		want(t, "telling a password to a user without", w.operator().SetPassword(t.Context(), "job", password), nil)
		logsIn("job", false)
		logsIn("app", true)
		for user, password := range map[string]string{"job": password, "app": ""} {
			_ = must(w.operator().DeleteUser(t.Context(), user))(t)
			_ = must(w.operator().AddUser(t.Context(), user, password))(t)
		}
		logsIn("job", true)
		logsIn("app", false)
	})
}
