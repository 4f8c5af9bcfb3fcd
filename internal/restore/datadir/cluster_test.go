// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package datadir

import "testing"

// The IDs of etcd's own example of three members with the token etcd-cluster-1 are those that
// TestRestoredClusters compares with real members; these here must never change.
func TestIDsFollowFromURLsAndToken(t *testing.T) {
	three := map[string]string{"m1": "http://10.0.0.1:2380", "m2": "http://10.0.0.2:2380", "m3": "http://10.0.0.3:2380"}
	renamed := map[string]string{"a": "http://10.0.0.3:2380", "b": "http://10.0.0.1:2380", "c": "http://10.0.0.2:2380"}
	id := must(ClusterID(three, "one"))(t)
	if other := must(ClusterID(renamed, "one"))(t); other != id {
		t.Errorf("cluster %x, with other names %x", id, other)
	}
	if other := must(ClusterID(three, "two"))(t); other == id {
		t.Errorf("cluster %x has the same ID with another token", id)
	}
	formed := must(newCluster(three, "one"))(t)
	for name, url := range three {
		if got, want := must(MemberID(url, "one"))(t), uint64(formed.MemberByName(name).ID); got != want {
			t.Errorf("%s has ID %x, in its cluster %x", name, got, want)
		}
	}
}

func TestClustersThatAreNone(t *testing.T) {
	for name, members := range map[string]map[string]string{
		"no members":     {},
		"no URL":         {"m1": ""},
		"no port":        {"m1": "http://10.0.0.1"},
		"a path":         {"m1": "http://10.0.0.1:2380/etcd"},
		"one URL, twice": {"m1": "http://10.0.0.1:2380", "m2": "http://10.0.0.1:2380"},
	} {
		if id, err := ClusterID(members, "one"); err == nil {
			t.Errorf("%s: cluster %x", name, id)
		}
	}
}

func TestBumpIsAboveAllThatIsKnown(t *testing.T) {
	for _, c := range []struct{ revision, known, want int64 }{
		{revision: 100, known: 250, want: 151},        // first revision after 250
		{revision: 100, known: 100, want: 1},          // nothing was written after the snapshot
		{revision: 100, known: 0, want: 1e9},          // not known
		{revision: 100, known: 99, want: 1e9},         // says nothing of what came after the snapshot
		{revision: 1, known: 0, want: 1_000_000_000},  // an empty database
		{revision: 5e9, known: 6e9, want: 1e9 + 1},    // known, and far
		{revision: 5e9, known: 5e9 + 1, want: 2},      // known, and near
		{revision: 5e9, known: -1, want: unknownBump}, // no revision
	} {
		if got := Bump(c.revision, c.known); got != c.want {
			t.Errorf("revision %d, known %d: %d, want %d", c.revision, c.known, got, c.want)
		}
	}
}

// must ends a test at an error.
func must[T any](value T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}
