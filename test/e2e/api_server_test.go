// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

func faultsOfTheCluster() {
	It("fault 8: while the API server is down etcd serves, and when it is back no Pod restarts and the operator goes on", func() {
		if !isLocal() {
			Skip("stops the API server: on the local cluster only")
		}
		down := lasting("E2E_APISERVER_DOWN")
		namespace := newNamespace()
		startOperator(namespace)
		c := create(newCluster(namespace, "alone"))
		before, count := uids(c), restarts(c)
		w := startWriter(c)

		devcluster("stop", "kube-apiserver")
		DeferCleanup(devcluster, "start", "kube-apiserver")
		time.Sleep(down)
		devcluster("start", "kube-apiserver")
		Eventually(func() error { return api.Get(ctx, keyOf(c), &v1beta1.EtcdCluster{}) }).Should(Succeed())
		time.Sleep(20 * time.Second)

		Expect(w.end().failed).To(BeEmpty())
		Expect(uids(c)).To(Equal(before))
		Expect(restarts(c)).To(Equal(count))
		resize(c, 1) // growing would measure how fast the scheduler and the volumes' provisioner come back
		Expect(members(c)).To(HaveLen(1))
	})
}

// lasting is how long a fault lasts: 45 seconds, or what a variable of the environment says.
func lasting(variable string) time.Duration {
	GinkgoHelper()
	text := os.Getenv(variable)
	if text == "" {
		return 45 * time.Second
	}
	chosen, err := time.ParseDuration(text)
	Expect(err).NotTo(HaveOccurred())
	return chosen
}
