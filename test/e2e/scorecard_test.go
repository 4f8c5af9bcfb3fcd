// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/operator-framework/api/pkg/apis/scorecard/v1alpha3"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// scorecard runs the tests of the bundle as the Operator SDK runs them.
func scorecard() {
	It("passes every test of its bundle, without an error or a suggestion", func() {
		t := newTenant()
		DeferCleanup(func() { t.unsubscribe() })
		t.publish(published("0.10.0"))
		t.group()
		t.subscribe(stableChannel)
		t.succeeds("0.10.0")
		bundle := bundleWithTests()

		namespace := newNamespace()
		scorecardAccount(namespace)
		command := exec.Command(filepath.Join(top, "bin", "operator-sdk"), "scorecard", bundle,
			"--namespace", namespace, "--service-account", "scorecard", "--pod-security", "restricted",
			"--untar-image", "quay.io/operator-framework/scorecard-untar:v1.42.2", "--wait-time", "8m", "--output", "json")
		command.Env = os.Environ()
		var said strings.Builder
		command.Stderr = &said
		output, err := command.Output() // it fails when a test does, which is told better below
		var list v1alpha3.TestList
		Expect(json.Unmarshal(output, &list)).To(Succeed(), "%v: %s%s", err, output, &said)
		Expect(list.Items).To(HaveLen(builtIn + ourTests))
		for _, item := range list.Items {
			Expect(item.Status.Results).NotTo(BeEmpty(), "%v", item.Spec.Entrypoint)
			for _, result := range item.Status.Results {
				AddReportEntry(result.Name, string(result.State))
				Expect(result.State).To(Equal(v1alpha3.PassState), "%s: %v %s", result.Name, result.Errors, result.Log)
				Expect(result.Errors).To(BeEmpty(), result.Name)
				Expect(slices.DeleteFunc(result.Suggestions, asksForDeprecated)).To(BeEmpty(), result.Name)
			}
		}
		Expect(err).NotTo(HaveOccurred())
	})
}

// asksForDeprecated is a suggestion to give an example of the deprecated version, too.
func asksForDeprecated(suggestion string) bool {
	return strings.Contains(suggestion, "should have an example") && strings.Contains(suggestion, v1beta1.EarlierVersion.Version)
}
