// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// TestNamesThatNoObjectHas are not found, and no request is sent for them.
func TestNamesThatNoObjectHas(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	secret := &corev1.Secret{}
	secret.Namespace, secret.Name = "default", "keys"
	there := NameValidatingReader{fake.NewClientBuilder().WithScheme(scheme).WithObjects(secret).Build()}
	if err := there.Get(t.Context(), client.ObjectKeyFromObject(secret), &corev1.Secret{}); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"../../secrets/keys", "..", ".", "a/b", "a%2fb"} {
		err := NameValidatingReader{}.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: name}, &corev1.Secret{})
		if !apierrors.IsNotFound(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
