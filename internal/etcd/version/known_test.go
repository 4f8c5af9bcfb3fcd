// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package version

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"strings"
	"testing"
)

// The images that the bundle lists for mirrors, and for the operator, are of the versions that the operator knows: none more, none less.
func TestImagesOfTheBundleAreThoseKnown(t *testing.T) {
	const file = "../../../config/default/etcd_images.yaml"
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]string{}
	for _, m := range regexp.MustCompile(`name: (RELATED_IMAGE_\S+)\s+value: (\S+)`).FindAllStringSubmatch(string(content), -1) {
		listed[m[1]] = m[2]
	}
	want := map[string]string{}
	for _, r := range known {
		name := "RELATED_IMAGE_ETCD_" + strings.ReplaceAll(r.newest.String(), ".", "_")
		want[name] = fmt.Sprintf("gcr.io/etcd-development/etcd:v%s", r.newest)
	}
	if !maps.Equal(listed, want) {
		t.Errorf("%s lists %v, want %v", file, listed, want)
	}
}
