// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"maps"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// underLoad disturbs clusters while clients are busy.
func underLoad() {
	var namespace string
	var c *v1beta1.EtcdCluster
	var id string

	BeforeAll(func() {
		needsService()
		namespace = newNamespace()
		startOperator(namespace)
		c = create(newCluster(namespace, "loaded"))
		id = now(c).Status.ClusterID
	})

	AfterEach(func() {
		if c == nil {
			return // skipped
		}
		settles(c)
		Expect(now(c).Status.ClusterID).To(Equal(id))
	})

	It("fault 15: a leader's Pod that is deleted", func() {
		known := members(c)
		result, _ := busy(c, func() {
			_, leader, _ := standing(c)
			comesBack(c, deletePod(c, leader))
			settles(c)
		})
		Expect(result.Gap).To(BeNumerically("<", outage))
		isHandedOver(c)
		Expect(members(c)).To(Equal(known))
	})

	It("fault 16: a leader that is killed", func() {
		known, before := members(c), uids(c)
		watch := watchElections(c)
		result, _ := busy(c, func() {
			_, leader, _ := standing(c)
			killAtOnce(c, leader)
			settles(c)
		})
		Expect(watch.end()).To(Equal(1), "elections")
		Expect(result.Gap).To(BeNumerically("<", outage))
		Expect(members(c)).To(Equal(known))
		Expect(uids(c)).To(Equal(before), "no Pod was deleted")
	})

	It("fault 17: all members that are killed at once", func() {
		known, before := members(c), uids(c)
		busy(c, func() {
			killAtOnce(c, slices.Collect(maps.Keys(known))...)
			settles(c)
		})
		Expect(members(c)).To(Equal(known))
		Expect(uids(c)).To(Equal(before), "no Pod was deleted")
	})

	It("fault 18: a volume that is lost", func() {
		victim, _ := aFollower(c)
		watch := watchElections(c)
		result, _ := busy(c, func() {
			loseVolume(c, victim.Name)
			settles(c)
		})
		Expect(watch.end()).To(BeZero(), "elections")
		Expect(result.Gap).To(BeNumerically("<", outage))
		Expect(members(c)).To(And(HaveLen(3), Not(HaveKey(victim.Name))))
	})

	It("a flag that is changed: members restart one at a time", func() {
		known := members(c)
		result, _ := busy(c, func() {
			rollsCarefully(c, func(spec *v1beta1.EtcdClusterSpec) { spec.Etcd.SnapshotCount = 5000 })
		})
		Expect(result.Gap).To(BeNumerically("<", outage))
		isHandedOver(c)
		Expect(members(c)).To(Equal(known))
		for _, p := range pods(c) {
			Expect(p.Spec.Containers[0].Args).To(ContainElement("--snapshot-count=5000"))
		}
	})

	It("scales 1 to 3 to 5 to 7 and back, by the spec and through the scale subresource in turns", func() {
		discard(c)
		c = create(newCluster(namespace, "scaled", func(spec *v1beta1.EtcdClusterSpec) { spec.Size = ptr.To[int32](1) }))
		id = now(c).Status.ClusterID
		result, _ := busy(c, func() {
			for i, size := range []int32{3, 5, 7, 5, 3, 1} {
				begun := time.Now()
				[]func(*v1beta1.EtcdCluster, int32){resize, scale}[i%2](c, size)
				Expect(members(c)).To(HaveLen(int(size)))
				AddReportEntry(fmt.Sprintf("to size %d", size), time.Since(begun).Round(time.Millisecond).String())
			}
		})
		Expect(result.Gap).To(BeNumerically("<", outage))
	})
}
