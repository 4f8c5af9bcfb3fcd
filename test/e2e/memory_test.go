package e2e

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
)

func memory() {
	It("fault 24: a container that runs out of memory restarts as the same member", func() {
		namespace := newNamespace()
		startOperator(namespace)
		c := create(newCluster(namespace, "small", func(spec *v1alpha1.EtcdClusterSpec) {
			spec.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("128Mi")}
		}))
		put(c, "key", "value")
		known, before := members(c), uids(c)
		exhaust(c, "small-1")
		Eventually(func(g Gomega) { g.Expect(restartsOf(g, c)["small-1"]).To(BeNumerically(">", 0)) }).Should(Succeed())
		Expect(lastEnd(c, "small-1")).To(HavePrefix("OOMKilled"))
		settles(c)
		Expect(members(c)).To(Equal(known), "no membership change")
		Expect(uids(c)).To(Equal(before), "no Pod was replaced")
		Expect(value(c, "key")).To(Equal("value"))
	})
}

// exhaust reads much from one member at once until it is out of memory, for at
// most half a minute.
func exhaust(c *v1alpha1.EtcdCluster, member string) {
	GinkgoHelper()
	for i := range 20 {
		put(c, fmt.Sprintf("big/%02d", i), strings.Repeat("x", 1<<20))
	}
	one := dial(c, member)
	defer one.Close()
	limited, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	var readers sync.WaitGroup
	for range 10 {
		readers.Go(func() {
			defer GinkgoRecover()
			for limited.Err() == nil && restarts(c)[member] == 0 {
				soon, stop := context.WithTimeout(limited, 3*time.Second)
				_, _ = one.Get(soon, "big/", clientv3.WithPrefix(), clientv3.WithSerializable())
				stop()
			}
		})
	}
	readers.Wait()
}

func lastEnd(c *v1alpha1.EtcdCluster, member string) string {
	GinkgoHelper()
	for _, status := range pod(c, member).Status.ContainerStatuses {
		if end := status.LastTerminationState.Terminated; end != nil {
			return fmt.Sprintf("%s, exit code %d", end.Reason, end.ExitCode)
		}
	}
	return ""
}
