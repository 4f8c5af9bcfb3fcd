// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// Destination says where an image goes.
type Destination struct {
	Push, Layout string
	Digest       string
}

// Flags lets the user say it.
func (d *Destination) Flags(flags *flag.FlagSet) {
	flags.StringVar(&d.Push, "push", "", "push to this reference, such as 127.0.0.1:5000/etcd-operator/etcd-operator:v0.1.0")
	flags.StringVar(&d.Layout, "layout", "", "write an OCI layout to this folder")
	flags.StringVar(&d.Digest, "digest", "", "write the digest of the image to this file")
}

// IsNowhere tells that the image would be made for nothing.
func (d *Destination) IsNowhere() bool { return d.Push == "" && d.Layout == "" }

// Result is a v1.Image or a v1.ImageIndex.
type Result interface {
	Digest() (v1.Hash, error)
	remote.Taggable
}

// Write puts an image there, and prints its digest.
func (d *Destination) Write(ctx context.Context, result Result) error {
	digest, err := result.Digest()
	if err != nil {
		return fmt.Errorf("digest: %w", err)
	}
	if d.Push != "" {
		if err := push(ctx, d.Push, result); err != nil {
			return fmt.Errorf("push %s (is the registry running?): %w", d.Push, err)
		}
		fmt.Printf("pushed %s@%s\n", d.Push, digest)
	}
	if d.Layout != "" {
		if err := lay(d.Layout, result); err != nil {
			return fmt.Errorf("write %s: %w", d.Layout, err)
		}
		fmt.Printf("wrote %s (%s)\n", d.Layout, digest)
	}
	if d.Digest == "" {
		return nil
	}
	return os.WriteFile(d.Digest, []byte(digest.String()+"\n"), 0o644)
}

func push(ctx context.Context, target string, result Result) error {
	ref, err := name.ParseReference(target)
	if err != nil {
		return err
	}
	return remote.Push(ref, result, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain))
}

// lay writes a layout with one entry, as the programs that copy images expect. It is an index, also of a single platform.
func lay(folder string, result Result) error {
	index, ok := result.(v1.ImageIndex)
	if image, single := result.(v1.Image); single {
		config, err := image.ConfigFile()
		if err != nil {
			return err
		}
		if index, err = Index([]string{config.Platform().String()}, func(v1.Platform) (v1.Image, error) { return image, nil }); err != nil {
			return err
		}
		ok = true
	}
	if !ok {
		return fmt.Errorf("%T is no image", result)
	}
	path, err := layout.Write(folder, empty.Index)
	if err != nil {
		return err
	}
	return path.AppendIndex(index)
}

// ReadLayout returns the one image of a layout, with all its platforms.
func ReadLayout(folder string) (v1.ImageIndex, error) {
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
