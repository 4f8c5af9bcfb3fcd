// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package version knows the versions of etcd: which ones there are, and the ways
// between them that etcd supports.
//
// It must never import a client, a clock or a context: it computes.
package version

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Version is one release of etcd.
type Version struct{ major, minor, patch int }

// Parse reads a full version such as 3.6.16. Anything else, also a pre-release, is
// an error: etcd supports no way from or to one.
func Parse(s string) (Version, error) {
	parts := strings.Split(s, ".")
	numbers := make([]int, 3)
	if len(parts) != len(numbers) {
		return Version{}, fmt.Errorf("%q is not a full version such as 3.6.16", s)
	}
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 10, 31)
		if err != nil {
			return Version{}, fmt.Errorf("%q is not a full version such as 3.6.16", s)
		}
		numbers[i] = int(n)
	}
	v := Version{numbers[0], numbers[1], numbers[2]}
	if v.String() != s {
		return Version{}, fmt.Errorf("%q has leading zeros; write %s", s, v)
	}
	return v, nil
}

// String is the full version, 3.6.16.
func (v Version) String() string { return fmt.Sprintf("%d.%d.%d", v.major, v.minor, v.patch) }

// Minor is the minor version, 3.6.
func (v Version) Minor() string { return fmt.Sprintf("%d.%d", v.major, v.minor) }

// Compare orders versions by age, as cmp.Compare does.
func (v Version) Compare(other Version) int {
	return cmp.Or(cmp.Compare(v.major, other.major), cmp.Compare(v.minor, other.minor), cmp.Compare(v.patch, other.patch))
}

// MinorOf is the minor version of a full one; empty if it is no release of etcd.
func MinorOf(full string) string {
	v, err := Parse(full)
	if err != nil {
		return ""
	}
	return v.Minor()
}

// MinorBelow is the minor version before that of a full one; empty if it is no release of etcd.
func MinorBelow(full string) string {
	v, err := Parse(full)
	if err != nil {
		return ""
	}
	return Version{major: v.major, minor: v.minor - 1}.Minor()
}

// Order compares two full versions by age, as cmp.Compare does. What is none is
// older than every version.
func Order(a, b string) int {
	x, _ := Parse(a)
	y, _ := Parse(b)
	return x.Compare(y)
}

// Highest is the newest of the versions; empty if there is none.
func Highest(versions []string) string {
	if len(versions) == 0 {
		return ""
	}
	return slices.MaxFunc(versions, Order)
}
