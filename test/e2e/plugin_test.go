// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os/exec"
	"path/filepath"
	"regexp"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	"github.com/onsi/gomega/gexec"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

func plugin() {
	var c *v1beta1.EtcdCluster
	var data map[string]string
	var etcd func(code int, arguments ...string) (output string)

	BeforeAll(func() {
		namespace := newNamespace()
		startOperator(namespace)
		c = create(newCluster(namespace, "source", oneMember))
		newVolumeStore(namespace, "offsite")
		data = fill(c)
		etcd = kubectlEtcd(namespace)
	})

	It("backs up, and waits until that is verified", Label("gate"), func() {
		Expect(etcd(0, "backup", "source", "--store", "offsite", "--name", "good", "--wait")).To(ContainSubstring("verified"))
		Expect(etcd(0, "backups", "source")).To(MatchRegexp(`good +source +[0-9]+ +\S+ +True`))
		Expect(etcd(0, "status", "source")).To(And(ContainSubstring("source-0"), ContainSubstring("good")))
		Expect(etcd(0, "fleet")).To(MatchRegexp(`source +Healthy +1/1 +\S+ +-`))
		Expect(etcd(0, "keys", "source")).To(MatchRegexp(`[0-9]+ +[0-9]+\S* +"data/"`))
	})

	It("says that nothing is wrong, and what is", Label("gate"), func() {
		Expect(etcd(0, "diagnose", "source")).To(And(ContainSubstring("Nothing is wrong"), ContainSubstring("1 EtcdBackupStores")))
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.Paused = true })).To(Succeed())
		says(c, v1beta1.ConditionProgressing, v1beta1.ReasonPaused, "spec.paused is true")
		Expect(etcd(2, "diagnose", "source")).To(And(ContainSubstring("REDUNDANCY IS LOST"), ContainSubstring("To do: end the pause"),
			ContainSubstring("Run: kubectl etcd status source")))
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.Paused = false })).To(Succeed())
		settles(c)
	})

	It("shows each change until Ctrl-C", func() {
		watch, err := gexec.Start(exec.Command(builtPlugin(), "-n", c.Namespace, "status", "source", "--watch"), GinkgoWriter, GinkgoWriter)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() { watch.Kill() })
		Eventually(watch).Should(gbytes.Say(`(?s)at 20.*Progressing +False +UpToDate`))
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.Paused = true })).To(Succeed())
		Eventually(watch).Should(gbytes.Say(`(?s)at 20.*Progressing +\S+ +Paused`))
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.Paused = false })).To(Succeed())
		Eventually(watch).Should(gbytes.Say(`(?s)at 20.*Progressing +False +UpToDate`))
		settles(c)
		watch.Interrupt()
		Eventually(watch).Should(gexec.Exit(0))
	})

	It("shows what a restore in place would do, and does nothing", func() {
		wreck(c)
		Expect(etcd(0, "restore", "source", "--backup", "good", "--preview")).To(ContainSubstring("--confirm 'source@"))
		Expect(filled(c)).To(HaveLen(1))
	})

	It("restores nothing by a confirmation of something else", func() {
		etcd(1, "restore", "source", "--backup", "good", "--confirm", "source@2->1")
		Expect(filled(c)).To(HaveLen(1))
	})

	It("restores in place what was confirmed, and waits for it", func() {
		shown := etcd(0, "restore", "source", "--backup", "good", "--preview")
		Expect(etcd(0, "restore", "source", "--backup", "good", "--confirm", confirmationIn(shown))).NotTo(BeEmpty())
		settles(c)
		Expect(filled(c)).To(Equal(data))
	})

	It("undoes it", func() {
		etcd(0, "undo", "source")
		settles(c)
		Expect(filled(c)).To(HaveLen(1))
	})

	It("makes a new cluster of a backup, and a report without secrets", func() {
		etcd(0, "restore", "--to", "copy", "--backup", "good")
		copied := newCluster(c.Namespace, "copy")
		Expect(filled(now(copied))).To(Equal(data))
		file := filepath.Join(GinkgoT().TempDir(), "report.tar.gz")
		etcd(0, "report", "copy", "-o", file)
		Expect(run("tar", "-xzOf", file)).NotTo(ContainSubstring("PRIVATE KEY"))
	})
}

// confirmationIn is what a preview says is to be confirmed.
func confirmationIn(shown string) string {
	GinkgoHelper()
	found := regexp.MustCompile(`--confirm '([^']+)'`).FindStringSubmatch(shown)
	Expect(found).To(HaveLen(2), shown)
	return found[1]
}
