package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
)

func alarms() {
	It("fault 27: a member whose data differs is found by hashes and replaced, writes go on, and the others are untouched", differingData)

	It("fault 26: a quota below what the database has is refused, and nobody is restarted for it", func() {
		namespace := newNamespace()
		startOperator(namespace)
		c := create(newCluster(namespace, "cramped"))
		putLarge(c, 80)
		before := uids(c)
		quota := func(size *resource.Quantity) {
			GinkgoHelper()
			Expect(edit(c, func(spec *v1alpha1.EtcdClusterSpec) { spec.Etcd.Quota = size })).To(Succeed())
		}
		quota(ptr.To(resource.MustParse("64Mi")))
		says(c, v1alpha1.ConditionDegraded, v1alpha1.ReasonActionRequired, "spec.etcd.quota is less than the database of cramped-")
		put(c, "key", "value")
		quota(nil)
		settles(c)
		Expect(uids(c)).To(Equal(before))
	})

	It("fault 26: a database that has reached its quota is told, is read from, and nothing is restarted or replaced", func() {
		namespace := newNamespace()
		startOperator(namespace)
		c := create(newCluster(namespace, "full", func(spec *v1alpha1.EtcdClusterSpec) {
			spec.Etcd.Quota = ptr.To(resource.MustParse("64Mi"))
		}))
		put(c, "key", "value")
		known, before := members(c), uids(c)

		By("writing until etcd takes no more")
		ask(c, func(ctx context.Context, etcd *clientv3.Client) error {
			for i := range 200 {
				_, err := etcd.Put(ctx, fmt.Sprintf("big/%d", i), strings.Repeat("x", 1<<20))
				if errors.Is(err, rpctypes.ErrNoSpace) {
					return nil
				}
				if err != nil {
					return err
				}
			}
			return errors.New("200 MiB fit into a quota of 64 MiB")
		})
		says(c, v1alpha1.ConditionDegraded, v1alpha1.ReasonAlarm, "NOSPACE")
		says(c, v1alpha1.ConditionAvailable, v1alpha1.ReasonNoSpace, "NOSPACE")
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
