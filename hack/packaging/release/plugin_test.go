// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// packed is a plugin for three platforms, packed into a folder.
func packed(t *testing.T, url string) plugin {
	t.Helper()
	folder := t.TempDir()
	p := plugin{
		version: "0.3.0", binaries: filepath.Join(folder, "binaries"), source: filepath.Join(folder, "source"), main: ".", out: t.TempDir(),
		url: url,
	}
	write(t, filepath.Join(p.source, "LICENSE"), "the licence")
	write(t, filepath.Join(p.source, "go.mod"), "module example.com/small\n\ngo 1.26\n")
	write(t, filepath.Join(p.source, "main.go"), "package main\n\nfunc main() {}\n")
	write(t, filepath.Join(p.binaries, "linux-amd64", "kubectl-etcd"), "for linux")
	write(t, filepath.Join(p.binaries, "darwin-arm64", "kubectl-etcd"), "for darwin")
	write(t, filepath.Join(p.binaries, "windows-amd64", "kubectl-etcd.exe"), "for windows")
	return p
}

// TestTheManifestOfThePluginNamesWhatIsPacked: each platform has its archive, by its URL and its sha256, and in it program and licence.
func TestTheManifestOfThePluginNamesWhatIsPacked(t *testing.T) {
	p := packed(t, "https://downloads.example/v0.3.0/")
	if err := p.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(p.out, "etcd.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var m manifest
	if err := yaml.UnmarshalStrict(raw, &m); err != nil {
		t.Fatal(err)
	}
	if m.APIVersion != "krew.googlecontainertools.github.com/v1alpha2" || m.Kind != "Plugin" || m.Metadata["name"] != "etcd" ||
		m.Spec.Version != "v0.3.0" || m.Spec.ShortDescription == "" || len(m.Spec.Platforms) != 3 {
		t.Fatalf("manifest:\n%s", raw)
	}
	var seen []string
	for _, platform := range m.Spec.Platforms {
		is := platform.Selector["matchLabels"]
		seen = append(seen, is["os"]+"/"+is["arch"])
		name, below := strings.CutPrefix(platform.URI, "https://downloads.example/v0.3.0/")
		content, err := os.ReadFile(filepath.Join(p.out, name))
		if err != nil || !below {
			t.Fatal(platform.URI, err)
		}
		if sum := sha256.Sum256(content); hex.EncodeToString(sum[:]) != platform.SHA256 {
			t.Errorf("%s has another sha256 than the manifest says", name)
		}
		in := unpacked(t, content)
		for _, file := range platform.Files {
			if !slices.ContainsFunc(slices.Collect(maps.Keys(in)), func(name string) bool { return strings.HasPrefix(name, file.From) }) {
				t.Errorf("%s lacks %s", name, file.From)
			}
		}
		if in["licenses/example.com/small/LICENSE"] != "the licence" || len(in["licenses/std/LICENSE"]) < 100 {
			t.Errorf("%s lacks licences of what the program is built of", name)
		}
		if in[platform.Bin] != "for "+is["os"] {
			t.Errorf("the program in %s is %q", name, in[platform.Bin])
		}
	}
	if want := []string{"darwin/arm64", "linux/amd64", "windows/amd64"}; !slices.Equal(seen, want) {
		t.Errorf("platforms %v", seen)
	}
}

// TestThePluginIsPackedAlike: the same programs are the same archives; without a URL there is no manifest that names none.
func TestThePluginIsPackedAlike(t *testing.T) {
	one, other := packed(t, ""), packed(t, "")
	for _, p := range []plugin{one, other} {
		if err := p.run(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	const name = "kubectl-etcd-v0.3.0-linux-amd64.tar.gz"
	a, _ := os.ReadFile(filepath.Join(one.out, name))
	b, _ := os.ReadFile(filepath.Join(other.out, name))
	if len(a) == 0 || !bytes.Equal(a, b) {
		t.Error("packed twice, it is different")
	}
	if _, err := os.Stat(filepath.Join(one.out, "etcd.yaml")); err == nil {
		t.Error("there is a manifest")
	}
}

// TestAPluginThatCannotBePublished: it is refused before anything is written.
func TestAPluginThatCannotBePublished(t *testing.T) {
	for _, url := range []string{"http://downloads.example", "downloads.example", "https://", "https://downloads.example?x=1"} {
		if err := packed(t, url).run(t.Context()); err == nil {
			t.Errorf("%s is taken", url)
		}
	}
	p := packed(t, "")
	p.version = "latest"
	if err := p.run(t.Context()); err == nil {
		t.Error("latest is no version")
	}
	p = packed(t, "")
	p.binaries = t.TempDir()
	if err := p.run(t.Context()); err == nil {
		t.Error("there is no program")
	}
}

func unpacked(t *testing.T, content []byte) map[string]string {
	t.Helper()
	unzipped, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for in := tar.NewReader(unzipped); ; {
		header, err := in.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		files[header.Name] = string(text)
	}
}
