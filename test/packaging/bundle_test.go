// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package packaging

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

const (
	top     = "../.."
	current = top + "/bundle"
)

// published lists every bundle that was published when it was cut, or that will be. Those that `make release-earlier` published later
// fit the rules of their own time.
func published(t *testing.T) []string {
	t.Helper()
	folders, err := Releases(top)
	if err != nil {
		t.Fatal(err)
	}
	folders = slices.DeleteFunc(folders, func(folder string) bool {
		_, err := os.Stat(filepath.Join(top, "releases", "unpublished", filepath.Base(folder)))
		return err == nil
	})
	return append(folders, current)
}

// kept lists every bundle that there is, oldest first, each once.
func kept(t *testing.T) []string {
	t.Helper()
	folders, err := Unpublished(top)
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range published(t) {
		if !slices.ContainsFunc(folders, func(other string) bool { return load(t, other).CSV.Name == load(t, folder).CSV.Name }) {
			folders = append(folders, folder)
		}
	}
	return folders
}

func TestEveryBundleIsFitToBePublished(t *testing.T) {
	for _, folder := range published(t) {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			expect(t, Check(folder, project(t, folder)))
		})
	}
}

func project(t *testing.T, folder string) Options {
	t.Helper()
	options, err := Project(top, folder)
	if err != nil {
		t.Fatal(err)
	}
	return options
}

// expect compares findings with regular expressions, one for each line and in their order.
func expect(t *testing.T, problems []Problem, want ...string) {
	t.Helper()
	for i, problem := range problems {
		if i < len(want) && regexp.MustCompile(want[i]).MatchString(problem.String()) {
			continue
		}
		t.Errorf("unexpected: %s", problem)
	}
	for _, missing := range want[min(len(problems), len(want)):] {
		t.Errorf("not found: %s", missing)
	}
	for _, problem := range problems {
		if strings.Contains(problem.String(), "\n") {
			t.Errorf("more than one line: %q", problem)
		}
	}
}

// only keeps the findings of some rules. A name that no rule has would find nothing, whatever is wrong.
func only(t *testing.T, problems []Problem, names ...string) []Problem {
	t.Helper()
	for _, name := range names {
		if name != unreadable && !slices.ContainsFunc(rules, func(r rule) bool { return r.name == name }) {
			t.Fatalf("there is no rule %q", name)
		}
	}
	return slices.DeleteFunc(problems, func(p Problem) bool { return !slices.Contains(names, p.Rule) })
}

// copied returns a copy of the bundle that may be spoilt.
func copied(t *testing.T) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "bundle")
	if err := os.CopyFS(folder, os.DirFS(current)); err != nil {
		t.Fatal(err)
	}
	return folder
}

func editCSV(t *testing.T, folder string, edit func(*v1alpha1.ClusterServiceVersion)) {
	t.Helper()
	csv := &v1alpha1.ClusterServiceVersion{}
	rewrite(t, folder, "manifests/*.clusterserviceversion.yaml", csv, func() { edit(csv) })
}

func editCRD(t *testing.T, folder string, edit func(*apiextensionsv1.CustomResourceDefinition)) {
	t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	rewrite(t, folder, "manifests/etcd-operator.dev_etcdclusters.yaml", crd, func() { edit(crd) })
}

func editLabels(t *testing.T, folder string, edit func(map[string]string)) {
	t.Helper()
	var file struct {
		Annotations map[string]string `json:"annotations"`
	}
	rewrite(t, folder, "metadata/annotations.yaml", &file, func() { edit(file.Annotations) })
}

func rewrite(t *testing.T, folder, pattern string, into any, edit func()) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, pattern))
	if err != nil || len(files) != 1 {
		t.Fatalf("%s: found %v, %v", pattern, files, err)
	}
	raw, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(raw, into); err != nil {
		t.Fatal(err)
	}
	edit()
	if raw, err = yaml.Marshal(into); err != nil {
		t.Fatal(err)
	}
	write(t, files[0], string(raw))
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// pinned returns a copy of the bundle as `make bundle IMAGE_REGISTRY=…` writes it: every image by digest.
func pinned(t *testing.T) (folder string, images []string) {
	t.Helper()
	bundle, err := Load(current)
	if err != nil {
		t.Fatal(err)
	}
	folder = copied(t)
	files, _ := filepath.Glob(filepath.Join(folder, "manifests", "*.clusterserviceversion.yaml"))
	raw, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	for _, image := range usedImages(bundle) {
		digest := digested(image)
		text = strings.ReplaceAll(text, image, digest)
		images = append(images, digest)
	}
	write(t, files[0], strings.Replace(text, featurePrefix+`disconnected: "false"`, featurePrefix+`disconnected: "true"`, 1))
	return folder, images
}

func digested(image string) string {
	name, _, _ := strings.Cut(image, "@")
	if colon := strings.LastIndex(name, ":"); colon > strings.LastIndex(name, "/") {
		name = name[:colon]
	}
	return fmt.Sprintf("%s@sha256:%x", name, sha256.Sum256([]byte(image)))
}
