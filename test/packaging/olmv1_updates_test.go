// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package packaging

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// OLM v1 refuses each change of a CRD that it does not understand, whether it was reviewed or not. The page says from which versions
// the update to this one needs its check switched off.
func TestThePageSaysWhichUpdatesOLMv1Refuses(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(top, "docs", "install.md"))
	if err != nil {
		t.Fatal(err)
	}
	said := regexp.MustCompile(`This is needed to update to v([0-9.]+) from ([v0-9., and]+):`).FindStringSubmatch(string(page))
	if said == nil {
		t.Fatal("docs/install.md does not say which updates OLM v1 refuses")
	}
	to := load(t, current)
	if version, _, _ := strings.Cut(to.CSV.Spec.Version.String(), "-"); said[1] != version {
		t.Errorf("docs/install.md is about updates to v%s, the bundle is of v%s", said[1], version)
	}
	var refused []string
	options := project(t, current)
	for _, folder := range options.Previous {
		for _, old := range load(t, folder).Raw.V1CRDs {
			if len(Unsafe(old, to.crd(old.Name), "", nil)) > 0 {
				refused = append(refused, filepath.Base(folder))
				break
			}
		}
	}
	named := regexp.MustCompile(`v[0-9]+\.[0-9]+\.[0-9]+`).FindAllString(said[2], -1)
	if got, want := strings.Join(named, " "), strings.Join(refused, " "); got != want {
		t.Errorf("docs/install.md names %s, OLM v1 refuses updates from %s", got, want)
	}
}
