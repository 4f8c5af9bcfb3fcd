// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package datadir

// unknownBump is what etcd's documentation bumps the revision by: more than 1,500 writes per
// second make in a week (https://etcd.io/docs/v3.6/op-guide/recovery/, "Restoring with revision bump").
const unknownBump = 1_000_000_000

// Bump is how much to add to the revision of a restored database, so that no revision that a
// client may have seen comes again with another meaning. known is the highest revision that
// the cluster is known to have had, 0 if it is not known. A known revision that is older than
// the database says nothing about what came after the database, and counts as not known.
func Bump(revision, known int64) int64 {
	if known < revision || known <= 0 {
		return unknownBump
	}
	return known - revision + 1
}
