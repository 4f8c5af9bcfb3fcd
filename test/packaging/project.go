// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package packaging

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/blang/semver/v4"
	"sigs.k8s.io/yaml"
)

// Rights are the generated roles whose rules a bundle must grant, below the top of the checkout.
var Rights = []string{
	"config/rbac/role.yaml", "config/rbac/leader_election_role.yaml", "config/rbac/metrics_auth_role.yaml",
}

// Releases lists the folders of published bundles, oldest first.
func Releases(top string) ([]string, error) { return bundlesIn(filepath.Join(top, "releases")) }

// Unpublished lists the folders of bundles as they were cut before there was a registry, oldest first. Only this repository's catalog has
// them, until `make release-earlier` has published them.
func Unpublished(top string) ([]string, error) {
	return bundlesIn(filepath.Join(top, "releases", "unpublished"))
}

func bundlesIn(place string) ([]string, error) {
	folders, err := filepath.Glob(filepath.Join(place, "v*", "manifests"))
	if err != nil {
		return nil, err
	}
	for i, folder := range folders {
		folders[i] = filepath.Dir(folder)
		if folderVersion(folders[i]) == "" {
			return nil, fmt.Errorf("%s: not named after a version", folders[i])
		}
	}
	slices.SortFunc(folders, func(a, b string) int {
		return semver.MustParse(folderVersion(a)).Compare(semver.MustParse(folderVersion(b)))
	})
	return folders, nil
}

// Project returns what a bundle of a checkout is compared with. What is yet to be released must fit the sources; a release
// fits those of its own time, so only what its users update from counts.
func Project(top, folder string) (Options, error) {
	bundle, err := Load(folder)
	if err != nil {
		return Options{}, err
	}
	version := bundle.CSV.Spec.Version.Version
	var options Options
	if options.Released, err = ReleaseDate(top, version.String()); err != nil {
		return options, err
	}
	if options.Reviewed, err = readReviewed(filepath.Join(top, "test", "packaging", "reviewed.yaml")); err != nil {
		return options, err
	}
	unpublished, err := Unpublished(top)
	if err != nil {
		return options, err
	}
	releases, err := Releases(top)
	if err != nil {
		return options, err
	}
	for _, release := range append(unpublished, releases...) {
		if semver.MustParse(folderVersion(release)).LT(version) {
			options.Previous = append(options.Previous, release)
		}
	}
	if folderVersion(folder) != "" {
		options.Digests = true
		return options, nil
	}
	for _, file := range Rights {
		options.Rights = append(options.Rights, filepath.Join(top, file))
	}
	options.Dockerfile = filepath.Join(top, "bundle.Dockerfile")
	options.CRDs, err = filepath.Glob(filepath.Join(top, "config", "crd", "bases", "*.yaml"))
	return options, err
}

func readReviewed(file string) ([]Reviewed, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var reviewed []Reviewed
	if err := yaml.UnmarshalStrict(raw, &reviewed); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for _, r := range reviewed {
		if r.Because == "" {
			return nil, fmt.Errorf("%s: %s since %s has no reason: say why no stored object breaks it", file, r.Field, strings.Join(r.Since, ", "))
		}
	}
	return reviewed, nil
}

// heading is that of a released version in the changelog.
var heading = regexp.MustCompile(`(?m)^## \[?v?([0-9]+\.[0-9]+\.[0-9]+[^\] ]*)\]? - ([0-9]{4}-[0-9]{2}-[0-9]{2})`)

// ReleaseDate is the day in the changelog, or for what is yet to be released the day of the last commit. It is never today:
// tests of an old checkout must not begin to fail because time goes by. Sources without git get the newest day in the
// changelog.
func ReleaseDate(top, version string) (time.Time, error) {
	changelog, err := os.ReadFile(filepath.Join(top, "CHANGELOG.md"))
	if err != nil {
		return time.Time{}, err
	}
	newest := time.Time{}
	for _, match := range heading.FindAllStringSubmatch(string(changelog), -1) {
		day, err := time.Parse(time.DateOnly, match[2])
		switch {
		case err != nil:
			return time.Time{}, fmt.Errorf("CHANGELOG.md: %w", err)
		case match[1] == version:
			return day, nil
		case day.After(newest):
			newest = day
		}
	}
	if commit, err := lastCommit(top); err == nil {
		return commit, nil
	}
	if newest.IsZero() {
		return newest, errors.New("no release in CHANGELOG.md has a day, and there is no git to ask")
	}
	return newest, nil
}

func lastCommit(top string) (time.Time, error) {
	out, err := exec.Command("git", "-c", "safe.directory=*", "-C", top, "log", "-1", "--format=%ct").Output()
	if err != nil {
		return time.Time{}, err
	}
	seconds, err := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
	return time.Unix(seconds, 0).UTC(), err
}
