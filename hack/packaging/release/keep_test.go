// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
)

const image = "registry.example/team/bundle@sha256:6cc369064181d302c843a069d1ee92db060e83158c55a317388be473e41fa518"

func TestAPublishedBundleIsKeptAndNeverChanges(t *testing.T) {
	k := keeping{bundle: t.TempDir(), releases: t.TempDir(), image: image, version: "0.3.0", dry: true}
	for _, part := range parts {
		write(t, filepath.Join(k.bundle, part, "a.yaml"), part)
	}
	target := filepath.Join(k.releases, "v0.3.0")
	if err := k.run(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(target); err == nil {
		t.Error("looking kept it")
	}
	k.dry = false
	for range 2 {
		if err := k.run(); err != nil {
			t.Fatal(err)
		}
	}
	if kept, err := os.ReadFile(filepath.Join(target, "image")); err != nil || string(kept) != image+"\n" {
		t.Errorf("kept as %q (%v), published as %s", kept, err, image)
	}

	other := k
	other.image = strings.Replace(image, "registry", "mirror", 1)
	refuses(t, other, "published with another image")
	other.image = "registry.example/team/bundle:v0.3.0"
	refuses(t, other, "not named by its digest")
	write(t, filepath.Join(k.bundle, "metadata", "b.yaml"), "more")
	refuses(t, k, "published with another metadata/b.yaml")
	if err := os.Remove(filepath.Join(k.bundle, "metadata", "b.yaml")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(k.bundle, "manifests", "a.yaml"), "other")
	k.dry = true
	refuses(t, k, "published with another manifests/a.yaml")
}

func refuses(t *testing.T, k keeping, words string) {
	t.Helper()
	if err := k.run(); err == nil || !strings.Contains(err.Error(), words) {
		t.Errorf("got %v, want %q", err, words)
	}
}

func TestWhatACatalogNamesIsPublished(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	host := strings.TrimPrefix(server.URL, "http://")
	names := map[string]string{}
	for _, what := range []string{"bundle", "operator"} {
		layout := imageWith(t, what)
		if err := run(t.Context(), []string{"push", "-layout", layout, "-to", host + "/team/" + what + ":v0.3.0"}); err != nil {
			t.Fatal(err)
		}
		digest, err := digestOf(layout)
		if err != nil {
			t.Fatal(err)
		}
		names[what] = host + "/team/" + what + "@" + digest.String()
	}
	catalog := t.TempDir()
	const channels = "---\n# A note.\nschema: olm.channel\nname: stable-v0\nentries: [{name: etcd-operator.v0.3.0}]\n"
	write(t, filepath.Join(catalog, "team", "catalog.yaml"),
		fmt.Sprintf("%s---\nschema: olm.bundle\nimage: %s\nrelatedImages:\n- image: %s\n", channels, names["bundle"], names["operator"]))
	if err := published(t.Context(), catalog); err != nil {
		t.Error(err)
	}
	gone := strings.Replace(names["bundle"], "/team/", "/elsewhere/", 1)
	write(t, filepath.Join(catalog, "team", "more.yaml"), "---\nschema: olm.bundle\nimage: "+gone+"\n")
	if err := published(t.Context(), catalog); err == nil || !strings.Contains(err.Error(), "names "+gone+", which cannot be pulled") {
		t.Errorf("got %v", err)
	}
	if err := published(t.Context(), t.TempDir()); err == nil || !strings.Contains(err.Error(), "names no image") {
		t.Errorf("got %v", err)
	}
}
