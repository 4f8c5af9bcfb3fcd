// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// unreadyFirst has members come first whose etcd is healthy and whose Pods are not ready, because a container beside it does not run: as
// long as one of them is to be restarted, no other voter can be.
func unreadyFirst(members []cluster.Member) []cluster.Member {
	slices.SortStableFunc(members, func(a, b cluster.Member) int { return readiness(a) - readiness(b) })
	return members
}

func readiness(m cluster.Member) int {
	if m.Pod.Ready {
		return 1
	}
	return 0
}
