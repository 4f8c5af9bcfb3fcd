// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/crane"
	"github.com/google/go-containerregistry/pkg/registry"
)

const top = "../../.."

// The commands of install.md, as they stand there, bring every image that is needed to a mirror, under its digest: ours, and etcd in each
// version that the operator starts by itself.
func TestThePageBringsEveryImageToAMirror(t *testing.T) {
	public, ours, mirror := host(t), host(t), host(t)
	folder := filepath.Join(t.TempDir(), "dist", "release", "0.9.0")
	var list []string
	for _, image := range etcdImages(t) {
		path := strings.TrimPrefix(image, "gcr.io/")
		repository, _, _ := strings.Cut(path, ":")
		list = append(list, ours+"/"+repository+"@"+pushed(t, imageWith(t, path), public+"/"+path))
	}
	for _, part := range []string{"operator", "bundle", "catalog", "scorecard"} {
		repository := "etcd-operator/etcd-operator-" + part
		if part == "operator" {
			repository = "etcd-operator/etcd-operator"
		}
		layout := imageWith(t, part)
		if err := os.CopyFS(filepath.Join(folder, "images", part), os.DirFS(layout)); err != nil {
			t.Fatal(err)
		}
		list = append(list, ours+"/"+repository+"@"+pushed(t, layout, ours+"/"+repository+":v0"))
	}
	write(t, filepath.Join(folder, "images.txt"), strings.Join(list, "\n")+"\n")

	script := strings.NewReplacer("gcr.io/", public+"/", "registry.example/", ours+"/", "mirror.example/", mirror+"/").
		Replace(commandsOf(t, "Without the internet"))
	command := exec.CommandContext(t.Context(), "bash", "-euc", script)
	command.Dir = filepath.Join(folder, "..", "..", "..")
	command.Env = append(os.Environ(), "PATH="+withCrane(t)+":"+os.Getenv("PATH"))
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s\n%s", err, out, script)
	}
	for _, image := range list {
		there := mirror + strings.TrimPrefix(image, ours)
		if _, err := crane.Head(there); err != nil {
			t.Errorf("the mirror has no %s: %v", there, err)
		}
	}
	digest, err := crane.Digest(mirror + "/etcd-operator/etcd-operator-catalog:v0")
	if err != nil || !strings.Contains(strings.Join(list, " "), digest) {
		t.Errorf("the catalog's tag names %s (%v)", digest, err)
	}
}

// host is a registry of its own.
func host(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// pushed pushes a layout, and returns its digest.
func pushed(t *testing.T, layout, to string) string {
	t.Helper()
	if err := run(t.Context(), []string{"push", "-layout", layout, "-to", to}); err != nil {
		t.Fatal(err)
	}
	digest, err := digestOf(layout)
	if err != nil {
		t.Fatal(err)
	}
	return digest.String()
}

// etcdImages are those that the operator starts by itself.
func etcdImages(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(top + "/config/default/etcd_images.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, found := range regexp.MustCompile(`value: (\S+)`).FindAllStringSubmatch(string(text), -1) {
		all = append(all, found[1])
	}
	if len(all) == 0 {
		t.Fatal("there are no images of etcd")
	}
	return all
}

// commandsOf is what a section of install.md tells people to type.
func commandsOf(t *testing.T, section string) string {
	t.Helper()
	page, err := os.ReadFile(top + "/docs/install.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "\n## "+section+"\n")
	text, _, _ = strings.Cut(text, "\n## ")
	var all strings.Builder
	for _, block := range regexp.MustCompile("(?s)```console\n(.*?)```").FindAllStringSubmatch(text, -1) {
		all.WriteString(regexp.MustCompile(`(?m)^\$ `).ReplaceAllString(block[1], ""))
	}
	if all.Len() == 0 {
		t.Fatalf("docs/install.md has no commands in %q", section)
	}
	return all.String()
}

// withCrane is a folder with crane, of the version that the page names.
func withCrane(t *testing.T) string {
	t.Helper()
	const module = "github.com/google/go-containerregistry"
	version, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Version}}", module).Output()
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(top + "/docs/install.md")
	if want := module + "/cmd/crane@" + strings.TrimSpace(string(version)); err != nil || !strings.Contains(string(page), want) {
		t.Errorf("docs/install.md does not name %s (%v)", want, err)
	}
	folder := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", folder, module+"/cmd/crane").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return folder
}

// What is looked at again is named by the tag that moves, in pages and samples, and what a release pushes has that tag.
func TestACatalogThatIsLookedAtAgainIsNamedByTheTagThatMoves(t *testing.T) {
	all, err := tags("0.10.0", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	moves := all[len(all)-1]
	for file, again := range map[string]string{
		"docs/install.md": "registryPoll: {interval:", "config/samples/olmv1/clustercatalog.yaml": "pollIntervalMinutes:",
	} {
		text, err := os.ReadFile(filepath.Join(top, file))
		if err != nil {
			t.Fatal(err)
		}
		named := regexp.MustCompile(`(?m)^ +(?:image|ref): \S+-catalog:(\S+)`).FindAllStringSubmatch(string(text), -1)
		if len(named) != 1 || named[0][1] != moves || !strings.Contains(string(text), again) {
			t.Errorf("%s names the catalogs %v, the tag %s moves", file, named, moves)
		}
	}
	push, err := os.ReadFile(top + "/hack/release-push.sh")
	if err != nil || !strings.Contains(string(push), `release tags -version="$version"`) {
		t.Errorf("a release does not push the catalog under its tags: %v", err)
	}
}

// What a bundle names by digest the manifest and the chart of its release name by the same.
func TestTheManifestOfAReleaseNamesEtcdAsItsBundleDoes(t *testing.T) {
	bundle := filepath.Join(t.TempDir(), "bundle")
	if err := os.CopyFS(bundle, os.DirFS(top+"/bundle")); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(bundle + "/manifests/*.clusterserviceversion.yaml")
	if err != nil || len(files) != 1 {
		t.Fatalf("%v %v", files, err)
	}
	csv, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	text := string(csv)
	var want []string
	for _, image := range etcdImages(t) {
		name, version, _ := strings.Cut(image, ":")
		pinned := strings.Replace(name, "gcr.io", "mirror.example", 1) + "@sha256:" + strings.ReplaceAll(version, ".", "")
		text = strings.ReplaceAll(text, image, pinned)
		want = append(want, pinned)
	}
	write(t, files[0], text)
	out, err := exec.CommandContext(t.Context(), "bash", top+"/hack/etcd-images.sh", bundle).Output()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	variable := regexp.MustCompile(`(?m)^ {8}- name: RELATED_IMAGE_ETCD_\S+\n {10}value: (\S+)$`)
	for _, found := range variable.FindAllStringSubmatch(string(out), -1) {
		got = append(got, found[1])
	}
	if strings.Join(got, " ") != strings.Join(want, " ") || !strings.Contains(string(out), "kind: Deployment") {
		t.Errorf("the patch is %s", out)
	}
}
