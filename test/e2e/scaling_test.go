// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// scaling gives members what they use. docs/operations/scaling.md.
func scaling() {
	var namespace string

	BeforeEach(func() {
		namespace = newNamespace()
		startOperator(namespace)
	})

	It("members that use their memory get more while they run", Label("gate"), func() {
		c := create(newCluster(namespace, "grows", using(nil, list("", "128Mi")), autoscaling("", "256Mi")))
		before, count := uids(c), restarts(c)
		begun := time.Now()
		usesMemory(c, 128<<20)
		Eventually(func(g Gomega) {
			g.Expect(read(g, c).Status.Autoscale).To(HaveValue(HaveField("Memory", HaveValue(BeComparableTo(resource.MustParse("192Mi"))))))
		}).Should(Succeed())
		settles(c)
		AddReportEntry("from the first write to members with more", time.Since(begun).Round(time.Second).String())
		for _, p := range pods(c) {
			Expect(memoryLimit(p)).To(BeNumerically(">=", 192<<20), p.Name+" by its control group")
		}
		Expect(uids(c)).To(Equal(before))
		Expect(restarts(c)).To(Equal(count))
		tells(c, "Scaled", "PodResized")
	})

	It("fault 106: members go on with what they have when a quota of the namespace refuses more", func() {
		c := create(newCluster(namespace, "refused", using(nil, list("", "128Mi")), autoscaling("", "256Mi")))
		before := uids(c)
		quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "little", Namespace: namespace}}
		quota.Spec.Hard = corev1.ResourceList{corev1.ResourceLimitsMemory: resource.MustParse("400Mi")}
		Expect(api.Create(ctx, quota)).To(Succeed())
		usesMemory(c, 128<<20)
		Eventually(func(g Gomega) {
			g.Expect(read(g, c).Status.Autoscale).To(HaveValue(HaveField("Refused", ContainSubstring("exceeded quota"))))
		}).Should(Succeed())
		settles(c)
		tells(c, "ScalingRefused")
		for _, p := range pods(c) {
			Expect(memoryLimit(p)).To(Equal(int64(128<<20)), p.Name+" by its control group")
		}
		Expect(untouched(Default, c, before)).To(Equal(3))
	})
}

// scalingSlowly takes its time.
func scalingSlowly() {
	It("members get more of a processor for a load, and keep it", func() {
		needsService()
		namespace := newNamespace()
		startOperator(namespace)
		little := using(list("", "256Mi"), list("100m", "256Mi"))
		c := create(newCluster(namespace, "busy", oneMember, little, autoscaling("150m", "")))
		before := uids(c)
		cpu := func(is string) {
			GinkgoHelper()
			Eventually(func(g Gomega) {
				g.Expect(pod(c, "busy-0").Status.ContainerStatuses[0].Resources.Limits.Cpu().String()).To(Equal(is))
			}).WithTimeout(10 * time.Minute).Should(Succeed())
		}
		busy(c, func() { cpu("150m") })
		settles(c)
		cpu("150m")
		Expect(uids(c)).To(Equal(before))
	})

	It("fault 107: a member whose disk stays slow is replaced if that is allowed, by one that joins first", func() {
		needsService()
		namespace := newNamespace()
		startOperator(namespace)
		c := create(newCluster(namespace, "worn", func(spec *v1beta1.EtcdClusterSpec) {
			spec.Recovery.SlowMembers, spec.Recovery.SlowMemberTimeout.Duration = v1beta1.SlowReplace, 5*time.Minute
		}))
		before := members(c)
		w, watched := startMounted(c), callWitness(c)
		slow := diskOf(processOf(uids(c)["worn-1"]))
		DeferCleanup(slow, 0)
		slow(10 * operationsPerSecond)
		leavesSlow(c, "worn-1")
		begun := time.Now()
		Eventually(func(g Gomega) {
			g.Expect(read(g, c).Status.Members).NotTo(ContainElement(HaveField("Name", "worn-1")))
		}).WithTimeout(12 * time.Minute).Should(Succeed())
		AddReportEntry("from a slow member to one that has taken its place", time.Since(begun).Round(time.Second).String())
		settles(c)
		watched.KeptServing(3)
		Expect(w.end().failed).To(BeEmpty())
		after := members(c)
		Expect(after).To(And(HaveLen(3), HaveKey("worn-3"), HaveKeyWithValue("worn-0", before["worn-0"])))
		Expect(now(c).Status.SlowReplacement).To(HaveValue(HaveField("Member", "worn-1")))
		tells(c, "ReplacingSlowMember")
	})

	It("recommended settings are followed by an edit, one member at a time", func() {
		namespace := newNamespace()
		startOperator(namespace)
		c := create(newCluster(namespace, "advised", func(spec *v1beta1.EtcdClusterSpec) {
			spec.Etcd.HeartbeatInterval.Duration, spec.Etcd.ElectionTimeout.Duration = 500*time.Millisecond, 5*time.Second
		}))
		w := callWitness(c)
		Eventually(func(g Gomega) {
			g.Expect(read(g, c).Status.Recommendations).To(ConsistOf(
				HaveField("Wanted", "100ms"), HaveField("Wanted", "1s"),
			))
		}).Should(Succeed())
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) {
			spec.Etcd.HeartbeatInterval.Duration, spec.Etcd.ElectionTimeout.Duration = 100*time.Millisecond, time.Second
		})).To(Succeed())
		settles(c)
		w.KeptServing(3)
		for _, p := range pods(c) {
			Expect(strings.Join(p.Spec.Containers[0].Args, " ")).To(ContainSubstring("--heartbeat-interval=100 --election-timeout=1000"), p.Name)
		}
		Eventually(func(g Gomega) {
			g.Expect(read(g, c).Status.Recommendations).To(BeEmpty())
		}).Should(Succeed())
	})
}

func autoscaling(cpu, memory string) func(*v1beta1.EtcdClusterSpec) {
	return func(spec *v1beta1.EtcdClusterSpec) {
		spec.Autoscale = &v1beta1.Autoscale{}
		if cpu != "" {
			spec.Autoscale.Max.CPU = ptr.To(resource.MustParse(cpu))
		}
		if memory != "" {
			spec.Autoscale.Max.Memory = ptr.To(resource.MustParse(memory))
		}
	}
}

// usesMemory writes until a member has more than four fifths of its memory in use, and little more.
func usesMemory(c *v1beta1.EtcdCluster, limit float64) {
	GinkgoHelper()
	address := pods(c)[0].Status.PodIP
	for i := range 400 {
		if metric(address, "process_resident_memory_bytes") > 0.84*limit {
			return
		}
		put(c, fmt.Sprint("memory/", i), strings.Repeat("x", 256<<10))
	}
	Fail("its members do not use what they have")
}
