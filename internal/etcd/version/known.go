// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package version

import (
	"slices"
	"strings"
)

// release is what the operator knows of one minor version.
type release struct {
	newest Version // newest patch
	// ready is the oldest patch from which etcd supports the update to the next
	// minor version.
	ready Version
}

// known lists minor versions without a gap, oldest first. A member that runs an
// older one than the first is only ever updated, because etcd's downgrade exists
// from 3.6 on (https://etcd.io/docs/v3.6/downgrades/downgrade_3_6/).
//
// The newest patches are those of the Go module go.etcd.io/etcd/server/v3; all three
// were published on 2026-10-22.
var known = []release{
	// Older ones keep removed members, which come back to life in 3.6
	// (https://etcd.io/blog/2025/zombie_members_upgrade/).
	{newest: Version{3, 5, 35}, ready: Version{3, 5, 26}},
	// Older ones may not get along with 3.7 in one cluster
	// (https://etcd.io/docs/v3.7/upgrades/upgrade_3_7/).
	{newest: Version{3, 6, 16}, ready: Version{3, 6, 11}},
	{newest: Version{3, 7, 3}},
}

// find returns what the operator knows of a minor version, and whether it does.
func find(minor string) (release, bool) {
	i := slices.IndexFunc(known, func(r release) bool { return r.newest.Minor() == minor })
	if i < 0 {
		return release{}, false
	}
	return known[i], true
}

// Full returns the version that is meant: the newest patch if wanted is a minor
// version that the operator knows, wanted itself otherwise.
func Full(wanted string) string {
	if r, ok := find(wanted); ok {
		return r.newest.String()
	}
	return wanted
}

// minors lists the minor versions that the operator knows, for people to read.
func minors() string {
	names := make([]string, 0, len(known))
	for _, r := range known {
		names = append(names, r.newest.Minor())
	}
	return enumerate(names, "or")
}

// enumerate writes a list as people do: 3.5, 3.6 or 3.7.
func enumerate(names []string, last string) string {
	n := len(names)
	if n < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:n-1], ", ") + " " + last + " " + names[n-1]
}
