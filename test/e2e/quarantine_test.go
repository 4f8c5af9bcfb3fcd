package e2e

import (
	"maps"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
)

func quarantine() {
	It("deletes volumes of removed members when their time is over, and keeps them by default", func() {
		namespace := newNamespace()
		startOperator(namespace)
		brief := newCluster(namespace, "brief", func(spec *v1alpha1.EtcdClusterSpec) {
			spec.Storage.Quarantine = &metav1.Duration{Duration: 10 * time.Second}
		})
		long := newCluster(namespace, "long")
		for _, c := range []*v1alpha1.EtcdCluster{brief, long} {
			Expect(api.Create(ctx, c)).To(Succeed())
		}
		aside := map[string]time.Time{}
		for _, c := range []*v1alpha1.EtcdCluster{brief, long} {
			settles(c)
			put(c, "key", "value")
			Expect(edit(c, func(spec *v1alpha1.EtcdClusterSpec) { spec.Size = ptr.To[int32](1) })).To(Succeed())
			Eventually(func(g Gomega) { g.Expect(quarantined(g, c)).To(HaveLen(2)) }).Should(Succeed(), "at once")
			aside[c.Name] = time.Now()
			settles(c)
		}

		stays(5*time.Second, func(g Gomega) { g.Expect(quarantined(g, brief)).To(HaveLen(2)) })
		Eventually(func() []string { // the operator looks once a minute, and whenever a volume has changed
			touch(&claims(brief)[0])
			return quarantined(Default, brief)
		}).WithPolling(time.Second).Should(BeEmpty())
		kept := time.Since(aside["brief"])
		AddReportEntry("kept for", kept.String())
		Expect(kept).To(BeNumerically(">", 9*time.Second)) // a second is the finest that is written down
		Eventually(func() []corev1.PersistentVolumeClaim { return claims(brief) }).Should(HaveLen(1))
		Expect(claims(brief)[0].Name).To(BeElementOf(slices.Collect(maps.Keys(members(brief)))))
		Expect(value(brief, "key")).To(Equal("value"))
		Expect(reasonsOf(Default, brief)).To(ContainElement("VolumeDiscarded"))
		Expect(quarantined(Default, long)).To(HaveLen(2))
		Expect(value(long, "key")).To(Equal("value"))
	})
}

// touch changes nothing that matters of an object.
func touch(object client.Object) {
	GinkgoHelper()
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"touched":"`+time.Now().String()+`"}}}`))
	Expect(client.IgnoreNotFound(api.Patch(ctx, object, patch))).To(Succeed())
}
