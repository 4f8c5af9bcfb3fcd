// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto"
	"encoding/json"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/sigstore/cosign/v3/pkg/cosign"
	"github.com/sigstore/sigstore/pkg/cryptoutils"
	"github.com/sigstore/sigstore/pkg/signature"
)

// inRegistry pushes an image of one program.
func inRegistry(t *testing.T, options ...registry.Option) (image name.Digest, layout string) {
	t.Helper()
	server := httptest.NewServer(registry.New(append(options, registry.Logger(log.New(io.Discard, "", 0)))...))
	t.Cleanup(server.Close)
	repository := strings.TrimPrefix(server.URL, "http://") + "/team/operator"
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	layout = imageWith(t, string(raw))
	if err := run(t.Context(), []string{"push", "-layout", layout, "-to", repository + ":v0.3.0"}); err != nil {
		t.Fatal(err)
	}
	digest, err := digestOf(layout)
	if err != nil {
		t.Fatal(err)
	}
	if image, err = name.NewDigest(repository + "@" + digest.String()); err != nil {
		t.Fatal(err)
	}
	return image, layout
}

// keys writes a private key as cosign makes one, or a plain one, and returns the verifier of the public one.
func keys(t *testing.T, plain bool) (file string, public signature.Verifier) {
	t.Helper()
	private, err := cosign.GeneratePrivateKey()
	if err != nil {
		t.Fatal(err)
	}
	text, err := cryptoutils.MarshalPrivateKeyToPEM(private)
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "plain.key")
	write(t, file, string(text))
	if !plain {
		t.Setenv("COSIGN_PASSWORD", "secret")
		pair, err := cosign.ImportKeyPair(file, func(bool) ([]byte, error) { return []byte("secret"), nil })
		if err != nil {
			t.Fatal(err)
		}
		file = filepath.Join(t.TempDir(), "cosign.key")
		write(t, file, string(pair.PrivateBytes))
	}
	if public, err = signature.LoadVerifier(private.Public(), crypto.SHA256); err != nil {
		t.Fatal(err)
	}
	return file, public
}

// attachBills writes and attaches the bill of materials of each platform, signed.
func attachBills(t *testing.T, image name.Digest, layout, key string) {
	t.Helper()
	bills := t.TempDir()
	if err := writeSBOMs(layout, "etcd-operator", "0.3.0", bills); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), []string{
		"attach", "-image", image.String(), "-sbom", bills, "-name", "etcd-operator", "-key", key,
	}); err != nil {
		t.Fatal(err)
	}
}

func TestASignedImageIsVerifiedByCosign(t *testing.T) {
	image, layout := inRegistry(t)
	for _, plain := range []bool{false, true} {
		file, public := keys(t, plain)
		if _, err := verify(t.Context(), image, public, ""); err == nil {
			t.Error("an image is verified that this key did not sign")
		}
		shown := filepath.Join(t.TempDir(), "cosign.pub")
		attachBills(t, image, layout, file)
		for range 2 {
			if err := run(t.Context(), []string{
				"sign", "-image", image.String(), "-key", file, "-version", "0.3.0", "-revision", "0123abcd", "-public", shown,
			}); err != nil {
				t.Fatal(err)
			}
		}
		if err := run(t.Context(), []string{"verify", "-image", image.String(), "-public", shown, "-revision", "0123abcd"}); err != nil {
			t.Error(err)
		}
		checked, err := verify(t.Context(), image, public, "0123abcd")
		want := "signature; provenance of commit 0123abcd; bill of materials of linux/amd64"
		if err != nil || strings.Join(checked, "; ") != want {
			t.Errorf("checked %v (%v), want %s", checked, err, want)
		}
		_, err = verify(t.Context(), image, public, "4567")
		if err == nil || !strings.Contains(err.Error(), `names the commit "0123abcd", not "4567"`) {
			t.Errorf("of another commit: %v", err)
		}
		_, other := keys(t, true)
		if _, err := verify(t.Context(), image, other, "0123abcd"); err == nil || !strings.Contains(err.Error(), "signature of "+image.String()) {
			t.Errorf("another key verifies: %v", err)
		}
	}
}

// What is not there, or is of another key, is not verified, whatever else is.
func TestWhatIsMissingIsNotVerified(t *testing.T) {
	image, layout := inRegistry(t)
	file, public := keys(t, true)
	key, err := readKey(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := sign(t.Context(), image, key, provenance{}); err != nil {
		t.Fatal(err)
	}
	if _, err := verify(t.Context(), image, public, ""); err == nil || !strings.Contains(err.Error(), "bill of materials of "+image.String()) {
		t.Errorf("without a bill: %v", err)
	}
	other, _ := keys(t, true)
	attachBills(t, image, layout, other)
	if _, err := verify(t.Context(), image, public, ""); err == nil || !strings.Contains(err.Error(), "bill of materials of "+image.String()) {
		t.Errorf("with a bill that another key signed: %v", err)
	}
	attachBills(t, image, layout, file)
	checked, err := verify(t.Context(), image, public, "")
	if err != nil || !slices.Contains(checked, "provenance, which names no commit") {
		t.Errorf("of no commit: %v (%v)", checked, err)
	}
	if _, err := verify(t.Context(), image, public, "0123abcd"); err == nil {
		t.Error("a commit is verified that nothing names")
	}
	hex := strings.TrimPrefix(image.DigestStr(), "sha256:")
	attestation := image.Context().Tag("sha256-" + hex + ".att")
	if err := remote.Delete(attestation); err != nil {
		t.Fatal(err)
	}
	if _, err := verify(t.Context(), image, public, ""); err == nil || !strings.Contains(err.Error(), "provenance of "+image.String()) {
		t.Errorf("without provenance: %v", err)
	}
}

func TestFilesAreSigned(t *testing.T) {
	file, _ := keys(t, false)
	folder := t.TempDir()
	sums, archive := filepath.Join(folder, "SHA256SUMS"), filepath.Join(folder, "kubectl-etcd.tar.gz")
	write(t, sums, "0123  a")
	write(t, archive, "program")
	key, err := readKey(file)
	if err != nil {
		t.Fatal(err)
	}
	public := filepath.Join(folder, "cosign.pub")
	if err := writePublic(public, key); err != nil {
		t.Fatal(err)
	}
	verifies := func(files ...string) error {
		return run(t.Context(), append([]string{"verify-files", "-public", public}, files...))
	}
	if err := verifies(sums, archive); err == nil || !strings.Contains(err.Error(), "SHA256SUMS is not signed") {
		t.Errorf("without signatures: %v", err)
	}
	if err := run(t.Context(), []string{"sign-files", "-key", file, sums, archive}); err != nil {
		t.Fatal(err)
	}
	if err := verifies(sums, archive); err != nil {
		t.Error(err)
	}
	write(t, archive, "another program")
	if err := verifies(sums, archive); err == nil || !strings.Contains(err.Error(), "kubectl-etcd.tar.gz is not signed") {
		t.Errorf("a changed file: %v", err)
	}
	if err := verifies(); err == nil {
		t.Error("no file is verified")
	}
}

func TestTheProvenanceNamesTheCommit(t *testing.T) {
	image, err := name.NewDigest("registry.example/team/operator@sha256:6cc369064181d302c843a069d1ee92db060e83158c55a317388be473e41fa518")
	if err != nil {
		t.Fatal(err)
	}
	built := provenance{
		version: "0.3.0", revision: "0123abcd", platforms: "linux/amd64", builder: "https://example.com",
		script: "hack/release-earlier.sh", tools: "4567cdef",
	}
	text, err := json.Marshal(built.statement(image))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"predicateType":"https://slsa.dev/provenance/v1"`, `"gitCommit":"0123abcd"`, `"gitCommit":"4567cdef"`,
		`/hack/release-earlier.sh"`, `"version":"0.3.0"`, `"id":"https://example.com"`,
		`"subject":[{"digest":{"sha256":"` + image.DigestStr()[len("sha256:"):] + `"},"name":"registry.example/team/operator"}]`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("it does not say %s: %s", want, text)
		}
	}
}

// A registry that knows referrers is asked for them; in another they are under a tag.
func TestTheBillIsBesideTheImage(t *testing.T) {
	for _, options := range [][]registry.Option{{registry.WithReferrersSupport(true)}, nil} {
		image, layout := inRegistry(t, options...)
		key, _ := keys(t, true)
		attachBills(t, image, layout, key)
		index, err := remote.Index(image)
		if err != nil {
			t.Fatal(err)
		}
		manifest, err := index.IndexManifest()
		if err != nil {
			t.Fatal(err)
		}
		found, err := remote.Referrers(image.Digest(manifest.Manifests[0].Digest.String()))
		if err != nil {
			t.Fatal(err)
		}
		referrers, err := found.IndexManifest()
		if err != nil || len(referrers.Manifests) != 1 || referrers.Manifests[0].ArtifactType != spdxJSON {
			t.Errorf("got %v (%v)", referrers, err)
		}
	}
}
