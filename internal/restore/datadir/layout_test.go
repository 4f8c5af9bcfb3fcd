// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package datadir

import (
	"bytes"
	"testing"

	"go.etcd.io/etcd/server/v3/storage/mvcc"
	"go.etcd.io/etcd/server/v3/storage/schema"
)

func TestNamesAreEtcds(t *testing.T) {
	for _, pair := range [][2][]byte{
		{bucketKey, schema.Key.Name()},
		{bucketMeta, schema.Meta.Name()},
		{bucketLease, schema.Lease.Name()},
		{bucketAlarm, schema.Alarm.Name()},
		{bucketCluster, schema.Cluster.Name()},
		{bucketMembers, schema.Members.Name()},
		{bucketMembersRemoved, schema.MembersRemoved.Name()},
		{bucketAuth, schema.Auth.Name()},
		{keyScheduledCompact, schema.ScheduledCompactKeyName},
		{keyFinishedCompact, schema.FinishedCompactKeyName},
		{keyConsistentIndex, schema.MetaConsistentIndexKeyName},
		{keyTerm, schema.MetaTermKeyName},
		{keyStorageVersion, schema.MetaStorageVersionName},
		{keyClusterVersion, schema.ClusterClusterVersionKeyName},
		{keyAuthEnabled, schema.AuthEnabledKeyName},
		{revisionName(1 << 40), mvcc.RevToBytes(mvcc.Revision{Main: 1 << 40}, mvcc.NewRevBytes())},
	} {
		if !bytes.Equal(pair[0], pair[1]) {
			t.Errorf("%q is %q in etcd", pair[0], pair[1])
		}
	}
}

func TestVersionsAreComparedByMinor(t *testing.T) {
	for _, c := range []struct {
		a, b  string
		older bool
	}{
		{"3.5", "3.6.0", true},
		{"3.6", "3.6.0", false},
		{"3.6", "3.6.16", false},
		{"3.9", "3.10.0", true},
		{"3.7", "4.0.0", true},
		{"4.0", "3.7.0", false},
		{"3.6", "", false}, // a database that names no version
		{"", "3.6.0", true},
	} {
		if got := older(c.a, c.b); got != c.older {
			t.Errorf("%q older than %q: %v", c.a, c.b, got)
		}
	}
}
