// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// TestLongestPause: that etcd refuses writes is reported by nobody, so that a database which may be full at the next look is looked at more
// often.
func TestLongestPause(t *testing.T) {
	const mebibyte = 1 << 20
	for name, c := range map[string]struct {
		quota, size int64
		want        time.Duration
	}{
		"a small quota":             {64 * mebibyte, mebibyte, 10 * time.Second},
		"the default of 1Gi, empty": {358 * mebibyte, 20 * mebibyte, 1 << 62},
		"the default of 1Gi, used":  {358 * mebibyte, 110 * mebibyte, 10 * time.Second},
		"three quarters are used":   {358 * mebibyte, 270 * mebibyte, 5 * time.Second},
		"a large one":               {8192 * mebibyte, 5000 * mebibyte, 1 << 62},
		"it is not known":           {0, 5000 * mebibyte, 1 << 62},
	} {
		var v cluster.View
		v.Members = []cluster.Member{{Role: cluster.Voter, DBSize: c.size, Pod: cluster.Pod{Quota: c.quota}}}
		got := (&Cluster{}).Longest(v)
		if c.want < time.Hour && got != c.want || c.want > time.Hour && got < time.Hour {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
