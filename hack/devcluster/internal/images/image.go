// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package images makes container images of built programs, without a
// container engine, and pushes them to the loopback registry.
package images

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"
	"path"
	"sort"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Image says what an image holds and how it starts.
type Image struct {
	// Names are repository:tag without a host: the registry stands in for
	// every host.
	Names      []string
	Entrypoint []string
	Command    []string
	User       string
	WorkingDir string
	// Files maps a path in the image to a file of this machine.
	Files map[string]string
	// Links maps a path in the image to the target of a symbolic link.
	Links map[string]string
}

const passwd = "root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n"

func (i Image) build(architecture string) (v1.Image, error) {
	layer, err := i.layer()
	if err != nil {
		return nil, err
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.AppendLayers(base, layer)
	if err != nil {
		return nil, err
	}
	file, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture = "linux", architecture
	file.Config = v1.Config{
		Entrypoint: i.Entrypoint, Cmd: i.Command, User: i.User, WorkingDir: i.WorkingDir,
		Env: []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
	}
	return mutate.ConfigFile(image, file)
}

// tarball is deterministic: sorted, and without times or owners.
func (i Image) tarball() ([]byte, error) {
	var out bytes.Buffer
	archive := tar.NewWriter(&out)
	if err := i.folders(archive); err != nil {
		return nil, err
	}
	text := tar.Header{Typeflag: tar.TypeReg, Name: "etc/passwd", Mode: 0o644, Size: int64(len(passwd))}
	if err := entry(archive, text, strings.NewReader(passwd)); err != nil {
		return nil, err
	}
	for _, name := range sorted(i.Files) {
		if err := addFile(archive, name, i.Files[name]); err != nil {
			return nil, fmt.Errorf("add %s: %w", name, err)
		}
	}
	for _, name := range sorted(i.Links) {
		header := tar.Header{Typeflag: tar.TypeSymlink, Name: strings.TrimPrefix(name, "/"), Linkname: i.Links[name], Mode: 0o777}
		if err := entry(archive, header, nil); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), archive.Close()
}

func (i Image) folders(archive *tar.Writer) error {
	modes := map[string]int64{"/tmp": 0o1777, "/etc": 0o755}
	add := func(folder string) {
		for ; folder != "/" && folder != "."; folder = path.Dir(folder) {
			if modes[folder] == 0 {
				modes[folder] = 0o755
			}
		}
	}
	for name := range i.Files {
		add(path.Dir(name))
	}
	for name := range i.Links {
		add(path.Dir(name))
	}
	if i.WorkingDir != "" {
		add(path.Clean(i.WorkingDir))
	}
	for _, folder := range sorted(modes) {
		header := tar.Header{Typeflag: tar.TypeDir, Name: strings.TrimPrefix(folder, "/") + "/", Mode: modes[folder]}
		if err := entry(archive, header, nil); err != nil {
			return err
		}
	}
	return nil
}

func addFile(archive *tar.Writer, name, source string) error {
	file, err := os.Open(source)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	header := tar.Header{Typeflag: tar.TypeReg, Name: strings.TrimPrefix(name, "/"), Mode: 0o755, Size: info.Size()}
	return entry(archive, header, file)
}

func entry(archive *tar.Writer, header tar.Header, body io.Reader) error {
	if err := archive.WriteHeader(&header); err != nil {
		return err
	}
	if body == nil {
		return nil
	}
	_, err := io.Copy(archive, body)
	return err
}

func sorted[V any](all map[string]V) []string {
	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}
