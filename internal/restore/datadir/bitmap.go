// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package datadir

// bitmap is a set of small numbers that takes one bit for each up to the highest.
type bitmap []uint64

func (b bitmap) has(i uint64) bool {
	return i/64 < uint64(len(b)) && b[i/64]&(1<<(i%64)) != 0
}

func (b *bitmap) set(i uint64) {
	for uint64(len(*b)) <= i/64 {
		*b = append(*b, 0)
	}
	(*b)[i/64] |= 1 << (i % 64)
}
