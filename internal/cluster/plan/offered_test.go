// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
)

// TestOfferedBackup: nothing accepts it while a person has to do something else first, or once one has decided.
func TestOfferedBackup(t *testing.T) {
	survivor := cluster.Member{Name: "a-0", Role: cluster.Voter, Volume: cluster.Kept, Revision: 7, Index: 9, Pod: placed}
	for what, test := range map[string]struct {
		change func(*cluster.View, *cluster.Member)
		want   string
	}{
		"it is there":                  {func(*cluster.View, *cluster.Member) {}, "backup/nightly@5"},
		"there is none":                {func(v *cluster.View, _ *cluster.Member) { v.Candidate = cluster.RestoreCandidate{} }, ""},
		"it does not fit":              {func(v *cluster.View, _ *cluster.Member) { v.Candidate.Problem = "too large" }, ""},
		"members are replaced":         {func(v *cluster.View, _ *cluster.Member) { v.Restore.InPlace = "r1" }, ""},
		"the survivor was accepted":    {func(v *cluster.View, _ *cluster.Member) { v.Record.Recovering = "a-0" }, ""},
		"the survivor's volume goes":   {func(_ *cluster.View, m *cluster.Member) { m.Volume = cluster.Going }, ""},
		"the survivor reports nothing": {func(_ *cluster.View, m *cluster.Member) { m.Index, m.Revision = 0, 0 }, "backup/nightly@5"},
		"the accepted survivor went, too": {
			func(v *cluster.View, m *cluster.Member) { v.Record.Recovering, m.Damage = "a-0", "damaged" }, "backup/nightly@5",
		},
	} {
		m, v := survivor, cluster.View{Name: "a", Candidate: nightly}
		test.change(&v, &m)
		v.Members = []cluster.Member{m}
		if got := plan.Offered(v, plan.QuorumLoss{Survivors: v.Members}); got != test.want {
			t.Errorf("%s: %q, want %q", what, got, test.want)
		}
	}
}

// TestBehindTheBackup: what is not known is not said to be nothing.
func TestBehindTheBackup(t *testing.T) {
	for _, c := range []struct {
		record, survivor, lost int64
		known                  bool
	}{{0, 0, 0, false}, {0, 4, 0, false}, {4, 4, 0, false}, {5, 0, 0, true}, {0, 5, 0, true}, {9, 7, 4, true}, {7, 9, 4, true}} {
		v := cluster.View{Candidate: nightly, Record: cluster.Record{Revision: c.record}}
		lost, known := plan.Behind(v, plan.QuorumLoss{Survivors: []cluster.Member{{Revision: c.survivor}}})
		if known != c.known || known && lost != c.lost {
			t.Errorf("%+v: %d, %t", c, lost, known)
		}
	}
}
