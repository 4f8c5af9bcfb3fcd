// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// TestEntrySize: the largest mean of the last hour, of a thousand entries or more that one process has written.
func TestEntrySize(t *testing.T) {
	var m Cluster
	log := func(started, bytes, applied float64) cluster.Log {
		return cluster.Log{Started: started, Bytes: bytes, Applied: applied}
	}
	for _, test := range []struct {
		minutes     int
		log, second cluster.Log
		want        int64
	}{
		{0, log(1, 5e8, 1e6), log(1, 0, 1e6), 0},              // what it wrote before is not known
		{1, log(1, 6e8, 1e6+999), log(1, 1, 1e6), 0},          // too few
		{2, log(1, 6e8, 1e6+1e3), log(1, 1, 1e6), 1e5},        // since the first look
		{3, log(1, 7e8, 1e6+3e3), log(1, 1, 1e6), 1e5},        // the largest counts
		{4, log(2, 9e8, 1e6+5e3), log(1, 1, 1e6), 1e5},        // it has restarted
		{5, log(2, 9e8, 1e6+7e3), log(1, 3e8, 1e6+2e3), 15e4}, // the larger one of both
		{64, log(2, 9e8, 1e6+9e3), log(1, 3e8, 1e6+2e3), 15e4},
		{66, log(2, 9e8+1e6, 1e6+1e4), log(1, 3e8, 1e6+2e3), 1e3}, // of the last hour
	} {
		v := led("a-0")
		v.Speeds = []cluster.Speed{{Member: "a-0", Log: test.log}, {Member: "a-1", Log: test.second}}
		m.Slow(v, time.Unix(1_800_000_000, 0).Add(time.Duration(test.minutes)*time.Minute))
		if got := m.EntrySize(); got != test.want {
			t.Errorf("after %d minutes: %d, want %d", test.minutes, got, test.want)
		}
	}
}
