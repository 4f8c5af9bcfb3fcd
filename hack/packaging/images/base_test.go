// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/etcd-operator/etcd-operator/hack/packaging/internal/oci"
)

// The digest is written here so that a change of the base is seen in review; it must not depend on the machine or the day.
func TestBaseIsTheSameEverywhere(t *testing.T) {
	image, err := base(v1.Platform{OS: "linux", Architecture: "amd64"}, []oci.File{{Name: "licenses/", Mode: 0o755}})
	if err != nil {
		t.Fatal(err)
	}
	digest, err := image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	const want = "sha256:6a3bf2e70756f06cdb73237ec23567fa1f78f26f9efb55079399aeb58ebf5d9b"
	if digest.String() != want {
		t.Errorf("digest of the base image is %s, want %s", digest, want)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if want := "65532:65532"; config.Config.User != want {
		t.Errorf("base image runs as %q, want %q", config.Config.User, want)
	}
}
