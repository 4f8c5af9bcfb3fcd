// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"crypto/rand"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/etcd-operator/etcd-operator/internal/certs/pki"
)

// Where the programs of OLM v1 listen on this machine.
const (
	contents  = "127.0.0.1:8643"
	v1Metrics = "127.0.0.1:8644"
)

// newSystem makes a namespace that goes when the spec ends.
func newSystem(name string) {
	GinkgoHelper()
	Expect(kubectl("create", "namespace", name)).To(Succeed())
	DeferCleanup(func() { run("kubectl", "delete", "namespace", name) })
}

// programOf is a file of a component that the local cluster's builder has built.
func programOf(component, file string) string {
	GinkgoHelper()
	cache, err := os.UserCacheDir()
	Expect(err).NotTo(HaveOccurred())
	found, err := filepath.Glob(filepath.Join(cache, "etcd-operator", "devcluster", component+"-*", file))
	Expect(err).NotTo(HaveOccurred())
	Expect(found).NotTo(BeEmpty(), "bin/devcluster build --only %s", component)
	return found[len(found)-1]
}

// keepCertificates writes a certificate for an address, and its authority into a
// folder of its own.
func keepCertificates(folder string, address net.IP) {
	GinkgoHelper()
	ca, err := pki.NewCA(rand.Reader, time.Now(), "e2e", time.Hour)
	Expect(err).NotTo(HaveOccurred())
	leaf, err := pki.Issue(rand.Reader, time.Now(), ca, pki.Request{
		CommonName: "e2e", IPs: []net.IP{address}, Server: true, Lifetime: time.Hour,
	})
	Expect(err).NotTo(HaveOccurred())
	Expect(os.Mkdir(filepath.Join(folder, "cas"), 0o750)).To(Succeed())
	for file, text := range map[string][]byte{"cas/ca.crt": ca.CertPEM, "tls.crt": leaf.CertPEM, "tls.key": leaf.KeyPEM} {
		Expect(os.WriteFile(filepath.Join(folder, file), text, 0o600)).To(Succeed())
	}
}

// startInHome starts a program that may pull images from the local registry, and ends
// it with the spec. What it says is also in a file there.
func startInHome(home, name string, args ...string) {
	GinkgoHelper()
	kept, err := os.Create(logIn(home, name))
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(kept.Close)
	both := io.MultiWriter(GinkgoWriter, kept)
	command := exec.Command(name, args...)
	command.Env = homeForImages(home)
	command.Stdout, command.Stderr = both, both
	Expect(command.Start()).To(Succeed())
	DeferCleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		_ = command.Wait()
	})
}

func logIn(home, name string) string { return filepath.Join(home, filepath.Base(name)+".log") }

// samplesV1 has what install.md applies.
const samplesV1 = "config/samples/olmv1/"

// An extension is the ClusterExtension of the samples, with the programs of OLM v1, which run on this machine: where they run makes no
// difference to what they install. The folder is theirs.
type extension struct{ folder string }

// newExtension starts from a Kubernetes that has never seen the operator.
func newExtension() extension {
	GinkgoHelper()
	neverSeen()
	DeferCleanup(installCRD) // as it was found
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
	return extension{folder}
}

// offers lets the tag of the sample name a catalog with the releases.
func (e extension) offers(releases ...release) {
	GinkgoHelper()
	pushCatalog(catalogFolder(nil, releases), "v0")
}

// installs applies the samples, with the account of the release.
func (e extension) installs(r release, account string) {
	GinkgoHelper()
	e.offers(r)
	sample, err := os.ReadFile(filepath.Join(top, samplesV1, "clustercatalog.yaml"))
	Expect(err).NotTo(HaveOccurred())
	ours := strings.NewReplacer("registry.example/", registry+"/", "pollIntervalMinutes: 60", "pollIntervalMinutes: 1").Replace(string(sample))
	file := filepath.Join(e.folder, "clustercatalog.yaml")
	Expect(os.WriteFile(file, []byte(ours), 0o600)).To(Succeed())
	DeferCleanup(func() {
		run("kubectl", "delete", "--ignore-not-found", "clusterextension/etcd-operator", "clustercatalog/etcd-operator-catalog", "--timeout=60s")
		run("kubectl", "delete", "--ignore-not-found", "-f", samplesV1+"clusterextension-installer.yaml", "-f", samplesV1+"clusterextension.yaml")
	})
	Eventually(func() error { return kubectl("apply", "-f", file) }).Should(Succeed())
	run("kubectl", "label", "clustercatalog", "etcd-operator-catalog", "olm.operatorframework.io/metadata.name=etcd-operator-catalog")
	run("kubectl", "apply", "-f", samplesV1+"clusterextension.yaml", "-f", account)
	begun := time.Now()
	run("kubectl", "wait", "--for=condition=Installed", "clusterextension/etcd-operator", "--timeout=3m")
	took("from ClusterExtension to Installed", begun)
	e.isAt(r)
}

// isAt waits until the release is installed, and one of its Pods leads.
func (e extension) isAt(r release) {
	GinkgoHelper()
	run("kubectl", "wait", "--timeout=6m", "clusterextension/etcd-operator", "--for=jsonpath={.status.install.bundle.version}="+r.version)
	run("kubectl", "wait", "--timeout=1m", "clusterextension/etcd-operator",
		`--for=jsonpath={.status.conditions[?(@.type=="Progressing")].reason}=Succeeded`)
	run("kubectl", "-n", deployment.Namespace, "rollout", "status", "deployment/"+deployment.Name, "--timeout=3m")
	_, csv := readCSV(r.bundle)
	install := csv["spec"].(map[string]any)["install"].(map[string]any)["spec"].(map[string]any)
	template := install["deployments"].([]any)[0].(map[string]any)["spec"].(map[string]any)["template"].(map[string]any)
	manager := template["spec"].(map[string]any)["containers"].([]any)[0].(map[string]any)
	Eventually(func(g Gomega) {
		for _, p := range operatorPods(g) {
			g.Expect(p.Spec.Containers[0].Image).To(Equal(manager["image"]), p.Name)
		}
		g.Expect(holderNow(g)).NotTo(BeEmpty())
	}).Should(Succeed())
}

// says waits until the ClusterExtension says why it does not progress.
func (e extension) says(words string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		message, err := exec.Command("kubectl", "get", "clusterextension/etcd-operator",
			"-o", `jsonpath={.status.conditions[?(@.type=="Progressing")].message}`).Output()
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(string(message)).To(ContainSubstring(words))
	}).WithPolling(time.Second).Should(Succeed())
}

// logs waits until operator-controller has said it.
func (e extension) logs(words string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		text, err := os.ReadFile(logIn(e.folder, "operator-controller"))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(strings.Contains(string(text), words)).To(BeTrue(), words)
	}).WithPolling(time.Second).Should(Succeed())
}

// accountOf is the sample of the account as a version had it.
func (e extension) accountOf(version string) string {
	GinkgoHelper()
	commit, err := os.ReadFile(filepath.Join(top, "releases", "unpublished", "v"+version, "source"))
	Expect(err).NotTo(HaveOccurred())
	text := run("git", "-c", "safe.directory=*", "show", strings.TrimSpace(string(commit))+":"+samplesV1+"clusterextension-installer.yaml")
	file := filepath.Join(e.folder, "installer-of-"+version+".yaml")
	Expect(os.WriteFile(file, []byte(text), 0o600)).To(Succeed())
	return file
}
