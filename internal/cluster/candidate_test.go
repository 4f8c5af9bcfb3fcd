// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"strings"
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// TestAcceptedName: one EtcdRestore for each cluster and each loss that was accepted by a backup, and none for any other.
func TestAcceptedName(t *testing.T) {
	names := map[string]bool{}
	for _, c := range [][3]string{
		{"a", "u1", "backup/nightly@60"},
		{"a", "u2", "backup/nightly@60"},
		{"a", "u1", "backup/nightly@61"},
		{"a", "u1", "backup/weekly@60"},
		{"b", "u1", "backup/nightly@60"},
		{strings.Repeat("c", 52), "u1", "backup/nightly@60"},
		{strings.Repeat("c", 51), "u1", "backup/nightly@60"},
	} {
		name := cluster.AcceptedName(c[0], c[1], c[2])
		if name == "" || len(name) > 56 || names[name] {
			t.Errorf("%v: %s", c, name)
		}
		names[name] = true
	}
	for _, accepted := range []string{"", "a-0@60", "a@60"} {
		if name := cluster.AcceptedName("a", "u1", accepted); name != "" {
			t.Errorf("accepted %q: %s", accepted, name)
		}
	}
}
