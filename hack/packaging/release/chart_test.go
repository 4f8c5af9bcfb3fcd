// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/crane"
	"github.com/google/go-containerregistry/pkg/name"

	"github.com/etcd-operator/etcd-operator/hack/packaging/internal/oci"
)

// TestAChartInARegistryIsHelms: Helm reads what the chart says from its config, and unpacks its layer. It is signed as an image is.
func TestAChartInARegistryIsHelms(t *testing.T) {
	archive := filepath.Join(t.TempDir(), "etcd-operator-0.3.0.tgz")
	metadata := []byte("name: etcd-operator\nversion: 0.3.0\n")
	content := must(zip([]oci.File{{Name: "etcd-operator/Chart.yaml", Mode: 0o644, Content: metadata}}))(t)
	write(t, archive, string(content))
	to := host(t) + "/etcd-operator/charts/etcd-operator:0.3.0"
	for range 2 {
		if err := run(t.Context(), []string{"chart", "-archive", archive, "-to", to}); err != nil {
			t.Fatal(err)
		}
	}
	config := must(crane.Config(to))(t)
	var says map[string]string
	if err := json.Unmarshal(config, &says); err != nil || says["version"] != "0.3.0" || says["name"] != "etcd-operator" {
		t.Errorf("config %s (%v)", config, err)
	}
	manifest := must(crane.Manifest(to))(t)
	for _, kind := range []string{string(chartMetadata), string(chartContent), "application/vnd.oci.image.manifest.v1+json"} {
		if !strings.Contains(string(manifest), kind) {
			t.Errorf("%s is not in %s", kind, manifest)
		}
	}
	digest := must(must(readChart(archive))(t).Digest())(t)
	if there := must(crane.Digest(to))(t); there != digest.String() {
		t.Errorf("the registry has %s, not %s", there, digest)
	}
	layers := must(must(crane.Pull(to))(t).Layers())(t)
	if there := must(io.ReadAll(must(layers[0].Compressed())(t)))(t); len(layers) != 1 || !bytes.Equal(there, content) {
		t.Error("what the registry has is another archive")
	}

	file, public := keys(t, true)
	signed := must(name.NewDigest(strings.TrimSuffix(to, ":0.3.0") + "@" + digest.String()))(t)
	if err := run(t.Context(), []string{"sign", "-image", signed.String(), "-key", file, "-revision", "0123abcd"}); err != nil {
		t.Fatal(err)
	}
	checked, err := verify(t.Context(), signed, public, "0123abcd")
	if want := "signature; provenance of commit 0123abcd"; err != nil || strings.Join(checked, "; ") != want {
		t.Errorf("checked %v (%v), want %s", checked, err, want)
	}
}

func TestAnArchiveWithoutChartIsRefused(t *testing.T) {
	archive := filepath.Join(t.TempDir(), "other.tgz")
	write(t, archive, string(must(zip([]oci.File{{Name: "etcd-operator/a/Chart.yaml", Mode: 0o644, Content: []byte("name: a")}}))(t)))
	if _, err := readChart(archive); err == nil || !strings.Contains(err.Error(), "Chart.yaml") {
		t.Errorf("it is taken for a chart: %v", err)
	}
}

func must[T any](value T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}
