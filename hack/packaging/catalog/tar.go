// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// file is one entry of a layer; a name that ends in a slash is a folder.
type file struct {
	name    string
	mode    int64
	owner   int
	content []byte
}

// baseFiles is all that opm and the probe need: both are static programs.
func baseFiles() []file {
	return []file{
		{name: "etc/", mode: 0o755},
		{name: "etc/nsswitch.conf", mode: 0o644, content: []byte("hosts: files dns\n")},
		{name: "etc/passwd", mode: 0o644, content: []byte("root:x:0:0:root:/:/sbin/nologin\nopm:x:1001:0:opm:/:/sbin/nologin\n")},
		{name: "tmp/", mode: 0o1777},
	}
}

// plainModes sets the modes that files will have in the image: the cache remembers them.
func plainModes(folder string) error {
	return filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return os.Chmod(path, 0o755)
		}
		return os.Chmod(path, 0o644)
	})
}

// folderFiles reads a folder, in the order of names and with its modes.
func folderFiles(folder, prefix string, owner int) ([]file, error) {
	var all []file
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
		f := file{name: prefix + filepath.ToSlash(relative), mode: int64(info.Mode().Perm()), owner: owner}
		switch {
		case relative == ".":
			f.name = prefix
		case entry.IsDir():
			f.name += "/"
		default:
			f.content, err = os.ReadFile(path)
		}
		all = append(all, f)
		return err
	})
	return all, err
}

// tarball holds no times and no names of owners.
func tarball(all []file) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, f := range all {
		header := &tar.Header{
			Name: f.name, Mode: f.mode, Uid: f.owner, Size: int64(len(f.content)), ModTime: time.Unix(0, 0),
			Typeflag: tar.TypeReg, Format: tar.FormatUSTAR,
		}
		if f.name[len(f.name)-1] == '/' {
			header.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(header); err != nil {
			return nil, fmt.Errorf("write %s: %w", f.name, err)
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, fmt.Errorf("write %s: %w", f.name, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("close layer: %w", err)
	}
	return out.Bytes(), nil
}
