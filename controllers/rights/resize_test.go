// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rights

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// TestResizesOf: what a Kubernetes says of itself. One whose version cannot be read gets no
// request that it may refuse.
func TestResizesOf(t *testing.T) {
	there := []metav1.APIResource{{Name: "pods"}, {Name: "pods/resize"}}
	for version, want := range map[string]specs.Resizes{
		"v1.33.5":               specs.ResizesMost,
		"v1.33.5-gke.1162000":   specs.ResizesMost,
		"v1.34.0-alpha.2":       specs.ResizesMost,
		"v1.34.0":               specs.ResizesAll,
		"v1.34.1+k3s1":          specs.ResizesAll,
		"v1.34.1-eks-3cfe0ce":   specs.ResizesAll,
		"v1.100.0":              specs.ResizesAll,
		"":                      specs.ResizesMost,
		"somebody's Kubernetes": specs.ResizesMost,
	} {
		if got := resizesOf(there, version); got != want {
			t.Errorf("%q: got %d, want %d", version, got, want)
		}
		if got := resizesOf(there[:1], version); got != specs.ResizesNothing {
			t.Errorf("%q without pods/resize: got %d", version, got)
		}
	}
}
