// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/report"
)

// TestRevisionIsWrittenRarely: what clients write must not write the status. Only members that
// confirm it count, and never fewer writes than before, unless that was accepted.
func TestRevisionIsWrittenRarely(t *testing.T) {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	const formed = "c1"
	for name, test := range map[string]struct {
		since     time.Duration // when it was written last
		confirmed []int64       // by healthy members
		change    func(after *v1beta1.EtcdClusterStatus, v *cluster.View)
		want      int64
	}{
		"no write":                          {since: 9 * time.Minute, confirmed: []int64{100, 100}, want: 100},
		"writes, a moment ago":              {since: 9 * time.Minute, confirmed: []int64{120, 121}, want: 100},
		"writes, ten minutes ago":           {since: 10 * time.Minute, confirmed: []int64{120, 121}, want: 120},
		"no write for an hour":              {since: time.Hour, confirmed: []int64{100}, want: 100},
		"by a clock that was ahead":         {since: -time.Hour, confirmed: []int64{120}, want: 120},
		"written anyway":                    {confirmed: []int64{120, 121}, change: degraded, want: 120},
		"no member reports one":             {since: time.Hour, confirmed: []int64{0, 0}, want: 100},
		"one that has diverged":             {since: time.Hour, confirmed: []int64{90, 100}, want: 100},
		"writes are missing":                {since: time.Hour, confirmed: []int64{90, 91}, change: degraded, want: 100},
		"writes are missing, for all to go": {confirmed: []int64{90, 91}, change: accepted, want: 90},
		"no quorum":                         {since: time.Hour, confirmed: []int64{120}, change: unread, want: 100},
		"recovering":                        {since: time.Hour, confirmed: []int64{120}, change: recovering, want: 100},
	} {
		before := v1beta1.EtcdClusterStatus{ClusterID: formed, Revision: 100, RevisionTime: &metav1.Time{Time: noon.Add(-test.since)}}
		v := cluster.View{Name: "a", Record: cluster.Record{ClusterID: formed, Revision: 100}}
		for _, revision := range test.confirmed {
			v.Members = append(v.Members, cluster.Member{Healthy: true, Confirmed: revision})
		}
		after := *before.DeepCopy()
		if test.change != nil {
			test.change(&after, &v)
		}
		got := report.Revised(before, after, v, noon)
		if got.Revision != test.want || (got.Revision != 100) != got.RevisionTime.Time.Equal(noon) {
			t.Errorf("%s: revision %d of %s, want %d", name, got.Revision, got.RevisionTime, test.want)
		}
		if isLoss := test.want < 100; isLoss != (got.Recoveries == 1) {
			t.Errorf("%s: %d losses were accepted", name, got.Recoveries)
		}
	}
}

func degraded(after *v1beta1.EtcdClusterStatus, _ *cluster.View) { after.ReadyMembers++ }

func accepted(_ *v1beta1.EtcdClusterStatus, v *cluster.View) { v.Want.Accepted = "a@100" }

func unread(_ *v1beta1.EtcdClusterStatus, v *cluster.View) { v.Unread = "no leader" }

func recovering(after *v1beta1.EtcdClusterStatus, _ *cluster.View) { after.Recovering = "a-0" }
