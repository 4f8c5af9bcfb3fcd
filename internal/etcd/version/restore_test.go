// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package version_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/etcd/version"
)

// TestRestorable: every refusal says what to do, or what is known.
func TestRestorable(t *testing.T) {
	for _, test := range []struct{ wrote, wanted, refused string }{
		{"3.5.20", "3.5.35", ""},
		{"3.5.35", "3.5.20", ""},
		{"3.5.0", "3.6.16", ""},
		{"3.5.35", "3.7.3", ""},
		{"3.7.99", "3.7.3", ""},
		{"3.7.3", "3.6.16", "etcd 3.6 does not read: create the EtcdCluster with spec.version 3.7, and lower it once"},
		{"3.7.3", "3.5.35", "with spec.version 3.7"},
		{"3.6.0", "3.5.35", "with spec.version 3.6"},
		{"3.4.37", "3.5.35", "its data is of etcd 3.4, and this operator knows etcd 3.5, 3.6 or 3.7 only"},
		{"3.8.0", "3.7.3", "its data is of etcd 3.8, and this operator knows"},
		{"3.6.16", "3.8.0", `spec.version "3.8.0" is not known to this operator`},
		{"3.6.16", "3.6", `spec.version "3.6" is not known`},
		{"", "3.6.16", `its data is of etcd "", which is no release`},
		{"3.7.0-rc.1", "3.7.3", "which is no release"},
	} {
		why := version.Restorable(test.wrote, test.wanted, "create the EtcdCluster with")
		if (why == "") != (test.refused == "") || !strings.Contains(why, test.refused) {
			t.Errorf("data of %q under %q: %q", test.wrote, test.wanted, why)
		}
	}
}

// TestBegin: with the minor version that wrote the data, by a patch of which there is an image.
func TestBegin(t *testing.T) {
	for _, test := range []struct{ wrote, wanted, begins string }{
		{"3.6.10", "3.6.16", "3.6.16"},
		{"3.6.16", "3.6.10", "3.6.10"},
		{"3.6.10", "3.7.3", "3.6.16"},
		{"3.5.20", "3.7.3", "3.5.35"},
		{"3.5.99", "3.6.16", "3.5.99"},
	} {
		if got := version.Begin(test.wrote, test.wanted); got != test.begins {
			t.Errorf("data of %s under %s begins with %s, want %s", test.wrote, test.wanted, got, test.begins)
		}
	}
}

// TestNoEtcdBeginsWithNewerData: of all pairs that are not refused, and the way from there exists.
func TestNoEtcdBeginsWithNewerData(t *testing.T) {
	for from := range 12 {
		for to := range 12 {
			wrote, wanted := fmt.Sprintf("3.%d.1", from), fmt.Sprintf("3.%d.2", to)
			allowed := version.Restorable(wrote, wanted, "") == ""
			if allowed != (from >= 5 && from <= to && to <= 7) {
				t.Errorf("data of %s under %s is allowed: %t", wrote, wanted, allowed)
			}
			if !allowed {
				continue
			}
			begins := version.Begin(wrote, wanted)
			if version.MinorOf(begins) != version.MinorOf(wrote) {
				t.Errorf("data of %s begins with %s", wrote, begins)
			}
			if way := version.Next(wanted, []string{begins}, "", false); way.NoUpgradePath != "" {
				t.Errorf("from %s to %s: %s", begins, wanted, way.NoUpgradePath)
			}
		}
	}
}
