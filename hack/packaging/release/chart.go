// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"sigs.k8s.io/yaml"
)

// Helm's media types (https://helm.sh/docs/topics/registries).
const (
	chartMetadata types.MediaType = "application/vnd.cncf.helm.config.v1+json"
	chartContent  types.MediaType = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
)

// chart is one as a registry has it: what Chart.yaml says is the config, and the archive the one layer. The same archive has the same
// digest everywhere, which `helm push` does not give: it adds the time of day.
type chart struct {
	metadata, manifest []byte
	content            v1.Layer
}

func (c chart) RawConfigFile() ([]byte, error)                         { return c.metadata, nil }
func (c chart) RawManifest() ([]byte, error)                           { return c.manifest, nil }
func (c chart) MediaType() (types.MediaType, error)                    { return types.OCIManifestSchema1, nil }
func (c chart) LayerByDigest(v1.Hash) (partial.CompressedLayer, error) { return c.content, nil }

// readChart reads the archive of a chart.
func readChart(file string) (v1.Image, error) {
	archive, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	c := chart{content: static.NewLayer(archive, chartContent)}
	if c.metadata, err = metadataOf(archive); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	config, err := partial.Descriptor(static.NewLayer(c.metadata, chartMetadata))
	if err != nil {
		return nil, err
	}
	content, err := partial.Descriptor(c.content)
	if err != nil {
		return nil, err
	}
	manifest := v1.Manifest{
		SchemaVersion: 2, MediaType: types.OCIManifestSchema1, Config: *config, Layers: []v1.Descriptor{*content},
	}
	if c.manifest, err = json.Marshal(manifest); err != nil {
		return nil, err
	}
	return partial.CompressedToImage(c)
}

// metadataOf is Chart.yaml, as JSON.
func metadataOf(archive []byte) ([]byte, error) {
	unzipped, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return nil, err
	}
	for files := tar.NewReader(unzipped); ; {
		header, err := files.Next()
		if err != nil {
			return nil, fmt.Errorf("find Chart.yaml: %w", err)
		}
		if folder, name := path.Split(header.Name); name != "Chart.yaml" || path.Dir(path.Clean(folder)) != "." {
			continue
		}
		text, err := io.ReadAll(files)
		if err != nil {
			return nil, err
		}
		return yaml.YAMLToJSON(text)
	}
}
