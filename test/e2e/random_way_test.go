// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// wandering takes one cluster through changes and losses in an order that nobody thought
// of: whatever the way was, it ends as wanted and with all its data. The seed is in the
// report (-ginkgo.seed repeats it), WANDER is the number of stops.
func wandering() {
	It("ends as wanted with all data, whatever was changed and lost on the way", func() {
		wander(&wanderer{sizes: []int32{0, 1, 3, 3, 5, 5}, versions: []string{"3.5.35", "3.6.16", "3.7.3"}},
			func(spec *v1beta1.EtcdClusterSpec) { spec.DeletionPolicy = v1beta1.Retain })
	})

	It("ends as wanted without volumes, too, as long as not all Pods are lost", func() {
		wander(&wanderer{mortal: true, sizes: []int32{3, 5}, versions: []string{"3.6.16", "3.7.3"}}, inMemory)
	})
}
