// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"strings"
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
)

func TestGrowth(t *testing.T) {
	for name, c := range map[string]struct {
		growth  growth
		tooMuch bool
	}{
		"none":                        {growth{100, 100, 200}, false},
		"less than half of the room":  {growth{100, 149, 200}, false},
		"half of the room":            {growth{100, 150, 200}, true},
		"smaller, after a defragment": {growth{100, 20, 200}, false},
		"nearly full when it began":   {growth{190, 190, 200}, false},
		"nearly full, and grows":      {growth{190, 195, 200}, true},
		"over the quota":              {growth{210, 210, 200}, false},
		"no quota is known":           {growth{100, 1 << 40, 0}, false},
	} {
		if got := c.growth.isTooMuch(); got != c.tooMuch {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestGrowthIsTheStores fault, and is reported so; another attempt may succeed.
func TestGrowthIsTheStores(t *testing.T) {
	s := source{candidate: member(2, 9)}
	failed := failure(s.blame(&growthError{"m2", growth{131 << 20, 629 << 20, 1 << 30}}))
	if failed.Reason != jobspec.StoreFailed || failed.Final || !strings.HasPrefix(failed.Message, "the store is too slow") {
		t.Errorf("%+v", failed)
	}
	for _, words := range []string{"store is too slow", "m2", "131 MiB to 629 MiB", "quota of 1024 MiB", "raise spec.etcd.quota"} {
		if !strings.Contains(failed.Message, words) {
			t.Errorf("%q is not in %s", words, failed.Message)
		}
	}
}
