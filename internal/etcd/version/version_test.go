// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package version_test

import (
	"slices"
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/etcd/version"
)

func TestParse(t *testing.T) {
	v := parse(t, "3.6.16")
	if v.String() != "3.6.16" || v.Minor() != "3.6" {
		t.Errorf("3.6.16 became %s of %s", v, v.Minor())
	}
	for _, bad := range []string{
		"", "latest", "3", "3.6", "3.6.", "3.6.x", "3.6.16.1", "v3.6.16", " 3.6.16", "3.6.16-rc.0", "3.6.016", "3.06.16",
		"3.-6.16", "3.+6.16", "3.6.99999999999",
	} {
		if v, err := version.Parse(bad); err == nil {
			t.Errorf("Parse(%q) = %s, want an error", bad, v)
		}
	}
}

// TestCompare guards against the order of texts, in which 3.5.9 is newer than 3.5.35.
func TestCompare(t *testing.T) {
	order := []string{"2.3.8", "3.4.37", "3.5.9", "3.5.26", "3.5.35", "3.6.0", "3.6.16", "3.10.0", "4.0.0"}
	for i, a := range order {
		for j, b := range order {
			x, y := parse(t, a), parse(t, b)
			if got := x.Compare(y); (got < 0) != (i < j) || (got == 0) != (i == j) || got != -y.Compare(x) {
				t.Errorf("Compare(%s, %s) = %d", a, b, got)
			}
		}
	}
	mixed := []version.Version{parse(t, "3.10.0"), parse(t, "3.5.35"), parse(t, "3.5.9")}
	if slices.SortFunc(mixed, version.Version.Compare); mixed[0].String() != "3.5.9" || mixed[2].String() != "3.10.0" {
		t.Errorf("sorted: %v", mixed)
	}
}

func TestMinorBelow(t *testing.T) {
	for full, want := range map[string]string{"3.6.16": "3.5", "3.10.0": "3.9", "3.6": "", "3.6.0-rc.0": "", "": ""} {
		if got := version.MinorBelow(full); got != want {
			t.Errorf("MinorBelow(%q) = %q, want %q", full, got, want)
		}
	}
}

func TestFull(t *testing.T) {
	for wanted, want := range map[string]string{
		"3.5": "3.5.35", "3.6": "3.6.16", "3.7": "3.7.3", "3.6.9": "3.6.9", "3.6.16": "3.6.16", "3.6.99": "3.6.99",
		"3.4": "3.4", "3.8": "3.8", "": "",
	} {
		if got := version.Full(wanted); got != want {
			t.Errorf("Full(%q) = %q, want %q", wanted, got, want)
		}
	}
}

func parse(t *testing.T, s string) version.Version {
	t.Helper()
	v, err := version.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
