package plan_test

import (
	"fmt"
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/plan"
	"github.com/etcd-operator/etcd-operator/internal/quorum"
)

// A temper is how the world treats the operator in one walk.
type temper struct {
	name string
	fail func(step int) bool // the step has no effect
	late func(step int) bool // the plan sees the truth before the last step
}

func never(int) bool       { return false }
func evenly(step int) bool { return step%2 == 0 }
func mostly(step int) bool { return step%3 != 0 }

var tempers = []temper{
	{"obedient", never, never},
	{"failing", evenly, never},
	{"late", never, evenly},
	{"mostly failing and late", mostly, evenly},
}

// TestInvariants walks every small start in every temper. Whatever the rules say,
// each step must keep I1, I2, I3 and I5 (docs/faults.md), and every walk must end.
//
// With -short, as under the race detector, clusters have up to three members instead of four.
func TestInvariants(t *testing.T) {
	most, least := 4, 20_000
	if testing.Short() {
		most, least = 3, 3_000
	}
	for _, temper := range tempers {
		t.Run(temper.name, func(t *testing.T) {
			t.Parallel()
			starts, steps := 0, 0
			eachStart(most, func(start *world) {
				starts++
				steps += walk(t, start, temper)
			})
			t.Logf("%d starts, %d steps", starts, steps)
			if starts < least {
				t.Errorf("only %d starts were walked", starts)
			}
		})
	}
}

// eachStart makes every cluster of up to most members in which each is healthy,
// down, without a Pod, without data, outdated or broken by an older spec, with or
// without a learner, for every size wanted, on both kinds of storage; and every
// moment of a bootstrap.
func eachStart(most int, visit func(*world)) {
	for _, ephemeral := range []bool{false, true} {
		for _, size := range []int{1, 3, 5} {
			for n := 1; n <= most; n++ {
				for states := range power(len(memberStates), n) {
					for learner := range 3 {
						visit(formedWorld(size, n, states, learner, ephemeral))
					}
				}
			}
			for states := range power(len(firstStates), size) {
				visit(unformedWorld(size, states, ephemeral))
			}
			visit(newWorld(size, ephemeral))
		}
	}
}

func power(base, exponent int) int {
	result := 1
	for range exponent {
		result *= base
	}
	return result
}

func newWorld(size int, ephemeral bool) *world {
	w := &world{broken: map[string]bool{}, cured: map[string]bool{}}
	w.view = cluster.View{Name: "a", UID: "u1", Want: cluster.Want{Size: size, Version: "3.6.16", Ephemeral: ephemeral}}
	return w
}

var memberStates = []func(w *world, m *cluster.Member){
	func(*world, *cluster.Member) {},
	func(w *world, m *cluster.Member) { w.broken[m.Name] = true },
	func(_ *world, m *cluster.Member) { m.Pod = cluster.Pod{} },
	func(w *world, m *cluster.Member) {
		m.Pod, m.Volume = cluster.Pod{}, cluster.NoVolume
		*w.dataOf(m.Name) = false
	},
	func(_ *world, m *cluster.Member) { m.Pod.Outdated = true },
	func(w *world, m *cluster.Member) {
		m.Pod.Outdated, w.broken[m.Name], w.cured[m.Name] = true, true, true
	},
}

func formedWorld(size, n, states, learner int, ephemeral bool) *world {
	w := newWorld(size, ephemeral)
	w.formed = true
	w.view.Record = cluster.Record{Token: "u1", ClusterID: clusterID, NextSerial: n}
	for i := range n {
		m := w.at(cluster.MemberName("a", i))
		w.pods++
		*m = cluster.Member{
			Name: m.Name, Recorded: true, Started: true, Role: cluster.Voter, ID: uint64(100 + i), Volume: cluster.Kept,
			Pod: cluster.Pod{Exists: true, UID: fmt.Sprint("pod-", w.pods)},
		}
		*w.dataOf(m.Name) = true
		memberStates[states%len(memberStates)](w, m)
		states /= len(memberStates)
	}
	if last := w.at(cluster.MemberName("a", n-1)); n > 1 && learner > 0 {
		last.Role, last.Started = cluster.Learner, learner == 1
		*w.dataOf(last.Name) = learner == 1
	}
	w.settle()
	return w
}

var firstStates = []func(m *cluster.Member){
	func(*cluster.Member) {},
	func(m *cluster.Member) { m.Volume = cluster.Kept },
	func(m *cluster.Member) {
		m.Volume, m.Pod = cluster.Kept, cluster.Pod{Exists: true, UID: "pod-" + m.Name}
	},
	func(m *cluster.Member) {
		m.Volume, m.Pod = cluster.Kept, cluster.Pod{Exists: true, UID: "pod-" + m.Name, Finished: true}
	},
}

func unformedWorld(size, states int, ephemeral bool) *world {
	w := newWorld(size, ephemeral)
	w.obey(plan.Freeze{Members: firstNames(size)})
	for i := range size {
		firstStates[states%len(firstStates)](w.at(cluster.MemberName("a", i)))
		states /= len(firstStates)
	}
	w.settle()
	return w
}

func firstNames(size int) []string {
	var names []string
	for i := range size {
		names = append(names, cluster.MemberName("a", i))
	}
	return names
}

func walk(t *testing.T, w *world, temper temper) int {
	start := w.clone()
	seen := start
	resting := 0
	for i := range 400 {
		late := temper.late(i)
		if !late {
			seen = w.clone()
		}
		step, because := plan.Next(seen.view)
		if plan.Rests(step) {
			// A world that stands still is looked at once more with open eyes.
			if resting++; resting > 1 && !late {
				return i
			}
			continue
		}
		resting = 0
		before := w.clone()
		seen = before
		if temper.fail(i) {
			continue
		}
		w.obey(step)
		if broken := violation(before, w, step); broken != "" {
			t.Fatalf("%s: %s (%s)\nfrom %s world %+v", broken, step, because, temper.name, start.view)
		}
	}
	t.Fatalf("never settles\nfrom %s world %+v", temper.name, start.view)
	return 0
}

// violation names the invariant that a step has broken, if any.
func violation(before, after *world, step plan.Step) string {
	hb, nb := voters(before)
	ha, na := voters(after)
	if nb > 1 && quorum.Holds(hb, nb) && !quorum.Holds(ha, na) {
		return fmt.Sprintf("I1: quorum lost, %d/%d healthy voters become %d/%d", hb, nb, ha, na)
	}
	if before.formed && (na-nb > 1 || nb-na > 1) {
		return fmt.Sprintf("I2: %d voters become %d at once", nb, na)
	}
	if len(after.view.Select(cluster.IsLearner)) > 1 {
		return "I2: two learners at once"
	}
	return dataViolation(before, after, step)
}

// dataViolation guards data: no step takes it from a listed member, and no first
// member is started as new on an empty volume once the cluster has formed.
func dataViolation(before, after *world, step plan.Step) string {
	for _, m := range before.view.Members {
		if m.Role != cluster.Unlisted && m.Pod.Exists && !m.Pod.Finished && *before.dataOf(m.Name) && !*after.dataOf(m.Name) {
			return "I3: data of listed member " + m.Name + " is destroyed"
		}
	}
	if s, is := step.(plan.Quarantine); is && before.at(s.Name).Role != cluster.Unlisted {
		return "I3: volume of listed member " + s.Name + " is set aside"
	}
	if s, is := step.(plan.Start); is && before.formed && !before.view.Formed() {
		for _, name := range s.Names {
			if !*before.dataOf(name) && before.at(name).Volume == cluster.NoVolume {
				return "I5: " + name + " is started as new although the cluster has formed"
			}
		}
	}
	return ""
}

func voters(w *world) (healthy, all int) {
	return len(w.view.Select(cluster.IsVoter, cluster.IsHealthy)), len(w.view.Select(cluster.IsVoter))
}
