// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/etcd-operator/etcd-operator/hack/packaging/internal/licenses"
	"github.com/etcd-operator/etcd-operator/hack/packaging/internal/oci"
)

// pluginName is that of the plugin for kubectl, as krew knows it; its program is kubectl-etcd.
const pluginName = "etcd"

// plugin is packed for each platform, with a manifest for krew (https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/).
type plugin struct {
	version  string
	binaries string // folder with a program for each platform: linux-amd64/kubectl-etcd
	source   string // top of the sources, with our licence
	main     string // main package, below the source
	out      string
	// url is below which the archives will be downloaded. Without one there is no manifest.
	url string
}

// archive is the plugin for a platform.
type archive struct {
	os, arch string
	name     string
	program  string
	sha256   string
}

// manifest of krew: what is needed of its kind Plugin.
type manifest struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   map[string]string `json:"metadata"`
	Spec       manifestSpec      `json:"spec"`
}

type manifestSpec struct {
	Version          string             `json:"version"`
	Homepage         string             `json:"homepage"`
	ShortDescription string             `json:"shortDescription"`
	Description      string             `json:"description"`
	Caveats          string             `json:"caveats"`
	Platforms        []manifestPlatform `json:"platforms"`
}

type manifestPlatform struct {
	Selector map[string]map[string]string `json:"selector"`
	URI      string                       `json:"uri"`
	SHA256   string                       `json:"sha256"`
	Files    []manifestFile               `json:"files"`
	Bin      string                       `json:"bin"`
}

type manifestFile struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// run packs the plugin for every platform that there is a program for.
func (p plugin) run(ctx context.Context) error {
	if !plainVersion.MatchString(p.version) {
		return fmt.Errorf("%q is no version: write it like 0.3.0", p.version)
	}
	if err := checkURL(p.url); err != nil {
		return err
	}
	folders, err := os.ReadDir(p.binaries)
	if err != nil {
		return err
	}
	var archives []archive
	for _, folder := range folders { // sorted by name
		packed, err := p.pack(ctx, folder.Name())
		if err != nil {
			return fmt.Errorf("pack the plugin for %s: %w", folder.Name(), err)
		}
		archives = append(archives, packed)
	}
	if len(archives) == 0 {
		return errors.New("there is no program of the plugin in " + p.binaries)
	}
	if p.url == "" {
		return nil
	}
	raw, err := yaml.Marshal(p.manifest(archives))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(p.out, pluginName+".yaml"), raw, 0o644)
}

func checkURL(text string) error {
	if text == "" {
		return nil
	}
	parsed, err := url.Parse(text)
	if err != nil || parsed.Scheme != "https" || parsed.Host == "" || parsed.RawQuery != "" || parsed.Fragment != "" {
		return fmt.Errorf("%q is no URL below which the plugin can be downloaded: give one such as https://downloads.example/v0.3.0", text)
	}
	return nil
}

func (p plugin) pack(ctx context.Context, platform string) (archive, error) {
	goos, goarch, _ := strings.Cut(platform, "-")
	a := archive{os: goos, arch: goarch, program: "kubectl-etcd", name: fmt.Sprintf("kubectl-etcd-v%s-%s.tar.gz", p.version, platform)}
	if goos == "windows" {
		a.program += ".exe"
	}
	program, err := os.ReadFile(filepath.Join(p.binaries, platform, a.program))
	if err != nil {
		return a, err
	}
	license, err := os.ReadFile(filepath.Join(p.source, "LICENSE"))
	if err != nil {
		return a, err
	}
	legal, err := licenses.Of(ctx, p.source, p.main, goos+"/"+goarch)
	if err != nil {
		return a, err
	}
	files := append([]oci.File{
		{Name: "LICENSE", Mode: 0o644, Content: license}, {Name: a.program, Mode: 0o755, Content: program},
	}, legal...)
	packed, err := zip(files)
	if err != nil {
		return a, err
	}
	sum := sha256.Sum256(packed)
	a.sha256 = hex.EncodeToString(sum[:])
	return a, os.WriteFile(filepath.Join(p.out, a.name), packed, 0o644)
}

// zip makes a tar.gz, which is the same for the same files, as an archive without times and names of owners is.
func zip(files []oci.File) ([]byte, error) {
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	err := errors.Join(oci.Pack(zipped, files), zipped.Close())
	return out.Bytes(), err
}

func (p plugin) manifest(archives []archive) manifest {
	m := manifest{
		APIVersion: "krew.googlecontainertools.github.com/v1alpha2", Kind: "Plugin", Metadata: map[string]string{"name": pluginName},
		Spec: manifestSpec{
			Version: "v" + p.version, Homepage: oci.Source, ShortDescription: "Status, backups and restores of etcd clusters",
			Description: "Shows etcd clusters that etcd-operator looks after, backs them up, restores backups into new clusters\n" +
				"or in place, takes a restore back, and writes support bundles without secrets.\n",
			Caveats: "The cluster needs etcd-operator: " + oci.Source + "\n",
		},
	}
	for _, a := range archives {
		m.Spec.Platforms = append(m.Spec.Platforms, manifestPlatform{
			Selector: map[string]map[string]string{"matchLabels": {"os": a.os, "arch": a.arch}},
			URI:      strings.TrimSuffix(p.url, "/") + "/" + a.name, SHA256: a.sha256, Bin: a.program,
			Files: []manifestFile{{From: a.program, To: "."}, {From: "LICENSE", To: "."}, {From: strings.TrimSuffix(licenses.Folder, "/"), To: "."}},
		})
	}
	return m
}
