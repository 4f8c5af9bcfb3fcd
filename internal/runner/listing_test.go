package runner_test

import (
	"context"
	"iter"

	"github.com/etcd-operator/etcd-operator/internal/archive"
	"github.com/etcd-operator/etcd-operator/internal/store"
)

// listing is a store in the words of the archive.
type listing struct{ store.Store }

func (l listing) List(ctx context.Context, folder string) iter.Seq2[archive.Object, error] {
	return func(yield func(archive.Object, error) bool) {
		for object, err := range l.Store.List(ctx, folder) {
			if !yield(archive.Object(object), err) {
				return
			}
		}
	}
}
