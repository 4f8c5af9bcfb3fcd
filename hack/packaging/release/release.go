// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/etcd-operator/etcd-operator/hack/packaging/internal/oci"
)

var (
	plainVersion = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$`)
	anyHeading   = regexp.MustCompile(`(?m)^## .*$`)
	link         = regexp.MustCompile(`(?m)^\[[^\]]+\]: \S+$`)
)

// notes cuts the section of a version from the changelog. The version must have its day there: what is under "Unreleased" is
// not released, but for a pre-release, which has no section of its own.
func notes(changelog, version string) (string, error) {
	if !plainVersion.MatchString(version) {
		return "", fmt.Errorf("%q is no version: write it like 0.3.0", version)
	}
	heading := regexp.MustCompile(`^## \[?` + regexp.QuoteMeta(version) + `\]? - [0-9]{4}-[0-9]{2}-[0-9]{2}$`)
	if strings.Contains(version, "-") && !slices.ContainsFunc(anyHeading.FindAllString(changelog, -1), heading.MatchString) {
		heading = regexp.MustCompile(`^## \[?Unreleased\]?$`)
	}
	places := anyHeading.FindAllStringIndex(changelog, -1)
	for i, place := range places {
		if !heading.MatchString(changelog[place[0]:place[1]]) {
			continue
		}
		end := len(changelog)
		if i+1 < len(places) {
			end = places[i+1][0]
		}
		text := strings.TrimSpace(link.ReplaceAllString(changelog[place[1]:end], ""))
		if text == "" {
			return "", fmt.Errorf("the section of %s in the changelog is empty: say what changed", version)
		}
		return text + "\n", nil
	}
	return "", fmt.Errorf("the changelog has no section of %s: rename [Unreleased] to [%s] - <day>", version, version)
}

// same returns the digest of the image that two layouts hold.
func same(first, second string) (v1.Hash, error) {
	one, err := digestOf(first)
	if err != nil {
		return v1.Hash{}, err
	}
	other, err := digestOf(second)
	if err != nil {
		return v1.Hash{}, err
	}
	if one != other {
		return v1.Hash{}, fmt.Errorf("built twice, it became %s and %s: something of this machine or of today got in", one, other)
	}
	return one, nil
}

func digestOf(folder string) (v1.Hash, error) {
	index, err := oci.ReadLayout(folder)
	if err != nil {
		return v1.Hash{}, err
	}
	return index.Digest()
}
