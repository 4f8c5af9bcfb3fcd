// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

func alarms() {
	It("fault 27: a member whose data differs is found by hashes and replaced, writes go on, and the others are untouched", differingData)

	It("fault 27: a member does not start on data that differs, and is replaced while writes go on", Label("gate"), differingStart)

	It("fault 27: a member that runs on data that differs is found when a comparison is asked for, and replaced", differingWhileItRuns)

	It("fault 26: a quota below what the database has is refused, and nobody is restarted for it", func() {
		namespace := newNamespace()
		startOperator(namespace)
		c := create(newCluster(namespace, "cramped"))
		putLarge(c, 80)
		before := uids(c)
		quota := func(size *resource.Quantity) {
			GinkgoHelper()
			Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.Etcd.Quota = size })).To(Succeed())
		}
		quota(ptr.To(resource.MustParse("64Mi")))
		says(c, v1beta1.ConditionDegraded, v1beta1.ReasonActionRequired, "spec.etcd.quota is less than the database of cramped-")
		put(c, "key", "value")
		quota(nil)
		settles(c)
		Expect(uids(c)).To(Equal(before))
	})

	It("fault 26: a database that history has filled makes room by itself, one member at a time", Label("gate"), func() {
		namespace := newNamespace()
		startOperator(namespace)
		c := create(newCluster(namespace, "filled", smallQuota))
		put(c, "key", "value")
		known, before := members(c), uids(c)
		fillUp(c, func(int) string { return "one" })
		full := time.Now()
		Eventually(func(g Gomega) {
			askOnce(g, c, func(ctx context.Context, etcd *clientv3.Client) error {
				_, err := etcd.Put(ctx, "key", "after")
				return err
			})
		}).Should(Succeed())
		AddReportEntry("writable again", time.Since(full).Round(100*time.Millisecond).String())
		settles(c)
		Expect(members(c)).To(Equal(known))
		for _, m := range now(c).Status.Members {
			last := m.LastDefragmentation
			Expect(last).NotTo(BeNil(), m.Name)
			Expect(last.Failure).To(BeEmpty())
			// One that was defragmented before, as it came near its quota with a tenth free, may have room enough.
			Expect(last.After.Value()).To(And(BeNumerically("<", last.Before.Value()), BeNumerically("<", 64<<20/10*9)), m.Name)
		}
		Expect(uids(c)).NotTo(Equal(before))
		Eventually(reasonsOf).WithArguments(c).Should(ContainElements("HistoryCompacted", "DefragmentationStarted", "Defragmented",
			"AlarmDisarmed"))
	})

	It("fault 26: a database that is full of data says so, and makes room once keys are deleted", func() {
		namespace := newNamespace()
		startOperator(namespace)
		c := create(newCluster(namespace, "brimming", smallQuota))
		put(c, "key", "value")
		written := 0
		fill := func() { fillUp(c, func(int) string { written++; return fmt.Sprintf("big/%d", written) }) }
		Eventually(func(g Gomega) { // what is free within the file is given back first, and can be written again
			fill()
			degraded := conditionOf(read(g, c), v1beta1.ConditionDegraded)
			g.Expect(degraded.Reason).To(Equal(v1beta1.ReasonActionRequired))
			g.Expect(degraded.Message).To(ContainSubstring("delete keys (see kubectl etcd keys brimming), or raise spec.etcd.quota"))
		}).WithTimeout(6 * time.Minute).WithPolling(5 * time.Second).Should(Succeed())
		Expect(value(c, "key")).To(Equal("value"))
		ask(c, func(ctx context.Context, etcd *clientv3.Client) error {
			_, err := etcd.Delete(ctx, "big/", clientv3.WithPrefix())
			return err
		})
		settles(c)
		put(c, "key", "after")
	})

	It("defragments a database that is mostly free, and clients do not notice", func() {
		needsService()
		namespace := newNamespace()
		startOperator(namespace)
		c := create(newCluster(namespace, "hollow", func(spec *v1beta1.EtcdClusterSpec) {
			spec.Storage.Size = ptr.To(resource.MustParse("1Gi"))
			spec.Maintenance.Defragmentation = v1beta1.Defragmentation{MinFree: ptr.To(resource.MustParse("20Mi"))}
		}))
		known := members(c)
		putLarge(c, 60)
		result, _ := busy(c, func() {
			ask(c, func(ctx context.Context, etcd *clientv3.Client) error {
				gone, err := etcd.Delete(ctx, "big/", clientv3.WithPrefix())
				if err != nil {
					return err
				}
				_, err = etcd.Compact(ctx, gone.Header.Revision)
				return err
			})
			Eventually(func(g Gomega) {
				for _, m := range read(g, c).Status.Members {
					g.Expect(m.LastDefragmentation).NotTo(BeNil(), m.Name)
				}
			}).Should(Succeed())
			settles(c)
		})
		Expect(result.Gap).To(BeNumerically("<", outage))
		Expect(members(c)).To(Equal(known))
	})

	It("fault 26: with noSpace Off, a database that has reached its quota is read from, and nothing is restarted or replaced", func() {
		namespace := newNamespace()
		startOperator(namespace)
		c := create(newCluster(namespace, "full", smallQuota, func(spec *v1beta1.EtcdClusterSpec) {
			spec.Maintenance.NoSpace = v1beta1.NoSpaceOff
		}))
		put(c, "key", "value")
		known, before := members(c), uids(c)

		fillUp(c, func(i int) string { return fmt.Sprintf("big/%d", i) })
		says(c, v1beta1.ConditionDegraded, v1beta1.ReasonActionRequired, "NOSPACE")
		says(c, v1beta1.ConditionAvailable, v1beta1.ReasonNoSpace, "NOSPACE")
		stays(aWhile, func(g Gomega) {
			g.Expect(uids(c)).To(Equal(before))
			g.Expect(restarts(c)).To(HaveEach(BeZero()))
		})
		Expect(value(c, "key")).To(Equal("value"))

		By("making room by hand")
		ask(c, func(ctx context.Context, etcd *clientv3.Client) error {
			gone, err := etcd.Delete(ctx, "big/", clientv3.WithPrefix())
			if err != nil {
				return err
			}
			if _, err := etcd.Compact(ctx, gone.Header.Revision, clientv3.WithCompactPhysical()); err != nil {
				return err
			}
			for _, endpoint := range etcd.Endpoints() {
				if _, err := etcd.Defragment(ctx, endpoint); err != nil {
					return err
				}
			}
			_, err = etcd.AlarmDisarm(ctx, &clientv3.AlarmMember{Alarm: etcdserverpb.AlarmType_NONE})
			return err
		})
		settles(c)
		put(c, "key", "after")
		Expect(members(c)).To(Equal(known))
		Expect(uids(c)).To(Equal(before))
	})
}

// smallQuota leaves room on the volume for a copy of the data, beside the write-ahead log.
func smallQuota(spec *v1beta1.EtcdClusterSpec) {
	spec.Etcd.Quota, spec.Storage.Size = ptr.To(resource.MustParse("64Mi")), ptr.To(resource.MustParse("1Gi"))
}

// fillUp writes a quarter of a MiB at a time until etcd takes no more. Larger values leave pages free in the file, by which a member
// would be helped before any history is dropped.
func fillUp(c *v1beta1.EtcdCluster, key func(i int) string) {
	GinkgoHelper()
	By("writing until etcd takes no more")
	ask(c, func(ctx context.Context, etcd *clientv3.Client) error {
		for i := range 1600 {
			_, err := etcd.Put(ctx, key(i), strings.Repeat("x", 128<<10))
			if errors.Is(err, rpctypes.ErrNoSpace) {
				return nil
			}
			if err != nil {
				return err
			}
		}
		return errors.New("200 MiB fit into a quota of 64 MiB")
	})
}
