// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package packaging

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Who knows one project of Operator SDK knows these targets. What builds does not push, and what pushes does not build.
func TestTheMakefileHasTheTargetsOfOperatorSDK(t *testing.T) {
	for _, target := range []string{
		"help", "manifests", "generate", "fmt", "vet", "test", "lint", "build", "run", "docker-build", "docker-push", "build-installer",
		"install", "uninstall", "deploy", "undeploy", "bundle", "bundle-build", "bundle-push", "catalog-build", "catalog-push",
	} {
		out, err := exec.CommandContext(t.Context(), "make", "-C", top, "--dry-run", target).CombinedOutput()
		if err != nil {
			t.Errorf("make %s: %v: %s", target, err, out)
		}
		pushes := regexp.MustCompile(`(?m)(release push|-push=| push ).*$`).FindString(string(out))
		if strings.HasSuffix(target, "-build") && pushes != "" {
			t.Errorf("make %s pushes: %s", target, pushes)
		}
		if strings.HasSuffix(target, "-push") && pushes == "" {
			t.Errorf("make %s does not push: %s", target, out)
		}
	}
}

// The page on security says which key counts, and the one on installing leads there.
func TestThePageOnSecurityNamesTheKey(t *testing.T) {
	for file, want := range map[string]string{
		"SECURITY.md": "releases/vVERSION/cosign.pub", "docs/install.md": "../SECURITY.md#which-key-signs",
		"hack/release-push.sh": "releases/v$version/cosign.pub",
	} {
		text, err := os.ReadFile(filepath.Join(top, file))
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s does not name %s (%v)", file, want, err)
		}
	}
}
