// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// monitoring is with a real Prometheus and the definitions of the Prometheus Operator, which come from their modules: make test-monitoring.
func monitoring() {
	It("fires alerts of clusters in trouble, which end with it, and none of a healthy one", func() {
		definePrometheusKinds()
		namespace := newNamespace()
		o := startOperator(namespace)
		address := freeNodeAddress()
		o.flags = append(o.flags, "--metrics-bind-address="+address, "--metrics-insecure")
		o.restart()

		healthy := create(newCluster(namespace, "well", monitored, scrapable))
		full := create(newCluster(namespace, "full", monitored, scrapable, smallQuota, func(spec *v1beta1.EtcdClusterSpec) {
			spec.Maintenance.NoSpace = v1beta1.NoSpaceOff
			spec.Backup = &v1beta1.Backup{Store: "missing", Schedule: "* * * * *"}
		}))
		lost := create(newCluster(namespace, "lost", monitored, scrapable))
		says(healthy, v1beta1.ConditionMonitored, v1beta1.ReasonMonitored, "are there")
		p := startPrometheus(address, healthy, full, lost)
		firing := func(c *v1beta1.EtcdCluster, names ...any) {
			GinkgoHelper()
			Eventually(func(g Gomega) []string { return p.fires(g, c) }).Should(ContainElements(names...))
		}

		By("scraping members as the PodMonitor says")
		Eventually(func(g Gomega) {
			g.Expect(p.count(g, `etcd_server_has_leader{cluster="well",member=~"well-[0-2]"} == 1`)).To(Equal(3))
			g.Expect(p.count(g, `etcd_operator_cluster_info{namespace="`+namespace+`"}`)).To(Equal(3))
		}).Should(Succeed())

		By("filling one cluster")
		fillUp(full, func(i int) string { return fmt.Sprintf("big/%d", i) })
		firing(full, "EtcdNoSpace", "EtcdQuotaNearlyUsed", "EtcdQuotaFills", "EtcdActionRequired", "EtcdBackupFailing")

		By("taking two of three members from the other")
		none := allow(namespace, corev1.ResourcePods, "1")
		deletePod(lost, "lost-0")
		deletePod(lost, "lost-1")
		firing(lost, "EtcdNoQuorum", "EtcdNoLeader", "EtcdMemberDown")

		By("letting it have them again")
		Expect(api.Delete(ctx, none)).To(Succeed())
		settles(lost)
		Eventually(func(g Gomega) []string { return p.fires(g, lost) }).Should(BeEmpty())
		stays(aWhile, func(g Gomega) { g.Expect(p.fires(g, healthy)).To(BeEmpty()) })

		p.draw(full)

		By("asking for nothing any more")
		Expect(edit(healthy, func(spec *v1beta1.EtcdClusterSpec) { spec.Monitoring = v1beta1.Monitoring{} })).To(Succeed())
		Eventually(func(g Gomega) {
			for _, kind := range []string{"PodMonitor", "PrometheusRule"} {
				object := &unstructured.Unstructured{}
				object.SetGroupVersionKind(specs.PodMonitorKind.GroupVersion().WithKind(kind))
				g.Expect(apierrors.IsNotFound(api.Get(ctx, keyOf(healthy), object))).To(BeTrue(), kind)
			}
			g.Expect(conditionOf(read(g, healthy), v1beta1.ConditionMonitored).Status).To(BeEmpty())
		}).Should(Succeed())
	})

	It("says that nobody may scrape, and that the Prometheus Operator is missing, and goes on when it comes", func() {
		undefinePrometheusKinds()
		namespace := newNamespace()
		startOperator(namespace)
		c := create(newCluster(namespace, "alone", monitored))
		says(c, v1beta1.ConditionMonitored, v1beta1.ReasonPrometheusOperatorMissing, "Kubernetes knows no PodMonitors")
		definePrometheusKinds()
		Eventually(func(g Gomega) {
			g.Expect(conditionOf(read(g, c), v1beta1.ConditionMonitored).Status).To(Equal(metav1.ConditionTrue))
		}).Should(Succeed())
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.NetworkPolicy.Mode = v1beta1.NetworkPolicyEnabled })).To(Succeed())
		says(c, v1beta1.ConditionMonitored, v1beta1.ReasonScrapingDenied, "spec.networkPolicy.metrics")
		settles(c)
	})
}

func monitored(spec *v1beta1.EtcdClusterSpec) {
	spec.Monitoring = v1beta1.Monitoring{
		PodMonitor:     &v1beta1.PodMonitor{Labels: map[string]v1beta1.LabelValue{"release": "prometheus"}},
		PrometheusRule: &v1beta1.PrometheusRule{Labels: map[string]v1beta1.LabelValue{"release": "prometheus"}},
	}
}

// scrapable lets every address reach the metrics of members.
func scrapable(spec *v1beta1.EtcdClusterSpec) {
	spec.NetworkPolicy = v1beta1.NetworkPolicy{
		Mode:    v1beta1.NetworkPolicyEnabled,
		Metrics: []v1beta1.NetworkPeer{{IPBlock: &v1beta1.NetworkBlock{CIDR: "0.0.0.0/0"}}},
	}
}

// prometheusOperator is the module whose definitions are applied.
const prometheusOperator = "github.com/prometheus-operator/prometheus-operator@v0.94.0"

// prometheusKinds are the files of the definitions.
func prometheusKinds() []string {
	GinkgoHelper()
	folder := filepath.Join(moduleOf(prometheusOperator), "example/prometheus-operator-crd")
	return []string{
		filepath.Join(folder, "monitoring.coreos.com_podmonitors.yaml"), filepath.Join(folder, "monitoring.coreos.com_prometheusrules.yaml"),
	}
}

// moduleOf is the folder of a module, which is downloaded.
func moduleOf(module string) string {
	GinkgoHelper()
	command := exec.Command("go", "mod", "download", module)
	command.Dir, command.Env = os.TempDir(), append(os.Environ(), "GOFLAGS=-mod=mod")
	output, err := command.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(output))
	cache, err := exec.Command("go", "env", "GOMODCACHE").Output()
	Expect(err).NotTo(HaveOccurred())
	return filepath.Join(strings.TrimSpace(string(cache)), module)
}

func definePrometheusKinds() {
	GinkgoHelper()
	for _, file := range prometheusKinds() {
		apply(readObject(file))
	}
	DeferCleanup(undefinePrometheusKinds)
}

func undefinePrometheusKinds() {
	GinkgoHelper()
	for _, file := range prometheusKinds() {
		Expect(kubectl("delete", "--ignore-not-found", "-f", file)).To(Succeed())
	}
}
