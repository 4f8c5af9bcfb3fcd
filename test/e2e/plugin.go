// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// builtPlugin builds the plugin, and returns its file.
func builtPlugin() string {
	GinkgoHelper()
	built := filepath.Join(GinkgoT().TempDir(), "kubectl-etcd")
	run("go", "build", "-o", built, filepath.Join(top, "cmd", "kubectl-etcd"))
	return built
}

// kubectlEtcd builds the plugin. It is run in a namespace, and must end with the exit code that is given.
func kubectlEtcd(namespace string) func(code int, arguments ...string) (output string) {
	GinkgoHelper()
	built := builtPlugin()
	return func(code int, arguments ...string) string {
		GinkgoHelper()
		command := exec.Command(built, append([]string{"--namespace", namespace}, arguments...)...)
		command.Env = os.Environ()
		output, err := command.CombinedOutput()
		if code == 0 {
			Expect(err).NotTo(HaveOccurred(), "%s", output)
		}
		Expect(command.ProcessState.ExitCode()).To(Equal(code), "%s", output)
		return string(output)
	}
}
