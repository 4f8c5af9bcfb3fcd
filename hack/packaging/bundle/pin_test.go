// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// aRegistry serves on this machine until the test ends.
func aRegistry(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// holds puts some image into a registry and returns its digest.
func holds(t *testing.T, image string) string {
	t.Helper()
	ref, err := name.ParseReference(image)
	if err != nil {
		t.Fatal(err)
	}
	some, err := random.Image(8, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(ref, some); err != nil {
		t.Fatal(err)
	}
	digest, err := some.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return digest.String()
}

func pinnable() map[string]string {
	files := generated()
	const name = "manifests/operator.clusterserviceversion.yaml"
	const examples = `alm-examples: '[{"image":"gcr.io/etcd-development/etcd:v3.6.16"}]', `
	files[name] = strings.Replace(files[name], "annotations: {", "annotations: {"+examples, 1)
	return files
}

func TestPinReplacesEveryImage(t *testing.T) {
	host := aRegistry(t)
	for _, where := range []string{host, host + "/mirror/of"} {
		operator := where + "/team/operator@" + holds(t, where+"/team/operator:v1")
		etcd := where + "/etcd-development/etcd@" + holds(t, where+"/etcd-development/etcd:v3.6.16")
		bundle := folder(t, pinnable())
		if err := pin(t.Context(), bundle, where, nil); err != nil {
			t.Fatal(err)
		}
		file, csv, err := readCSV(bundle)
		if err != nil {
			t.Fatal(err)
		}
		if got := imagesOf(csv); strings.Join(got, " ") != etcd+" "+operator {
			t.Errorf("images are %v, want %s and %s", got, etcd, operator)
		}
		if got := text(csv, "metadata", "annotations", "alm-examples"); got != `[{"image":"`+etcd+`"}]` {
			t.Errorf("the example is %s", got)
		}
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(content), "gcr.io") || !strings.Contains(string(content), "team/operator:v11\n") {
			t.Errorf("every image, and nothing else, is to be replaced:\n%s", content)
		}
	}
}

func TestPinAgainChangesNothing(t *testing.T) {
	host := aRegistry(t)
	holds(t, host+"/team/operator:v1")
	holds(t, host+"/etcd-development/etcd:v3.6.16")
	bundle := folder(t, pinnable())
	if err := pin(t.Context(), bundle, host, nil); err != nil {
		t.Fatal(err)
	}
	_, before, err := readCSV(bundle)
	if err != nil {
		t.Fatal(err)
	}
	if err := pin(t.Context(), bundle, host, nil); err != nil {
		t.Fatal(err)
	}
	_, after, err := readCSV(bundle)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := strings.Join(imagesOf(before), " "), strings.Join(imagesOf(after), " "); a != b {
		t.Errorf("images were %s and became %s", a, b)
	}
}

func TestPinNamesTheImageThatIsMissing(t *testing.T) {
	host := aRegistry(t)
	holds(t, host+"/team/operator:v1")
	bundle := folder(t, pinnable())
	err := pin(t.Context(), bundle, host, nil)
	if err == nil || !strings.Contains(err.Error(), "pin gcr.io/etcd-development/etcd:v3.6.16: "+host+"/etcd-development/etcd:v3.6.16") {
		t.Errorf("error is %v, want both names of the image that is missing", err)
	}
	_, csv, err := readCSV(bundle)
	if err != nil {
		t.Fatal(err)
	}
	if got := text(csv, "metadata", "annotations", "containerImage"); got != "team/operator:v1" {
		t.Errorf("half a bundle was pinned: %s", got)
	}
}

func TestAnImageOfKnownDigestIsNotAskedFor(t *testing.T) {
	host := aRegistry(t)
	etcd := host + "/etcd-development/etcd@" + holds(t, host+"/etcd-development/etcd:v3.6.16")
	file := filepath.Join(t.TempDir(), "known")
	digest := "sha256:" + strings.Repeat("0", 64)
	if err := os.WriteFile(file, []byte("team/operator:v1 "+digest+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	bundle := folder(t, pinnable())
	if err := run(t.Context(), []string{"pin", "-bundle", bundle, "-registry", host, "-known", file}); err != nil {
		t.Fatal(err)
	}
	_, csv, err := readCSV(bundle)
	if err != nil {
		t.Fatal(err)
	}
	if got := imagesOf(csv); strings.Join(got, " ") != etcd+" "+host+"/team/operator@"+digest {
		t.Errorf("images are %v", got)
	}
	if err := os.WriteFile(file, []byte("team/operator:v1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readKnown(file); err == nil {
		t.Error("a line without a digest is no error")
	}
	if got, err := resolve(t.Context(), "quay.io/team/operator:v1", "", digest); err != nil || got != "quay.io/team/operator@"+digest {
		t.Errorf("without a registry it became %s, %v", got, err)
	}
}
