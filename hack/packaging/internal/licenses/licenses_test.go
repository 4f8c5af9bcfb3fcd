// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package licenses

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/etcd-operator/etcd-operator/hack/packaging/internal/oci"
)

// The operator is built of modules of the cache, of the standard library, and of code that Kubernetes copied from elsewhere.
func TestTheOperatorsLicences(t *testing.T) {
	files, err := Of(t.Context(), "../../../..", ".", "linux/arm64")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"licenses/github.com/etcd-operator/etcd-operator/LICENSE", "licenses/std/LICENSE",
		"licenses/sigs.k8s.io/controller-runtime@", "licenses/k8s.io/apimachinery@", "licenses/go.etcd.io/etcd/api/v3@",
	} {
		i := slices.IndexFunc(files, func(f oci.File) bool { return strings.HasPrefix(f.Name, want) && !f.IsFolder() })
		if i < 0 || len(files[i].Content) < 100 {
			t.Errorf("no text of %s", want)
		}
	}
	if !slices.IsSortedFunc(files, func(a, b oci.File) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("the files have no order")
	}
	if _, err := oci.Layer(files); err != nil {
		t.Error(err)
	}
}

func TestAModuleWithoutALicenceIsTold(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module example.com/odd\n\ngo 1.26\n", "main.go": "package main\n\nfunc main() {}\n"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Of(t.Context(), folder, ".", "linux/amd64"); err == nil || !strings.Contains(err.Error(), "example.com/odd has no licence") {
		t.Errorf("got %v", err)
	}
	if err := os.WriteFile(filepath.Join(folder, "LICENCE.txt"), []byte("free"), 0o600); err != nil {
		t.Fatal(err)
	}
	files, err := Of(t.Context(), folder, ".", "linux/amd64")
	if err != nil || !slices.ContainsFunc(files, func(f oci.File) bool { return f.Name == "licenses/example.com/odd/LICENCE.txt" }) {
		t.Errorf("got %v (%v)", files, err)
	}
}
