// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// One version has one content. A version with a day in the changelog was cut: it is kept, and while bundle/ has its number it is the
// same. What comes after it in the tree is a pre-release of the next.
func TestAVersionThatWasCutNeverChanges(t *testing.T) {
	if err := cutAsItIs(root); err != nil {
		t.Error(err)
	}
}

func TestADriftedVersionIsTold(t *testing.T) {
	const cut, dated = "## 0.9.0 - 2026-11-28\n", "version: 0.9.0\n"
	for name, test := range map[string]struct{ bundle, kept, changelog, want string }{
		"the same":                  {dated, dated, cut, ""},
		"not cut yet":               {dated, "", "## Unreleased\n", ""},
		"a pre-release of the next": {"version: 0.10.0-dev\n", dated, cut, ""},
		"drifted":                   {dated + "more: 1\n", dated, cut, "bundle/ is not what was cut as 0.9.0"},
		"not kept":                  {dated, "", cut, "0.9.0 was cut, but is not kept"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			for file, text := range map[string]string{
				"CHANGELOG.md": test.changelog, "bundle/manifests/a.clusterserviceversion.yaml": test.bundle,
				"releases/unpublished/v0.9.0/manifests/a.clusterserviceversion.yaml": test.kept,
			} {
				if text == "" {
					continue
				}
				if err := os.MkdirAll(filepath.Dir(filepath.Join(folder, file)), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(folder, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			err := cutAsItIs(folder)
			if got := fmt.Sprint(err); (err == nil) != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

var versionLine = regexp.MustCompile(`(?m)^ *version: ([0-9]+\.[0-9]+\.[0-9]+\S*)$`)

// cutAsItIs says what is wrong with bundle/ of a checkout, if its version was cut.
func cutAsItIs(top string) error {
	ours, err := filesOf(filepath.Join(top, "bundle"))
	if err != nil {
		return err
	}
	version := ""
	for _, name := range slices.Sorted(maps.Keys(ours)) {
		if found := versionLine.FindStringSubmatch(ours[name]); found != nil && strings.HasSuffix(name, ".clusterserviceversion.yaml") {
			version = found[1]
		}
	}
	changelog, err := os.ReadFile(filepath.Join(top, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	if !regexp.MustCompile(`(?m)^## ` + regexp.QuoteMeta(version) + ` - [0-9-]+`).Match(changelog) {
		return nil
	}
	place := filepath.Join("releases", "unpublished", "v"+version)
	kept, err := filesOf(filepath.Join(top, place))
	if err != nil {
		return fmt.Errorf("%s was cut, but is not kept in %s: %w", version, place, err)
	}
	for _, name := range slices.Sorted(maps.Keys(ours)) {
		if ours[name] != kept[name] {
			return fmt.Errorf("bundle/ is not what was cut as %s, in %s: set VERSION to a pre-release of the next version", version, name)
		}
		delete(kept, name)
	}
	for _, name := range slices.Sorted(maps.Keys(kept)) {
		return fmt.Errorf("bundle/ is not what was cut as %s, which has %s: set VERSION to a pre-release of the next version", version, name)
	}
	return nil
}

// filesOf are the parts of a bundle, by the names of their files.
func filesOf(folder string) (map[string]string, error) {
	all := map[string]string{}
	for _, part := range []string{"manifests", "metadata", "tests"} {
		err := filepath.WalkDir(filepath.Join(folder, part), func(path string, entry fs.DirEntry, err error) error {
			if os.IsNotExist(err) && part != "manifests" {
				return nil
			}
			if err != nil || entry.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			all[strings.TrimPrefix(path, folder)] = string(text)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}
