package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/test/e2e/internal/witness"
)

func change() {
	var namespace string
	var c *v1alpha1.EtcdCluster

	BeforeAll(func() {
		namespace = newNamespace()
		startOperator(namespace)
	})

	It("scales 1 to 3 to 1 through the scale subresource and keeps the data", func() {
		c = create(newCluster(namespace, "scaled", func(spec *v1alpha1.EtcdClusterSpec) { spec.Size = ptr.To[int32](1) }))
		put(c, "key", "value")
		w := startWriter(c)
		scale(c, 3)
		Expect(members(c)).To(And(HaveLen(3), HaveKey("scaled-0"), HaveKey("scaled-1"), HaveKey("scaled-2")))
		Expect(w.end().failed).To(BeEmpty())
		scale(c, 1)
		Expect(members(c)).To(HaveLen(1))
		Expect(value(c, "key")).To(Equal("value"))
		Expect(claims(c)).To(HaveLen(3), "volumes of removed members are kept aside")
		scale(c, 3)
		Expect(members(c)).To(And(HaveLen(3), HaveKey("scaled-3"), HaveKey("scaled-4")), "names are never used twice")
		discard(c)
	})

	It("rolls 3.5.35 to 3.6.16 one member at a time and keeps the data", func() {
		c = create(newCluster(namespace, "rolled", func(spec *v1alpha1.EtcdClusterSpec) { spec.Version = "3.5.35" }))
		Expect(now(c).Status.Version).To(Equal("3.5.35"))
		put(c, "key", "old")
		known := members(c)
		rollsCarefully(c, func(spec *v1alpha1.EtcdClusterSpec) { spec.Version = "3.6.16" })
		Expect(now(c).Status.Version).To(Equal("3.6.16"))
		Expect(value(c, "key")).To(Equal("old"))
		Expect(members(c)).To(Equal(known))
	})

	It("rolls a label one member at a time", func() {
		rollsCarefully(c, func(spec *v1alpha1.EtcdClusterSpec) { spec.PodMetadata.Labels = map[string]string{"team": "storage"} })
		for _, p := range pods(c) {
			Expect(p.Labels).To(HaveKeyWithValue("team", "storage"))
		}
	})

	It("grows volumes while they are in use", func() {
		Expect(edit(c, func(spec *v1alpha1.EtcdClusterSpec) { spec.Storage.Size.Set(320 << 20) })).To(Succeed())
		Eventually(func(g Gomega) {
			for _, claim := range claimsOf(g, c) {
				g.Expect(claim.Status.Capacity.Storage().Value()).To(BeNumerically(">=", 320<<20))
			}
		}).Should(Succeed())
		settles(c)
		Expect(value(c, "key")).To(Equal("old"))
	})
}

// scale sets the size as kubectl scale does.
func scale(c *v1alpha1.EtcdCluster, replicas int32) {
	GinkgoHelper()
	wanted := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: replicas}}
	Expect(api.SubResource("scale").Update(ctx, now(c), client.WithSubResourceBody(wanted))).To(Succeed())
	settles(c)
}

// rollsCarefully makes a change that restarts members, and checks that all but one
// served at every moment and that each was restarted.
func rollsCarefully(c *v1alpha1.EtcdCluster, change func(*v1alpha1.EtcdClusterSpec)) {
	GinkgoHelper()
	w := rolls(c, change)
	w.KeptServing(now(c).Status.ReadyMembers)
}

// rolls makes a change that restarts members, and checks that each was restarted.
func rolls(c *v1alpha1.EtcdCluster, change func(*v1alpha1.EtcdClusterSpec)) *witness.Witness {
	GinkgoHelper()
	before := uids(c)
	w := callWitness(c)
	Expect(edit(c, change)).To(Succeed())
	settles(c)
	w.Dismiss()
	for name, uid := range uids(c) {
		Expect(before).To(HaveKey(name))
		Expect(before[name]).NotTo(Equal(uid), "%s was restarted", name)
	}
	return w
}

func ephemeral() {
	It("replaces a member whose Pod was deleted by a new one, and keeps the data", func() {
		namespace := newNamespace()
		startOperator(namespace)
		c := create(newCluster(namespace, "memory", func(spec *v1alpha1.EtcdClusterSpec) {
			spec.Storage = v1alpha1.Storage{Ephemeral: &v1alpha1.Ephemeral{}}
		}))
		put(c, "key", "value")
		known := members(c)
		victim := pod(c, "memory-1")
		Expect(api.Delete(ctx, &victim)).To(Succeed())
		Eventually(membersOf).WithArguments(c).Should(HaveKey("memory-3"))
		settles(c)
		after := members(c)
		Expect(after).To(And(HaveLen(3), HaveKeyWithValue("memory-0", known["memory-0"]), Not(HaveKey("memory-1"))))
		Expect(value(c, "key")).To(Equal("value"))
		Expect(claims(c)).To(BeEmpty())
	})

	It("goes a minor version down in its Pods, and none for which it would need new ones", Label("long"), func() {
		namespace := newNamespace()
		startOperator(namespace)
		c := create(newCluster(namespace, "memory", ofVersion("3.7.3"), func(spec *v1alpha1.EtcdClusterSpec) {
			spec.Storage = v1alpha1.Storage{Ephemeral: &v1alpha1.Ephemeral{}}
		}))
		put(c, "key", "value")
		known, before := members(c), uids(c)
		Expect(edit(c, ofVersion("3.6.16"))).To(Succeed())
		settles(c)
		Expect(running(c)).To(HaveEach("3.6.16"))
		Expect(edit(c, ofVersion("3.5.35"))).To(Succeed())
		says(c, v1alpha1.ConditionProgressing, v1alpha1.ReasonRefused, "etcd lets no new member join while it goes down: set spec.version back")
		Expect(edit(c, ofVersion("3.6.16"))).To(Succeed())
		settles(c)
		Expect(uids(c)).To(Equal(before))
		Expect(members(c)).To(Equal(known))
		Expect(value(c, "key")).To(Equal("value"))
	})
}
