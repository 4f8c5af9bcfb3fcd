// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"reflect"
	"strings"
	"testing"
)

func TestTimings(t *testing.T) {
	got, err := parseTimings(strings.NewReader(`# HELP etcd_disk_wal_fsync_duration_seconds The latency distributions of fsync called by WAL.
# TYPE etcd_disk_wal_fsync_duration_seconds histogram
etcd_disk_wal_fsync_duration_seconds_bucket{le="0.001"} 7
etcd_disk_wal_fsync_duration_seconds_sum 0.25
etcd_disk_wal_fsync_duration_seconds_count 8
etcd_disk_backend_commit_duration_seconds_sum 1.5e-3
etcd_disk_backend_commit_duration_seconds_count 3
etcd_server_apply_duration_seconds_bucket{op="Put",success="true",version="v3",le="0.0001"} 3
etcd_server_apply_duration_seconds_sum{op="Put",success="true",version="v3"} 0.5
etcd_server_apply_duration_seconds_count{op="Put",success="true",version="v3"} 4
etcd_server_apply_duration_seconds_sum{op="Range",success="true",version="v3"} 0.25
etcd_server_apply_duration_seconds_count{op="Range",success="true",version="v3"} 1
etcd_disk_wal_write_bytes_total 7.7e+06
etcd_server_proposals_applied_total 1234
process_start_time_seconds 1.8e+09
etcd_network_peer_round_trip_time_seconds_bucket{To="b2",le="0.0001"} 0
etcd_network_peer_round_trip_time_seconds_sum{To="b2"} 0.02
etcd_network_peer_round_trip_time_seconds_count{To="b2"} 2
etcd_network_peer_round_trip_time_seconds_sum{To="a1"} 0.01
etcd_network_peer_round_trip_time_seconds_count{To="a1"} 1
up
`))
	want := Timings{
		Fsync: Total{0.25, 8}, Commit: Total{0.0015, 3}, Apply: Total{0.75, 5},
		Log:        Log{Started: 1.8e9, Bytes: 7.7e6, Applied: 1234},
		RoundTrips: []RoundTrip{{"a1", Total{0.01, 1}}, {"b2", Total{0.02, 2}}},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
}
