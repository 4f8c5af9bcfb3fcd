// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/etcd-operator/etcd-operator/hack/packaging/internal/oci"
)

// nonroot is the user that distroless images have used for years; Pod Security "restricted" wants it as a number.
const nonroot = 65532

// baseFiles is everything in the base image. The operator is one static binary: it needs a user, a group and a /tmp.
var baseFiles = []oci.File{
	{Name: "etc/", Mode: 0o755},
	{Name: "etc/group", Mode: 0o644, Content: []byte("root:x:0:\nnonroot:x:65532:\n")},
	{Name: "etc/nsswitch.conf", Mode: 0o644, Content: []byte("hosts: files dns\n")},
	{Name: "etc/passwd", Mode: 0o644, Content: []byte(
		"root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n")},
	{Name: "home/", Mode: 0o755},
	{Name: "home/nonroot/", Mode: 0o755, Owner: nonroot, Group: nonroot},
	{Name: "tmp/", Mode: 0o1777},
}

// base returns the image under the operator's binary for one platform: files of ours, and the licences of all that is in it. Its
// digest is the same wherever it is built.
func base(platform v1.Platform, legal []oci.File) (v1.Image, error) {
	layers := make([]v1.Layer, 0, 2)
	for _, files := range [][]oci.File{baseFiles, legal} {
		layer, err := oci.Layer(files)
		if err != nil {
			return nil, err
		}
		layers = append(layers, layer)
	}
	return oci.New(platform, v1.Time{}, v1.Config{
		User:       fmt.Sprintf("%d:%d", nonroot, nonroot),
		WorkingDir: "/home/nonroot",
		Env:        []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/home/nonroot"},
	}, layers...)
}
