// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/test/e2e/internal/witness"
)

// isEnforced says whether NetworkPolicies are known to be enforced, which the API does not tell: it is known of the local cluster alone.
func isEnforced() bool {
	_, err := os.Stat(filepath.Join(top, ".devcluster/etc/kube-router.kubeconfig"))
	return isLocal() && err == nil
}

// needsEnforcement skips what shows nothing where NetworkPolicies are not enforced.
func needsEnforcement() {
	if !isEnforced() {
		Skip("NetworkPolicies are not known to be enforced: make cluster-up DEVCLUSTER_FLAGS=--network-policies")
	}
}

// A visitor is a Pod that tries connections.
type visitor struct{ namespace, name string }

// newVisitor waits until one runs.
func newVisitor(namespace, name string, labels map[string]string) visitor {
	GinkgoHelper()
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels},
		Spec: corev1.PodSpec{
			AutomountServiceAccountToken: ptr.To(false), TerminationGracePeriodSeconds: ptr.To[int64](0),
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To[int64](1000),
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Containers: []corev1.Container{{
				Name: "visitor", Image: "busybox:1.37", Command: []string{"sleep", "86400"}, SecurityContext: harmless(),
			}},
		},
	}
	Expect(api.Create(ctx, p)).To(Succeed())
	Eventually(func(g Gomega) {
		g.Expect(api.Get(ctx, keyOf(p), p)).To(Succeed())
		g.Expect(witness.IsReady(*p)).To(BeTrue())
	}).Should(Succeed())
	return visitor{namespace, name}
}

// connect makes one connection and closes it. That a policy is known to a node takes a moment, so that callers try again.
func (v visitor) connect(host string, port int) error {
	return kubectl("-n", v.namespace, "exec", v.name, "--", "nc", "-w", "2", host, fmt.Sprint(port), "-e", "true")
}

// may says on which ports each member lets the visitor in, and on which it does not.
func (v visitor) may(c *v1beta1.EtcdCluster, ports ...int) {
	GinkgoHelper()
	for _, p := range pods(c) {
		for _, port := range []int{v1beta1.ClientPort, v1beta1.PeerPort, v1beta1.MetricsPort} {
			what := fmt.Sprintf("%s/%s at port %d of %s", v.namespace, v.name, port, p.Name)
			if slices.Contains(ports, port) {
				Eventually(v.connect).WithArguments(p.Status.PodIP, port).Should(Succeed(), what)
			} else {
				Eventually(v.connect).WithArguments(p.Status.PodIP, port).ShouldNot(Succeed(), what)
			}
		}
	}
}
