// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// TestHeldUp: the member that is chosen, until it has another Pod, and each time it is chosen anew.
func TestHeldUp(t *testing.T) {
	var m Cluster
	start := time.Unix(0, 0).Add(time.Hour)
	look := func(chosen, pod string, after time.Duration, want bool) {
		t.Helper()
		v := led("a-0")
		v.Record.Defragmenting = cluster.Defragmenting{Member: chosen, Pod: pod}
		m.Mark(v, start.Add(after))
		for _, member := range v.Members {
			if got := member.HeldUp; got != (want && member.Name == chosen) {
				t.Errorf("after %s: %s is held up: %t", after, member.Name, got)
			}
		}
	}
	pod := led("a-0").Members[0].Pod.UID
	look("a-0", pod, 0, false)
	look("a-0", pod, heldUpAfter-1, false)
	look("a-0", pod, heldUpAfter, true)
	look("a-0", "another one", heldUpAfter+1, false)
	look("a-0", "another one", 3*heldUpAfter, false)
	look("a-0", pod, 3*heldUpAfter, false)
	look("", "", 4*heldUpAfter, false)
}
