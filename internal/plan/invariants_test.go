package plan_test

import (
	"fmt"
	"os"
	"slices"
	"strconv"
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
// each step must keep I1, I2, I3, I5 and I6 (docs/faults.md), etcd must never refuse
// a version, and every walk must end.
//
// Clusters have up to two members, with -short, as under the race detector, one;
// WALK=5 goes up to five, which takes a quarter of an hour.
func TestInvariants(t *testing.T) {
	most, least := 2, 20_000
	if testing.Short() {
		most, least = 1, 3_000
	}
	if text := os.Getenv("WALK"); text != "" {
		most, _ = strconv.Atoi(text)
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

// A goal is what is wanted of a cluster that has formed.
type goal struct {
	size      int
	version   string
	downgrade string // what etcd was told before
	bad       string // a version that does not run
	ephemeral bool
	trusting  bool // the operator may roll back and recover quorum by itself
}

// goals are all combinations that matter. Members run 3.6.16, and 3.5.35 where they
// are old.
func goals() []goal {
	var all []goal
	for _, size := range []int{0, 1, 3, 5} {
		for _, g := range []goal{
			{version: "3.6.16"},
			{version: "3.7.3"},
			{version: "3.7.3", bad: "3.7.3"},
			{version: "3.5.35"},
			{version: "3.5.35", downgrade: "3.5"},
			{version: "3.6.16", downgrade: "3.5"},
		} {
			for _, g.ephemeral = range []bool{false, true} {
				for _, g.trusting = range []bool{false, true} {
					if g.size = size; size > 0 || !g.ephemeral {
						all = append(all, g)
					}
				}
			}
		}
	}
	return all
}

// eachStart makes every cluster of up to most members in which each is in one of the
// states of memberStates, with or without a learner, for every goal; and every moment
// of a bootstrap. From four members on, each mix of states is tried in one order.
func eachStart(most int, visit func(*world)) {
	for _, g := range goals() {
		for n := 1; n <= most; n++ {
			eachMix(n, func(states []int) {
				for learner := range 3 {
					visit(formedWorld(g, states, learner))
				}
			})
		}
	}
	for _, ephemeral := range []bool{false, true} {
		for _, size := range []int{1, 3, 5} {
			for states := range power(len(firstStates), size) {
				visit(unformedWorld(size, states, ephemeral))
			}
			visit(newWorld(size, ephemeral))
		}
	}
}

// eachMix visits every list of n states; only the sorted ones if n is above three.
func eachMix(n int, visit func(states []int)) {
	for code := range power(len(memberStates), n) {
		states := make([]int, n)
		for i := range states {
			states[i] = code % len(memberStates)
			code /= len(memberStates)
		}
		if n <= 3 || slices.IsSorted(states) {
			visit(states)
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
	w := &world{broken: map[string]bool{}, cured: map[string]bool{}, damaged: map[string]bool{}, silent: map[string]bool{}}
	w.view = cluster.View{
		Name: "a", UID: "u1", Want: cluster.Want{Size: size, Version: "3.6.16", Ephemeral: ephemeral},
		Target: cluster.Target{Version: "3.6.16"},
	}
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
	func(w *world, m *cluster.Member) { *w.staleOf(m.Name) = true },
	func(w *world, m *cluster.Member) {
		*w.staleOf(m.Name), w.broken[m.Name], w.cured[m.Name] = true, true, true
	},
	func(w *world, m *cluster.Member) { w.damaged[m.Name] = true },
	func(w *world, m *cluster.Member) { w.silent[m.Name] = true },
	func(_ *world, m *cluster.Member) { m.Version, m.Pod.Image = "3.5.35", "3.5.35" },
	func(_ *world, m *cluster.Member) { m.Pod.Cordoned = true },
}

func formedWorld(g goal, states []int, learner int) *world {
	w := newWorld(g.size, g.ephemeral)
	w.formed, w.impatient, w.bad, w.downgrade = true, true, g.bad, g.downgrade
	w.view.Want.Version, w.view.Want.Automatic, w.view.Want.RollBack = g.version, g.trusting, g.trusting
	n := len(states)
	w.view.Record = cluster.Record{Token: "u1", ClusterID: clusterID, NextSerial: n}
	for i, state := range states {
		m := w.at(cluster.MemberName("a", i))
		w.pods++
		*m = cluster.Member{
			Name: m.Name, Recorded: true, Started: true, Role: cluster.Voter, ID: uint64(100 + i), Volume: cluster.Kept,
			Version: "3.6.16", Pod: cluster.Pod{Exists: true, UID: fmt.Sprint("pod-", w.pods), Image: "3.6.16"},
		}
		*w.dataOf(m.Name) = true
		memberStates[state](w, m)
	}
	if last := w.at(cluster.MemberName("a", n-1)); n > 1 && learner > 0 {
		last.Role, last.Started = cluster.Learner, learner == 1
		*w.dataOf(last.Name) = learner == 1
	}
	if w.minor = g.downgrade; w.minor == "" {
		w.version()
	}
	w.settle()
	return w
}

var firstStates = []func(m *cluster.Member){
	func(*cluster.Member) {},
	func(m *cluster.Member) { m.Volume = cluster.Kept },
	func(m *cluster.Member) {
		m.Volume, m.Pod = cluster.Kept, cluster.Pod{Exists: true, UID: "pod-" + m.Name, Image: "3.6.16"}
	},
	func(m *cluster.Member) {
		m.Volume, m.Pod = cluster.Kept, cluster.Pod{Exists: true, UID: "pod-" + m.Name, Image: "3.6.16", Finished: true}
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
			w.settle()
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
	if after.fault != "" {
		return after.fault
	}
	if s, forces := step.(plan.Force); forces && !before.at(s.Name).Pod.Exists {
		return forceViolation(before)
	}
	hb, nb := voters(before)
	ha, na := voters(after)
	if nb > 1 && quorum.Holds(hb, nb) && !quorum.Holds(ha, na) && before.view.Want.Size > 0 {
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

// forceViolation guards the history of a cluster: it may only be formed anew when
// its quorum is gone for good, and beside no other member that could go on.
func forceViolation(before *world) string {
	gone := before.view.Select(cluster.IsVoter, func(m cluster.Member) bool {
		return !*before.dataOf(m.Name) || before.damaged[m.Name]
	})
	_, all := voters(before)
	if quorum.Holds(all-len(gone), all) {
		return "I6: the cluster is formed anew although its quorum may come back"
	}
	for _, m := range before.view.Members {
		if m.Pod.Exists && !before.silent[m.Name] {
			return "I6: the cluster is formed anew beside " + m.Name
		}
	}
	return ""
}

// dataViolation guards data: no step takes it from a listed member, and no first
// member is started as new on an empty volume once the cluster has formed.
func dataViolation(before, after *world, step plan.Step) string {
	for _, m := range before.view.Members {
		if m.Role != cluster.Unlisted && m.Pod.Exists && !m.Pod.Finished && *before.dataOf(m.Name) && !*after.dataOf(m.Name) {
			return "I3: data of listed member " + m.Name + " is destroyed"
		}
	}
	recovering := before.view.Record.Recovering
	if s, is := step.(plan.Quarantine); is && before.at(s.Name).Role != cluster.Unlisted && (recovering == "" || recovering == s.Name) {
		return "I3: volume of listed member " + s.Name + " is set aside"
	}
	if s, is := step.(plan.Discard); is && before.at(s.Name).Role != cluster.Unlisted {
		return "I3: volume of listed member " + s.Name + " is deleted"
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
