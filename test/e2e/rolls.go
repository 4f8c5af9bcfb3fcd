// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/test/e2e/internal/witness"
)

// callWitness makes a witness of everything that becomes of the cluster from now on.
func callWitness(c *v1beta1.EtcdCluster) *witness.Witness {
	GinkgoHelper()
	return witness.Call(ctx, watcher(), c)
}

// rolls makes a change that restarts members, and checks that each was restarted.
func rolls(c *v1beta1.EtcdCluster, change func(*v1beta1.EtcdClusterSpec)) *witness.Witness {
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

// rollsCarefully makes a change that restarts members, and checks that all but one
// served at every moment and that each was restarted.
func rollsCarefully(c *v1beta1.EtcdCluster, change func(*v1beta1.EtcdClusterSpec)) {
	GinkgoHelper()
	w := rolls(c, change)
	w.KeptServing(now(c).Status.ReadyMembers)
}

// stepsDown sets the version from 3.7.3 to 3.6 and checks what holds of any way
// that begins so: Pods stay, and each container restarts once for each exchange.
func stepsDown(c *v1beta1.EtcdCluster, meanwhile func()) *witness.Witness {
	GinkgoHelper()
	before, count := uids(c), restarts(c)
	w := callWitness(c)
	Expect(edit(c, ofVersion("3.6"))).To(Succeed())
	meanwhile()
	w.Dismiss()
	Expect(uids(c)).To(Equal(before), "images are exchanged in place")
	for _, p := range pods(c) {
		exchanges := 0
		if runs := w.Runs()[p.Name]; len(runs) > 1 {
			exchanges = 1
			if p.Spec.Containers[0].Image == runs[0].Image {
				exchanges = 2 // there and back
			}
		}
		Eventually(func(g Gomega) { // etcd may answer before the kubelet has told
			g.Expect(restartsOf(g, c)[p.Name]-count[p.Name]).To(BeEquivalentTo(exchanges), p.Name)
		}).Should(Succeed())
	}
	Eventually(downgrading).WithArguments(c).Should(HaveEach(false))
	return w
}
