// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// purged is how long etcd may take to delete what it needs no more of its log: it looks every half minute.
const purged = 31 * time.Second

// warm is how long a member has run before the operator takes what it counts for usual, and until it has been looked at then.
const warm = 150 * time.Second

// room is made for data before etcd refuses it, or where it lets its users in only. docs/operations/space.md.
func room() {
	var namespace string

	BeforeEach(func() {
		namespace = newNamespace()
		startOperator(namespace)
	})

	It("volumes and quota grow before a database is full, up to the size that is allowed", func() {
		most := resource.MustParse("1280Mi")
		c := create(newCluster(namespace, "grown", func(spec *v1beta1.EtcdClusterSpec) {
			spec.Storage.Size, spec.Storage.AutoGrow = ptr.To(resource.MustParse("1Gi")), &v1beta1.AutoGrow{MaxSize: most}
			spec.Etcd.SnapshotCount = 100 // the log of as many entries stays on the volume, beside the database
		}))
		known, w := members(c), callWitness(c)
		write := func(prefix string, mebibytes int) {
			for i := range mebibytes {
				put(c, fmt.Sprint(prefix, i), strings.Repeat("x", 1<<20))
				if i%100 == 99 {
					time.Sleep(purged)
				}
			}
		}
		write("large/", 300) // that is more than seven tenths of the quota, 358Mi
		begun := time.Now()
		Eventually(func(g Gomega) {
			is := read(g, c).Status
			g.Expect(is.GrownSize).To(HaveValue(BeComparableTo(most)))
			g.Expect(is.VolumeSize).To(HaveValue(BeComparableTo(most)))
		}).Should(Succeed())
		settles(c)
		AddReportEntry("from the last write to larger volumes and quotas", time.Since(begun).Round(time.Second).String())
		for _, p := range pods(c) {
			Expect(p.Spec.Containers[0].Args).To(ContainElement("--quota-backend-bytes=469762048"), p.Name)
		}
		w.KeptServing(3)
		write("more/", 100) // more than the first quota had room for
		Expect(members(c)).To(Equal(known))
		tells(c, "VolumesGrowing")
	})

	It("fewer entries between two snapshots are recommended where values are large", func() {
		c := create(newCluster(namespace, "heavy", oneMember, func(spec *v1beta1.EtcdClusterSpec) {
			spec.Storage.Size = ptr.To(resource.MustParse("1Gi"))
		}))
		time.Sleep(warm)
		begun := time.Now()
		for i := range 1200 {
			put(c, fmt.Sprint("heavy/", i), strings.Repeat("x", 256<<10))
		}
		written := time.Since(begun).Round(time.Second)
		Eventually(func(g Gomega) {
			g.Expect(read(g, c).Status.Recommendations).To(ConsistOf(And(
				HaveField("Setting", v1beta1.SettingSnapshotCount), HaveField("Now", "10000"), HaveField("Wanted", "500"),
				HaveField("Why", MatchRegexp("an entry of the log has 25[0-9] KiB: between two snapshots the log takes 25[0-9]{2} MiB")),
			)))
		}).Should(Succeed())
		AddReportEntry("from the first of 1200 values of 256 KiB to the recommendation", time.Since(begun).Round(time.Second).String())
		AddReportEntry("all values were written after", written.String())
		AddReportEntry("why", now(c).Status.Recommendations[0].Why)
	})

	It("fault 26: a database that history has filled makes room by itself where etcd lets its users in only", func() {
		c := create(newCluster(namespace, "locked", smallQuota))
		switchAuth(c, true)
		settles(c)
		known, root := members(c), as(c, c.RootSecret())
		Eventually(func() error {
			_, err := root.Put(ctx, "one", strings.Repeat("x", 1<<20))
			return err
		}).WithPolling(time.Millisecond).Should(MatchError(rpctypes.ErrNoSpace))
		full := time.Now()
		Eventually(func() error { return puts(as(c, c.RootSecret()), "after")() }).Should(Succeed()) // other Pods
		AddReportEntry("writable again", time.Since(full).Round(100*time.Millisecond).String())
		settles(c)
		Expect(members(c)).To(Equal(known))
		tells(c, "HistoryCompacted", "AlarmDisarmed")
	})

	It("fault 26: a database that is full at the default size and quota makes room by itself, with six tenths of it in use", func() {
		c := create(newCluster(namespace, "whole", func(spec *v1beta1.EtcdClusterSpec) { spec.Storage.Size = nil }))
		known, quota := members(c), now(c).QuotaBytes()
		AddReportEntry("quota", v1beta1.SizeOf(quota))
		fillMostly(c, quota/10*6)
		full := time.Now()
		Eventually(func(g Gomega) {
			askOnce(g, c, func(_ context.Context, etcd *clientv3.Client) error { return puts(etcd, "after")() })
		}).WithTimeout(15 * time.Minute).Should(Succeed())
		AddReportEntry("writable again", time.Since(full).Round(100*time.Millisecond).String())
		settles(c)
		Expect(members(c)).To(Equal(known))
		for _, m := range now(c).Status.Members {
			Expect(m.LastDefragmentation).To(HaveValue(HaveField("Failure", "")), m.Name)
			Expect(m.LastDefragmentation.After.Value()).To(BeNumerically("~", quota/10*6, quota/10), m.Name)
		}
		tells(c, "HistoryCompacted", "AlarmDisarmed")
	})
}

// fillMostly writes so many bytes of data, and then the last key again and again, until etcd takes no more. The values are of a size of
// which the log between two snapshots has its room on the volume.
func fillMostly(c *v1beta1.EtcdCluster, bytes int64) {
	GinkgoHelper()
	const size, atOnce = 32 << 10, 16
	etcd, written, value := dial(c), atomic.Int64{}, strings.Repeat("x", size)
	defer etcd.Close()
	limited, cancel := context.WithTimeout(ctx, time.Hour)
	defer cancel()
	var writers sync.WaitGroup
	for range atOnce {
		writers.Go(func() {
			for limited.Err() == nil {
				_, err := etcd.Put(limited, fmt.Sprint("data/", min(written.Add(1), bytes/size)), value)
				if errors.Is(err, rpctypes.ErrNoSpace) {
					return
				}
			}
		})
	}
	writers.Wait()
	Expect(limited.Err()).NotTo(HaveOccurred())
}
