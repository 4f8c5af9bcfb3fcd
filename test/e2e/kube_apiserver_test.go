// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// underKubernetes: the client that etcd is known for. Its caches hold revisions, and must not be told that one of them means
// something else now.
func underKubernetes() {
	It("a kube-apiserver and its informers have what the backup has, and go on", func() {
		namespace := newNamespace()
		startOperator(namespace)
		c := create(newCluster(namespace, "registry"))
		newVolumeStore(namespace, "offsite")
		kubernetes := startKubeAPIServer(c)
		kubernetes.fill("kept", 3000)
		back(c, "offsite", "before")
		known := kubernetes.remember()
		kubernetes.fill("later", 300)
		kubernetes.wreck("kept", 1500)
		Eventually(func() []string { return names(known.ListKeys()) }).Should(And(HaveLen(1800), ContainElement("later-0")))
		newest := kubernetes.newest()

		er := newRestore(c, "back", "before", func(spec *v1beta1.EtcdRestoreSpec) { spec.SkipSafetyBackup = true })
		Expect(api.Create(ctx, er)).To(Succeed())
		confirmed(er)
		reaches(er, v1beta1.RestoreComplete)
		Eventually(func() []string { return names(known.ListKeys()) }).Should(And(HaveLen(3000), HaveEach(HavePrefix("kept-"))),
			"the informer, which has run all the time, has listed again")
		Expect(kubernetes.newest()).To(BeNumerically(">", newest), "resource versions have not gone back")
		kubernetes.fill("again", 10)
		Eventually(func() []string { return names(known.ListKeys()) }).Should(HaveLen(3010))
		newest = kubernetes.newest()

		changeRestore(er, func(spec *v1beta1.EtcdRestoreSpec) { spec.Undo = true })
		reaches(er, v1beta1.RestoreUndone)
		settles(c)
		Eventually(func() []string { return names(known.ListKeys()) }).Should(And(HaveLen(1800), ContainElement("later-0")),
			"the informer, which has run all the time, has listed what there was before the restore")
		Expect(kubernetes.newest()).To(BeNumerically(">", newest), "resource versions have not gone back")
		kubernetes.fill("after", 10)
		Eventually(func() []string { return names(known.ListKeys()) }).Should(HaveLen(1810))
		stored := kubernetes.stored(c)
		Expect(stored).To(HaveLen(1810))
		for _, version := range []string{"", "0"} { // by etcd, and by the cache of the API server
			Expect(kubernetes.listed(version)).To(ConsistOf(stored))
		}
		Expect(names(known.ListKeys())).To(ConsistOf(stored))
	})
}

// names are those of keys that have a namespace before them.
func names(keys []string) []string {
	var all []string
	for _, key := range keys {
		_, name, _ := strings.Cut(key, "/")
		all = append(all, name)
	}
	return all
}
