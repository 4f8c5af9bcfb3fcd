// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// The digest is written here so that a change of the base is seen in review; it must not depend on the machine or the day.
func TestBaseIsTheSameEverywhere(t *testing.T) {
	image, err := base(v1.Platform{OS: "linux", Architecture: "amd64"})
	if err != nil {
		t.Fatal(err)
	}
	digest, err := image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	const want = "sha256:6cc369064181d302c843a069d1ee92db060e83158c55a317388be473e41fa518"
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
