// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/etcd-operator/etcd-operator/hack/packaging/internal/oci"
	"github.com/etcd-operator/etcd-operator/hack/packaging/internal/static"
)

// base returns the image under the operator's binary for one platform: files of ours, and the licences of all that is in it. Its
// digest is the same wherever it is built.
func base(platform v1.Platform, legal []oci.File) (v1.Image, error) {
	layers := make([]v1.Layer, 0, 2)
	for _, files := range [][]oci.File{static.Files, legal} {
		layer, err := oci.Layer(files)
		if err != nil {
			return nil, err
		}
		layers = append(layers, layer)
	}
	return oci.New(platform, v1.Time{}, v1.Config{
		User:       fmt.Sprintf("%d:%d", static.User, static.User),
		WorkingDir: "/home/nonroot",
		Env:        []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/home/nonroot"},
	}, layers...)
}
