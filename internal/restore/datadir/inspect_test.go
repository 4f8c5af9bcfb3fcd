// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package datadir

import (
	"errors"
	"testing"

	bolt "go.etcd.io/bbolt"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
)

func TestInspectReadsWhatIsBesideKeys(t *testing.T) {
	path := database(t, func(s etcdStore) { s.put("a", "1") })
	edit(t, path, func(tx *bolt.Tx) error {
		return errors.Join(
			set(bucketMeta, keyStorageVersion, "3.7.0")(tx),
			set(bucketCluster, keyClusterVersion, "3.7.0")(tx),
			set(bucketAuth, keyAuthEnabled, "\x01")(tx),
			set(bucketAlarm, alarm(t, etcdserverpb.AlarmType_NOSPACE), "")(tx),
			set(bucketLease, []byte("12345678"), "lease")(tx),
			set(bucketMembers, []byte("2"), `{"id":2,"peerURLs":["http://m2:2380"],"isLearner":true}`)(tx),
			set(bucketMembers, []byte("1"), `{"id":1,"name":"m1","peerURLs":["http://m1:2380"],"clientURLs":["http://m1:2379"]}`)(tx),
		)
	})
	info := inspects(t, path)
	if info.StorageVersion != "3.7.0" || info.ClusterVersion != "3.7.0" || !info.AuthEnabled || info.Leases != 1 {
		t.Errorf("%+v", info)
	}
	if len(info.Alarms) != 1 || info.Alarms[0].MemberID != 31 || info.Alarms[0].Kind != "NOSPACE" {
		t.Errorf("alarms: %+v", info.Alarms)
	}
	if len(info.Members) != 2 || info.Members[0].Name != "m1" || info.Members[0].Learner || !info.Members[1].Learner ||
		info.Members[0].ClientURLs[0] != "http://m1:2379" {
		t.Errorf("members: %+v", info.Members)
	}
}

func TestInspectTellsHowFarItIs(t *testing.T) {
	var seen []Progress
	if _, err := Inspect(t.Context(), many(t), func(p Progress) { seen = append(seen, p) }); err != nil {
		t.Fatal(err)
	}
	if len(seen) < 2 {
		t.Errorf("it was reported %d times", len(seen))
	}
	for _, p := range seen {
		if p.Read <= 0 || p.Read >= p.Size {
			t.Errorf("%+v", p)
		}
	}
}
