// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// NameValidatingReader reads objects by names that users have written. A name that cannot be part of a URL is that of no object,
// which is a fact; client-go returns an error that comes again with each try, and that no condition shows.
type NameValidatingReader struct{ client.Reader }

// Get reads one object.
func (n NameValidatingReader) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if len(content.IsPathSegmentName(key.Name)) > 0 {
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	return n.Reader.Get(ctx, key, object, options...)
}
