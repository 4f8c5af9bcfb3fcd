// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"sigs.k8s.io/yaml"

	"github.com/etcd-operator/etcd-operator/hack/packaging/internal/bundle"
)

// entry is one object of a template: olm.package, olm.channel, olm.bundle or olm.deprecations.
type entry = map[string]any

type template struct {
	Schema  string  `json:"schema"`
	Entries []entry `json:"entries"`
}

func readTemplate(file string) (*template, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	t := &template{}
	if err := yaml.UnmarshalStrict(raw, t); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return t, nil
}

func (t *template) of(schema string) []entry {
	var found []entry
	for _, e := range t.Entries {
		if e["schema"] == schema {
			found = append(found, e)
		}
	}
	return found
}

func (t *template) images() []string {
	var all []string
	for _, e := range t.of("olm.bundle") {
		all = append(all, text(e["image"]))
	}
	return all
}

// covers wants every bundle that there is in every channel: a release that nobody can be given was forgotten.
func (t *template) covers(bundles []bundle.Bundle) error {
	for _, b := range bundles {
		if !slices.ContainsFunc(t.images(), func(image string) bool { return strings.HasSuffix(image, ":v"+b.Version.String()) }) {
			return fmt.Errorf("%s is not in the template: add its image and an entry in each channel", b.Folder)
		}
		for _, c := range t.of("olm.channel") {
			if !slices.ContainsFunc(entries(c), func(e entry) bool { return text(e["name"]) == b.Name }) {
				return fmt.Errorf("%s is in no entry of channel %s: add it, with what it replaces", b.Name, text(c["name"]))
			}
		}
	}
	return nil
}

// cut leaves out versions above a limit, and what is said about them.
func (t *template) cut(limit string) error {
	highest, err := semver.Parse(limit)
	if err != nil {
		return fmt.Errorf("-until: %w", err)
	}
	above := func(of string) bool {
		version, err := semver.ParseTolerant(of)
		return err == nil && version.GT(highest)
	}
	t.Entries = slices.DeleteFunc(t.Entries, func(e entry) bool {
		return e["schema"] == "olm.deprecations" || e["schema"] == "olm.bundle" && above(tag(text(e["image"])))
	})
	for _, c := range t.of("olm.channel") {
		var kept []any
		for _, e := range entries(c) {
			if !above(versionOf(text(e["name"]))) {
				kept = append(kept, e)
			}
		}
		c["entries"] = kept
	}
	return nil
}

// fillIcon takes the icon from the newest bundle, so that it is drawn in one place.
func (t *template) fillIcon(bundles []bundle.Bundle) error {
	if len(bundles) == 0 {
		return fmt.Errorf("there is no bundle: run 'make bundle'")
	}
	for _, p := range t.of("olm.package") {
		if p["icon"] == nil {
			p["icon"] = bundles[len(bundles)-1].Icon
		}
	}
	return nil
}

// pin names each bundle image by the digest that the host has for its tag.
func (t *template) pin(ctx context.Context, host string) error {
	for _, e := range t.of("olm.bundle") {
		image := text(e["image"])
		ref, err := name.ParseReference(host + "/" + image)
		if err != nil {
			return err
		}
		found, err := remote.Head(ref, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain))
		if err != nil {
			return fmt.Errorf("bundle image %s (was it pushed?): %w", ref, err)
		}
		e["image"] = host + "/" + strings.TrimSuffix(image, ":"+tag(image)) + "@" + found.Digest.String()
	}
	return nil
}

func entries(channel entry) []entry {
	list, _ := channel["entries"].([]any)
	var all []entry
	for _, one := range list {
		if e, ok := one.(entry); ok {
			all = append(all, e)
		}
	}
	return all
}

func text(value any) string {
	s, _ := value.(string)
	return s
}

// tag is what follows the last colon of an image's name.
func tag(image string) string { return image[strings.LastIndex(image, ":")+1:] }

// versionOf is the end of a bundle's name, with its v.
func versionOf(bundle string) string { return bundle[strings.LastIndex(bundle, ".v")+1:] }

func sortedKeys[V any](all map[string]V) []string { return slices.Sorted(maps.Keys(all)) }
