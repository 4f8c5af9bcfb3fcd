// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// nonroot is the user that distroless images have used for years; Pod Security "restricted" wants it as a number.
const nonroot = "65532:65532"

// baseFiles is everything in the base image. The operator is one static binary: it needs a user, a group and a /tmp.
var baseFiles = []struct {
	name    string
	mode    int64
	content string
}{
	{"etc/", 0o755, ""},
	{"etc/group", 0o644, "root:x:0:\nnonroot:x:65532:\n"},
	{"etc/nsswitch.conf", 0o644, "hosts: files dns\n"},
	{"etc/passwd", 0o644, "root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n"},
	{"home/", 0o755, ""},
	{"home/nonroot/", 0o755, ""},
	{"tmp/", 0o1777, ""},
}

// base returns the image under the operator's binary for one platform. It holds no time and nothing of this machine, so
// its digest is the same wherever it is built; it is not compressed because gzip differs between versions of Go.
func base(platform v1.Platform) (v1.Image, error) {
	content, err := baseTar()
	if err != nil {
		return nil, err
	}
	layer := static.NewLayer(content, types.OCIUncompressedLayer)
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err = mutate.AppendLayers(image, layer)
	if err != nil {
		return nil, fmt.Errorf("append base layer: %w", err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("read base config: %w", err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Variant = platform.OS, platform.Architecture, platform.Variant
	config.Config.User = nonroot
	config.Config.WorkingDir = "/home/nonroot"
	config.Config.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/home/nonroot"}
	return mutate.ConfigFile(image, config)
}

func baseTar() ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, f := range baseFiles {
		header := &tar.Header{
			Name: f.name, Mode: f.mode, Size: int64(len(f.content)), ModTime: time.Unix(0, 0), Format: tar.FormatUSTAR,
			Typeflag: tar.TypeReg,
		}
		if f.name[len(f.name)-1] == '/' {
			header.Typeflag = tar.TypeDir
		}
		if f.name == "home/nonroot/" {
			header.Uid, header.Gid = 65532, 65532
		}
		if err := w.WriteHeader(header); err != nil {
			return nil, fmt.Errorf("write %s: %w", f.name, err)
		}
		if _, err := io.WriteString(w, f.content); err != nil {
			return nil, fmt.Errorf("write %s: %w", f.name, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("close base layer: %w", err)
	}
	return out.Bytes(), nil
}
