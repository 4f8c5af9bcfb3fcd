// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

func computeResources() {
	var c *v1beta1.EtcdCluster
	var known, data map[string]string

	BeforeAll(func() {
		namespace := newNamespace()
		startOperator(namespace)
		c = create(newCluster(namespace, "sized", using(list("50m", "64Mi"), list("", "256Mi"))))
		data, known = fill(c), members(c)
	})

	AfterEach(func() {
		settles(c)
		Expect(members(c)).To(Equal(known), "the members are the same")
		Expect(filled(c)).To(Equal(data))
	})

	It("change while Pods run: no Pod is replaced and no container restarts", func() {
		before, count := uids(c), restarts(c)
		w := callWitness(c)
		Expect(edit(c, using(list("60m", "96Mi"), list("", "320Mi")))).To(Succeed())
		settles(c)
		Eventually(func(g Gomega) {
			for _, p := range podsOf(g, c.Namespace, ours(c)) {
				g.Expect(p.Status.ContainerStatuses[0].Resources).To(HaveValue(And(
					HaveField("Requests", Equal(list("60m", "96Mi"))), HaveField("Limits", Equal(list("", "320Mi"))))))
				g.Expect(memoryLimit(p)).To(Equal(int64(320 << 20)))
			}
		}).Should(Succeed())
		w.Dismiss()
		Expect(w.Fewest()).To(Equal(3), "Pods that were ready at once")
		Expect(uids(c)).To(Equal(before))
		Expect(restarts(c)).To(Equal(count))
		tells(c, "PodResized")
	})

	It("fault 52: a request that no node can meet is refused before anybody is disturbed, and setting it back ends it", func() {
		before := uids(c)
		asBefore := now(c).Spec.Resources
		Expect(edit(c, using(list("1000", "96Mi"), list("", "320Mi")))).To(Succeed())
		says(c, v1beta1.ConditionDegraded, v1beta1.ReasonStepRejected, "node didn't have enough allocatable resources")
		stays(5*time.Second, func(g Gomega) {
			g.Expect(untouched(g, c, before)).To(Equal(3), "members that were left alone")
			g.Expect(conditionOf(read(g, c), v1beta1.ConditionAvailable).Status).To(Equal(metav1.ConditionTrue))
		})
		asked := 0
		for _, p := range pods(c) {
			if p.Spec.Containers[0].Resources.Requests.Cpu().Value() == 1000 {
				asked++
			}
		}
		Expect(asked).To(BeZero(), "members that were to get it")
		Expect(edit(c, using(asBefore.Requests, asBefore.Limits))).To(Succeed())
		settles(c)
		Expect(untouched(Default, c, before)).To(Equal(3))
	})

	It("fault 52: a limit of memory below what its member uses, which the kubelet sets in no running Pod, is taken by a new one", func() {
		large := func(spec *v1beta1.EtcdClusterSpec) { spec.Storage.Size = ptr.To(resource.MustParse("1Gi")) }
		used := create(newCluster(c.Namespace, "used", oneMember, large, using(list("50m", "64Mi"), list("", "640Mi"))))
		putLarge(used, 100)
		before := uids(used)
		Expect(edit(used, using(list("50m", "64Mi"), list("", "256Mi")))).To(Succeed())
		says(used, v1beta1.ConditionDegraded, v1beta1.ReasonMemberBlocked, "cannot decrease memory limits")
		Eventually(uids).WithArguments(used).ShouldNot(Equal(before))
		settles(used)
		Expect(memoryLimit(pod(used, "used-0"))).To(Equal(int64(256 << 20)))
		discard(used)
	})

	for _, change := range []struct {
		name string
		to   func(*v1beta1.EtcdClusterSpec)
	}{
		{"another class of service", using(list("60m", "96Mi"), list("60m", "96Mi"))},
		{"a limit that is taken away", using(list("60m", "96Mi"), nil)},
		{"no resources at all", using(nil, nil)},
		{"first requests", using(list("50m", "64Mi"), nil)},
		{"storage beside memory", using(corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("50m"), corev1.ResourceEphemeralStorage: resource.MustParse("1Mi"),
		}, nil)},
	} {
		It("are rolled, one member at a time, where Kubernetes cannot change them in place: "+change.name, func() {
			before := uids(c)
			w := callWitness(c)
			Expect(edit(c, change.to)).To(Succeed())
			settles(c)
			w.KeptServing(3)
			wanted := now(c).Spec.Resources
			for _, p := range pods(c) {
				Expect(string(p.UID)).NotTo(Equal(before[p.Name]), p.Name)
				Expect(p.Spec.Containers[0].Resources).To(Equal(corev1.ResourceRequirements{Requests: wanted.Requests, Limits: wanted.Limits}))
			}
		})
	}
}

// isResizedInPlace gives members another request of memory while they run.
func isResizedInPlace(c *v1beta1.EtcdCluster) {
	GinkgoHelper()
	before, count := uids(c), restarts(c)
	Expect(edit(c, using(list("60m", "96Mi"), list("", "320Mi")))).To(Succeed())
	settles(c)
	Expect(uids(c)).To(Equal(before))
	Expect(restarts(c)).To(Equal(count))
	tells(c, "PodResized")
}
