// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"strings"
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// TestFault27Odd: a majority of all voters decides, and only if all have reported the same.
func TestFault27Odd(t *testing.T) {
	hash := func(member string, sum uint32) cluster.Hash {
		return cluster.Hash{Member: member, Sum: sum, Compacted: 3}
	}
	for what, test := range map[string]struct {
		hashes  []cluster.Hash
		odd     string
		unknown string
	}{
		"all alike": {[]cluster.Hash{hash("a", 1), hash("b", 1), hash("c", 1)}, "", ""},
		"one of 3":  {[]cluster.Hash{hash("a", 2), hash("b", 1), hash("c", 1)}, "a", ""},
		"two of 5":  {[]cluster.Hash{hash("a", 1), hash("b", 2), hash("c", 1), hash("d", 1), hash("e", 3)}, "b e", ""},
		"two pairs": {
			[]cluster.Hash{hash("a", 1), hash("b", 1), hash("c", 2), hash("d", 2)},
			"", "no majority of the voters has the same data (a: 00000001",
		},
		"three of 5": {[]cluster.Hash{hash("a", 1), hash("b", 1), hash("c", 2), hash("d", 3), hash("e", 4)}, "", "no majority"},
		"one of 2":   {[]cluster.Hash{hash("a", 1), hash("b", 2)}, "", "no majority"},
		"the only":   {[]cluster.Hash{hash("a", 1)}, "", ""},
		"no voter":   {nil, "", "no majority"},
		"one unknown": {
			[]cluster.Hash{hash("a", 1), hash("b", 1), {Member: "c", Unread: "it sleeps"}},
			"", "c has not reported the hash of its data: it sleeps",
		},
		"one shorter": {
			[]cluster.Hash{hash("a", 1), hash("b", 1), {Member: "c", Sum: 1, Compacted: 4}},
			"", "a has compacted its data up to revision 3, and c up to 4",
		},
	} {
		odd, unknown := cluster.Odd(test.hashes)
		if strings.Join(odd, " ") != test.odd || !strings.HasPrefix(unknown, test.unknown) || (unknown == "") != (test.unknown == "") {
			t.Errorf("%s: odd %v, %q", what, odd, unknown)
		}
	}
}
