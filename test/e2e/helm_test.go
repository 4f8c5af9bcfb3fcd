// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"path/filepath"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// throughHelm tells the life of one release: from an older chart to this one, to the manifest and back, and to its end.
func throughHelm() {
	var (
		users   string // namespace
		cluster *v1beta1.EtcdCluster
		before  map[string]life
		clients *writer
	)
	isUndisturbed := func() {
		GinkgoHelper()
		settles(cluster)
		Expect(lives(cluster)).To(Equal(before), "no Pod of etcd was replaced or restarted")
	}
	BeforeAll(func() {
		neverSeen()
		DeferCleanup(func() {
			neverSeen()
			installCRD() // as it was found
		})
		users = newNamespace()
	})

	It("installs the operator on a cluster that has never seen it", func() {
		Expect(api.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
			Name: deployment.Namespace, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
		}})).To(Succeed())
		helmDoes("install", append([]string{withoutDescription()}, thisImage()...)...)
		Expect(clusterDescription()).To(BeEmpty())
		cluster = create(newCluster(users, "helmed"))
		put(cluster, "key", "value")
		before, clients = lives(cluster), startWriter(cluster)
	})

	It("upgrades the operator, its values and its CRDs", func() {
		helmDoes("upgrade", append([]string{
			chart, "--set", "limits.priorityClasses={etcd}", setBeyondTheManifest,
			"--set", "resources.limits.memory=300Mi", "--set", "networkPolicy.enabled=false", "--set", "extraArgs={--zap-log-level=debug}",
		}, thisImage()...)...)
		Expect(clusterDescription()).To(HavePrefix("EtcdCluster is one etcd cluster"))
		Expect(managerArgs()).To(ContainElements("--allowed-priority-classes=etcd", "--zap-log-level=debug"))
		isUndisturbed()
	})

	It("comes from a registry, as a release pushes its chart", Label("long"), func() {
		folder := GinkgoT().TempDir()
		output, err := helm("package", chart, "--destination", folder)
		Expect(err).NotTo(HaveOccurred(), output)
		archives, err := filepath.Glob(filepath.Join(folder, "*.tgz"))
		Expect(err).NotTo(HaveOccurred())
		Expect(archives).To(HaveLen(1))
		version := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(archives[0]), "etcd-operator-"), ".tgz")
		there := registry + "/etcd-operator/charts/etcd-operator"
		run("go", "-C", "hack/packaging", "run", "./release", "chart", "-archive", archives[0], "-to", there+":"+version)
		helmDoes("upgrade", append([]string{
			"oci://" + there, "--version", version, "--plain-http", "--reset-then-reuse-values",
		}, thisImage()...)...)
		output, err = helm("list", "--namespace", deployment.Namespace)
		Expect(err).NotTo(HaveOccurred())
		Expect(output).To(ContainSubstring("etcd-operator-" + version))
		isUndisturbed()
	})

	It("says that it is installed already, and by which release", func() {
		other := newNamespace()
		for _, name := range []string{"second", releaseName} {
			output, err := helm("install", name, chart, "--namespace", other)
			Expect(err).To(HaveOccurred())
			Expect(output).To(And(ContainSubstring("etcd-operator is already installed"),
				ContainSubstring("belongs to release etcd-operator in namespace etcd-operator-system; upgrade that release")))
		}
		output, err := helm("install", "second", chart, "--namespace", deployment.Namespace, "--set", "crds.install=false")
		Expect(err).To(HaveOccurred())
		Expect(output).To(ContainSubstring("already installed in this namespace"))
	})

	It("leaves what it has installed to the manifest", func() {
		name, digest := pushedImage()
		writeManifestOf(name + "@" + digest)
		run("kubectl", "apply", "--server-side", "--force-conflicts", "-f", manifest)
		run("kubectl", "-n", deployment.Namespace, "delete", "secrets", "-l", "owner=helm,name="+releaseName)
		run("kubectl", "annotate", "-f", manifest, "meta.helm.sh/release-name-", "meta.helm.sh/release-namespace-", "helm.sh/resource-policy-")
		run("kubectl", "-n", deployment.Namespace, "rollout", "status", "deployment/"+deployment.Name, "--timeout=3m")
		isUndisturbed()
		output, err := helm("list", "--all-namespaces", "--short")
		Expect(err).NotTo(HaveOccurred())
		Expect(output).To(BeEmpty())
	})

	It("takes over what the manifest has installed, with its CRDs and without a restart", func() {
		forgetDescription()
		pods := operatorUIDs()
		output, err := helm(append([]string{"install", releaseName, chart, "--namespace", deployment.Namespace}, thisImage()...)...)
		Expect(err).To(HaveOccurred())
		Expect(output).To(ContainSubstring("cannot be imported into the current release"))
		// What was set beyond the manifest is there still. Helm 4 would take it away.
		helmDoes("install", slices.Concat([]string{chart, setBeyondTheManifest}, takesOwnership(), thisImage())...)
		Expect(clusterDescription()).To(HavePrefix("EtcdCluster is one etcd cluster"))
		Expect(operatorUIDs()).To(Equal(pods), "the operator's Pods are those of before")
		isUndisturbed()
	})

	It("leaves clusters and CRDs when it is uninstalled, and knows them when it is installed again", func() {
		helmDoes("uninstall")
		Eventually(func(g Gomega) { g.Expect(operatorPods(g)).To(BeEmpty()) }).Should(Succeed())
		Expect(clusterDescription()).NotTo(BeEmpty())
		Expect(lives(cluster)).To(Equal(before))
		helmDoes("install", append([]string{chart}, thisImage()...)...)
		isUndisturbed()
		clients.end()
		Expect(clients.failed).To(BeEmpty())
		resize(cluster, 1)
		Expect(value(cluster, "key")).To(Equal("value"))
	})

	It("says what leaving out the CRDs deletes, before it does", func() {
		helmDoes("upgrade", append([]string{chart, "--set", "crds.keep=false"}, thisImage()...)...)
		without := append([]string{
			"upgrade", releaseName, chart, "--namespace", deployment.Namespace, "--set", "crds.install=false",
		}, thisImage()...)
		output, err := helm(without...)
		Expect(err).To(HaveOccurred())
		Expect(output).To(ContainSubstring("every EtcdCluster with its data; there are 1 now"))
		helmDoes("upgrade", append([]string{chart, "--set", "crds.keep=true"}, thisImage()...)...)
		Expect(now(cluster).DeletionTimestamp).To(BeNil())
	})

	It("runs a second operator, for namespaces of its own", Label("long"), func() {
		home, theirs := newNamespace(), newNamespace()
		helmDoes("upgrade", append([]string{chart, "--set", "watchNamespaces={" + users + "}"}, thisImage()...)...)
		output, err := helm(append([]string{
			"install", "second", chart, "--namespace", home, "--wait", "--set", "crds.install=false", "--set", "watchNamespaces={" + theirs + "}",
		}, thisImage()...)...)
		Expect(err).NotTo(HaveOccurred(), output)
		DeferCleanup(func() {
			_, err := helm("uninstall", "second", "--namespace", home, "--wait")
			Expect(err).NotTo(HaveOccurred())
		})
		c := create(newCluster(theirs, "second", oneMember))
		isLookedAfterBy(c, home)
		resize(cluster, 3)
		isLookedAfterBy(cluster, deployment.Namespace)
		remove(c)
	})

	It("is gone with its clusters when that is what crds.keep says", Label("long"), func() {
		remove(cluster)
		helmDoes("upgrade", append([]string{chart, "--set", "crds.keep=false"}, thisImage()...)...)
		helmDoes("uninstall")
		crd := ourCRD(clustersCRD)
		Eventually(func() bool { return apierrors.IsNotFound(api.Get(ctx, keyOf(crd), crd)) }).Should(BeTrue())
	})
}
