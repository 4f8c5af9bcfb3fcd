// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// throughOLMv1 installs and updates by OLM v1, as the samples and install.md do.
func throughOLMv1() {
	account := samplesV1 + "clusterextension-installer.yaml"

	It("is installed by a ClusterExtension, and works", func() {
		newExtension().installs(published("0.10.0")[0], account)
		c := create(newCluster(newNamespace(), "by-v1"))
		comesBack(c, deletePod(c, "by-v1-1"))
		remove(c)
	})

	for _, earlier := range []string{"0.7.0", "0.9.0"} {
		It("is updated from "+earlier+" to this version and to the next, each with the account of its version, and no member restarts", func() {
			old, current := unpublished(earlier), published("0.10.0")[0]
			next := madeUp("0.10.1", "0.10.0", otherwise)
			e := newExtension()
			e.installs(old, e.accountOf(earlier))
			c, before := madeEarlier("old")
			clients, ran := startWriter(c), operatorUIDs()
			isUndisturbed := func() {
				GinkgoHelper()
				settles(c)
				Expect(lives(c)).To(Equal(before), "no Pod of etcd was replaced or restarted")
				isLookedAfterBy(c, deployment.Namespace)
			}

			begun := time.Now()
			e.offers(current)
			if earlier == "0.7.0" { // EtcdDrills came after it
				e.says(`"etcddrills.etcd-operator.dev" is forbidden`)
			}
			run("kubectl", "apply", "-f", account)
			e.logs("validating upgrade for CRD")
			Expect(lives(c)).To(Equal(before))
			run("bash", "-c", onPage("docs/install.md", "kubectl patch clusterextension "))
			e.isAt(current)
			took("from the catalog pushed to its tag to the update by OLM v1", begun)
			Expect(operatorUIDs()).NotTo(ContainElement(BeElementOf(ran)))
			isUndisturbed()

			ran = operatorUIDs()
			e.offers(current, next)
			e.isAt(next)
			Expect(operatorUIDs()).NotTo(ContainElement(BeElementOf(ran)))
			isUndisturbed()
			clients.end()
			Expect(clients.failed).To(BeEmpty())
			comesBack(c, deletePod(c, "old-1"))
			remove(c)
		})
	}
}

// otherwise is a change by which other Pods of the operator come.
func otherwise(deployment map[string]any) {
	deployment["template"].(map[string]any)["metadata"].(map[string]any)["annotations"].(map[string]any)["e2e"] = "next"
}
