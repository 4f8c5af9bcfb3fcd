// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package quorum is the arithmetic of majorities. It must never know what a
// member is.
package quorum

// Size is the number of voters that must agree among n voters: a majority
// (Raft, section 5.2; https://etcd.io/docs/v3.6/faq/#what-is-failure-tolerance).
func Size(n int) int { return n/2 + 1 }

// Holds says whether healthy of n voters are a majority. No voters have none.
func Holds(healthy, n int) bool { return n > 0 && healthy >= Size(n) }
