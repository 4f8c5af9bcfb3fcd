// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package worker_test

import (
	"context"
	"iter"

	"github.com/etcd-operator/etcd-operator/internal/backup/archive"
	"github.com/etcd-operator/etcd-operator/internal/backup/objectstore"
)

// listing is a store in the words of the archive.
type listing struct{ objectstore.Store }

func (l listing) List(ctx context.Context, folder string) iter.Seq2[archive.Object, error] {
	return func(yield func(archive.Object, error) bool) {
		for object, err := range l.Store.List(ctx, folder) {
			if !yield(archive.Object(object), err) {
				return
			}
		}
	}
}
