// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// TestAdvise: only what is worth a restart of all members is advised, within etcd's limits, and nothing while nothing was measured.
func TestAdvise(t *testing.T) {
	const ms = time.Millisecond
	for what, test := range map[string]struct {
		heartbeat, election, roundTrip time.Duration
		snapshots                      int64
		version                        string
		want                           string
	}{
		"defaults in one zone":            {100 * ms, 1000 * ms, ms / 2, 10000, "3.6.16", ""},
		"defaults across a region":        {100 * ms, 1000 * ms, 30 * ms, 10000, "3.6.16", ""},
		"defaults, a round trip too long": {100 * ms, 1000 * ms, 120 * ms, 10000, "3.6.16", "electionTimeout 1s -> 1.2s"},
		"defaults across an ocean": {
			100 * ms, 1000 * ms, 230 * ms, 10000, "3.6.16", "heartbeatInterval 100ms -> 230ms; electionTimeout 1s -> 2.3s",
		},
		"nothing measured":      {500 * ms, 5000 * ms, 0, 10000, "3.6.16", ""},
		"long, in one zone":     {500 * ms, 5000 * ms, ms, 10000, "3.6.16", "heartbeatInterval 500ms -> 100ms; electionTimeout 5s -> 1s"},
		"a little long":         {150 * ms, 1500 * ms, ms, 10000, "3.6.16", ""},
		"shorter than defaults": {10 * ms, 100 * ms, ms, 10000, "3.6.16", ""},
		"to the moon": {
			100 * ms, 1000 * ms, 8000 * ms, 10000, "3.6.16", "heartbeatInterval 100ms -> 5s; electionTimeout 1s -> 50s",
		},
		"already the longest": {5000 * ms, 50000 * ms, 12000 * ms, 10000, "3.6.16", ""},
		"many entries":        {100 * ms, 1000 * ms, 0, 100000, "3.6.16", "snapshotCount 100000 -> 10000"},
		"as of etcd 3.5":      {100 * ms, 1000 * ms, 0, 100000, "3.5.35", ""},
		"no version is known": {100 * ms, 1000 * ms, 0, 100000, "", ""},
	} {
		var got []string
		for _, a := range cluster.Advise(cluster.Settings{
			Heartbeat: test.heartbeat, Election: test.election, RoundTrip: test.roundTrip, SnapshotCount: test.snapshots, Version: test.version,
		}) {
			got = append(got, fmt.Sprintf("%s %s -> %s", strings.TrimPrefix(a.Setting, "etcd."), a.Now, a.Wanted))
		}
		if strings.Join(got, "; ") != test.want {
			t.Errorf("%s: %q, want %q", what, got, test.want)
		}
	}
}

// TestAdviseByEntries: as many entries as fit into the room that the log is meant to have, never so few that etcd is busy with snapshots,
// and never more than now.
func TestAdviseByEntries(t *testing.T) {
	why := strings.NewReplacer(
		"an entry of the log has ", "", ": between two snapshots the log takes", ",", " of a volume", "",
		"etcd holds as many entries of its log in memory, and its default is less since 3.6", "version",
	)
	for what, test := range map[string]struct {
		entry, snapshots int64
		version          string
		want             string
	}{
		"nothing measured":               {0, 10_000, "3.6.16", ""},
		"small values":                   {1 << 10, 10_000, "3.6.16", ""},
		"nearly too large":               {26 << 10, 10_000, "3.7.3", ""},
		"four segments":                  {27 << 10, 10_000, "3.7.3", "4800: 27 KiB, 263 MiB"},
		"large values":                   {256 << 10, 10_000, "3.6.16", "500: 256 KiB, 2500 MiB"},
		"values of a MiB":                {1 << 20, 10_000, "3.6.16", "500: 1024 KiB, 10000 MiB"},
		"already few":                    {1 << 20, 900, "3.6.16", ""},
		"fewer than is advised":          {1 << 20, 100, "3.6.16", ""},
		"few, and small values":          {1 << 10, 100, "3.6.16", ""},
		"many entries":                   {1 << 10, 100_000, "3.6.16", "10000: version"},
		"many entries, not measured":     {0, 100_000, "3.6.16", "10000: version"},
		"many entries of some KiB":       {20 << 10, 100_000, "3.6.16", "6500: 20 KiB, 1953 MiB"},
		"as of etcd 3.5":                 {1 << 10, 100_000, "3.5.35", ""},
		"etcd 3.5, some KiB":             {4 << 10, 100_000, "3.5.35", "32700: 4 KiB, 390 MiB"},
		"the most that etcd can be told": {10 << 20, 10_000_000, "", "500: 10240 KiB, 100000000 MiB"},
	} {
		got := ""
		for _, a := range cluster.Advise(cluster.Settings{SnapshotCount: test.snapshots, Version: test.version, EntrySize: test.entry}) {
			got = a.Wanted + ": " + why.Replace(a.Why)
		}
		if got != test.want {
			t.Errorf("%s: %q, want %q", what, got, test.want)
		}
	}
}
