// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"os"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// Source is where the sources are.
const Source = "https://github.com/etcd-operator/etcd-operator"

const label = "org.opencontainers.image."

// Labels are what every image of ours says of itself, in the words of the OCI image specification. What is not known is left
// out.
func Labels(title, version, revision string, created v1.Time) map[string]string {
	all := map[string]string{
		label + "title": title, label + "version": version, label + "revision": revision, label + "source": Source,
		label + "licenses": "Apache-2.0", label + "created": created.UTC().Format(time.RFC3339),
	}
	for key, value := range all {
		if value == "" {
			delete(all, key)
		}
	}
	return all
}

// BuildLabels are those of an image that is built of a checkout: hack/release.sh and the Makefile set VERSION and REVISION, which is
// a commit.
func BuildLabels(title string) (map[string]string, error) {
	created, err := SourceDate()
	return Labels(title, os.Getenv("VERSION"), os.Getenv("REVISION"), created), err
}
