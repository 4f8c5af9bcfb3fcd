// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

func wrongSpecs() {
	var namespace string
	var c *v1beta1.EtcdCluster

	BeforeAll(func() {
		namespace = newNamespace()
		startOperator(namespace)
		c = create(newCluster(namespace, "well"))
		put(c, "key", "value")
	})

	It("fault 51: an image that is wrong from the start heals when it is corrected", func() {
		wrong := newCluster(namespace, "born-wrong", func(spec *v1beta1.EtcdClusterSpec) { spec.Image = noImage })
		Expect(api.Create(ctx, wrong)).To(Succeed())
		says(wrong, v1beta1.ConditionDegraded, v1beta1.ReasonMemberBlocked, noImage)
		Expect(edit(wrong, func(spec *v1beta1.EtcdClusterSpec) { spec.Image = "" })).To(Succeed())
		settles(wrong)
		Expect(members(wrong)).To(HaveLen(3))
		discard(wrong)
	})

	midRoll := []struct {
		name, words string
		spoil       func(*v1beta1.EtcdClusterSpec)
		correct     func(*v1beta1.EtcdClusterSpec)
	}{
		{
			"fault 51: an image that cannot be pulled", noImage,
			func(spec *v1beta1.EtcdClusterSpec) { spec.Image = noImage },
			func(spec *v1beta1.EtcdClusterSpec) { spec.Image = "" },
		},
		{
			"fault 52: a node selector that no node meets", "cannot be scheduled",
			func(spec *v1beta1.EtcdClusterSpec) { spec.Scheduling.NodeSelector = map[string]string{"no": "node"} },
			func(spec *v1beta1.EtcdClusterSpec) { spec.Scheduling.NodeSelector = nil },
		},
		{
			"fault 52: a request for more processors than there are", "cannot be scheduled",
			func(spec *v1beta1.EtcdClusterSpec) {
				spec.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1000")}
			},
			func(spec *v1beta1.EtcdClusterSpec) { spec.Resources.Requests = aLittle() },
		},
		{
			"fault 52: a flag that etcd cannot read", `invalid value "many" for flag -max-snapshots`,
			func(spec *v1beta1.EtcdClusterSpec) { spec.Etcd.ExtraArgs = map[string]string{"max-snapshots": "many"} },
			func(spec *v1beta1.EtcdClusterSpec) { spec.Etcd.ExtraArgs = nil },
		},
	}
	for i, fault := range midRoll {
		It(fault.name+" halts a roll at the first member, and heals when it is set back", longAfter(0, i), func() {
			settles(c)
			before := uids(c)
			Expect(edit(c, fault.spoil)).To(Succeed())
			says(c, v1beta1.ConditionDegraded, v1beta1.ReasonMemberBlocked, fault.words)
			stays(5*time.Second, func(g Gomega) {
				g.Expect(untouched(g, c, before)).To(Equal(2), "members that were left alone")
				available := conditionOf(read(g, c), v1beta1.ConditionAvailable)
				g.Expect(available.Status).To(Equal(metav1.ConditionTrue))
			})
			put(c, "during", fault.name)
			Expect(edit(c, fault.correct)).To(Succeed())
			settles(c)
			Expect(untouched(Default, c, before)).To(Equal(2))
			Expect(value(c, "key")).To(Equal("value"))
		})
	}

	It("fault 51: an image of another version goes to one member, and no further", Label("long"), func() {
		settles(c)
		newer := "gcr.io/etcd-development/etcd:v3.7.3"
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.Image = newer })).To(Succeed())
		says(c, v1beta1.ConditionDegraded, v1beta1.ReasonActionRequired, "spec.image holds etcd 3.7.3")
		stays(5*time.Second, func(g Gomega) {
			all := podsOf(g, c.Namespace, ours(c))
			g.Expect(all).To(HaveLen(3))
			others := slices.DeleteFunc(all, func(p corev1.Pod) bool { return p.Spec.Containers[0].Image == newer })
			g.Expect(others).To(HaveLen(2))
		})
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.Image = "" })).To(Succeed())
		settles(c)
		Expect(now(c).Status.Version).To(Equal("3.6.16"))
		Expect(value(c, "key")).To(Equal("value"))
	})

	It("fault 53: a change that admission would reject stops no Pod, not even the only one", Label("long"), func() {
		settles(c)
		lone := create(newCluster(namespace, "lone", func(spec *v1beta1.EtcdClusterSpec) { spec.Size = ptr.To[int32](1) }))
		for _, c := range []*v1beta1.EtcdCluster{c, lone} {
			before := uids(c)
			Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.Scheduling.PriorityClassName = "nowhere" })).To(Succeed())
			says(c, v1beta1.ConditionDegraded, v1beta1.ReasonStepRejected, "no PriorityClass with name nowhere was found")
			Expect(untouched(Default, c, before)).To(Equal(len(before)), "members that were left alone")
			put(c, "key", "value")
			Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.Scheduling.PriorityClassName = "" })).To(Succeed())
			settles(c)
			Expect(untouched(Default, c, before)).To(Equal(len(before)), "members that were left alone")
		}
		discard(lone)
	})

	It("fault 53: a spec that Kubernetes finds invalid stops no Pod, and the same is said of it each time", Label("long"), func() {
		settles(c)
		before := uids(c)
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) {
			spec.Scheduling.Tolerations = []corev1.Toleration{{Key: "a b", Operator: corev1.TolerationOpExists}}
		})).To(Succeed())
		says(c, v1beta1.ConditionDegraded, v1beta1.ReasonStepRejected, "spec.tolerations[0].key")
		told := now(c).ResourceVersion
		stays(3*time.Second, func(g Gomega) { g.Expect(read(g, c).ResourceVersion).To(Equal(told)) })
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.Scheduling.Tolerations = nil })).To(Succeed())
		settles(c)
		Expect(untouched(Default, c, before)).To(Equal(3), "members that were left alone")
	})

	It("fault 53: Pods that admission rejects are reported in its words, and come when it lets them", Label("long"), func() {
		settles(c)
		known := members(c)
		quota := allow(namespace, corev1.ResourcePods, "0")
		victim, _ := aFollower(c)
		deletePod(c, victim)
		says(c, v1beta1.ConditionDegraded, v1beta1.ReasonStepRejected, "exceeded quota")
		says(c, v1beta1.ConditionProgressing, v1beta1.ReasonWaiting, "Kubernetes refuses its pod")
		budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: c.Name}}
		Expect(api.Delete(ctx, budget)).To(Succeed())
		Eventually(func() error { return api.Get(ctx, client.ObjectKeyFromObject(budget), budget) }).Should(Succeed(), "all else goes on")
		Expect(api.Delete(ctx, quota)).To(Succeed())
		comesBack(c, victim)
		settles(c)
		Expect(members(c)).To(Equal(known))
	})

	It("fault 54: what cannot be changed is refused, and the cluster goes on", func() {
		before := uids(c)
		for _, change := range []func(*v1beta1.EtcdClusterSpec){
			func(spec *v1beta1.EtcdClusterSpec) {
				spec.Storage = v1beta1.Storage{Ephemeral: &v1beta1.Ephemeral{}}
			},
			func(spec *v1beta1.EtcdClusterSpec) { spec.Storage.Size.Set(128 << 20) },
		} {
			Expect(edit(c, change)).To(MatchError(ContainSubstring("is invalid")))
		}
		Expect(uids(c)).To(Equal(before))
		settles(c)
	})
}
