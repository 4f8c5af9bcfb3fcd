// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// File is one entry of a layer; a name that ends in a slash is a folder.
type File struct {
	Name         string
	Mode         int64
	Owner, Group int
	Content      []byte
}

// IsFolder tells a folder from a file.
func (f File) IsFolder() bool { return strings.HasSuffix(f.Name, "/") }

// ReadFolder reads a folder, in the order of names and with its modes. The prefix, which ends in a slash, is its name in the layer.
func ReadFolder(folder, prefix string) ([]File, error) {
	var all []File
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		f := File{Name: prefix + filepath.ToSlash(relative), Mode: int64(info.Mode().Perm())}
		switch {
		case relative == ".":
			f.Name = prefix
		case entry.IsDir():
			f.Name += "/"
		default:
			f.Content, err = os.ReadFile(path)
		}
		all = append(all, f)
		return err
	})
	return all, err
}

// Layer is a layer of these files. It is not compressed: gzip differs between versions of Go.
func Layer(all []File) (v1.Layer, error) {
	var out bytes.Buffer
	if err := Pack(&out, all); err != nil {
		return nil, err
	}
	return static.NewLayer(out.Bytes(), types.OCIUncompressedLayer), nil
}

// Pack writes a tar archive of files as they are listed, without times and names of owners.
func Pack(to io.Writer, all []File) error {
	w := tar.NewWriter(to)
	for _, f := range all {
		header := &tar.Header{
			Name: f.Name, Mode: f.Mode, Uid: f.Owner, Gid: f.Group, Size: int64(len(f.Content)), ModTime: time.Unix(0, 0),
			Typeflag: tar.TypeReg, Format: tar.FormatUSTAR,
		}
		if f.IsFolder() {
			header.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(header); err != nil {
			return fmt.Errorf("pack %s: %w", f.Name, err)
		}
		if _, err := w.Write(f.Content); err != nil {
			return fmt.Errorf("pack %s: %w", f.Name, err)
		}
	}
	return w.Close()
}
