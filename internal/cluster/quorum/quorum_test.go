// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package quorum_test

import (
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/cluster/quorum"
)

// TestSize is the table of etcd's FAQ: cluster size, majority.
func TestSize(t *testing.T) {
	for n, want := range []int{1: 1, 2: 2, 3: 2, 4: 3, 5: 3, 6: 4, 7: 4} {
		if n == 0 {
			continue
		}
		if got := quorum.Size(n); got != want {
			t.Errorf("Size(%d) = %d, want %d", n, got, want)
		}
		if quorum.Holds(want-1, n) || !quorum.Holds(want, n) {
			t.Errorf("Holds is wrong around %d of %d", want, n)
		}
	}
}

// TestNoVotersHaveNoQuorum guards against an empty list passing for agreement.
func TestNoVotersHaveNoQuorum(t *testing.T) {
	if quorum.Holds(0, 0) || quorum.Holds(1, 0) {
		t.Error("a cluster without voters has no quorum")
	}
}
