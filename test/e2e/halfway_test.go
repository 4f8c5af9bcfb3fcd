package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/test/e2e/internal/apiproxy"
)

// halfway leaves an operator that dies in the middle of removing a member.
func halfway() {
	var o *operator
	var c *v1alpha1.EtcdCluster

	BeforeAll(func() {
		needsOwnOperator()
		namespace := newNamespace()
		o = startOperator(namespace)
		c = create(newCluster(namespace, "halfway"))
		put(c, "key", "value")
	})

	for _, kind := range []string{"DELETE pods", "PATCH persistentvolumeclaims"} {
		It("fault 4: an operator that died after removing a member and before "+kind+
			" puts the volume aside later, and no member ever mounts it again", func() {
			resize(c, 3)
			died := diesAt(o, kind, func() bool {
				defer GinkgoRecover()
				return len(surely(func(g Gomega) []string { return notListed(g, c) })) > 0
			})
			Expect(edit(c, func(spec *v1alpha1.EtcdClusterSpec) { spec.Size = ptr.To[int32](1) })).To(Succeed())
			Eventually(died).Should(BeClosed())
			gone := surely(func(g Gomega) []string { return notListed(g, c) })
			Expect(gone).NotTo(BeEmpty(), "volumes that the operator did not put aside")

			o.restart()
			settles(c)
			Eventually(notListed).WithArguments(c).Should(BeEmpty())
			aside := putAside(c)
			for _, name := range gone {
				Expect(aside).To(HaveKey(name))
			}
			resize(c, 3)
			Expect(putAside(c)).To(Equal(aside))
			for _, p := range pods(c) {
				Expect(aside).NotTo(HaveKey(p.Name))
			}
			Expect(value(c, "key")).To(Equal("value"))
		})
	}
}

// diesAt loses the first request of a kind when it is time, and all that come after it,
// which is all that a crash at that moment leaves. The channel is closed when it is so.
func diesAt(o *operator, kind string, isTime func() bool) <-chan struct{} {
	died := make(chan struct{})
	dead := false
	o.OnRequest(func(asked apiproxy.Request) apiproxy.Verdict {
		if !dead && asked.Kind() == kind && isTime() {
			dead = true
			close(died)
		}
		if dead {
			return apiproxy.Drop
		}
		return apiproxy.Pass
	})
	return died
}

// notListed are the names of volumes in use by members that etcd does not list.
func notListed(g Gomega, c *v1alpha1.EtcdCluster) []string {
	listed := membersOf(g, c)
	var names []string
	for _, claim := range claimsOf(g, c) {
		if listed[claim.Name] == "" && claim.Labels[v1alpha1.LabelQuarantined] == "" {
			names = append(names, claim.Name)
		}
	}
	return names
}
