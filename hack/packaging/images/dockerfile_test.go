// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// Buildah builds the Dockerfile as Docker and Podman do, without a daemon. What comes out has the same files, byte for byte, as
// the image that ko makes, and runs in the same way.
func TestTheDockerfileBuildsWhatKoBuilds(t *testing.T) {
	if _, err := exec.LookPath("buildah"); err != nil || os.Getuid() != 0 {
		t.Skip("it needs root and Buildah: apt-get install buildah")
	}
	top, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	settings := map[string]string{"VERSION": "9.8.7", "REVISION": "0123abcd", "SOURCE_DATE_EPOCH": "1700000000"}
	for key, value := range settings {
		t.Setenv(key, value)
	}
	r := request{source: top, main: ".", title: "etcd-operator", platforms: []string{"linux/" + output(t, top, "go", "env", "GOARCH")}}
	result, err := r.build(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ko, ok := result.(v1.Image)
	if !ok {
		t.Fatalf("one platform makes %T", result)
	}
	compareImages(t, buildDockerfile(t, top), ko)
}

func compareImages(t *testing.T, got, want v1.Image) {
	t.Helper()
	gotConfig, wantConfig := config(t, got), config(t, want)
	if gotConfig.User != wantConfig.User || gotConfig.WorkingDir != wantConfig.WorkingDir ||
		!slices.Equal(gotConfig.Entrypoint, wantConfig.Entrypoint) || len(gotConfig.Cmd) != 0 {
		t.Errorf("the Dockerfile's image runs %v %v as %s in %s, ko's %v as %s in %s", gotConfig.Entrypoint, gotConfig.Cmd,
			gotConfig.User, gotConfig.WorkingDir, wantConfig.Entrypoint, wantConfig.User, wantConfig.WorkingDir)
	}
	if !maps.Equal(gotConfig.Labels, wantConfig.Labels) {
		t.Errorf("the Dockerfile's labels are %v, ko's %v", gotConfig.Labels, wantConfig.Labels)
	}
	// Programs that ko builds find data of theirs by this variable. Ours has none.
	environment := slices.DeleteFunc(wantConfig.Env, func(v string) bool { return strings.HasPrefix(v, "KO_DATA_PATH=") })
	if !slices.Equal(slices.Sorted(slices.Values(gotConfig.Env)), slices.Sorted(slices.Values(environment))) {
		t.Errorf("the Dockerfile's environment is %v, ko's %v", gotConfig.Env, environment)
	}
	gotFiles, wantFiles := content(t, got), content(t, want)
	for _, name := range slices.Sorted(maps.Keys(wantFiles)) {
		if gotFiles[name] != wantFiles[name] {
			t.Errorf("%s: the Dockerfile's is %q, ko's %q", name, gotFiles[name], wantFiles[name])
		}
		delete(gotFiles, name)
	}
	if len(gotFiles) > 0 {
		t.Errorf("only the Dockerfile's image has %v", gotFiles)
	}
	if len(wantFiles) < 20 || wantFiles["ko-app/etcd-operator"] == "" {
		t.Errorf("ko's image has only %v", wantFiles)
	}
}

func config(t *testing.T, image v1.Image) v1.Config {
	t.Helper()
	file, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	delete(file.Config.Labels, "io.buildah.version")
	return file.Config
}

// content lists what an image has, without times, and without the folder for data that ko adds.
func content(t *testing.T, image v1.Image) map[string]string {
	t.Helper()
	all := map[string]string{}
	archive := mutate.Extract(image)
	defer archive.Close()
	for r := tar.NewReader(archive); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		hash := sha256.New()
		if _, err := io.Copy(hash, r); err != nil {
			t.Fatal(err)
		}
		name := strings.Trim(header.Name, "/")
		if name == "" || name == "var" || strings.HasPrefix(name, "var/run") {
			continue
		}
		all[name] = fmt.Sprintf("%c %04o %d:%d %x", header.Typeflag, header.Mode&0o7777, header.Uid, header.Gid, hash.Sum(nil)[:8])
	}
}

// buildDockerfile builds and pushes it by make with this machine's Go and what is in its module cache, since no other registry may be
// reachable here. Nothing of it stays.
func buildDockerfile(t *testing.T, top string) v1.Image {
	t.Helper()
	work := t.TempDir()
	tool := []string{"buildah", "--root", filepath.Join(work, "root"), "--runroot", filepath.Join(work, "run")}
	buildah := func(arguments ...string) string { return output(t, top, append(slices.Clone(tool), arguments...)...) }
	builder := buildah("from", "scratch")
	for _, name := range []string{"sh", "mkdir", "mv", "chmod"} {
		buildah("copy", builder, "/bin/busybox", "/bin/"+name)
	}
	buildah("config", "--workingdir=/tmp", "--env=PATH=/usr/local/go/bin:/bin", "--env=GOPATH=/go", "--env=GOCACHE=/cache",
		"--env=GOPROXY=off", "--env=GOTOOLCHAIN=local", builder)
	buildah("commit", "--rm", builder, "localhost/builder")
	// What it needs of other modules is in the cache when the program can be built outside.
	output(t, top, "go", "-C", "hack/packaging", "build", "-o", os.DevNull, "./root")

	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	image := strings.TrimPrefix(server.URL, "http://") + "/team/operator:v1"
	output(t, top, "make", "docker-build", "docker-push", "IMG="+image, "CONTAINER_TOOL="+strings.Join(tool, " "),
		"BUILDER=localhost/builder", "PUSH_FLAGS=--tls-verify=false --disable-compression",
		"BUILD_FLAGS=--isolation=chroot --volume="+output(t, top, "go", "env", "GOROOT")+":/usr/local/go:ro --volume="+
			output(t, top, "go", "env", "GOMODCACHE")+":/go/pkg/mod:ro --volume="+output(t, top, "go", "env", "GOCACHE")+":/cache")
	pushed, err := name.ParseReference(image)
	if err != nil {
		t.Fatal(err)
	}
	result, err := remote.Image(pushed)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// output is what a command prints at the top of the sources.
func output(t *testing.T, top string, arguments ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), arguments[0], arguments[1:]...)
	command.Dir = top
	var failed strings.Builder
	command.Stderr = &failed
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%v: %v: %s%s", arguments, err, out, failed.String())
	}
	return strings.TrimSpace(string(out))
}

// `docker build .` knows no version but the one that is written there.
func TestTheDockerfileIsOfThisVersion(t *testing.T) {
	read := func(name string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join("../../..", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	version := regexp.MustCompile(`(?m)^VERSION \?= (.+)$`).FindStringSubmatch(read("Makefile"))
	if version == nil {
		t.Fatal("the Makefile has no VERSION")
	}
	all := regexp.MustCompile(`(?m)^ARG VERSION=(.+)$`).FindAllStringSubmatch(read("Dockerfile"), -1)
	if len(all) != 2 || all[0][1] != version[1] || all[1][1] != version[1] {
		t.Errorf("the Dockerfile is of %v, the Makefile of %s", all, version[1])
	}
	// The program is linked by Go, whose version is part of it.
	compiler := regexp.MustCompile(`golang:([0-9.]+)\n`).FindStringSubmatch(read("Dockerfile"))
	required := regexp.MustCompile(`(?m)^go ([0-9]+\.[0-9]+)`).FindStringSubmatch(read("go.mod"))
	if compiler == nil || required == nil || !strings.HasPrefix(compiler[1], required[1]+".") {
		t.Errorf("the Dockerfile builds with Go %v, go.mod asks for %v", compiler, required)
	}
}
