// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package packaging

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	"github.com/operator-framework/operator-registry/alpha/declcfg"
)

// CheckCatalog returns what is wrong with a file-based catalog. The model of opm knows a graph that is none: a stranded
// version, two heads, a cycle, an edge to nowhere. The rest is what opm lets pass and users would trip over.
func CheckCatalog(folder string, options Options) []Problem {
	content, err := declcfg.LoadFS(context.Background(), os.DirFS(folder))
	if err != nil {
		return []Problem{{"catalog", oneLine(fmt.Sprintf("cannot be read: %v", err))}}
	}
	if _, err := declcfg.ConvertToModel(*content); err != nil {
		return []Problem{{"catalog", oneLine(fmt.Sprintf("opm finds: %v; fix catalog-templates/basic.yaml", err))}}
	}
	var problems []Problem
	for _, check := range []func(*declcfg.DeclarativeConfig, Options) []string{
		oddPackages, oddCatalogChannels, oddPromotions, oddEdges, oddCatalogImages, oddProperties, oddDeprecations,
	} {
		for _, text := range check(content, options) {
			problems = append(problems, Problem{"catalog", oneLine(text)})
		}
	}
	return problems
}

func oddPackages(content *declcfg.DeclarativeConfig, _ Options) []string {
	var all lines
	for _, p := range content.Packages {
		if p.Description == "" || p.Icon == nil {
			all.add("package %s has no description or no icon: add them to the template", p.Name)
		}
		stable := slices.ContainsFunc(content.Channels, func(c declcfg.Channel) bool { return strings.HasPrefix(c.Name, "stable") })
		if stable && !strings.HasPrefix(p.DefaultChannel, "stable") {
			all.add("package %s prefers the channel %s: prefer a stable one", p.Name, p.DefaultChannel)
		}
	}
	return all
}

// oddPromotions wants a version in the candidate channel first, and in the stable one not before the next version is a candidate,
// unless it is the only one.
func oddPromotions(content *declcfg.DeclarativeConfig, _ Options) []string {
	names := map[string][]string{}
	for _, c := range content.Channels {
		for _, entry := range c.Entries {
			names[c.Name] = append(names[c.Name], entry.Name)
		}
	}
	var all lines
	for _, c := range content.Channels {
		line, found := strings.CutPrefix(c.Name, "stable")
		if !found {
			continue
		}
		candidates := names["candidate"+line]
		for _, name := range names[c.Name] {
			if !slices.Contains(candidates, name) {
				all.add("channel %s has %s, which candidate%s has not: a version enters that first", c.Name, name, line)
			}
		}
		if len(names[c.Name]) >= max(len(candidates), 2) {
			all.add("channel %s has every version of candidate%s: the newest enters it with the version after it", c.Name, line)
		}
	}
	return all
}

// oddCatalogChannels wants each version in two hops of the head: whoever comes late must not wait for a chain of updates.
func oddCatalogChannels(content *declcfg.DeclarativeConfig, _ Options) []string {
	var all lines
	for _, c := range content.Channels {
		if !channel.MatchString(c.Name) {
			all.add("channel %q: call it stable-v0, fast-v0 or candidate-v0", c.Name)
		}
		head := headOf(c)
		for _, entry := range c.Entries {
			if hops := distance(content, c, entry.Name, head); hops > 2 {
				all.add("channel %s: from %s to %s it takes more than two updates: widen a skipRange", c.Name, entry.Name, head)
			}
		}
	}
	return all
}

// headOf relies on opm's model, which has found exactly one.
func headOf(c declcfg.Channel) string {
	for _, entry := range c.Entries {
		if !slices.ContainsFunc(c.Entries, func(e declcfg.ChannelEntry) bool {
			return e.Replaces == entry.Name || slices.Contains(e.Skips, entry.Name)
		}) {
			return entry.Name
		}
	}
	return ""
}

// distance counts updates by any edge, three standing for more than two.
func distance(content *declcfg.DeclarativeConfig, c declcfg.Channel, from, to string) int {
	reached := []string{from}
	for hops := range 3 {
		if slices.Contains(reached, to) {
			return hops
		}
		var next []string
		for _, entry := range c.Entries {
			if slices.ContainsFunc(reached, func(name string) bool { return updates(content, entry, name) }) {
				next = append(next, entry.Name)
			}
		}
		reached = append(reached, next...)
	}
	return 3
}

func updates(content *declcfg.DeclarativeConfig, entry declcfg.ChannelEntry, from string) bool {
	if entry.Replaces == from || slices.Contains(entry.Skips, from) {
		return true
	}
	in, err := semver.ParseRange(entry.SkipRange)
	if err != nil || entry.SkipRange == "" {
		return false
	}
	version, known := versionOf(content, from)
	return known && in(version)
}

func versionOf(content *declcfg.DeclarativeConfig, name string) (semver.Version, bool) {
	for _, b := range content.Bundles {
		if b.Name != name {
			continue
		}
		for _, property := range b.Properties {
			var value struct {
				Version string `json:"version"`
			}
			if property.Type == "olm.package" && json.Unmarshal(property.Value, &value) == nil {
				version, err := semver.Parse(value.Version)
				return version, err == nil
			}
		}
	}
	return semver.Version{}, false
}

// oddEdges wants skipRange beside replaces: alone it makes older versions vanish from the channel, so that only the first may
// have it alone. It must be bounded below.
func oddEdges(content *declcfg.DeclarativeConfig, _ Options) []string {
	var all lines
	for _, c := range content.Channels {
		for _, entry := range c.Entries {
			version, _ := versionOf(content, entry.Name)
			place := fmt.Sprintf("channel %s: %s", c.Name, entry.Name)
			if entry.SkipRange != "" {
				for _, text := range oddSkipRange(entry.SkipRange, version) {
					all.add("%s: %s", place, text)
				}
			}
			if entry.SkipRange != "" && entry.Replaces == "" && !isOldest(content, c, version) {
				all.add("%s has a skipRange, but replaces nothing: name what it replaces", place)
			}
			if older, known := versionOf(content, entry.Replaces); known && !older.LT(version) {
				all.add("%s replaces %s, which is not older", place, entry.Replaces)
			}
		}
	}
	return all
}

func isOldest(content *declcfg.DeclarativeConfig, c declcfg.Channel, version semver.Version) bool {
	return !slices.ContainsFunc(c.Entries, func(entry declcfg.ChannelEntry) bool {
		older, known := versionOf(content, entry.Name)
		return known && older.LT(version)
	})
}

func oddCatalogImages(content *declcfg.DeclarativeConfig, options Options) []string {
	var all lines
	for _, b := range content.Bundles {
		if !byDigest.MatchString(b.Image) {
			all.add("bundle %s is the image %s: name it by digest, a released bundle never changes", b.Name, b.Image)
		}
		if !hasRegistry(b.Image) {
			all.add("bundle %s is the image %s: name its registry, else it is looked for on a public one", b.Name, b.Image)
		}
		for _, image := range b.RelatedImages {
			if options.Digests && !byDigest.MatchString(image.Image) {
				all.add("bundle %s needs the image %s: name it by digest", b.Name, image.Image)
			}
		}
	}
	return all
}

// oddProperties wants what OpenShift 4.17 and OLM v1 read: the CSV's metadata, not the whole manifests.
func oddProperties(content *declcfg.DeclarativeConfig, _ Options) []string {
	var all lines
	for _, b := range content.Bundles {
		has := map[string]bool{}
		for _, property := range b.Properties {
			has[property.Type] = true
		}
		if !has["olm.csv.metadata"] || has["olm.bundle.object"] {
			all.add("bundle %s carries its manifests: render with --migrate-level=bundle-object-to-csv-metadata", b.Name)
		}
	}
	return all
}

// oddDeprecations finds entries about nothing: opm's model refuses channels and bundles that it does not know, but not a
// message that says nothing.
func oddDeprecations(content *declcfg.DeclarativeConfig, _ Options) []string {
	var all lines
	for _, d := range content.Deprecations {
		for _, entry := range d.Entries {
			if len(entry.Message) < 20 {
				all.add("deprecation of %s %s says %q: tell users what to do", entry.Reference.Schema, entry.Reference.Name, entry.Message)
			}
		}
	}
	return all
}
