// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bundle reads a bundle for Operator Lifecycle Manager and makes its image. It never changes one.
package bundle

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/blang/semver/v4"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"sigs.k8s.io/yaml"

	"github.com/etcd-operator/etcd-operator/hack/packaging/internal/oci"
)

// Bundle is a folder with a version of the operator.
type Bundle struct {
	Folder, Name, CreatedAt string
	// Source is the commit that it was made of, where that is known.
	Source string
	// Published is the name of its image, by digest; empty for a bundle that is yet to be published.
	Published string
	Version   semver.Version
	Icon      *Icon
}

// Icon is a picture for consoles.
type Icon struct {
	Data      []byte `json:"base64data"`
	MediaType string `json:"mediatype"`
}

// ImageFile is in the folder of a published bundle, beside manifests/, and holds the name of its image, by digest.
const ImageFile = "image"

// SourceFile is beside manifests/, too, from when the bundle is made for a release.
const SourceFile = "source"

// Platforms are those of the operator. A bundle is the same on all.
var Platforms = []string{"linux/amd64", "linux/arm64"}

// CSV finds the file with the bundle's ClusterServiceVersion.
func CSV(folder string) (string, error) {
	files, err := filepath.Glob(filepath.Join(folder, "manifests", "*.clusterserviceversion.yaml"))
	if err != nil {
		return "", err
	}
	if len(files) != 1 {
		return "", fmt.Errorf("%s: want one manifests/*.clusterserviceversion.yaml: %w", folder, os.ErrNotExist)
	}
	return files[0], nil
}

// Read reads what the ClusterServiceVersion says of the version.
func Read(folder string) (Bundle, error) {
	file, err := CSV(folder)
	if err != nil {
		return Bundle{}, err
	}
	var csv struct {
		Metadata struct {
			Name        string            `json:"name"`
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
		Spec struct {
			Version string `json:"version"`
			Icon    []Icon `json:"icon"`
		} `json:"spec"`
	}
	if err := readYAML(file, &csv); err != nil {
		return Bundle{}, err
	}
	version, err := semver.Parse(csv.Spec.Version)
	if err != nil {
		return Bundle{}, fmt.Errorf("%s: spec.version: %w", file, err)
	}
	b := Bundle{Folder: folder, Name: csv.Metadata.Name, Version: version, CreatedAt: csv.Metadata.Annotations["createdAt"]}
	if len(csv.Spec.Icon) > 0 {
		b.Icon = &csv.Spec.Icon[0]
	}
	if b.Published, err = readLine(filepath.Join(folder, ImageFile)); err != nil {
		return Bundle{}, err
	}
	b.Source, err = readLine(filepath.Join(folder, SourceFile))
	return b, err
}

// readLine reads a file of one line; one that is not there is empty.
func readLine(file string) (string, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSpace(string(text)), err
}

// Image makes one image a platform, all with the same layer: a bundle holds no program. It holds no time but the bundle's own,
// so that its digest is known from its files alone: catalogs name it. It has neither entrypoint nor working folder: Operator
// Lifecycle Manager runs its own copier in it, which writes relative to /.
func (b Bundle) Image(platforms []string) (v1.ImageIndex, error) {
	files, err := b.files()
	if err != nil {
		return nil, err
	}
	labels, err := b.labels()
	if err != nil {
		return nil, err
	}
	day, err := time.Parse(time.RFC3339, b.CreatedAt)
	if err != nil {
		return nil, fmt.Errorf("%s: createdAt: %w", b.Folder, err)
	}
	created := v1.Time{Time: day.UTC()}
	maps.Copy(labels, oci.Labels(labels[packageLabel]+"-bundle", b.Version.String(), b.Source, created))
	layer, err := oci.Layer(files)
	if err != nil {
		return nil, err
	}
	return oci.Index(platforms, func(platform v1.Platform) (v1.Image, error) {
		return oci.New(platform, created, v1.Config{Labels: labels}, layer)
	})
}

// files are manifests, metadata and tests, sorted by name, with the same modes wherever they were checked out.
func (b Bundle) files() ([]oci.File, error) {
	var all []oci.File
	for _, part := range []string{"manifests", "metadata", "tests"} {
		files, err := oci.ReadFolder(filepath.Join(b.Folder, part), part+"/")
		if err != nil {
			return nil, fmt.Errorf("pack %s: %w", part, err)
		}
		all = append(all, files...)
	}
	for i := range all {
		all[i].Mode = 0o644
		if all[i].IsFolder() {
			all[i].Mode = 0o755
		}
	}
	return all, nil
}

const packageLabel = "operators.operatorframework.io.bundle.package.v1"

// labels are the bundle's annotations: those who read images find there what those who read files find in the file.
func (b Bundle) labels() (map[string]string, error) {
	file := filepath.Join(b.Folder, "metadata", "annotations.yaml")
	var metadata struct {
		Annotations map[string]any `json:"annotations"`
	}
	if err := readYAML(file, &metadata); err != nil {
		return nil, err
	}
	labels := map[string]string{}
	for key, value := range metadata.Annotations {
		text, ok := value.(string)
		if !ok {
			return nil, fmt.Errorf("%s: %s is not a text", file, key)
		}
		labels[key] = text
	}
	if labels[packageLabel] == "" {
		return nil, fmt.Errorf("%s names no package", file)
	}
	return labels, nil
}

func readYAML(file string, into any) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := yaml.Unmarshal(content, into); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}
