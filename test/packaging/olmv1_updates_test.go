// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package packaging

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The account that installs may make what is in the bundle of its version. Who updates gives it what the newer one makes besides; the page
// says which versions make more. What the account of this version may is enough for all earlier ones.
func TestThePageSaysWhenTheInstallerNeedsMore(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(top, "docs", "install.md"))
	if err != nil {
		t.Fatal(err)
	}
	said := regexp.MustCompile(`Its rights have grown with ([v0-9., and]+?)[.:;]\s`).FindStringSubmatch(string(page))
	if said == nil {
		t.Fatal("docs/install.md does not say with which versions the rights of the installer have grown")
	}
	may, mayInside := granted(t)
	var grown, before []string
	for _, folder := range kept(t) {
		b := load(t, folder)
		needs, inside := needed(t, b)
		for _, right := range slices.Concat(without(needs, may), without(inside, mayInside)) {
			t.Errorf("the installer of this version may not %s, which v%s needs", right, b.CSV.Spec.Version)
		}
		needs = slices.Concat(needs, inside)
		if before != nil && len(without(needs, before)) > 0 {
			version, _, _ := strings.Cut(b.CSV.Spec.Version.String(), "-")
			grown = append(grown, "v"+version)
		}
		before = needs
	}
	named := regexp.MustCompile(`v[0-9]+\.[0-9]+\.[0-9]+`).FindAllString(said[1], -1)
	if got, want := strings.Join(named, " "), strings.Join(grown, " "); got != want {
		t.Errorf("docs/install.md says that the rights have grown with %s; they have with %s", got, want)
	}
}

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
