// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/operator-framework/operator-registry/alpha/declcfg"

	"github.com/etcd-operator/etcd-operator/hack/packaging/internal/bundle"
)

// earlier lists the bundles below releases/unpublished that a channel has and that are not published, oldest first. They are as
// they were cut; what is published of one, by hack/release-earlier.sh, is kept in releases/ as every release is.
func earlier(top string, channels []declcfg.Channel) ([]bundle.Bundle, error) {
	folders, err := filepath.Glob(filepath.Join(top, "releases", "unpublished", "v*", "manifests"))
	if err != nil {
		return nil, err
	}
	var all []bundle.Bundle
	for _, folder := range folders {
		folder = filepath.Dir(folder)
		if _, err := os.Stat(filepath.Join(top, "releases", filepath.Base(folder))); err == nil {
			continue
		}
		b, err := bundle.Read(folder)
		if err != nil {
			return nil, err
		}
		if isIn(channels, b.Name) {
			all = append(all, b)
		}
	}
	slices.SortFunc(all, func(a, b bundle.Bundle) int { return a.Version.Compare(b.Version) })
	return all, nil
}

func isIn(channels []declcfg.Channel, name string) bool {
	return slices.ContainsFunc(channels, func(c declcfg.Channel) bool {
		return slices.ContainsFunc(c.Entries, func(e declcfg.ChannelEntry) bool { return e.Name == name })
	})
}

// withEarlier adds those that are not among the others. Where the catalog is to be published they leave its channels instead: it
// would offer what nobody can pull. Edges may lead from them all the same, so that whoever runs one is updated.
func (r rendering) withEarlier(others []bundle.Bundle, catalog *declcfg.DeclarativeConfig, scratch string) ([]bundle.Bundle, error) {
	unpublished, err := earlier(r.top, catalog.Channels)
	if err != nil {
		return nil, err
	}
	for _, b := range unpublished {
		if slices.ContainsFunc(others, func(other bundle.Bundle) bool { return other.Name == b.Name }) {
			continue
		}
		if !r.unpublished {
			leaveOut(catalog, b.Name)
			fmt.Printf("left out %s, which is on no registry\n", b.Name)
			continue
		}
		if b, err = named(b, filepath.Join(scratch, "v"+b.Version.String()), strings.TrimSuffix(r.repository, "-bundle")); err != nil {
			return nil, err
		}
		others = append(others, b)
	}
	return others, nil
}

// leaveOut takes a version out of all channels, and what is said of it.
func leaveOut(catalog *declcfg.DeclarativeConfig, name string) {
	for i := range catalog.Channels {
		c := &catalog.Channels[i]
		c.Entries = slices.DeleteFunc(c.Entries, func(e declcfg.ChannelEntry) bool { return e.Name == name })
	}
	for i := range catalog.Deprecations {
		d := &catalog.Deprecations[i]
		d.Entries = slices.DeleteFunc(d.Entries, func(e declcfg.DeprecationEntry) bool { return e.Reference.Name == name })
	}
	catalog.Deprecations = slices.DeleteFunc(catalog.Deprecations, func(d declcfg.Deprecation) bool { return len(d.Entries) == 0 })
}

// fillChannels gives a channel that has lost every version the newest one of the catalog: a channel without any is none, and who
// asks for it would get nothing.
func fillChannels(channels []declcfg.Channel, newest string) {
	for _, c := range channels {
		i := slices.IndexFunc(c.Entries, func(e declcfg.ChannelEntry) bool { return e.Name == newest })
		if i < 0 {
			continue
		}
		for other := range channels {
			if len(channels[other].Entries) == 0 {
				channels[other].Entries = []declcfg.ChannelEntry{c.Entries[i]}
			}
		}
	}
}

// bare is the operator's image, or another of ours, without a registry: bundles named them so up to v0.3.0.
var bare = regexp.MustCompile(`(^|[\s"'])etcd-operator/etcd-operator([-:@])`)

// named returns a copy of a bundle that names our images in one registry, as later bundles do: it would be looked for on a public
// one otherwise.
func named(b bundle.Bundle, folder, image string) (bundle.Bundle, error) {
	if err := os.CopyFS(folder, os.DirFS(b.Folder)); err != nil {
		return b, err
	}
	csv, err := bundle.CSV(folder)
	if err != nil {
		return b, err
	}
	for _, file := range []string{csv, filepath.Join(folder, "tests", "scorecard", "config.yaml")} {
		text, err := os.ReadFile(file)
		if err != nil {
			return b, err
		}
		if err := os.WriteFile(file, bare.ReplaceAll(text, []byte("${1}"+image+"${2}")), 0o644); err != nil {
			return b, err
		}
	}
	return bundle.Read(folder)
}
