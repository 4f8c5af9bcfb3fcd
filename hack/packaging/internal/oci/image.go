// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package oci is what the packaging programs do alike: it makes images and puts them somewhere.
//
// It never adds anything of this machine or of today to an image: the same files become the same digest everywhere.
package oci

import (
	"fmt"
	"os"
	"strconv"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// New makes an image for one platform.
func New(platform v1.Platform, created v1.Time, settings v1.Config, layers ...v1.Layer) (v1.Image, error) {
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
	config.Created, config.Config = created, settings
	return mutate.ConfigFile(image, config)
}

// Index makes one image of one for each platform.
func Index(platforms []string, of func(v1.Platform) (v1.Image, error)) (v1.ImageIndex, error) {
	var adds []mutate.IndexAddendum
	for _, text := range platforms {
		platform, err := v1.ParsePlatform(text)
		if err != nil {
			return nil, fmt.Errorf("platform %q: %w", text, err)
		}
		image, err := of(*platform)
		if err != nil {
			return nil, err
		}
		adds = append(adds, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: platform}})
	}
	return mutate.AppendManifests(mutate.IndexMediaType(empty.Index, types.OCIImageIndex), adds...), nil
}

// SourceDate is the time that images of changing sources carry: SOURCE_DATE_EPOCH, 1970 when that is not set.
func SourceDate() (v1.Time, error) {
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
