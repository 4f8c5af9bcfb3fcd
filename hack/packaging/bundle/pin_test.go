// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"log"
	"net/http"
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
		if got := text(csv, "metadata", "annotations", disconnected); got != "true" {
			t.Errorf("every image can be mirrored, but the annotation says %q", got)
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

const (
	ourTests   = "team/operator-tests:v1"
	sdksTests  = "quay.io/sdk/tests:v9"
	testConfig = "tests/scorecard/config.yaml"
)

// tested is a bundle with tests of ours and of Operator SDK.
func tested() map[string]string {
	files := pinnable()
	files[testConfig] = `
kind: Configuration
stages:
- tests: [{entrypoint: [tests, "` + ourTests + `1"], image: "` + ourTests + `"}, {image: "` + sdksTests + `"}]
- tests: [{image: "` + ourTests + `"}]
`
	return files
}

// testsOf are the images of a bundle's tests.
func testsOf(t *testing.T, bundle string) string {
	t.Helper()
	config, err := readObject(filepath.Join(bundle, testConfig))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(imagesOfTests(config), " ")
}

func TestPinReplacesImagesOfTestsThatAreThere(t *testing.T) {
	host := aRegistry(t)
	holds(t, host+"/team/operator:v1")
	holds(t, host+"/etcd-development/etcd:v3.6.16")
	ours := host + "/team/operator-tests@" + holds(t, host+"/"+ourTests)
	bundle := folder(t, tested())
	pinned := func(want string) {
		t.Helper()
		if err := pin(t.Context(), bundle, host, nil); err != nil {
			t.Fatal(err)
		}
		if got := testsOf(t, bundle); got != want {
			t.Errorf("images of tests are %s, want %s", got, want)
		}
	}
	pinned(ours + " " + sdksTests)
	sdks := host + "/sdk/tests@" + holds(t, host+"/sdk/tests:v9")
	pinned(sdks + " " + ours)
	content, err := os.ReadFile(filepath.Join(bundle, testConfig))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(content), "- "+ourTests+"1\n") {
		t.Errorf("only images are to be replaced:\n%s", content)
	}
}

func TestTestsOfOthersKeepTheirImagesWithoutARegistry(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0", 64)
	known := map[string]string{"team/operator:v1": digest, "gcr.io/etcd-development/etcd:v3.6.16": digest, ourTests: digest}
	bundle := folder(t, tested())
	if err := pin(t.Context(), bundle, "", known); err != nil {
		t.Fatal(err)
	}
	if got := testsOf(t, bundle); got != sdksTests+" team/operator-tests@"+digest {
		t.Errorf("images of tests are %s", got)
	}
}

func TestOnlyARegistryThatAnswersMayLackImagesOfTests(t *testing.T) {
	for code, leaves := range map[int]bool{401: true, 403: true, 404: true, 418: false} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/v2/" {
				w.WriteHeader(code)
			}
		}))
		bundle := folder(t, tested())
		write, err := pinTests(t.Context(), bundle, strings.TrimPrefix(server.URL, "http://"), nil)
		server.Close()
		if (err == nil) != leaves {
			t.Errorf("%d: %v", code, err)
			continue
		}
		if !leaves {
			continue
		}
		if err := write(); err != nil {
			t.Fatal(err)
		}
		if got := testsOf(t, bundle); got != sdksTests+" "+ourTests {
			t.Errorf("%d: images of tests are %s", code, got)
		}
	}
}
