// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os/exec"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// compile builds the operator for as long as the suite runs.
func compile() string {
	GinkgoHelper()
	built := filepath.Join(GinkgoT().TempDir(), "etcd-operator")
	run("go", "build", "-o", built, top)
	return built
}

// run runs a program to its end.
func run(name string, args ...string) string {
	GinkgoHelper()
	command := exec.Command(name, args...)
	command.Dir = top
	output, err := command.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), "%s %v: %s", name, args, output)
	return string(output)
}
