// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
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

// covers wants every bundle in a channel, and every entry of a channel to have its bundle. The entries of bundles are not
// written by hand: which image holds one is known where it is kept.
func (t *template) covers(bundles []bundle.Bundle) error {
	if len(t.of("olm.bundle")) > 0 {
		return errors.New("the template has an olm.bundle: leave it out, it follows from the channels")
	}
	offered := map[string]bool{}
	for _, c := range t.of("olm.channel") {
		for _, e := range entries(c) {
			offered[text(e["name"])] = true
		}
	}
	for _, b := range bundles {
		if !offered[b.Name] {
			return fmt.Errorf("%s is in no channel of the template: add it to the candidate one, with what it replaces", b.Folder)
		}
		delete(offered, b.Name)
	}
	for _, name := range sortedKeys(offered) {
		return fmt.Errorf("the template names %s, but there is no such bundle in releases/ or bundle/", name)
	}
	return nil
}

// cut leaves out versions above a limit, and what is said about them.
func (t *template) cut(limit string, bundles []bundle.Bundle) ([]bundle.Bundle, error) {
	highest, err := semver.Parse(limit)
	if err != nil {
		return nil, fmt.Errorf("-until: %w", err)
	}
	above := func(of string) bool {
		version, err := semver.ParseTolerant(of)
		return err == nil && version.GT(highest)
	}
	for _, c := range t.of("olm.channel") {
		var kept []any
		for _, e := range entries(c) {
			if !above(versionOf(text(e["name"]))) {
				kept = append(kept, e)
			}
		}
		c["entries"] = kept
	}
	t.Entries = slices.DeleteFunc(t.Entries, func(e entry) bool {
		return e["schema"] == "olm.deprecations" || e["schema"] == "olm.channel" && len(entries(e)) == 0
	})
	return slices.DeleteFunc(bundles, func(b bundle.Bundle) bool { return b.Version.GT(highest) }), nil
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

// versionOf is the end of a bundle's name, with its v.
func versionOf(bundle string) string { return bundle[strings.LastIndex(bundle, ".v")+1:] }

func sortedKeys[V any](all map[string]V) []string { return slices.Sorted(maps.Keys(all)) }
