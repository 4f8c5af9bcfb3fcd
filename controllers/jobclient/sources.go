// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jobclient

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/stores"
)

// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get

// Sources looks up what the spec of a store names, each by its name: a cache has only what the operator has made, and a watch would
// need the right to read everything. Of a Secret the names of its keys are kept, and its version.
func (t *Client) Sources(ctx context.Context, store *v1beta1.EtcdBackupStore) ([]stores.Source, error) {
	all := stores.SourcesOf(store.Spec)
	for i := range all {
		if err := t.source(ctx, store.Namespace, &all[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (t *Client) source(ctx context.Context, namespace string, s *stores.Source) error {
	object := objectOf(s.Kind)
	err := t.Live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: s.Name}, object)
	switch {
	case apierrors.IsForbidden(err): // the Job will report it
		return nil
	case apierrors.IsNotFound(err):
		s.Known = true
		return nil
	case err != nil:
		return fmt.Errorf("get %s %s: %w", s.Kind, s.Name, err)
	}
	s.Known, s.Exists = true, true
	switch o := object.(type) {
	case *corev1.Secret:
		s.Keys, s.Version = filled(o.Data), o.ResourceVersion
	case *corev1.ConfigMap:
		s.Keys, s.Version = append(filled(o.Data), filled(o.BinaryData)...), o.ResourceVersion
	}
	return nil
}

// objectOf is what a source is read into: only of those that have keys more than the metadata.
func objectOf(kind string) client.Object {
	switch kind {
	case stores.Secret:
		return &corev1.Secret{}
	case stores.ConfigMap:
		return &corev1.ConfigMap{}
	}
	metadata := &metav1.PartialObjectMetadata{}
	metadata.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: kind})
	return metadata
}

// filled are the keys that have something in them.
func filled[V ~string | ~[]byte](data map[string]V) []string {
	var keys []string
	for key, value := range data {
		if len(value) > 0 {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}
