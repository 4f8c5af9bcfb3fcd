// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

func one(platform v1.Platform) (v1.Image, error) { return New(platform, v1.Time{}, v1.Config{}) }

func TestALayoutHoldsOneImageOfSeveralPlatforms(t *testing.T) {
	index, err := Index([]string{"linux/amd64", "linux/arm64/v8"}, one)
	if err != nil {
		t.Fatal(err)
	}
	to := Destination{Layout: filepath.Join(t.TempDir(), "layout"), Digest: filepath.Join(t.TempDir(), "digest")}
	if err := to.Write(t.Context(), index); err != nil {
		t.Fatal(err)
	}
	read, err := ReadLayout(to.Layout)
	if err != nil {
		t.Fatal(err)
	}
	digest, err := read.Digest()
	if err != nil {
		t.Fatal(err)
	}
	if written, err := os.ReadFile(to.Digest); err != nil || string(written) != digest.String()+"\n" {
		t.Errorf("the digest is %s, and %q is written (%v)", digest, written, err)
	}
	manifest, err := read.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	var platforms []string
	for _, descriptor := range manifest.Manifests {
		platforms = append(platforms, descriptor.Platform.String())
	}
	if got := strings.Join(platforms, " "); got != "linux/amd64 linux/arm64/v8" {
		t.Errorf("platforms are %s", got)
	}

	image, err := one(v1.Platform{OS: "linux", Architecture: "amd64"})
	if err != nil {
		t.Fatal(err)
	}
	single := Destination{Layout: filepath.Join(t.TempDir(), "layout")}
	if err := single.Write(t.Context(), image); err != nil {
		t.Error(err)
	}
	if _, err := ReadLayout(single.Layout); err != nil {
		t.Errorf("one platform: %v", err)
	}
	if _, err := ReadLayout(t.TempDir()); err == nil {
		t.Error("a folder without an image is read")
	}
}

func TestAnImageOfOnePlatformIsPushed(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	image, err := one(v1.Platform{OS: "linux", Architecture: "amd64"})
	if err != nil {
		t.Fatal(err)
	}
	to := Destination{Push: strings.TrimPrefix(server.URL, "http://") + "/team/operator:v1"}
	if err := to.Write(t.Context(), image); err != nil {
		t.Fatal(err)
	}
	ref, err := name.ParseReference(to.Push)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := remote.Image(ref); err != nil {
		t.Error(err)
	}
	server.Close()
	if err := to.Write(t.Context(), image); err == nil || !strings.Contains(err.Error(), "is the registry running?") {
		t.Errorf("got %v", err)
	}
}

func TestSourceDate(t *testing.T) {
	for text, want := range map[string]string{"": "1970-01-01T00:00:00Z", "1700000000": "2023-11-14T22:13:20Z"} {
		t.Setenv("SOURCE_DATE_EPOCH", text)
		if got, err := SourceDate(); err != nil || got.Format("2006-01-02T15:04:05Z07:00") != want {
			t.Errorf("%q: got %v (%v), want %s", text, got, err, want)
		}
	}
	t.Setenv("SOURCE_DATE_EPOCH", "today")
	if _, err := SourceDate(); err == nil || !strings.Contains(err.Error(), "SOURCE_DATE_EPOCH") {
		t.Errorf("got %v", err)
	}
}
