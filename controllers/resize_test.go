package controllers

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/internal/build"
)

// TestResizesOf: what a Kubernetes says of itself. One whose version cannot be told gets no
// request that it may refuse.
func TestResizesOf(t *testing.T) {
	there := []metav1.APIResource{{Name: "pods"}, {Name: "pods/resize"}}
	for version, want := range map[string]build.Resizes{
		"v1.33.5":               build.ResizesMost,
		"v1.33.5-gke.1162000":   build.ResizesMost,
		"v1.34.0-alpha.2":       build.ResizesMost,
		"v1.34.0":               build.ResizesAll,
		"v1.34.1+k3s1":          build.ResizesAll,
		"v1.34.1-eks-3cfe0ce":   build.ResizesAll,
		"v1.100.0":              build.ResizesAll,
		"":                      build.ResizesMost,
		"somebody's Kubernetes": build.ResizesMost,
	} {
		if got := resizesOf(there, version); got != want {
			t.Errorf("%q: got %d, want %d", version, got, want)
		}
		if got := resizesOf(there[:1], version); got != build.ResizesNothing {
			t.Errorf("%q without pods/resize: got %d", version, got)
		}
	}
}
