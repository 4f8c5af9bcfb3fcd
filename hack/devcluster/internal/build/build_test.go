// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"os"
	"slices"
	"strings"
	"testing"
)

func called(components []Component) []string {
	var all []string
	for _, component := range components {
		all = append(all, component.Name)
	}
	return all
}

func TestKeyHoldsWhatMakesBuildsDiffer(t *testing.T) {
	first := kubernetes()
	base := key(first, "go1.26", []byte("sums"))
	if base != key(kubernetes(), "go1.26", []byte("sums")) {
		t.Error("the same build has two keys")
	}
	stamp, version := first, first
	stamp.Stamp += " -x"
	version.Version = "9.9.9"
	for what, other := range map[string]string{
		"stamp": key(stamp, "go1.26", []byte("sums")), "version": key(version, "go1.26", []byte("sums")),
		"compiler": key(first, "go1.27", []byte("sums")), "sources": key(first, "go1.26", []byte("other")),
	} {
		if other == base {
			t.Errorf("other %s, but the same key", what)
		}
	}
}

// The Makefile compiles with the same flags, or Go would compile everything twice.
func TestTheMakefileHasTheSameFlags(t *testing.T) {
	makefile, err := os.ReadFile("../../../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{flags + " -tags=" + tags, withoutC} {
		if !strings.Contains(string(makefile), want) {
			t.Errorf("not in the Makefile: %s", want)
		}
	}
}

func TestProgramsOfComponents(t *testing.T) {
	if got := kubernetes().programs(); !slices.Equal(got, []string{"cluster"}) {
		t.Errorf("go build makes %v of Kubernetes", got)
	}
	if got := olm().programs(); !slices.Contains(got, "package-server") || !slices.Contains(got, "cpb") {
		t.Errorf("go build makes %v of OLM", got)
	}
}

func TestSelect(t *testing.T) {
	if got := called(Select(Envtest)); !slices.Equal(got, []string{"kubernetes", "etcd-3.6.16"}) {
		t.Errorf("envtest needs %v", got)
	}
	if got := called(Select("pause")); !slices.Equal(got, []string{"pause"}) {
		t.Errorf("one name selects %v", got)
	}
	if len(Select("nonsense")) != 0 {
		t.Error("an unknown name selects something")
	}
}
