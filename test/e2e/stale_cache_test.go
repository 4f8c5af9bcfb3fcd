// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/act"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/test/e2e/internal/apiproxy"
)

func staleness() {
	var o *operator
	var c *v1beta1.EtcdCluster

	BeforeAll(func() {
		needsOwnOperator()
		namespace := newNamespace()
		o = startOperator(namespace)
		c = create(newCluster(namespace, "stale", func(spec *v1beta1.EtcdClusterSpec) { spec.Size = ptr.To[int32](1) }))
	})

	It("fault 5: a Pod that has been replaced since it was observed is not deleted", func() {
		actor := &act.Actor{Client: api, Live: api, Now: time.Now}
		stop := plan.DeletePods{Pods: []plan.PodRef{{Name: "stale-0", UID: "00000000-0000-0000-0000-000000000000"}}, Because: "the cache is old"}
		before := uids(c)
		err := actor.Do(ctx, c, cluster.View{}, stop, time.Now())
		Expect(err).To(MatchError(ContainSubstring("the UID in the precondition")))
		Expect(uids(c)).To(Equal(before))
		for _, p := range pods(c) {
			Expect(p.DeletionTimestamp).To(BeNil())
		}
	})

	It("faults 5 and 6: an operator that starts with an old list of Pods and volumes deletes nothing", func() {
		lasts := 5 * time.Second
		oldPods := remember(c.Namespace, corev1.SchemeGroupVersion.WithKind("PodList"), lasts)
		oldClaims := remember(c.Namespace, corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaimList"), lasts)
		oldClusters := remember(c.Namespace, v1beta1.GroupVersion.WithKind("EtcdClusterList"), lasts)
		resize(c, 3)
		before, listed := uids(c), members(c)
		for _, old := range []map[string]*apiproxy.Past{
			{"pods": oldPods, "persistentvolumeclaims": oldClaims},
			{"pods": oldPods, "persistentvolumeclaims": oldClaims, "etcdclusters": oldClusters},
		} {
			o.kill()
			o.Forget()
			for resource := range old {
				old[resource] = old[resource].Again()
				o.Tell(resource, old[resource])
			}
			o.start()
			for _, list := range old {
				Eventually(o.WasTold(list)).Should(BeTrue())
			}
			stays(lasts+5*time.Second, func(g Gomega) {
				g.Expect(o.Written()).NotTo(ContainElement(HavePrefix("DELETE")))
			})
			settles(c)
			Expect(uids(c)).To(Equal(before))
			Expect(members(c)).To(Equal(listed))
		}
	})

	It("fault 6: a list from before a scale down, with members that are gone, brings none of them back", func() {
		lasts := 5 * time.Second
		oldPods := remember(c.Namespace, corev1.SchemeGroupVersion.WithKind("PodList"), lasts)
		oldClaims := remember(c.Namespace, corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaimList"), lasts)
		resize(c, 1)
		before, listed := uids(c), members(c)
		o.kill()
		o.Forget()
		o.Tell("pods", oldPods)
		o.Tell("persistentvolumeclaims", oldClaims)
		o.start()
		Eventually(o.WasTold(oldPods)).Should(BeTrue())
		time.Sleep(lasts)
		settles(c)
		Expect(uids(c)).To(Equal(before))
		Expect(members(c)).To(Equal(listed))
		Expect(o.Written()).NotTo(ContainElement(HavePrefix("POST")))
		resize(c, 3)
	})

	It("fault 6: a list from before a scale down and up, with other members, changes nothing", func() {
		lasts := 5 * time.Second
		resize(c, 3)
		oldPods := remember(c.Namespace, corev1.SchemeGroupVersion.WithKind("PodList"), lasts)
		oldClaims := remember(c.Namespace, corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaimList"), lasts)
		resize(c, 1)
		resize(c, 3)
		before, listed, aside := uids(c), members(c), putAside(c)
		o.kill()
		o.Forget()
		o.Tell("pods", oldPods)
		o.Tell("persistentvolumeclaims", oldClaims)
		o.start()
		Eventually(o.WasTold(oldPods)).Should(BeTrue())
		time.Sleep(lasts)
		settles(c)
		Expect(uids(c)).To(Equal(before))
		Expect(members(c)).To(Equal(listed))
		Expect(putAside(c)).To(Equal(aside))
		Expect(o.Written()).NotTo(ContainElement(Or(HavePrefix("POST"), HavePrefix("DELETE"))))
	})

	It("fault 7: the loss of the news that a Pod is gone is repaired by the operator's own look", func() {
		resize(c, 3)
		time.Sleep(10 * time.Second) // looks that are due anyway come before the news is lost
		victim, _ := aFollower(c)
		lost := make(chan struct{}, 16)
		o.OnEvent(func(resource, event string) bool {
			if resource == "pods" && strings.Contains(event, string(victim.UID)) {
				if strings.HasPrefix(event, `{"type":"DELETED"`) {
					lost <- struct{}{}
				}
				return false // also the steps on its way out: the cache shows a Pod that is well
			}
			return resource == "pods" // nothing else may remind the operator
		})
		deletePod(c, victim)
		Eventually(lost).Should(Receive())
		o.OnEvent(func(resource, _ string) bool { return resource == "pods" })
		begun := time.Now()
		comesBack(c, victim)
		AddReportEntry("repaired after", time.Since(begun).String())
		o.restart() // with watches that tell all
		settles(c)
	})
}
