// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package copying

import (
	"bytes"

	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

const (
	// most changes of one transaction: etcd takes 128 operations (--max-txn-ops), and one of them is the mark.
	most = 100
	// largest is how many bytes they have in all: etcd takes requests of 1.5 MiB (--max-request-bytes). One change may have more.
	largest = 1 << 20
)

// Batches are the changes in the same order, in as many transactions as it takes.
func Batches(changes []etcd.Change) [][]etcd.Change {
	var all [][]etcd.Change
	size := 0
	for _, change := range changes {
		grown := size + len(change.Key) + len(change.Value)
		if last := len(all) - 1; last >= 0 && len(all[last]) < most && grown <= largest {
			all[last], size = append(all[last], change), grown
			continue
		}
		all, size = append(all, []etcd.Change{change}), len(change.Key)+len(change.Value)
	}
	return all
}

// Latest leaves the last change of each key, and none of the mark: no transaction takes two of one key.
func Latest(changes []etcd.Change) []etcd.Change {
	last := map[string]int{}
	for i, change := range changes {
		last[string(change.Key)] = i
	}
	latest := make([]etcd.Change, 0, len(last))
	for i, change := range changes {
		if last[string(change.Key)] == i && string(change.Key) != MarkKey {
			latest = append(latest, change)
		}
	}
	return latest
}

// Difference is what makes the keys that are there those that are wanted. Both are sorted, and are of the same range of keys.
func Difference(wanted, there []etcd.Item) []etcd.Change {
	var changes []etcd.Change
	for len(wanted) > 0 || len(there) > 0 {
		order := compare(wanted, there)
		switch {
		case order > 0:
			changes = append(changes, etcd.Change{KeyValue: etcd.KeyValue{Key: there[0].Key}, Deleted: true})
		case order < 0 || !bytes.Equal(wanted[0].Value, there[0].Value):
			changes = append(changes, etcd.Change{KeyValue: wanted[0].KeyValue})
		}
		if order <= 0 {
			wanted = wanted[1:]
		}
		if order >= 0 {
			there = there[1:]
		}
	}
	return Latest(changes)
}

// compare is the order of the first keys; the end comes last.
func compare(a, b []etcd.Item) int {
	switch {
	case len(a) == 0:
		return 1
	case len(b) == 0:
		return -1
	default:
		return bytes.Compare(a[0].Key, b[0].Key)
	}
}
