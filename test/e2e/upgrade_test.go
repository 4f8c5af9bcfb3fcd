// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// upgrades are the ways between versions, gone by one cluster with its data.
func upgrades() {
	var c *v1beta1.EtcdCluster
	var id string
	var known, data map[string]string

	BeforeAll(func() {
		namespace := newNamespace()
		startOperator(namespace)
		c = create(newCluster(namespace, "hopping", ofVersion("3.5.35")))
		data = fill(c)
		id, known = now(c).Status.ClusterID, members(c)
	})

	AfterEach(func() {
		settles(c)
		Expect(members(c)).To(Equal(known), "the members are the same")
		Expect(now(c).Status.ClusterID).To(Equal(id))
		Expect(filled(c)).To(Equal(data))
	})

	It("fault 50: a jump of two minor versions with an image of one's own is refused, and so is what is no version", func() {
		before := uids(c)
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.Version, spec.Image = "3.7.3", image+"3.7.3" })).
			To(MatchError(ContainSubstring("version may go up by one minor at a time, because an image holds one version only: members run 3.5.35")))
		for _, garbage := range []string{"latest", "v3.6.16", "3.8.0", "3.6.16-rc.0", "3", "3.6.x"} {
			Expect(edit(c, ofVersion(garbage))).To(MatchError(ContainSubstring("version must be an etcd version")), garbage)
		}
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.Version, spec.Image = "3.6", image+"3.6.16" })).
			To(MatchError(ContainSubstring("version must be a full version")))
		Expect(uids(c)).To(Equal(before))
	})

	It("walks from 3.5.35 over 3.6.16 to 3.7.3, one member at a time, and shows how far it is", Label("gate"), func() {
		w := callWitness(c)
		Expect(edit(c, ofVersion("3.7.3"))).To(Succeed())
		settles(c)
		w.Dismiss()
		Expect(running(c)).To(HaveEach("3.7.3"))
		Expect(now(c).Status.Version).To(Equal("3.7.3"))
		w.KeptServing(3)
		targets, updated := w.Progress()
		Expect(targets).To(Equal([]string{"3.5.35", "3.6.16", "3.7.3"}))
		Expect(updated["3.6.16"]).To(ContainElements(int32(1), int32(2)))
		Expect(updated["3.7.3"]).To(ContainElements(int32(1), int32(2), int32(3)))
		for name, runs := range w.Runs() {
			Expect(runs).To(HaveExactElements(
				HaveField("Image", image+"3.5.35"), HaveField("Image", image+"3.6.16"), HaveField("Image", image+"3.7.3")), name)
			Expect(runs[2].UID).NotTo(Equal(runs[1].UID), "%s drops what 3.7 cannot read before it runs 3.7", name)
			Expect(restarts(c)[name]).To(BeZero(), name)
		}
	})

	It("fault 49: two minor versions down are refused, and nothing is touched", func() {
		before := uids(c)
		for _, down := range []string{"3.5", "3.5.35"} {
			Expect(edit(c, ofVersion(down))).To(MatchError(ContainSubstring("version may go down by one minor at a time: members run 3.7.3")))
		}
		Expect(uids(c)).To(Equal(before))
	})

	It("fault 49: goes down to 3.6 by etcd's own procedure, in the same Pods, one member at a time", Label("gate"), func() {
		w := stepsDown(c, func() { settles(c) })
		Expect(running(c)).To(HaveEach("3.6.16"))
		Eventually(stored).WithArguments(c).Should(HaveEach("3.6.0"))
		w.KeptServing(3)
		_, updated := w.Progress()
		Expect(updated["3.6.16"]).To(ContainElements(int32(1), int32(2), int32(3)))
		tells(c, "DowngradeEnabled")
	})

	It("fault 49: a downgrade that is called off after the first member went down ends where it began", Label("long"), func() {
		Expect(edit(c, ofVersion("3.7.3"))).To(Succeed())
		settles(c)
		w := stepsDown(c, func() {
			Eventually(runningNow).WithArguments(c).WithPolling(10 * time.Millisecond).Should(ContainElement("3.6.16")) // before all are
			Expect(edit(c, ofVersion("3.7.3"))).To(Succeed())
			settles(c)
		})
		Expect(running(c)).To(HaveEach("3.7.3"))
		Eventually(stored).WithArguments(c).Should(HaveEach("3.7.0"))
		w.KeptServing(3)
		tells(c, "DowngradeCancelled")
		Expect(w.Runs()).To(ContainElement(HaveLen(1)), "a member that never went down")
	})

	It("fault 49: goes two minor versions down, one after the other", Label("long"), func() {
		for _, version := range []string{"3.6.16", "3.5.35"} {
			w := callWitness(c)
			Expect(edit(c, ofVersion(version))).To(Succeed())
			settles(c)
			w.Dismiss()
			w.KeptServing(3)
			Expect(running(c)).To(HaveEach(version))
		}
	})
}

// otherWays are gone by a cluster each.
func otherWays() {
	var namespace string

	BeforeEach(func() {
		namespace = newNamespace()
		startOperator(namespace)
	})

	for _, size := range []int32{1, 3} {
		It(fmt.Sprintf("goes on to 3.7.3 after it has rested on 3.6.16, and back, with %d of 3.5.35", size), Label("long"), func() {
			rested := create(newCluster(namespace, fmt.Sprintf("rested-%d", size), ofVersion("3.5.35"),
				func(spec *v1beta1.EtcdClusterSpec) { spec.Size = ptr.To(size) }))
			data := fill(rested)
			Expect(edit(rested, ofVersion("3.6.16"))).To(Succeed())
			settles(rested)
			Expect(running(rested)).To(HaveEach("3.6.16"))
			w := callWitness(rested)
			Expect(edit(rested, ofVersion("3.7.3"))).To(Succeed())
			settles(rested)
			w.Dismiss()
			Expect(running(rested)).To(HaveEach("3.7.3"))
			Expect(filled(rested)).To(Equal(data))
			for name, runs := range w.Runs() {
				Expect(runs).To(HaveExactElements(
					HaveField("Image", image+"3.6.16"), HaveField("Image", image+"3.6.16"), HaveField("Image", image+"3.7.3")), name)
				Expect(restarts(rested)[name]).To(BeZero(), "%s drops what 3.7 cannot read before it runs 3.7", name)
			}
			for _, down := range []string{"3.6.16", "3.5.35"} {
				Expect(edit(rested, ofVersion(down))).To(Succeed())
				settles(rested)
				Expect(running(rested)).To(HaveEach(down))
			}
			Expect(filled(rested)).To(Equal(data))
		})
	}

	for _, way := range []struct {
		what string
		join func(*v1beta1.EtcdCluster)
	}{
		{"a volume is lost", func(sinking *v1beta1.EtcdCluster) {
			Eventually(downgrading).WithArguments(sinking).Should(ContainElement(true))
			loseVolume(sinking, sinking.Name+"-1")
		}},
		{"more members are wanted", func(sinking *v1beta1.EtcdCluster) {
			Eventually(runningNow).WithArguments(sinking).WithPolling(10 * time.Millisecond).Should(ContainElement("3.6.16"))
			setSize(sinking, 5)
		}},
	} {
		It("fault 49: goes down although "+way.what+" on the way", Label("long"), func() {
			sinking := create(newCluster(namespace, "sinking", ofVersion("3.7.3")))
			data := fill(sinking)
			Expect(edit(sinking, ofVersion("3.6.16"))).To(Succeed())
			way.join(sinking)
			settles(sinking)
			Expect(running(sinking)).To(HaveEach("3.6.16"))
			Expect(filled(sinking)).To(Equal(data))
			tells(sinking, "DowngradeCancelled")
			remove(sinking)
		})
	}

	It("fault 49: the only member goes down when it has just started, and at once others join, and all start again", Label("long"), func() {
		hasty := create(newCluster(namespace, "hasty", ofVersion("3.6.16"), oneMember))
		data := fill(hasty)
		Expect(edit(hasty, ofVersion("3.5.35"))).To(Succeed())
		Eventually(runningNow).WithArguments(hasty).WithPolling(10 * time.Millisecond).Should(HaveExactElements("3.5.35"))
		setSize(hasty, 3)
		settles(hasty)
		Expect(running(hasty)).To(HaveEach("3.5.35"))
		for _, p := range pods(hasty) {
			Expect(api.Delete(ctx, &p)).To(Succeed())
		}
		settles(hasty)
		Expect(filled(hasty)).To(Equal(data))
		remove(hasty)
	})

	It("fault 49: goes down from the middle of an upgrade, also when all Pods are lost there", Label("long"), func() {
		turning := create(newCluster(namespace, "turning", ofVersion("3.6.16")))
		data := fill(turning)
		Expect(edit(turning, ofVersion("3.7.3"))).To(Succeed())
		Eventually(runningNow).WithArguments(turning).WithPolling(10 * time.Millisecond).Should(ContainElement("3.7.3")) // before all do
		Expect(edit(turning, ofVersion("3.5.35"))).To(Succeed())
		for _, p := range pods(turning) {
			Expect(api.Delete(ctx, &p)).To(Succeed())
		}
		settles(turning)
		Expect(running(turning)).To(HaveEach("3.5.35"))
		Expect(filled(turning)).To(Equal(data))
		remove(turning)
	})
}
