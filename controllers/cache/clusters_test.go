// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

// TestMemoriesAreApart: each cluster has its own, until it is gone.
func TestMemoriesAreApart(t *testing.T) {
	var known Clusters
	a, b := types.NamespacedName{Namespace: "x", Name: "a"}, types.NamespacedName{Namespace: "x", Name: "b"}
	if !known.Of(a).NoteChanged("1") || known.Of(a).NoteChanged("1") || !known.Of(b).NoteChanged("1") {
		t.Error("one cluster has the memory of another, or none")
	}
	if known.Forget(a); !known.Of(a).NoteChanged("1") || known.Of(b).NoteChanged("1") {
		t.Error("one was to be forgotten, the other not")
	}
}
