// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package packaging

import (
	"slices"
	"testing"
)

// `kubectl delete all --all` deletes what is in the category "all". Databases, backups and users are not: they are in one of their own.
func TestDeleteAllDeletesNoDatabase(t *testing.T) {
	found := load(t, current).Raw.V1CRDs
	if len(found) < 6 {
		t.Fatalf("there are only %d kinds", len(found))
	}
	for _, c := range found {
		if slices.Contains(c.Spec.Names.Categories, "all") || !slices.Contains(c.Spec.Names.Categories, "etcd") {
			t.Errorf("%s is in the categories %v, want etcd and not all", c.Name, c.Spec.Names.Categories)
		}
	}
}
