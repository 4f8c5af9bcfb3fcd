// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx"
	"github.com/spdx/tools-golang/spdx/v2/common"
	"github.com/spdx/tools-golang/spdxlib"

	"github.com/etcd-operator/etcd-operator/hack/packaging/internal/oci"
)

// writeSBOMs writes one file for each platform of an image, since each has other programs.
func writeSBOMs(folder, name, version, out string) error {
	index, err := oci.ReadLayout(folder)
	if err != nil {
		return err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	for _, descriptor := range manifest.Manifests {
		if descriptor.Platform == nil {
			return fmt.Errorf("%s: an image without a platform", folder)
		}
		image, err := index.Image(descriptor.Digest)
		if err != nil {
			return err
		}
		programs, err := programsOf(image)
		if err != nil {
			return err
		}
		document, err := describe(name, version, descriptor, programs)
		if err != nil {
			return err
		}
		if err := writeDocument(filepath.Join(out, billName(name, descriptor.Platform)), document); err != nil {
			return err
		}
	}
	return nil
}

func writeDocument(file string, document *spdx.Document) error {
	if err := spdxlib.ValidateDocument(document); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	var text bytes.Buffer
	if err := json.Write(document, &text, json.Indent(" ")); err != nil {
		return err
	}
	return os.WriteFile(file, text.Bytes(), 0o644)
}

// program is a file of an image that Go built.
type program struct {
	path string
	info *debug.BuildInfo
}

// programsOf finds them by what the compiler wrote into them. There is nothing else to find: our images are made of static Go
// programs and a few lines of text.
func programsOf(image v1.Image) ([]program, error) {
	content := mutate.Extract(image)
	defer content.Close()
	var all []program
	for archive := tar.NewReader(content); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			slices.SortFunc(all, func(a, b program) int { return strings.Compare(a.path, b.path) })
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		if header.Typeflag != tar.TypeReg || header.Mode&0o111 == 0 {
			continue
		}
		raw, err := io.ReadAll(archive)
		if err != nil {
			return nil, err
		}
		info, err := buildinfo.Read(bytes.NewReader(raw))
		if err != nil {
			return nil, fmt.Errorf("%s is a program that Go did not build: %w", header.Name, err)
		}
		all = append(all, program{header.Name, info})
	}
}

const unknown = "NOASSERTION"

// describe lists an image, its programs, and the modules that each was built of.
func describe(name, version string, descriptor v1.Descriptor, programs []program) (*spdx.Document, error) {
	created, err := oci.SourceDate()
	if err != nil {
		return nil, err
	}
	platform := descriptor.Platform
	document := &spdx.Document{
		SPDXVersion: spdx.Version, DataLicense: spdx.DataLicense, SPDXIdentifier: "DOCUMENT",
		DocumentName:      fmt.Sprintf("%s-%s-%s-%s", name, version, platform.OS, platform.Architecture),
		DocumentNamespace: fmt.Sprintf("https://etcd-operator.dev/spdx/%s/%s/%s", name, version, descriptor.Digest.Hex),
		CreationInfo: &spdx.CreationInfo{
			Created:  created.Format(time.RFC3339),
			Creators: []common.Creator{{CreatorType: "Tool", Creator: "etcd-operator-hack-release"}},
		},
	}
	image := &spdx.Package{
		PackageName: name, PackageSPDXIdentifier: "Image", PackageVersion: "v" + version,
		PackageDownloadLocation: unknown, PrimaryPackagePurpose: "CONTAINER",
		PackageChecksums: []common.Checksum{{Algorithm: common.SHA256, Value: descriptor.Digest.Hex}},
		PackageExternalReferences: purl(fmt.Sprintf("pkg:oci/%s@%s?arch=%s&os=%s",
			name, strings.ReplaceAll(descriptor.Digest.String(), ":", "%3A"), platform.Architecture, platform.OS)),
	}
	document.Packages = append(document.Packages, image)
	relate(document, "DOCUMENT", common.TypeRelationshipDescribe, "Image")
	for _, p := range programs {
		addProgram(document, p, version)
	}
	return document, nil
}

func addProgram(document *spdx.Document, p program, version string) {
	main := p.info.Main
	if main.Version == "" || main.Version == "(devel)" {
		main.Version = "v" + version
	}
	id := addModule(document, p.info.Path, main.Version, "APPLICATION")
	relate(document, "Image", common.TypeRelationshipContains, id)
	modules := append(slices.Clone(p.info.Deps), &debug.Module{Path: "stdlib", Version: strings.TrimPrefix(p.info.GoVersion, "go")})
	for _, module := range modules {
		if module.Replace != nil {
			module = module.Replace
		}
		relate(document, id, common.TypeRelationshipDependsOn, addModule(document, module.Path, module.Version, "LIBRARY"))
	}
}

var notInID = regexp.MustCompile(`[^A-Za-z0-9.-]+`)

// addModule adds a module once, also when several programs were built of it.
func addModule(document *spdx.Document, path, version, purpose string) common.ElementID {
	id := common.ElementID("Go-" + notInID.ReplaceAllString(path+"-"+version, "-"))
	if slices.ContainsFunc(document.Packages, func(p *spdx.Package) bool { return p.PackageSPDXIdentifier == id }) {
		return id
	}
	document.Packages = append(document.Packages, &spdx.Package{
		PackageName: path, PackageSPDXIdentifier: id, PackageVersion: version,
		PackageDownloadLocation: unknown, PrimaryPackagePurpose: purpose,
		PackageExternalReferences: purl("pkg:golang/" + path + "@" + version),
	})
	return id
}

func purl(locator string) []*spdx.PackageExternalReference {
	return []*spdx.PackageExternalReference{{
		Category: common.CategoryPackageManager, RefType: common.TypePackageManagerPURL, Locator: locator,
	}}
}

func relate(document *spdx.Document, from common.ElementID, how string, to common.ElementID) {
	document.Relationships = append(document.Relationships, &spdx.Relationship{
		RefA: common.MakeDocElementID("", string(from)), RefB: common.MakeDocElementID("", string(to)), Relationship: how,
	})
}
