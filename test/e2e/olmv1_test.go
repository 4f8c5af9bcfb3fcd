package e2e

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// throughOLMv1 installs the same bundle from the same catalog by OLM v1, as the samples
// do. Its programs run on this machine: where they run makes no difference to what they
// install.
func throughOLMv1() {
	It("is installed by a ClusterExtension, and works", func() {
		forgetCRD()
		run("kubectl", "delete", "crd", "--ignore-not-found", "etcdbackups.etcd-operator.dev", "etcdbackupstores.etcd-operator.dev",
			"etcddrills.etcd-operator.dev", "etcdrestores.etcd-operator.dev", "etcdroles.etcd-operator.dev", "etcdusers.etcd-operator.dev")
		// OLM v0 leaves the roles for people behind, and v1 takes nothing over.
		run("kubectl", "delete", "clusterroles", "--ignore-not-found", "--selector=app.kubernetes.io/part-of=etcd-operator")
		newSystem("olmv1-system")
		for _, kind := range []string{"clustercatalogs", "clusterextensions"} {
			apply(readObject(programOf("olmv1", "manifests/olm.operatorframework.io_"+kind+".yaml")))
		}
		folder := GinkgoT().TempDir()
		keepCertificates(folder, net.IPv4(127, 0, 0, 1))
		startInHome(folder, programOf("olmv1", "catalogd"), "--system-namespace=olmv1-system", "--cache-dir="+folder+"/catalogd",
			"--catalogs-server-addr="+contents, "--external-address="+contents, "--metrics-bind-address="+v1Metrics,
			"--tls-cert="+folder+"/tls.crt", "--tls-key="+folder+"/tls.key",
			"--health-probe-bind-address=127.0.0.1:8645", "--webhook-server-port=8646")
		startInHome(folder, programOf("olmv1", "operator-controller"), "--system-namespace=olmv1-system", "--cache-path="+folder+"/controller",
			"--catalogd-cas-dir="+folder+"/cas", "--health-probe-bind-address=127.0.0.1:8647")

		samples := filepath.Join(top, "config/samples/olmv1")
		catalog, err := os.ReadFile(filepath.Join(samples, "clustercatalog.yaml"))
		Expect(err).NotTo(HaveOccurred())
		ours := strings.ReplaceAll(string(catalog), "registry.example/etcd-operator/etcd-operator-catalog:v0",
			catalogImage(nil, published("0.10.0")))
		ours = strings.ReplaceAll(ours, "      pollIntervalMinutes: 60\n", "") // the image is named by its digest
		Expect(ours).NotTo(ContainSubstring("registry.example"))
		file := filepath.Join(folder, "clustercatalog.yaml")
		Expect(os.WriteFile(file, []byte(ours), 0o600)).To(Succeed())
		DeferCleanup(func() {
			run("kubectl", "delete", "--ignore-not-found", "clusterextension/etcd-operator", "clustercatalog/etcd-operator-catalog", "--timeout=60s")
			run("kubectl", "delete", "--ignore-not-found", "-f", filepath.Join(samples, "clusterextension-installer.yaml"),
				"-f", filepath.Join(samples, "clusterextension.yaml"))
		})
		Eventually(func() error { return kubectl("apply", "-f", file) }).Should(Succeed())
		run("kubectl", "label", "clustercatalog", "etcd-operator-catalog", "olm.operatorframework.io/metadata.name=etcd-operator-catalog")
		for _, sample := range []string{"clusterextension.yaml", "clusterextension-installer.yaml"} {
			Expect(kubectl("apply", "-f", filepath.Join(samples, sample))).To(Succeed())
		}
		begun := time.Now()
		run("kubectl", "wait", "--for=condition=Installed", "clusterextension/etcd-operator", "--timeout=3m")
		took("from ClusterExtension to Installed", begun)
		run("kubectl", "wait", "--timeout=1m", "clusterextension/etcd-operator",
			`--for=jsonpath={.status.conditions[?(@.type=="Progressing")].reason}=Succeeded`)

		c := create(newCluster(newNamespace(), "by-v1"))
		comesBack(c, deletePod(c, "by-v1-1"))
		remove(c)
	})
}
