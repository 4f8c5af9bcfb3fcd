// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package secrets_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/secrets"
)

var errAway = errors.New("the API server is away")

// TestOf: a Secret is the cluster's by its owner or by what made it; one of the same name that says neither counts as missing, and so
// does one in another namespace. What cannot be read is an error.
func TestOf(t *testing.T) {
	c := &v1beta1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a", UID: "u1"}}
	secret := func(namespace, name string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	}
	owned, labelled := secret("ns", "owned"), secret("ns", "labelled")
	owned.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "EtcdCluster", Name: "a", UID: "u1", Controller: ptr.To(true)}}
	labelled.Labels = map[string]string{specs.ManagedByLabel: v1beta1.FieldOwner}
	api := fake.NewClientBuilder().
		WithObjects(owned, labelled, secret("ns", "anybodys"), secret("other", "elsewhere"), secret("ns", "unasked")).
		WithInterceptorFuncs(interceptor.Funcs{
			Get: func(ctx context.Context, api client.WithWatch, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
				if key.Name == "away" {
					return errAway
				}
				return api.Get(ctx, key, into, opts...)
			},
		}).Build()
	found, err := secrets.Of(t.Context(), api, c, "owned", "labelled", "anybodys", "elsewhere", "missing")
	if got := slices.Sorted(maps.Keys(found)); err != nil || !slices.Equal(got, []string{"labelled", "owned"}) {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := secrets.Of(t.Context(), api, c, "owned", "away"); !errors.Is(err, errAway) {
		t.Errorf("got error %v", err)
	}
	if _, err := secrets.Held(t.Context(), api, c, "away"); !errors.Is(err, errAway) {
		t.Errorf("got error %v", err)
	}
}
