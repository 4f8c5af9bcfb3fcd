// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"bufio"
	"cmp"
	"context"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Timings are what a member has counted since it started: what lies between two of them is what happened meanwhile.
type Timings struct {
	Fsync, Commit Total // of the write-ahead log, and of the database
	Apply         Total // of requests
	RoundTrips    []RoundTrip
	CPUSeconds    float64 // that the process has used
	Memory        float64 // bytes that are resident now
	Log           Log
}

// Total is how often something was done, and how many seconds that took in all.
type Total struct{ Seconds, Count float64 }

// Log is how many bytes the process has written to its write-ahead log since it started, in seconds since 1970, and up to which entry the
// log is applied.
type Log struct{ Started, Bytes, Applied float64 }

// RoundTrip is the one to a peer, by its ID in hexadecimal.
type RoundTrip struct {
	To string
	Total
}

// The metrics that have them, of which the first four are histograms (server/storage/wal/metrics.go, server/storage/backend/metrics.go,
// server/etcdserver/txn/metrics.go and server/etcdserver/api/rafthttp/metrics.go; those of the log are gauges of
// server/storage/wal/metrics.go and server/etcdserver/metrics.go, the others of Prometheus' collector of a process). etcd 3.5 counts the
// bytes of small entries twice, when they are buffered and when they are flushed.
const (
	fsyncMetric     = "etcd_disk_wal_fsync_duration_seconds"
	commitMetric    = "etcd_disk_backend_commit_duration_seconds"
	applyMetric     = "etcd_server_apply_duration_seconds"
	roundTripMetric = "etcd_network_peer_round_trip_time_seconds"
	cpuMetric       = "process_cpu_seconds_total"
	memoryMetric    = "process_resident_memory_bytes"
	startedMetric   = "process_start_time_seconds"
	writtenMetric   = "etcd_disk_wal_write_bytes_total"
)

// ReadTimings reads them from the metrics that a member serves in plain HTTP at that address, host and port.
func ReadTimings(ctx context.Context, address string) (Timings, error) {
	var timings Timings
	err := readMetrics(ctx, address, func(metrics io.Reader) (err error) {
		timings, err = parseTimings(metrics)
		return err
	})
	return timings, err
}

func parseTimings(metrics io.Reader) (Timings, error) {
	var timings Timings
	lines := bufio.NewScanner(metrics)
	for lines.Scan() {
		metric, text, _ := strings.Cut(lines.Text(), " ")
		if single := timings.single(metric); single != nil {
			*single, _ = strconv.ParseFloat(text, 64)
			continue
		}
		name, labels, _ := strings.Cut(metric, "{")
		name, part := name[:max(0, strings.LastIndex(name, "_"))], name[max(0, strings.LastIndex(name, "_")):]
		total := timings.of(name, labels)
		value, err := strconv.ParseFloat(text, 64)
		switch {
		case total == nil || err != nil:
		case part == "_sum":
			total.Seconds += value // requests have one for each kind
		case part == "_count":
			total.Count += value
		}
	}
	slices.SortFunc(timings.RoundTrips, func(a, b RoundTrip) int { return cmp.Compare(a.To, b.To) })
	return timings, lines.Err()
}

// single is what has one value; nil if it has not.
func (t *Timings) single(metric string) *float64 {
	switch metric {
	case cpuMetric:
		return &t.CPUSeconds
	case memoryMetric:
		return &t.Memory
	case startedMetric:
		return &t.Log.Started
	case writtenMetric:
		return &t.Log.Bytes
	case appliedMetric:
		return &t.Log.Applied
	default:
		return nil
	}
}

// of is the total of a histogram; nil if it is none of them.
func (t *Timings) of(name, labels string) *Total {
	switch name {
	case fsyncMetric:
		return &t.Fsync
	case commitMetric:
		return &t.Commit
	case applyMetric:
		return &t.Apply
	case roundTripMetric:
	default:
		return nil
	}
	_, to, _ := strings.Cut(labels, `To="`)
	to, _, _ = strings.Cut(to, `"`)
	for i := range t.RoundTrips {
		if t.RoundTrips[i].To == to {
			return &t.RoundTrips[i].Total
		}
	}
	t.RoundTrips = append(t.RoundTrips, RoundTrip{To: to})
	return &t.RoundTrips[len(t.RoundTrips)-1].Total
}
