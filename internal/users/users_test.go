// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package users_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/users"
)

// TestKeptVersion: the password of a Secret that the operator has written again, with its own certificate, is not set in etcd again,
// unless it is another one or etcd did not know the one before.
func TestKeptVersion(t *testing.T) {
	c := &v1beta1.EtcdCluster{Status: v1beta1.EtcdClusterStatus{ClusterID: "c1"}}
	secret := func(version, password string) *corev1.Secret {
		return &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{ResourceVersion: version}, Data: map[string][]byte{specs.PasswordKey: []byte(password)},
		}
	}
	for version, want := range map[string]string{"c1/7": "c1/8", "c1/6": "c1/6", "c0/7": "c0/7", "": ""} {
		if got := users.KeptVersion(c, version, secret("7", "one"), secret("8", "one")); got != want {
			t.Errorf("of %q it is %q, want %q", version, got, want)
		}
	}
	if got := users.KeptVersion(c, "c1/7", secret("7", "one"), secret("8", "two")); got != "c1/7" {
		t.Errorf("of another password it is %q", got)
	}
}
