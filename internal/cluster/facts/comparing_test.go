// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/facts"
	"github.com/etcd-operator/etcd-operator/internal/cluster/memory"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/etcd/etcdtest"
)

// request has members compared at once.
func request(s *scene) {
	s.c.Annotations = map[string]string{v1beta1.AnnotationCheckHashes: "now"}
}

// holds has every member hold so many bytes of data.
func (s *scene) holds(inUse int64) {
	s.twist = func(_ string, status *etcd.Status) { status.DBSize, status.DBSizeInUse = inUse, inUse }
}

// alwaysOpen gives the cluster a window that never closes.
func alwaysOpen(s *scene) {
	s.c.Spec.Maintenance.Defragmentation.Window = &v1beta1.MaintenanceWindow{
		Opens: "0 0 * * *", Duration: metav1.Duration{Duration: 24 * time.Hour},
	}
}

// takeEach has the hash of every member's data take so long.
func (s *scene) takeEach(long time.Duration) {
	s.takes = map[string]time.Duration{"a-0": long, "a-1": long, "a-2": long}
}

// hashed are the members that were asked for a hash, one after another, since it was called last.
func (s *scene) hashed() string {
	var names []string
	for _, call := range s.calls {
		if name, ok := strings.CutPrefix(call, "HashKV "); ok {
			names = append(names, name)
		}
	}
	s.calls = nil
	return strings.Join(names, " ")
}

// compares is a look at that time by a process that remembers the looks before, while time passes.
func (s *scene) compares(known *memory.Cluster, at time.Time) (v cluster.View) {
	s.t.Helper()
	synctest.Test(s.t, func(t *testing.T) {
		s.meeting = &sync.WaitGroup{}
		begun, o := time.Now(), s.observer()
		o.Now = func() time.Time { return at.Add(time.Since(begun)) }
		seen, err := o.Cluster(t.Context(), s.c, known.Hashes())
		if err != nil {
			t.Fatal(err)
		}
		v = facts.View(seen, known)
		step, _ := plan.Next(v)
		known.Note(v, step, memory.Ending{}, at)
	})
	return v
}

// TestComparedOneAfterAnother: etcd applies no write while it hashes. So one member is asked at a time, the leader last, and what takes
// long is spread over looks. No other is asked once one could not say.
func TestComparedOneAfterAnother(t *testing.T) {
	for what, test := range map[string]struct {
		spoil func(*scene)
		want  string // who is asked at each look until the verdict; the verdict
	}{
		"quickly": {func(s *scene) { s.takeEach(time.Second / 2) }, "a-1 a-2 a-0; "},
		"slowly":  {func(s *scene) { s.takeEach(3 * time.Second) }, "a-1; a-2; a-0; "},
		"so, so":  {func(s *scene) { s.takeEach(time.Second) }, "a-1 a-2; a-0; "},
		"another one": {func(s *scene) {
			if err := s.etcd.Client("a-0").MoveLeader(s.t.Context(), 2); err != nil {
				s.t.Fatal(err)
			}
		}, "a-0 a-2 a-1; "},
		"too slowly": {
			func(s *scene) { s.takeEach(31 * time.Second) }, "a-1; a-1 has not reported the hash of its data: context deadline exceeded",
		},
		"as slowly as is known, without a request": {
			func(s *scene) {
				s.c.Annotations, s.c.Status.LastHashCheck.Members = nil, []string{"a-0"} // it is due at any time
				alwaysOpen(s)
				s.takeEach(9 * time.Second)
				s.holds(7 << 30)
			}, "a-1; a-2; a-0; ",
		},
		"slower than without a request": {func(s *scene) { s.takeEach(9 * time.Second) }, "a-1; a-2; a-0; "},
		"compacted": {
			func(s *scene) { s.etcd.FailBefore(etcdtest.HashKV, errors.New("compacted")) },
			"a-1; a-1 has not reported the hash of its data: HashKV: compacted",
		},
		"the alarm is raised": {
			func(s *scene) {
				s.etcd.Raise(2, "CORRUPT")
				s.takeEach(3 * time.Second)
			}, "a-1 a-2 a-0; -",
		},
	} {
		t.Run(what, func(t *testing.T) {
			s, known, got := newScene(t), &memory.Cluster{}, ""
			request(s)
			test.spoil(s)
			for look := range 4 {
				v := s.compares(known, now.Add(time.Duration(look)*time.Second))
				got += s.hashed() + "; "
				if v.Hashes.IsMade() {
					got += v.Hashes.Unknown
					break
				}
				if len(v.Raised(cluster.Corrupt)) > 0 {
					got += "-"
					break
				}
			}
			if got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

// TestComparisonGoesOn: at the revision at which it began. A member that goes down meanwhile ends it, and one that has compacted does: what
// cannot be compared is not known, and nothing differs.
func TestComparisonGoesOn(t *testing.T) {
	for what, test := range map[string]struct {
		happens func(*scene)
		want    string
	}{
		"with writes meanwhile": {func(s *scene) { s.etcd.SetRevision(9) }, "true false 1 \n"},
		"a member goes down":    {func(s *scene) { s.stop("a-2") }, "true false 1 a-2 has not reported the hash of its data: it does not answer"},
		"an upgrade begins": {
			func(s *scene) {
				s.twist = func(name string, status *etcd.Status) {
					if name == "a-2" {
						status.Version = "3.7.0"
					}
				}
			}, "false false 0 ",
		},
		"compacted": {
			func(s *scene) { s.sum = func(_ string, hash *etcd.Hash) { hash.Compacted = 7 } },
			"true false 1 a-0 has compacted its data up to revision 7, and a-1 up to 0",
		},
		"other data": {func(s *scene) { s.etcd.Corrupt("a-2") }, "true true 1 "},
	} {
		t.Run(what, func(t *testing.T) {
			s, known := newScene(t), &memory.Cluster{}
			request(s)
			s.takeEach(2 * time.Second)
			if v := s.compares(known, now); v.Hashes.IsMade() || len(v.Hashes.Read) != 1 || s.hashed() != "a-1" {
				t.Fatalf("%+v", v.Hashes)
			}
			test.happens(s)
			v := s.compares(known, now.Add(time.Second))
			if len(v.Hashes.Read) > 0 {
				v = s.compares(known, now.Add(2*time.Second))
			}
			got := fmt.Sprintln(v.Hashes.IsMade(), v.Hashes.Differ, v.Hashes.Revision, v.Hashes.Unknown)
			if !strings.HasPrefix(got, test.want) || len(known.Hashes()) > 0 {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

// snapshot is what a look sees.
func (s *scene) snapshot() (seen facts.Snapshot) {
	s.t.Helper()
	synctest.Test(s.t, func(t *testing.T) {
		s.meeting = &sync.WaitGroup{}
		var err error
		if seen, err = s.observer().Cluster(t.Context(), s.c, nil); err != nil {
			t.Fatal(err)
		}
	})
	return seen
}

// TestHashesOfOneLookEndWithIt: a look has a minute. One that asks all members, because of an alarm, gives each less time than one that
// asks one member, because of a request.
func TestHashesOfOneLookEndWithIt(t *testing.T) {
	s := newScene(t)
	request(s)
	if reads := facts.NeedHashKV(s.snapshot()); reads.All || reads.Timeout != 30*time.Second {
		t.Errorf("on request: %+v", reads)
	}
	s.etcd.Raise(2, "CORRUPT")
	if reads := facts.NeedHashKV(s.snapshot()); !reads.All || reads.Timeout*time.Duration(len(reads.Asked)) >= time.Minute {
		t.Errorf("beside an alarm: %+v", reads)
	}
}

// turns are the minutes of two days at which members are compared without a request, in steps of five.
func turns(s *scene) (minutes []int) {
	s.t.Helper()
	seen := s.snapshot()
	for minute := 0; minute < 2*24*60; minute += 5 {
		at := now.Add(time.Duration(minute) * time.Minute)
		seen.Now = at
		if reads := facts.NeedHashKV(seen); len(reads.Asked) > 0 {
			minutes = append(minutes, minute)
			s.c.Status.LastHashCheck = &v1beta1.HashCheck{
				Time: metav1.NewTime(at), Verdict: v1beta1.HashesEqual, Members: []string{"a-0", "a-1", "a-2"},
			}
		}
	}
	return minutes
}

// TestComparedInTurn: every six hours, or in the window, each cluster at a time of its own, also those that were never compared.
func TestComparedInTurn(t *testing.T) {
	begins := map[int]int{}
	for i := range 12 {
		s := newScene(t)
		s.is(types.UID(fmt.Sprintf("5e8c1a7e-0000-4000-8000-%012d", i)))
		s.c.Status.LastHashCheck = nil
		found := turns(s)
		if len(found) < 8 || len(found) > 9 || found[1]-found[0] < 355 || found[1]-found[0] > 365 {
			t.Errorf("compared at minutes %v", found)
		}
		begins[found[0]/30]++
	}
	if len(begins) < 5 {
		t.Errorf("of 12 clusters that were never compared so many are at once, by half hours: %v", begins)
	}
	s := newScene(t)
	s.c.Spec.Maintenance.Defragmentation.Window = &v1beta1.MaintenanceWindow{
		Opens: "0 2 * * *", Duration: metav1.Duration{Duration: time.Hour},
	}
	found := turns(s)
	if len(found) != 2 || found[0] < 120 || found[0] >= 180 || found[1]-found[0] != 24*60 {
		t.Errorf("with a window from two to three: compared at minutes %v", found)
	}
}

// is gives the cluster that UID, by which others know it.
func (s *scene) is(uid types.UID) {
	s.c.UID = uid
	for _, object := range s.objects {
		owners := object.GetOwnerReferences()
		for i := range owners {
			owners[i].UID = uid
		}
		object.SetOwnerReferences(owners)
	}
}

// inTurn gives the cluster a UID by which it is compared now, by the clock of these tests.
func inTurn(s *scene) {
	for i := 0; ; i++ {
		uid := fmt.Sprintf("turn-%d", i)
		sum := fnv.New32a()
		_, _ = sum.Write([]byte(uid))
		if late := time.Duration(sum.Sum32()) * time.Second % (6 * time.Hour); late > 5*time.Hour+52*time.Minute {
			s.is(types.UID(uid))
			return
		}
	}
}

// TestComparedBySpeed: nothing that holds up clients is asked for without a window, and nothing in it that takes longer than a member is
// given. The speed of the last time counts for a week.
func TestComparedBySpeed(t *testing.T) {
	speed := func(speed string, ago time.Duration) func(*scene) {
		return func(s *scene) {
			last := s.c.Status.LastHashCheck
			last.Speed, last.Time = new(resource.Quantity), metav1.NewTime(now.Add(-ago))
			*last.Speed = resource.MustParse(speed)
		}
	}
	const day = 24 * time.Hour
	for what, test := range map[string]struct {
		size  int64
		spoil []func(*scene)
		want  bool
	}{
		"small":                             {90 << 20, nil, true},
		"large":                             {200 << 20, nil, false},
		"large, and fast":                   {200 << 20, []func(*scene){speed("4Gi", day)}, true},
		"small, and slow":                   {90 << 20, []func(*scene){speed("100Mi", day)}, false},
		"small, and slow once":              {90 << 20, []func(*scene){speed("100Mi", 8*day)}, true},
		"large, in the window":              {4 << 30, []func(*scene){alwaysOpen}, true},
		"too large, in the window":          {9 << 30, []func(*scene){alwaysOpen}, false},
		"too large, fast, in the window":    {9 << 30, []func(*scene){alwaysOpen, speed("2Gi", day)}, true},
		"too slow, in the window":           {1 << 30, []func(*scene){alwaysOpen, speed("100Mi", day)}, false},
		"too large, asked for":              {9 << 30, []func(*scene){request}, true},
		"too slow, asked for in the window": {1 << 30, []func(*scene){alwaysOpen, speed("100Mi", day), request}, true},
	} {
		t.Run(what, func(t *testing.T) {
			s := newScene(t)
			s.c.Status.LastHashCheck.Members = []string{"a-0"} // so that it is due at any time
			s.holds(test.size)
			for _, spoil := range test.spoil {
				spoil(s)
			}
			if v := s.look(); v.Hashes.IsMade() != test.want {
				t.Errorf("%+v, want %t", v.Hashes, test.want)
			}
		})
	}
}

// TestComparisonsAreMeasured: by the slowest member, also one that did not say in time. One that has refused says nothing of the speed.
func TestComparisonsAreMeasured(t *testing.T) {
	for what, test := range map[string]struct {
		size  int64
		spoil func(*scene)
		want  int64
	}{
		"a large one": {1 << 30, func(s *scene) { s.takes = map[string]time.Duration{"a-0": time.Second / 4, "a-1": time.Second / 2} }, 2 << 30},
		"a small one": {50 << 20, func(s *scene) { s.takeEach(time.Second / 2) }, 0},
		"in vain":     {30 << 30, func(s *scene) { s.takeEach(time.Minute) }, 1 << 30},
		"refused": {1 << 30, func(s *scene) {
			s.takeEach(time.Millisecond)
			s.etcd.FailBefore(etcdtest.HashKV, errors.New("compacted"))
		}, 0},
	} {
		t.Run(what, func(t *testing.T) {
			s := newScene(t)
			request(s)
			s.holds(test.size)
			test.spoil(s)
			if v := s.compares(&memory.Cluster{}, now); !v.Hashes.IsMade() || v.Hashes.Speed != test.want {
				t.Errorf("%+v, want speed %d", v.Hashes, test.want)
			}
		})
	}
}

// TestComparedLessAndLess: what could not be made is tried after 10 minutes, then 20, and so on up to six hours, unless somebody asks.
func TestComparedLessAndLess(t *testing.T) {
	for failures, want := range map[int32]time.Duration{
		0: 10 * time.Minute, 1: 10 * time.Minute, 2: 20 * time.Minute, 5: 160 * time.Minute, 6: 320 * time.Minute,
		7: 6 * time.Hour, 99: 6 * time.Hour,
	} {
		s := newScene(t)
		s.c.Status.LastHashCheck.Verdict, s.c.Status.LastHashCheck.Failures = v1beta1.HashesUnknown, failures
		begun := s.c.Status.LastHashCheck.Time.Time
		made := []bool{
			s.compares(&memory.Cluster{}, begun.Add(want-time.Minute)).Hashes.IsMade(),
			s.compares(&memory.Cluster{}, begun.Add(want)).Hashes.IsMade(),
		}
		request(s)
		made = append(made, s.compares(&memory.Cluster{}, begun.Add(time.Minute)).Hashes.IsMade())
		if !slices.Equal(made, []bool{false, true, true}) {
			t.Errorf("after %d failures: %v before, after %s, and when asked for", failures, made, want)
		}
	}
}
