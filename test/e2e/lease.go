// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/test/e2e/internal/witness"
)

// leaseKey names the lease of the deployed operator.
var leaseKey = client.ObjectKey{Namespace: deployment.Namespace, Name: "etcd-operator.dev"}

// holder waits until a Pod that runs holds the lease.
func holder() *corev1.Pod {
	GinkgoHelper()
	found := &corev1.Pod{}
	found.Namespace = deployment.Namespace
	Eventually(func(g Gomega) { found.Name = holderNow(g) }).Should(Succeed())
	return found
}

// holderNow is the name of the Pod that holds the lease.
func holderNow(g Gomega) string {
	var lease coordinationv1.Lease
	g.Expect(api.Get(ctx, leaseKey, &lease)).To(Succeed())
	name, _, _ := strings.Cut(ptr.Deref(lease.Spec.HolderIdentity, ""), "_")
	var names []string
	for _, p := range operatorPods(g) {
		if p.DeletionTimestamp == nil {
			names = append(names, p.Name)
		}
	}
	g.Expect(names).To(ContainElement(name), "a holder that runs")
	return name
}

// watchLease tells of who holds the lease from now on.
func watchLease() *witness.Succession {
	GinkgoHelper()
	return witness.WatchLease(ctx, watcher(), leaseKey)
}
