// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// wrongClocks are an hour off: local time taken for UTC.
var wrongClocks = map[string]time.Duration{"ahead": time.Hour, "behind": -time.Hour}

func faultsOfClocks() {
	for way, off := range wrongClocks {
		It("fault 38: an operator whose clock is an hour "+way+" does its work, and when the clock is right again nobody restarts", func() {
			needsOwnOperator()
			namespace := newNamespace()
			o := startOperator(namespace)
			newVolumeStore(namespace, "offsite")
			before := create(newCluster(namespace, "before"))
			lived, signed := uids(before), signers(before)

			o.restartAs(programAt(off))
			c := create(newCluster(namespace, way, everyMinute))
			data := fill(c)
			victim, _ := aFollower(c)
			loseVolume(c, victim.Name)
			settles(c)
			Expect(filled(c)).To(Equal(data))
			newest := verifiedAfter(c, "")
			Expect(uids(before)).To(Equal(lived))
			Expect(signers(before)).To(Equal(signed))

			lived, signed = uids(c), signers(c)
			o.restartAs(program)
			verifiedAfter(c, newest)
			Expect(filled(c)).To(Equal(data))
			Expect(uids(c)).To(Equal(lived))
			Expect(signers(c)).To(Equal(signed))
		})
	}
}

func everyMinute(spec *v1beta1.EtcdClusterSpec) {
	spec.Backup = &v1beta1.Backup{Store: "offsite", Schedule: "* * * * *"}
}

// verifiedAfter waits for another verified backup of the cluster than the one of that name, and returns its name.
func verifiedAfter(c *v1beta1.EtcdCluster, name string) (another string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		status := read(g, c).Status.Backup
		g.Expect(status).NotTo(BeNil())
		g.Expect(status.Verified).NotTo(BeNil())
		g.Expect(status.Verified.Name).NotTo(Equal(name))
		another = status.Verified.Name
	}).Should(Succeed())
	return another
}

// programAt builds the operator with a clock that is off by so much: the clock of one process cannot be set apart from its machine's.
func programAt(off time.Duration) string {
	GinkgoHelper()
	folder := GinkgoT().TempDir()
	shifted, built := filepath.Join(folder, "main.go"), filepath.Join(folder, "etcd-operator")
	source, err := os.ReadFile(filepath.Join(top, "main.go"))
	Expect(err).NotTo(HaveOccurred())
	const clock = "Now: time.Now, Random:"
	Expect(strings.Count(string(source), clock)).To(Equal(1))
	text := strings.Replace(string(source), clock, fmt.Sprintf("Now: func() time.Time { return time.Now().Add(%d) }, Random:", off), 1)
	Expect(os.WriteFile(shifted, []byte(text), 0o600)).To(Succeed())
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(top, "main.go"): shifted}})
	Expect(err).NotTo(HaveOccurred())
	file := filepath.Join(folder, "overlay.json")
	Expect(os.WriteFile(file, overlay, 0o600)).To(Succeed())
	run("go", "build", "-overlay", file, "-o", built, top)
	return built
}
