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

// addEarlier adds those that are not among the others. Where the catalog is to be published they must be, too.
func (r rendering) addEarlier(others []bundle.Bundle, channels []declcfg.Channel, scratch string) ([]bundle.Bundle, error) {
	unpublished, err := earlier(r.top, channels)
	if err != nil {
		return nil, err
	}
	for _, b := range unpublished {
		if slices.ContainsFunc(others, func(other bundle.Bundle) bool { return other.Name == b.Name }) {
			continue
		}
		if !r.unpublished {
			return nil, fmt.Errorf("%s is on no registry, and the template has it: "+
				"publish it by 'make release-earlier IMAGE_REGISTRY=… SIGN_KEY=…', or take it out of the channels", b.Name)
		}
		if b, err = named(b, filepath.Join(scratch, "v"+b.Version.String()), strings.TrimSuffix(r.repository, "-bundle")); err != nil {
			return nil, err
		}
		others = append(others, b)
	}
	return others, nil
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
