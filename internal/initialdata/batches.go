// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package initialdata

import "github.com/etcd-operator/etcd-operator/internal/etcd"

const (
	// most keys of one transaction: etcd takes 128 operations (--max-txn-ops), of which each key needs one, and one more is below it.
	most = 100
	// large is from how many bytes on a transaction takes no more keys. One entry of a ConfigMap or Secret has at most 1 MiB, and etcd
	// takes requests of 1.5 MiB (--max-request-bytes).
	large = 256 << 10
)

// Batches are the keys in the same order, in as many transactions as it takes.
func Batches(keys []etcd.KeyValue) [][]etcd.KeyValue {
	var all [][]etcd.KeyValue
	size := 0
	for _, k := range keys {
		grown := size + len(k.Key) + len(k.Value)
		if last := len(all) - 1; last >= 0 && len(all[last]) < most && grown <= large {
			all[last], size = append(all[last], k), grown
			continue
		}
		all, size = append(all, []etcd.KeyValue{k}), len(k.Key)+len(k.Value)
	}
	return all
}
