// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/spdx/tools-golang/json"

	"github.com/etcd-operator/etcd-operator/hack/packaging/internal/oci"
)

const changelog = `# Changelog

## [Unreleased]

- Later.

## [0.3.0] - 2026-11-21

### Added

- A catalog.

## 0.2.0 - 2026-11-20

- Upgrades.

## [0.1.0] - 2026-11-19

[Unreleased]: https://example.com
`

func TestNotesAreThoseOfTheVersion(t *testing.T) {
	for version, want := range map[string]string{
		"0.3.0": "### Added\n\n- A catalog.\n", "0.2.0": "- Upgrades.\n", "0.4.0-dev": "- Later.\n",
	} {
		if got, err := notes(changelog, version); err != nil || got != want {
			t.Errorf("%s: got %q (%v), want %q", version, got, err, want)
		}
	}
	for version, want := range map[string]string{
		"0.4.0": "has no section of 0.4.0", "0.1.0": "is empty", "Unreleased": "is no version", "v0.3.0": "is no version", "0.3": "is no version",
	} {
		if _, err := notes(changelog, version); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", version, err, want)
		}
	}
}

func TestDifferentBuildsAreTold(t *testing.T) {
	one, again, other := imageWith(t, "one"), imageWith(t, "one"), imageWith(t, "other")
	if _, err := same(one, again); err != nil {
		t.Error(err)
	}
	if _, err := same(one, other); err == nil || !strings.Contains(err.Error(), "built twice") {
		t.Errorf("got %v", err)
	}
}

// The test's own program stands for the operator: it was built by Go, of modules.
func TestTheBillListsWhatAProgramWasBuiltOf(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	if err := writeSBOMs(imageWith(t, string(raw)), "etcd-operator", "0.3.0", out); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(filepath.Join(out, "etcd-operator-linux-amd64.spdx.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	document, err := json.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	if document.CreationInfo.Created != "2023-11-14T22:13:20Z" {
		t.Errorf("created %s: it must be the time of the sources", document.CreationInfo.Created)
	}
	versions := map[string]string{}
	for _, p := range document.Packages {
		versions[p.PackageName] = p.PackageVersion
	}
	if versions["etcd-operator"] != "v0.3.0" || versions["stdlib"] != strings.TrimPrefix(runtime.Version(), "go") {
		t.Errorf("image or compiler are missing: %v", versions)
	}
	if versions["github.com/spdx/tools-golang"] == "" {
		t.Errorf("a module is missing: %v", versions)
	}
}

func TestAProgramOfUnknownOriginIsTold(t *testing.T) {
	err := writeSBOMs(imageWith(t, "#!/bin/sh"), "etcd-operator", "0.3.0", t.TempDir())
	if err == nil || !strings.Contains(err.Error(), "Go did not build") {
		t.Errorf("got %v", err)
	}
}

// imageWith writes a layout with an image of one program.
func imageWith(t *testing.T, program string) string {
	t.Helper()
	layer, err := oci.Layer([]oci.File{{Name: "bin/program", Mode: 0o755, Content: []byte(program)}})
	if err != nil {
		t.Fatal(err)
	}
	index, err := oci.Index([]string{"linux/amd64"}, func(platform v1.Platform) (v1.Image, error) {
		return oci.New(platform, v1.Time{}, v1.Config{}, layer)
	})
	if err != nil {
		t.Fatal(err)
	}
	to := oci.Destination{Layout: filepath.Join(t.TempDir(), "layout")}
	if err := to.Write(t.Context(), index); err != nil {
		t.Fatal(err)
	}
	return to.Layout
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
