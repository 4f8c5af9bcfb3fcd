// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package docs holds what is written of the project to what there is of it.
package docs

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

// A link is one of Markdown to a place in this repository, and the text that it stands on.
type link struct{ text, file, anchor string }

var (
	links    = regexp.MustCompile(`\[([^\]]*)\]\(([^)\s]+)\)`)
	fences   = regexp.MustCompile("(?ms)^```.*?^```")
	headings = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	unslugs  = regexp.MustCompile(`[^\p{L}\p{N}\- _]`)

	faultRows = regexp.MustCompile(`(?m)^\| \d+ \|`)
)

// linksOf are those of a page that lead into the repository; "mailto:" and "https:" lead
// elsewhere.
func linksOf(t *testing.T, page string) []link {
	var found []link
	for _, match := range links.FindAllStringSubmatch(fences.ReplaceAllString(read(t, page), ""), -1) {
		if strings.Contains(match[2], ":") {
			continue
		}
		file, anchor, _ := strings.Cut(match[2], "#")
		where := page
		if file != "" {
			where = filepath.Join(filepath.Dir(page), file)
		}
		found = append(found, link{match[1], where, anchor})
	}
	return found
}

// TestLinksLeadSomewhere: every link of every page leads to a file that is there, and to a
// heading that is in it.
func TestLinksLeadSomewhere(t *testing.T) {
	seen := 0
	for _, page := range pages(t) {
		for _, to := range linksOf(t, page) {
			seen++
			if _, err := os.Stat(filepath.Join(root, to.file)); err != nil {
				t.Errorf("%s: [%s] leads to %s, which is not there", page, to.text, to.file)
			} else if to.anchor != "" && !slices.Contains(anchors(t, to.file), to.anchor) {
				t.Errorf("%s: [%s] leads to #%s, which is no heading of %s", page, to.text, to.anchor, to.file)
			}
		}
	}
	if seen < 300 {
		t.Errorf("only %d links were found", seen)
	}
}

// TestFaultsAreCounted: the pages that say how many faults have tests say what docs/faults.md lists.
func TestFaultsAreCounted(t *testing.T) {
	count := len(faultRows.FindAllString(read(t, "docs/faults.md"), -1))
	for _, page := range []string{"README.md", "docs/explanation/what-it-guarantees.md"} {
		if !strings.Contains(read(t, page), fmt.Sprintf("%d faults", count)) {
			t.Errorf("%s does not say that docs/faults.md lists %d faults", page, count)
		}
	}
}

// TestCapabilityLevel: the bundle and the README claim the level that the page answers for, and no level above it is said to be reached.
func TestCapabilityLevel(t *testing.T) {
	page := read(t, "docs/capabilities.md")
	claim := regexp.MustCompile(`(?s)annotation .capabilities. of the bundle is .*?: \*\*(.+?)\*\*`).FindStringSubmatch(page)
	reached := regexp.MustCompile(`(?m)^\| \d (.+) \| yes \|`).FindAllStringSubmatch(page, -1)
	if claim == nil || len(reached) == 0 {
		t.Fatal("the page claims no level, or reaches none")
	}
	if highest := reached[len(reached)-1][1]; highest != claim[1] {
		t.Errorf("docs/capabilities.md claims %s and reaches %s", claim[1], highest)
	}
	for file, want := range map[string]string{
		"config/manifests/bases/etcd-operator.clusterserviceversion.yaml": "capabilities: " + claim[1] + "\n",
		"README.md": fmt.Sprintf("Capability level %d of 5, *%s*", len(reached), claim[1]),
	} {
		if !strings.Contains(read(t, file), want) {
			t.Errorf("%s does not say %q", file, strings.TrimSpace(want))
		}
	}
}

// anchors are what the headings of a page are called in links: in small letters, without
// punctuation, with hyphens for spaces.
func anchors(t *testing.T, page string) []string {
	var all []string
	for _, heading := range headings.FindAllStringSubmatch(fences.ReplaceAllString(read(t, page), ""), -1) {
		text := links.ReplaceAllString(heading[1], "$1")
		all = append(all, strings.ReplaceAll(unslugs.ReplaceAllString(strings.ToLower(text), ""), " ", "-"))
	}
	return all
}

// pages are all of Markdown in the repository, but not what is built and what is hidden.
func pages(t *testing.T) []string {
	var all []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && path != root && (strings.HasPrefix(entry.Name(), ".") || slices.Contains([]string{"bin", "dist"}, entry.Name())) {
			return filepath.SkipDir
		}
		if filepath.Ext(path) == ".md" {
			page, err := filepath.Rel(root, path)
			all = append(all, page)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// sources are the Go files below some folders that are no tests.
func sources(t *testing.T, folders ...string) []string {
	t.Helper()
	var all []string
	for _, folder := range folders {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, _ fs.DirEntry, err error) error {
			if err == nil && filepath.Ext(path) == ".go" && !strings.HasSuffix(path, "_test.go") {
				file, err := filepath.Rel(root, path)
				all = append(all, file)
				return err
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func read(t *testing.T, file string) string {
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
