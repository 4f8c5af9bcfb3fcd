// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package scale_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/cluster/scale"
)

const (
	every = 30 * time.Second
	hours = 6 * time.Hour
)

// A sim is three members of which each uses what it is told to.
type sim struct {
	watch       scale.Watch
	at          time.Time
	cpu, memory cluster.Range
	seconds     [3]float64
	steps       int
}

func begin() *sim {
	return &sim{
		at: time.Unix(0, 0), cpu: cluster.Range{Now: 500, Most: 4000},
		memory: cluster.Range{Now: 256 << 20, Most: 2 << 30},
	}
}

// look is the next one. It takes what is wanted as given, and says it.
func (s *sim) look(use func(member int) (millicores, mebibytes float64)) string {
	s.at = s.at.Add(every)
	l := scale.Look{At: s.at, Members: 3}
	for m := range s.seconds {
		cpu, memory := use(m)
		if memory == 0 {
			continue // it does not answer
		}
		s.seconds[m] += cpu / 1000 * every.Seconds()
		l.Usages = append(l.Usages, cluster.Usage{Member: fmt.Sprint("a-", m), CPUSeconds: s.seconds[m], Memory: int64(memory) << 20})
	}
	v := cluster.View{Name: "a", UID: "u1", Want: cluster.Want{Size: 3}, Record: cluster.Record{Token: "u1", ClusterID: "c1"}}
	v.Autoscale = cluster.Autoscale{Wanted: true, Resizes: true, CPU: cluster.Load{Range: s.cpu}, Memory: cluster.Load{Range: s.memory}}
	lacks := func(l cluster.Load) bool { return l.HighFor > 0 && l.Now < l.Most }
	if s.watch.Add(&v.Autoscale, l); !lacks(v.Autoscale.CPU) && !lacks(v.Autoscale.Memory) {
		return ""
	}
	for i := range s.seconds {
		v.Members = append(v.Members, cluster.Member{
			Name: cluster.MemberName("a", i), Recorded: true, Started: true, Role: cluster.Voter, Volume: cluster.Kept,
			Answers: true, Healthy: true, Pod: cluster.Pod{Phase: cluster.Running, UID: "u", Ready: true, Proven: true},
		})
	}
	step, because := plan.Next(v)
	if because != "scale members" {
		return ""
	}
	is := step.(plan.Record).Fact.Scaled.Computing
	s.steps, s.cpu.Now, s.memory.Now = s.steps+1, is.CPU, is.Memory
	return step.String()
}

// all of them use the same.
func all(millicores, mebibytes float64) func(int) (float64, float64) {
	return func(int) (float64, float64) { return millicores, mebibytes }
}

// until is after how long something is wanted, and what.
func (s *sim) until(most time.Duration, use func(int) (float64, float64)) (time.Duration, string) {
	began := s.at
	for s.at.Sub(began) < most {
		if text := s.look(use); text != "" {
			return s.at.Sub(began), text
		}
	}
	return 0, "nothing"
}

func TestMemoryGrowsWithinTwoMinutes(t *testing.T) {
	s := begin()
	after, what := s.until(time.Hour, func(m int) (float64, float64) { return 10, 100 + float64(m)*60 }) // a-2: 220 of 256 MiB
	want := "give members 500 millicores and 384 MiB of memory: the etcd of a-2 uses 220 of 256 MiB of memory"
	if what != want || after > 2*time.Minute {
		t.Errorf("after %s: %s", after, what)
	}
	if _, what := s.until(time.Hour, all(10, 220)); what != "nothing" {
		t.Errorf("it is enough: %s", what)
	}
}

func TestProcessorGrowsIfItIsShortForMinutes(t *testing.T) {
	s := begin()
	if _, what := s.until(2*time.Minute, all(490, 150)); what != "nothing" {
		t.Errorf("a burst: %s", what)
	}
	s.look(all(300, 150))
	after, what := s.until(time.Hour, all(490, 150))
	want := "give members 750 millicores and 256 MiB of memory: the etcd of a-2 uses 490 of 500 millicores"
	if what != want || after > 5*time.Minute {
		t.Errorf("after %s: %s", after, what)
	}
}

func TestNothingIsBeyondTheMost(t *testing.T) {
	s := begin()
	for range 1000 {
		s.look(func(int) (float64, float64) { return float64(s.cpu.Now), float64(s.memory.Now >> 20) })
	}
	if s.cpu.Now != s.cpu.Most || s.memory.Now != s.memory.Most {
		t.Errorf("%d millicores, %d MiB", s.cpu.Now, s.memory.Now>>20)
	}
}

// TestNothingIsTakenAway: what members were given they keep, however little they use.
func TestNothingIsTakenAway(t *testing.T) {
	s := begin()
	s.cpu.Now, s.memory.Now = 1000, 768<<20
	if _, what := s.until(10*24*time.Hour, all(1, 1)); what != "nothing" {
		t.Error(what)
	}
}

// TestNoLoadMovesItBackAndForth: for loads of any size, with noise, what members have settles.
func TestNoLoadMovesItBackAndForth(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		s, cpu, memory := begin(), r.Float64()*3000, 20+r.Float64()*1500
		for range 10 * int(hours/every) {
			noise := 0.9 + r.Float64()*0.2
			s.look(func(int) (float64, float64) { return min(cpu*noise, float64(s.cpu.Now)), memory * noise })
		}
		settled := s.steps
		for range 10 * int(hours/every) {
			noise := 0.9 + r.Float64()*0.2
			s.look(func(int) (float64, float64) { return min(cpu*noise, float64(s.cpu.Now)), memory * noise })
		}
		if s.steps != settled {
			t.Errorf("seed %d: %d more steps after %d", seed, s.steps-settled, settled)
		}
	}
}

func TestNothingIsScaledThatIsNotToBe(t *testing.T) {
	s := begin()
	s.cpu, s.memory = cluster.Range{}, cluster.Range{}
	if _, what := s.until(24*time.Hour, all(5000, 5000)); what != "nothing" {
		t.Error(what)
	}
}
