// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

func TestImagesOutliveARestart(t *testing.T) {
	dir := t.TempDir()
	first := serve(t, dir)
	image, err := random.Image(100, 2)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(reference(t, first), image); err != nil {
		t.Fatal(err)
	}
	first.Close()
	second := serve(t, dir)
	descriptor, err := remote.Get(reference(t, second))
	if err != nil {
		t.Fatalf("the image is gone: %v", err)
	}
	if want, _ := image.Digest(); descriptor.Digest != want {
		t.Errorf("got %s, want %s", descriptor.Digest, want)
	}
}

func serve(t *testing.T, dir string) *httptest.Server {
	t.Helper()
	handler, err := open(dir)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server
}

func reference(t *testing.T, server *httptest.Server) name.Reference {
	t.Helper()
	parsed, err := name.ParseReference(strings.TrimPrefix(server.URL, "http://")+"/some/image:tag", name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}
