package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
)

// room is made for data before etcd refuses it, or where it lets its users in only. docs/operations/space.md.
func room() {
	var namespace string

	BeforeEach(func() {
		namespace = newNamespace()
		startOperator(namespace)
	})

	It("volumes and quota grow before a database is full, up to the size that is allowed", func() {
		most := resource.MustParse("768Mi")
		c := create(newCluster(namespace, "grown", func(spec *v1alpha1.EtcdClusterSpec) {
			spec.Storage.Size, spec.Storage.AutoGrow = ptr.To(resource.MustParse("512Mi")), &v1alpha1.AutoGrow{MaxSize: most}
		}))
		known, w := members(c), callWitness(c)
		putLarge(c, 275) // of a quota of 384 MiB
		begun := time.Now()
		Eventually(func(g Gomega) {
			is := read(g, c).Status
			g.Expect(is.GrownSize).To(HaveValue(BeComparableTo(most)))
			g.Expect(is.VolumeSize).To(HaveValue(BeComparableTo(most)))
		}).WithTimeout(4 * time.Minute).Should(Succeed())
		settles(c)
		AddReportEntry("from the last write to larger volumes and quotas", time.Since(begun).Round(time.Second).String())
		for _, p := range pods(c) {
			Expect(p.Spec.Containers[0].Args).To(ContainElement("--quota-backend-bytes=603979776"), p.Name)
		}
		w.KeptServing(3)
		putLarge(c, 400)
		Expect(members(c)).To(Equal(known))
		tells(c, "VolumesGrowing")
	})

	It("fault 26: a database that history has filled makes room by itself where etcd lets its users in only", func() {
		c := create(newCluster(namespace, "locked", smallQuota, func(spec *v1alpha1.EtcdClusterSpec) { spec.Auth.Enabled = true }))
		Eventually(func(g Gomega) {
			g.Expect(conditionOf(read(g, c), v1alpha1.ConditionAuthEnabled).Status).To(BeEquivalentTo("True"))
		}).Should(Succeed())
		settles(c)
		known := members(c)
		fillUp(c, func(int) string { return "one" })
		full := time.Now()
		Eventually(reasonsOf).WithArguments(c).WithTimeout(3 * time.Minute).Should(ContainElements("HistoryCompacted", "AlarmDisarmed"))
		put(c, "key", "after")
		AddReportEntry("writable again", time.Since(full).Round(100*time.Millisecond).String())
		settles(c)
		Expect(members(c)).To(Equal(known))
	})
}
