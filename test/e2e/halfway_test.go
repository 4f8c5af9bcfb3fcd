package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
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

	// The first of two members that leave is told to end before it is removed, the second after.
	for _, write := range []struct {
		kind string
		nth  int
	}{{"DELETE pods", 2}, {"PATCH persistentvolumeclaims", 1}} {
		It("fault 4: an operator that died after removing a member and before "+write.kind+
			" puts the volume aside later, and no member ever mounts it again", func() {
			resize(c, 3)
			died := diesAt(o, write.kind, write.nth)
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

// diesAt loses the nth request of a kind and all that come after it, which is all
// that a crash at that moment leaves. The channel is closed when it is so.
func diesAt(o *operator, kind string, nth int) <-chan struct{} {
	died := make(chan struct{})
	dead, seen := false, 0
	o.onRequest(func(asked request) verdict {
		if asked.kind() == kind {
			seen++
		}
		if !dead && seen == nth {
			dead = true
			close(died)
		}
		if dead {
			return drop
		}
		return pass
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
