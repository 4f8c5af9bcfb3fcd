// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// TestHourlyGrowth: by the samples of the last hour, of which a quarter must have passed; a member that was silent meanwhile has its own,
// and one that is gone none.
func TestHourlyGrowth(t *testing.T) {
	const mib = 1 << 20
	var g growth
	start := time.Unix(0, 0)
	look := func(minute int, members ...cluster.Member) cluster.View {
		v := cluster.View{Members: members}
		g.mark(v, start.Add(time.Duration(minute)*time.Minute))
		return v
	}
	has := func(name string, size int64) cluster.Member {
		return cluster.Member{Name: name, Answers: true, InUse: size * mib}
	}
	for minute, want := range map[int]int64{0: 0, 14: 0, 15: 60, 60: 60} {
		g = nil
		v := cluster.View{}
		for at := 0; at <= minute; at++ {
			v = look(at, has("a-0", 100+int64(at)))
		}
		if got := v.Members[0].HourlyGrowth / mib; got != want {
			t.Errorf("after %d minutes: %d MiB an hour, want %d", minute, got, want)
		}
	}
	// What was an hour ago does not count any more.
	for at := 61; at <= 180; at++ {
		look(at, has("a-0", 160))
	}
	v := look(181, has("a-0", 160), cluster.Member{Name: "a-1", InUse: 7})
	if v.Members[0].HourlyGrowth != 0 || v.Members[1].HourlyGrowth != 0 {
		t.Errorf("%+v", v.Members)
	}
	if samples := len(g["a-0"]); samples > 13 || len(g) != 1 {
		t.Errorf("%d samples of a-0, of %d members", samples, len(g))
	}
	look(182)
	if len(g) != 0 {
		t.Errorf("members that are gone: %v", g)
	}
}
