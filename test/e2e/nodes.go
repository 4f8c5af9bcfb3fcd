// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// noticed is how long Kubernetes takes to call a silent node not ready, and more.
const noticed = 2 * time.Minute

// needsThreeNodes skips what a cluster of one node cannot show.
func needsThreeNodes() {
	if !hasThreeNodes() {
		Skip("needs three nodes: make cluster-up NODES=3")
	}
}

// hasThreeNodes says whether this is a local cluster of that many.
func hasThreeNodes() bool {
	GinkgoHelper()
	var nodes corev1.NodeList
	Expect(api.List(ctx, &nodes)).To(Succeed())
	return isLocal() && len(nodes.Items) >= 3
}

// places are the nodes of the cluster's Pods, by name.
func places(c *v1beta1.EtcdCluster) map[string]string {
	all := map[string]string{}
	for _, p := range pods(c) {
		all[p.Name] = p.Spec.NodeName
	}
	return all
}

func memberOn(c *v1beta1.EtcdCluster, node string) string {
	GinkgoHelper()
	for _, p := range pods(c) {
		if p.Spec.NodeName == node {
			return p.Name
		}
	}
	Fail("no member of " + c.Name + " is on " + node)
	return ""
}

func isSilent(g Gomega, name string) bool {
	var node corev1.Node
	g.Expect(api.Get(ctx, client.ObjectKey{Name: name}, &node)).To(Succeed())
	ready := slices.IndexFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady })
	return ready < 0 || node.Status.Conditions[ready].Status != corev1.ConditionTrue
}

// cut parts a node from all others, until it is joined or the spec ends.
func cut(node string) {
	GinkgoHelper()
	DeferCleanup(func() { devcluster("node", "join", node) })
	devcluster("node", "cut", node)
}

// drain is kubectl's, of the cluster's Pods only.
func drain(node string, c *v1beta1.EtcdCluster) {
	GinkgoHelper()
	run(filepath.Join(top, ".devcluster", "bin", "kubectl"), "drain", node, "--timeout=2m",
		"--pod-selector="+v1beta1.LabelCluster+"="+c.Name)
}

// cordon lets no more Pods come to the node, until it is taken back or the spec ends.
func cordon(node string) {
	GinkgoHelper()
	DeferCleanup(uncordon, node)
	setCordon(node, true)
}

// cordonAll does it to every node.
func cordonAll() (uncordonAll func()) {
	GinkgoHelper()
	var nodes corev1.NodeList
	Expect(api.List(ctx, &nodes)).To(Succeed())
	for _, node := range nodes.Items {
		cordon(node.Name)
	}
	return func() {
		for _, node := range nodes.Items {
			uncordon(node.Name)
		}
	}
}

func uncordon(node string) { setCordon(node, false) }

func setCordon(name string, cordoned bool) {
	GinkgoHelper()
	Expect(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		var node corev1.Node
		if err := api.Get(ctx, client.ObjectKey{Name: name}, &node); err != nil {
			return err
		}
		node.Spec.Unschedulable = cordoned
		return api.Update(ctx, &node)
	})).To(Succeed())
}

// devcluster gives a command to the local cluster.
func devcluster(args ...string) {
	GinkgoHelper()
	binary := filepath.Join(top, "bin/devcluster")
	if _, err := os.Stat(binary); err != nil {
		run("go", "-C", "hack/devcluster", "build", "-o", binary, ".")
	}
	run(binary, args...)
}
