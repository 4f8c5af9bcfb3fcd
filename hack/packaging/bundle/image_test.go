// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/etcd-operator/etcd-operator/hack/packaging/internal/bundle"
)

func imageOf(source string) (v1.ImageIndex, error) {
	b, err := bundle.Read(source)
	if err != nil {
		return nil, err
	}
	return b.Image(bundle.Platforms)
}

func digestOf(t *testing.T, source string) string {
	t.Helper()
	index, err := imageOf(source)
	if err != nil {
		t.Fatal(err)
	}
	digest, err := index.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return digest.String()
}

func TestImageIsTheSameEverywhere(t *testing.T) {
	first, second := folder(t, generated()), folder(t, generated())
	file := filepath.Join(second, "manifests/crd.yaml")
	if err := errors.Join(os.Chtimes(file, time.Unix(1, 0), time.Unix(1, 0)), os.Chmod(file, 0o600)); err != nil {
		t.Fatal(err)
	}
	want := digestOf(t, first)
	if got := digestOf(t, second); got != want {
		t.Errorf("the same files make %s and %s", want, got)
	}
	if err := os.WriteFile(file, []byte("kind: Other\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if digestOf(t, second) == want {
		t.Error("other files make the same image")
	}
	t.Setenv("SOURCE_DATE_EPOCH", "1700000001")
	if digestOf(t, first) != want {
		t.Error("the digest depends on the day")
	}
}

func TestImageAsItIsPulled(t *testing.T) {
	target := aRegistry(t) + "/team/bundle:v1"
	out := filepath.Join(t.TempDir(), "digest")
	released := generated()
	released["source"] = "0123abcd\n"
	if err := run(t.Context(), []string{"image", "-source=" + folder(t, released), "-push=" + target, "-digest=" + out}); err != nil {
		t.Fatal(err)
	}
	ref, err := name.ParseReference(target)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range bundle.Platforms {
		platform, err := v1.ParsePlatform(text)
		if err != nil {
			t.Fatal(err)
		}
		image, err := remote.Image(ref, remote.WithPlatform(*platform))
		if err != nil {
			t.Fatal(err)
		}
		checkImage(t, image, platform.Architecture)
	}
	content, err := os.ReadFile(out)
	if err != nil || !strings.HasPrefix(string(content), "sha256:") {
		t.Errorf("the file with the digest holds %q, %v", content, err)
	}
}

func checkImage(t *testing.T, image v1.Image, architecture string) {
	t.Helper()
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.Architecture != architecture {
		t.Errorf("architecture is %s, want %s", config.Architecture, architecture)
	}
	if c := config.Config; len(c.Entrypoint) > 0 || len(c.Cmd) > 0 || c.WorkingDir != "" {
		t.Errorf("the image runs %v %v in %q, want nothing", c.Entrypoint, c.Cmd, c.WorkingDir)
	}
	want := map[string]string{
		"operators.operatorframework.io.bundle.package.v1": "etcd-operator",
		"org.opencontainers.image.title":                   "etcd-operator-bundle",
		"org.opencontainers.image.version":                 "0.2.0",
		"org.opencontainers.image.revision":                "0123abcd",
		"org.opencontainers.image.source":                  "https://github.com/etcd-operator/etcd-operator",
		"org.opencontainers.image.licenses":                "Apache-2.0",
		"org.opencontainers.image.created":                 "2031-01-01T10:11:12Z",
	}
	if !maps.Equal(config.Config.Labels, want) {
		t.Errorf("labels are %v, want %v", config.Config.Labels, want)
	}
	files := filesOf(t, image)
	for file := range generated() {
		if !slices.Contains(files, file) {
			t.Errorf("%s is not in the image: %v", file, files)
		}
	}
}

func filesOf(t *testing.T, image v1.Image) []string {
	t.Helper()
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, layer := range layers {
		content, err := layer.Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		archive := tar.NewReader(content)
		for {
			header, err := archive.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, header.Name)
		}
	}
	return files
}

func TestNoImageOfHalfABundle(t *testing.T) {
	const csv, annotations = "manifests/operator.clusterserviceversion.yaml", "metadata/annotations.yaml"
	for what, change := range map[string][3]string{
		"no annotations":          {annotations},
		"no tests":                {"tests/scorecard/config.yaml"},
		"no version":              {csv, "version: 0.2.0", "version: next"},
		"no time":                 {csv, "2031-01-01T10:11:12Z", "today"},
		"no package":              {annotations, ".package.v1", ".channels.v1"},
		"a label that is no text": {annotations, "v1: etcd-operator", "v1: 1.10"},
	} {
		t.Run(what, func(t *testing.T) {
			files := generated()
			if file := change[0]; change[1] == "" {
				delete(files, file)
			} else {
				files[file] = strings.Replace(files[file], change[1], change[2], 1)
			}
			if _, err := imageOf(folder(t, files)); err == nil {
				t.Error("it is built")
			}
		})
	}
	if err := run(t.Context(), []string{"image", "-source=" + folder(t, generated())}); err == nil {
		t.Error("an image that goes nowhere is built")
	}
}

// The three that tell what a bundle is: those who read files, build with Docker, or pull images.
func TestLabelsOfTheDockerfile(t *testing.T) {
	annotations, err := readObject("../../../bundle/metadata/annotations.yaml")
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile("../../../bundle.Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	labels := object{}
	for line := range strings.Lines(string(content)) {
		if label, ok := strings.CutPrefix(strings.TrimSpace(line), "LABEL "); ok {
			key, value, _ := strings.Cut(label, "=")
			labels[key] = value
		}
	}
	if want := part(annotations, "annotations"); !maps.Equal(labels, want) {
		t.Errorf("bundle.Dockerfile has the labels %v, bundle/metadata/annotations.yaml %v", labels, want)
	}
}
