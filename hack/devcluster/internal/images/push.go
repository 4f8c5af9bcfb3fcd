// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"runtime"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/layout"
)

// contentKey is the annotation that says what an image was made of, so that
// an unchanged one is neither packed nor pushed again.
const contentKey = "devcluster.etcd-operator.github.com/content"

// packing changes when images of the same content are packed again.
const packing = 2

// Push makes each image that the registry lacks. It returns those made.
func Push(ctx context.Context, all []Image) ([]string, error) {
	var pushed []string
	for _, image := range all {
		names, err := image.push(ctx)
		if err != nil {
			return pushed, fmt.Errorf("image %s: %w", image.Names[0], err)
		}
		pushed = append(pushed, names...)
	}
	return pushed, nil
}

func (i Image) push(ctx context.Context) ([]string, error) {
	key, err := i.key()
	if err != nil {
		return nil, err
	}
	var missing []name.Reference
	for _, text := range i.Names {
		reference, err := Reference(text)
		if err != nil {
			return nil, err
		}
		if present(ctx, reference) != key {
			missing = append(missing, reference)
		}
	}
	if len(missing) == 0 {
		return nil, nil
	}
	image, err := i.build(runtime.GOARCH)
	if err != nil {
		return nil, err
	}
	annotated, _ := mutate.Annotations(image, map[string]string{contentKey: key}).(v1.Image)
	var pushed []string
	for _, reference := range missing {
		if err := remote.Write(reference, annotated, remote.WithContext(ctx)); err != nil {
			return pushed, err
		}
		pushed = append(pushed, reference.Name())
	}
	return pushed, nil
}

// key stands for the content: programs come from the cache, whose folder
// names already say what they were built of, and are too large to hash.
func (i Image) key() (string, error) {
	sum := sha256.New()
	fmt.Fprintln(sum, i.Entrypoint, i.Command, i.User, i.WorkingDir, runtime.GOARCH, packing, len(passwd))
	for _, file := range sorted(i.Files) {
		info, err := os.Stat(i.Files[file])
		if err != nil {
			return "", err
		}
		fmt.Fprintln(sum, file, i.Files[file], info.Size(), info.ModTime().UnixNano())
	}
	for _, link := range sorted(i.Links) {
		fmt.Fprintln(sum, link, i.Links[link])
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func present(ctx context.Context, reference name.Reference) string {
	descriptor, err := remote.Get(reference, remote.WithContext(ctx))
	if err != nil {
		return ""
	}
	manifest, err := v1.ParseManifest(bytes.NewReader(descriptor.Manifest))
	if err != nil {
		return ""
	}
	return manifest.Annotations[contentKey]
}

// Reference is the name's place in the loopback registry.
func Reference(text string) (name.Reference, error) {
	return name.ParseReference(layout.RegistryAddress+"/"+text, name.Insecure)
}

// layer is not compressed: packing and unpacking cost more than the disk.
func (i Image) layer() (v1.Layer, error) {
	packed, err := i.tarball()
	if err != nil {
		return nil, err
	}
	return static.NewLayer(packed, types.OCIUncompressedLayer), nil
}
