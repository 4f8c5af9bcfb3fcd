// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/operator-framework/operator-registry/pkg/cache"

	"github.com/etcd-operator/etcd-operator/hack/packaging/internal/licenses"
	"github.com/etcd-operator/etcd-operator/hack/packaging/internal/oci"
)

// user is whom OLM runs a catalog as where nothing else is said. A user that the image does not know, as OpenShift chooses,
// gets group 0, which owns the cache.
const user = 1001

type packing struct {
	catalog, programs string
	components        string // the module of the programs, whose licences go into the image
	to                oci.Destination
	platforms         []string
}

func (r packing) run(ctx context.Context) error {
	if r.to.IsNowhere() {
		return errors.New("nothing to do: give -push or -layout")
	}
	scratch, err := os.MkdirTemp("", "etcd-operator-catalog-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	index, err := r.build(ctx, scratch)
	if err != nil {
		return err
	}
	return r.to.Write(ctx, index)
}

// build makes one image a platform. They differ in their programs only.
func (r packing) build(ctx context.Context, scratch string) (v1.ImageIndex, error) {
	content, err := r.content(ctx, scratch)
	if err != nil {
		return nil, err
	}
	base, err := oci.Layer(baseFiles)
	if err != nil {
		return nil, err
	}
	created, err := oci.SourceDate()
	if err != nil {
		return nil, err
	}
	labels, err := oci.BuildLabels("etcd-operator-catalog")
	if err != nil {
		return nil, err
	}
	// Both OLMs find the catalog by this label.
	labels["operators.operatorframework.io.index.configs.v1"] = "/configs"
	return oci.Index(r.platforms, func(platform v1.Platform) (v1.Image, error) {
		programs, err := r.programsOf(ctx, platform)
		if err != nil {
			return nil, err
		}
		return oci.New(platform, created, v1.Config{
			User:       strconv.Itoa(user),
			Entrypoint: []string{"/bin/opm"},
			Cmd:        []string{"serve", "/configs", "--cache-dir=/tmp/cache"},
			Env:        []string{"PATH=/bin"},
			Labels:     labels,
		}, base, programs, content)
	})
}

// baseFiles is all that opm and the probe need: both are static programs.
var baseFiles = []oci.File{
	{Name: "etc/", Mode: 0o755},
	{Name: "etc/nsswitch.conf", Mode: 0o644, Content: []byte("hosts: files dns\n")},
	{Name: "etc/passwd", Mode: 0o644, Content: []byte("root:x:0:0:root:/:/sbin/nologin\nopm:x:1001:0:opm:/:/sbin/nologin\n")},
	{Name: "tmp/", Mode: 0o1777},
}

// programs are the main packages of what serves a catalog.
var programs = []string{"github.com/grpc-ecosystem/grpc-health-probe", "github.com/operator-framework/operator-registry/cmd/opm"}

// programsOf packs the programs and their licences.
func (r packing) programsOf(ctx context.Context, platform v1.Platform) (v1.Layer, error) {
	all := []oci.File{{Name: "bin/", Mode: 0o755}}
	legal := map[string]oci.File{}
	for _, main := range programs {
		program := path.Base(main)
		content, err := os.ReadFile(filepath.Join(r.programs, filepath.FromSlash(platform.String()), program))
		if err != nil {
			return nil, err
		}
		// Both OLMs ask for the probe under this name.
		all = append(all, oci.File{Name: "bin/" + strings.ReplaceAll(program, "-", "_"), Mode: 0o755, Content: content})
		files, err := licenses.Of(ctx, r.components, main, platform.String())
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			legal[f.Name] = f
		}
	}
	for _, name := range slices.Sorted(maps.Keys(legal)) {
		all = append(all, legal[name])
	}
	return oci.Layer(all)
}

// content is the catalog and its cache.
func (r packing) content(ctx context.Context, scratch string) (v1.Layer, error) {
	configs, cached := filepath.Join(scratch, "configs"), filepath.Join(scratch, "cache")
	if err := os.CopyFS(configs, os.DirFS(r.catalog)); err != nil {
		return nil, err
	}
	if err := plainModes(configs); err != nil {
		return nil, err
	}
	if err := makeCache(ctx, configs, cached); err != nil {
		return nil, err
	}
	all, err := oci.ReadFolder(configs, "configs/")
	if err != nil {
		return nil, err
	}
	quick, err := oci.ReadFolder(cached, "tmp/cache/")
	if err != nil {
		return nil, err
	}
	for i := range quick {
		quick[i].Owner = user
	}
	return oci.Layer(append(all, quick...))
}

// makeCache makes the cache that opm reads when the image starts, in the format of files: the other one, a database, differs from
// build to build and is written to when it is opened.
func makeCache(ctx context.Context, configs, folder string) error {
	if err := os.Mkdir(folder, 0o755); err != nil {
		return err
	}
	made, err := cache.New(folder, cache.WithFormat(cache.FormatJSON))
	if err != nil {
		return err
	}
	defer made.Close()
	if err := cache.LoadOrRebuild(ctx, made, os.DirFS(configs)); err != nil {
		return err
	}
	return made.CheckIntegrity(ctx, os.DirFS(configs))
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
