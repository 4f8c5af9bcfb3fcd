// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
)

// TestFault32SlowLeader: a leader whose disk becomes ten times slower is found within a minute, by what is counted between two looks, and
// leadership is moved once in ten minutes. Nobody is looked at during a backup.
func TestFault32SlowLeader(t *testing.T) {
	for _, busy := range []bool{false, true} {
		var m Cluster
		now := time.Unix(0, 0).Add(time.Hour)
		totals := map[string]*cluster.Total{"a-0": {}, "a-1": {}, "a-2": {}}
		look := func(slow float64) cluster.View {
			v := led("a-0")
			v.Members = append(v.Members, cluster.Member{Name: "a-2", Role: cluster.Voter, Healthy: true})
			v.Busy, v.Speeds = busy, nil
			for _, member := range v.Members {
				mean := 0.004
				if member.Name == "a-0" {
					mean *= slow
				}
				total := totals[member.Name]
				total.Seconds, total.Count = total.Seconds+mean*100, total.Count+100
				v.Speeds = append(v.Speeds, cluster.Speed{Member: member.Name, Fsync: *total})
			}
			v.Anomalies, v.Relieved = m.Slow(v, now)
			return v
		}
		for range 1000 {
			now = now.Add(20 * time.Second)
			if v := look(1); len(v.Anomalies) > 0 {
				t.Fatalf("nobody is slow: %+v", v.Anomalies)
			}
		}
		begun := now
		var v cluster.View
		for len(v.Anomalies) == 0 && now.Sub(begun) < time.Minute {
			now = now.Add(5 * time.Second)
			v = look(10)
		}
		leader, _ := v.Leader()
		if found := len(v.Anomalies) == 1 && leader.Sluggish; found == busy {
			t.Fatalf("busy %t: %+v, %+v", busy, v.Anomalies, leader)
		}
		if busy {
			continue
		}
		m.Note(v, plan.MoveLeader{From: "a-0", To: "a-1"}, Ending{}, now)
		now = now.Add(relievedFor - time.Second)
		if v := look(10); !v.Relieved {
			t.Error("leadership may be moved again at once")
		}
		now = now.Add(time.Minute)
		if v := look(10); v.Relieved {
			t.Error("leadership is never moved again")
		}
	}
}

// TestSpeedIsAskedForRarely: a cluster that changes is looked at many times a second.
func TestSpeedIsAskedForRarely(t *testing.T) {
	var m Cluster
	now := time.Unix(0, 0).Add(time.Hour)
	v := led("a-0")
	v.Speeds = []cluster.Speed{{Member: "a-0"}}
	if !m.IsSpeedDue(now) {
		t.Error("it is not asked for at first")
	}
	m.Slow(v, now)
	if m.IsSpeedDue(now.Add(speedEvery-1)) || !m.IsSpeedDue(now.Add(speedEvery)) {
		t.Error("it is asked for at another time")
	}
}

// TestRoundTrip: the largest mean of the last hour between two members that are listed, of enough of them.
func TestRoundTrip(t *testing.T) {
	var m Cluster
	now := time.Unix(0, 0).Add(time.Hour)
	look := func(count, seconds float64, after time.Duration) time.Duration {
		v := led("a-0")
		v.Members[0].ID, v.Members[1].ID = 0xa, 0xb
		v.Speeds = []cluster.Speed{
			{Member: "a-0", RoundTrips: []cluster.RoundTrip{{To: "b", Total: cluster.Total{Seconds: seconds, Count: count}}, {
				To: "c", Total: cluster.Total{Seconds: 1000, Count: 100}, // it was removed
			}}},
			{Member: "a-1", RoundTrips: []cluster.RoundTrip{{To: "a", Total: cluster.Total{Seconds: count * 0.001, Count: count}}}},
		}
		m.Slow(v, now.Add(after))
		return m.RoundTrip().Round(time.Microsecond)
	}
	for _, test := range []struct {
		count, seconds float64
		after, want    time.Duration
	}{
		{5, 10, 0, 0},
		{20, 0.04, time.Minute, 2 * time.Millisecond},
		{40, 4, 2 * time.Minute, 2 * time.Millisecond},
		{120, 0.54, measureFor + time.Minute, 5 * time.Millisecond},
	} {
		if got := look(test.count, test.seconds, test.after); got != test.want {
			t.Errorf("after %s: %s, want %s", test.after, got, test.want)
		}
	}
}

// TestDistanceIsNotSlowness: members of a stretched cluster are far away from each other and from the operator, and are not slow; that one
// replaces them every day would not bring them nearer.
func TestDistanceIsNotSlowness(t *testing.T) {
	var m Cluster
	now := time.Unix(0, 0).Add(time.Hour)
	for n := range 500 {
		v := led("a-0")
		v.Members = append(v.Members, cluster.Member{Name: "a-2", Role: cluster.Voter, Healthy: true, Behind: 5000})
		v.Speeds = nil
		for _, member := range v.Members {
			count := 1000 + 100*float64(n)
			trips := []cluster.RoundTrip{{To: "a", Total: cluster.Total{Seconds: count * 0.2, Count: count}}}
			v.Speeds = append(v.Speeds, cluster.Speed{
				Member: member.Name, Fsync: cluster.Total{Seconds: count * 0.004, Count: count}, RoundTrips: trips,
			})
		}
		now = now.Add(20 * time.Second)
		if all, _ := m.Slow(v, now); len(all) > 0 {
			t.Fatalf("%+v", all)
		}
	}
}

// TestFault32SlowestLeader: a disk that does a write a second is found, too, although there are too few of them between two looks.
func TestFault32SlowestLeader(t *testing.T) {
	var m Cluster
	begun := time.Unix(0, 0).Add(time.Hour)
	totals := map[string]cluster.Total{}
	for seconds := 0; seconds <= 90; seconds += 5 {
		v := led("a-0")
		v.Members = append(v.Members, cluster.Member{Name: "a-2", Role: cluster.Voter, Healthy: true})
		v.Speeds = nil
		for _, member := range v.Members {
			total, count, mean := totals[member.Name], 100.0, 0.002
			if member.Name == "a-0" && seconds > 0 {
				count, mean = 3, 1.5
			}
			total = cluster.Total{Seconds: total.Seconds + count*mean, Count: total.Count + count}
			totals[member.Name] = total
			v.Speeds = append(v.Speeds, cluster.Speed{Member: member.Name, Fsync: total})
		}
		if all, _ := m.Slow(v, begun.Add(time.Duration(seconds)*time.Second)); len(all) > 0 {
			if all[0].Member != "a-0" || all[0].Value != 1.5 {
				t.Errorf("%+v", all[0])
			}
			return
		}
	}
	t.Error("it was not found within 90 s")
}

// TestDisksThatAreTooSlow: where all disks are slow none is slower than the others, and all are found by what etcd needs, by the mean of
// ten minutes without a backup, until they are clearly better.
func TestDisksThatAreTooSlow(t *testing.T) {
	var m Cluster
	now, totals := time.Unix(0, 0).Add(time.Hour), map[string]*cluster.Total{"a-0": {}, "a-1": {}, "a-2": {}}
	look := func(mean float64, busy bool) (found, slower int) {
		v := led("a-0")
		v.Members = append(v.Members, cluster.Member{Name: "a-2", Role: cluster.Voter, Healthy: true})
		v.Busy, v.Speeds = busy, nil
		for _, member := range v.Members {
			total := totals[member.Name]
			total.Seconds, total.Count = total.Seconds+mean*100, total.Count+100
			v.Speeds = append(v.Speeds, cluster.Speed{Member: member.Name, Fsync: *total})
		}
		now = now.Add(20 * time.Second)
		all, _ := m.Slow(v, now)
		return len(m.SlowDisks()), len(all)
	}
	for _, step := range []struct {
		mean float64
		busy bool
		want int
	}{{0.002, false, 0}, {0.02, true, 0}, {0.02, false, 3}, {0.009, false, 3}, {0.005, false, 0}} {
		found, slower := 0, 0
		for range 100 {
			found, slower = look(step.mean, step.busy)
		}
		if found != step.want || slower > 0 {
			t.Errorf("%v s, busy %t: %d disks are too slow, want %d; %d members are slower", step.mean, step.busy, found, step.want, slower)
		}
	}
}
