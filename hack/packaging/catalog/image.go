// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// user is whom OLM runs a catalog as where nothing else is said. A user that the image does not know, as OpenShift chooses,
// gets group 0, which owns the cache.
const user = 1001

type packing struct {
	catalog, programs, opm string
	push, layout, out      string
	platforms              []string
}

func (r packing) run(ctx context.Context) error {
	if r.push == "" && r.layout == "" {
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
	digest, err := index.Digest()
	if err != nil {
		return fmt.Errorf("digest: %w", err)
	}
	if r.push != "" {
		if err := push(ctx, r.push, index); err != nil {
			return err
		}
		fmt.Printf("pushed %s@%s\n", r.push, digest)
	}
	if r.layout != "" {
		if err := lay(r.layout, index); err != nil {
			return fmt.Errorf("write %s: %w", r.layout, err)
		}
		fmt.Printf("wrote %s (%s)\n", r.layout, digest)
	}
	if r.out == "" {
		return nil
	}
	return os.WriteFile(r.out, []byte(digest.String()+"\n"), 0o644)
}

// build makes one image a platform. They differ in their programs only.
func (r packing) build(ctx context.Context, scratch string) (v1.ImageIndex, error) {
	content, err := r.content(ctx, scratch)
	if err != nil {
		return nil, err
	}
	base, err := packed(baseFiles())
	if err != nil {
		return nil, err
	}
	created, err := sourceDate()
	if err != nil {
		return nil, err
	}
	var adds []mutate.IndexAddendum
	for _, text := range r.platforms {
		platform, err := v1.ParsePlatform(text)
		if err != nil {
			return nil, fmt.Errorf("platform %q: %w", text, err)
		}
		programs, err := r.programsOf(text)
		if err != nil {
			return nil, err
		}
		image, err := oneImage(*platform, created, base, programs, content)
		if err != nil {
			return nil, err
		}
		adds = append(adds, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: platform}})
	}
	return mutate.AppendManifests(mutate.IndexMediaType(empty.Index, types.OCIImageIndex), adds...), nil
}

func (r packing) programsOf(platform string) (v1.Layer, error) {
	all := []file{{name: "bin/", mode: 0o755}}
	for _, program := range []string{"grpc_health_probe", "opm"} {
		content, err := os.ReadFile(filepath.Join(r.programs, filepath.FromSlash(platform), program))
		if err != nil {
			return nil, err
		}
		all = append(all, file{name: "bin/" + program, mode: 0o755, content: content})
	}
	return packed(all)
}

// content is the catalog and its cache.
func (r packing) content(ctx context.Context, scratch string) (v1.Layer, error) {
	configs, cache := filepath.Join(scratch, "configs"), filepath.Join(scratch, "cache")
	if err := os.CopyFS(configs, os.DirFS(r.catalog)); err != nil {
		return nil, err
	}
	if err := plainModes(configs); err != nil {
		return nil, err
	}
	if err := r.makeCache(ctx, scratch, configs, cache); err != nil {
		return nil, err
	}
	all, err := folderFiles(configs, "configs/", 0)
	if err != nil {
		return nil, err
	}
	cached, err := folderFiles(cache, "tmp/cache/", user)
	if err != nil {
		return nil, err
	}
	return packed(append(all, cached...))
}

// makeCache has opm make the cache, in the format of files, which it takes where it finds such a one: the other one, a
// database, differs from build to build and is written to when it is opened. opm also judges the result, as it will when the
// image starts.
func (r packing) makeCache(ctx context.Context, scratch, configs, cache string) error {
	if err := os.MkdirAll(filepath.Join(cache, "cache"), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(cache, "digest"), nil, 0o644); err != nil {
		return err
	}
	opm, err := newOPM(r.opm, scratch)
	if err != nil {
		return err
	}
	serve := []string{"serve", configs, "--cache-dir=" + cache, "--cache-only", "--pprof-addr=", "--termination-log=" + os.DevNull}
	if _, err := opm.run(ctx, serve...); err != nil {
		return err
	}
	if _, err := opm.run(ctx, append(serve, "--cache-enforce-integrity")...); err != nil {
		return fmt.Errorf("the cache that was just made: %w", err)
	}
	return nil
}

func oneImage(platform v1.Platform, created v1.Time, layers ...v1.Layer) (v1.Image, error) {
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.AppendLayers(image, layers...)
	if err != nil {
		return nil, fmt.Errorf("append layers: %w", err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("read config: %w", err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Variant = platform.OS, platform.Architecture, platform.Variant
	config.Created = created
	config.Config = v1.Config{
		User:       strconv.Itoa(user),
		Entrypoint: []string{"/bin/opm"},
		Cmd:        []string{"serve", "/configs", "--cache-dir=/tmp/cache"},
		Env:        []string{"PATH=/bin"},
		// Both OLMs find the catalog by this label.
		Labels: map[string]string{"operators.operatorframework.io.index.configs.v1": "/configs"},
	}
	return mutate.ConfigFile(image, config)
}

func push(ctx context.Context, target string, index v1.ImageIndex) error {
	ref, err := name.ParseReference(target)
	if err != nil {
		return err
	}
	if err := remote.WriteIndex(ref, index, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
		return fmt.Errorf("push %s (is the registry running?): %w", target, err)
	}
	return nil
}

// lay writes a layout with one entry, as the programs that copy images expect.
func lay(folder string, index v1.ImageIndex) error {
	path, err := layout.Write(folder, empty.Index)
	if err != nil {
		return err
	}
	return path.AppendIndex(index)
}

// laid reads what lay wrote.
func laid(folder string) (v1.ImageIndex, error) {
	index, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		return nil, err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	if len(manifest.Manifests) != 1 {
		return nil, fmt.Errorf("%s: want one image, not %d", folder, len(manifest.Manifests))
	}
	return index.ImageIndex(manifest.Manifests[0].Digest)
}

func packed(all []file) (v1.Layer, error) {
	content, err := tarball(all)
	if err != nil {
		return nil, err
	}
	return static.NewLayer(content, types.OCIUncompressedLayer), nil
}

func sourceDate() (v1.Time, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		text = "0"
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return v1.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	return v1.Time{Time: time.Unix(seconds, 0).UTC()}, nil
}
