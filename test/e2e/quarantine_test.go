// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"maps"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

func quarantine() {
	It("deletes volumes of removed members when their time is over, and keeps them by default", func() {
		namespace := newNamespace()
		startOperator(namespace)
		brief := newCluster(namespace, "brief", func(spec *v1beta1.EtcdClusterSpec) {
			spec.Storage.Quarantine = &metav1.Duration{Duration: 20 * time.Second}
		})
		long := newCluster(namespace, "long")
		for _, c := range []*v1beta1.EtcdCluster{brief, long} {
			Expect(api.Create(ctx, c)).To(Succeed())
		}
		for _, c := range []*v1beta1.EtcdCluster{long, brief} { // whose time is short comes last
			settles(c)
			put(c, "key", "value")
			setSize(c, 1)
			Eventually(quarantined).WithArguments(c).Should(HaveLen(2), "at once")
			stays(5*time.Second, func(g Gomega) { g.Expect(quarantined(g, c)).To(HaveLen(2)) })
		}
		aside := asideSince(brief)
		settles(brief)
		settles(long)
		Eventually(func(g Gomega) []string { // the operator looks every half minute, and whenever a volume has changed
			touch(g, &claimsOf(g, brief)[0])
			return quarantined(g, brief)
		}).WithPolling(time.Second).Should(BeEmpty())
		kept := time.Since(aside)
		AddReportEntry("kept for", kept.String())
		Expect(kept).To(BeNumerically(">=", 20*time.Second))
		Eventually(claimsOf).WithArguments(brief).Should(HaveLen(1))
		Expect(claims(brief)[0].Name).To(BeElementOf(slices.Collect(maps.Keys(members(brief)))))
		Expect(value(brief, "key")).To(Equal("value"))
		tells(brief, "VolumeDeleted")
		Expect(quarantined(Default, long)).To(HaveLen(2))
		Expect(value(long, "key")).To(Equal("value"))
	})
}
