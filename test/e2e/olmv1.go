package e2e

import (
	"crypto/rand"
	"net"
	"os"
	"os/exec"
	"path/filepath"
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
// it with the spec.
func startInHome(home, name string, args ...string) {
	GinkgoHelper()
	command := exec.Command(name, args...)
	command.Env = homeForImages(home)
	command.Stdout, command.Stderr = GinkgoWriter, GinkgoWriter
	Expect(command.Start()).To(Succeed())
	DeferCleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		_ = command.Wait()
	})
}
