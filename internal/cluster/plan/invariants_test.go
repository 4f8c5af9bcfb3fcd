// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/cluster/quorum"
)

// A temper is how the world treats the operator in one walk. What it does at a step
// follows from the step's phase, its number modulo period, and from nothing else.
type temper struct {
	name   string
	period int
	fail   func(phase int) bool // the step has no effect
	late   func(phase int) bool // the plan sees the truth before the last step
}

func never(int) bool        { return false }
func evenly(phase int) bool { return phase%2 == 0 }
func mostly(phase int) bool { return phase%3 != 0 }

var tempers = []temper{
	{"obedient", 1, never, never},
	{"failing", 2, evenly, never},
	{"late", 2, never, evenly},
	{"mostly failing and late", 6, mostly, evenly},
}

// patience is in how many steps a world must have come to rest. Five ephemeral members of which each is replaced, while most steps fail
// and authorities are rotated, take 404.
const patience = 600

// TestInvariants walks every small start in every temper. Whatever the rules say,
// each step must keep I1, I2, I3, I5 and I6 (docs/faults.md), etcd must never refuse
// a version, and every walk must end and leave nothing undone.
//
// Clusters have up to two members, and three in one start of 31; with -short, as under the race detector, one.
// WALK=3 walks every start of three, which takes eight minutes on two idle cores with GOGC=400; WALK=5 goes up to five, in about an hour.
func TestInvariants(t *testing.T) {
	most, of3, least := 3, 31, int64(200_000)
	if testing.Short() {
		most, least = 1, 3_000
	}
	if text := os.Getenv("WALK"); text != "" {
		most, _ = strconv.Atoi(text)
		of3 = 1
	}
	begin, sum := time.Now(), &tally{}
	t.Run("all", func(t *testing.T) {
		t.Run("unformed", func(t *testing.T) { sum.walk(t, eachUnformed) })
		t.Run("restoring", func(t *testing.T) { sum.walk(t, eachRestoring) })
		t.Run("restoring in place", func(t *testing.T) { sum.walk(t, eachGiving) })
		for _, g := range goals() {
			t.Run(fmt.Sprintf("%+v", g), func(t *testing.T) {
				sum.walk(t, func(visit func(*world)) { eachFormed(g, most, oneOf(of3, visit)) })
			})
		}
	})
	t.Logf("%d starts in %d tempers, %d steps, %d of them different, %.0f s",
		sum.starts.Load(), len(tempers), sum.steps.Load(), sum.different.Load(), time.Since(begin).Seconds())
	if n := sum.starts.Load(); n < least {
		t.Errorf("only %d starts were walked", n)
	}
}

// oneOf visits every start of one or two members, and of the larger ones one of so many: a prime number, so that each state comes at each
// place.
func oneOf(many int, visit func(*world)) func(*world) {
	large := 0
	return func(start *world) {
		if len(start.view.Members) > 2 {
			if large++; large%many != 0 {
				return
			}
		}
		visit(start)
	}
}

// A tally is what was walked in all.
type tally struct{ starts, steps, different atomic.Int64 }

func (sum *tally) walk(t *testing.T, eachStart func(visit func(*world))) {
	t.Parallel()
	var walkers []*walker
	for _, temper := range tempers {
		walkers = append(walkers, &walker{t: t, temper: temper, left: map[uint64]int{}})
	}
	eachStart(func(start *world) {
		sum.starts.Add(1)
		for _, k := range walkers {
			k.walk(start)
		}
	})
	for _, k := range walkers {
		sum.steps.Add(int64(k.steps))
		sum.different.Add(int64(k.different))
	}
}

// A walker walks from start to rest, in one temper. It stops where it has been before:
// what follows there was seen to keep every invariant and to end.
type walker struct {
	t                *testing.T
	temper           temper
	left             map[uint64]int // steps from a moment to the end, by its key
	path             []uint64       // keys of this walk's moments
	steps, different int
}

func (k *walker) walk(start *world) {
	k.path = k.path[:0]
	m := moment{now: start, seen: start}
	for len(k.path) < patience {
		if !k.temper.late(m.phase) {
			m.seen = m.now
		}
		if m.seen.view.Restore.InPlace != "" {
			m.seen = m.now // the API server itself is asked while members are replaced
		}
		key := m.key()
		if left, known := k.left[key]; known {
			k.end(start, left)
			return
		}
		k.path = append(k.path, key)
		if k.step(start, &m) {
			k.end(start, 0)
			return
		}
		m.phase = (m.phase + 1) % k.temper.period
	}
	k.t.Fatalf("never settles\nfrom %s world %+v", k.temper.name, start.view)
}

// end remembers that this walk has only that many steps left.
func (k *walker) end(start *world, left int) {
	k.different += len(k.path)
	for i := len(k.path) - 1; i >= 0; i-- {
		left++
		k.left[k.path[i]] = left
	}
	k.steps += left
	if left > patience {
		k.t.Fatalf("settles only after %d steps\nfrom %s world %+v", left, k.temper.name, start.view)
	}
}

// step takes one step, and says whether the world has come to rest.
func (k *walker) step(start *world, m *moment) bool {
	step, because := m.seen.next()
	before := m.now
	if plan.Rests(step) {
		if undone := neglect(m.now); m.seen == m.now && undone != "" {
			k.t.Fatalf("%s at %s (%s)\nfrom %s world %+v", undone, step, because, k.temper.name, start.view)
		}
		// A world that stands still is looked at once more with open eyes.
		m.now, _ = m.after()
		m.resting++
		return m.resting > 1 && !k.temper.late(m.phase) && !m.now.returning()
	}
	if m.seen == m.now && m.now.risksWrites(step) {
		k.t.Fatalf("I6: %s (%s) while acknowledged writes are missing\nfrom %s world %+v", step, because, k.temper.name, start.view)
	}
	if !k.temper.fail(m.phase) {
		after, broken := m.after()
		if broken != "" {
			k.t.Fatalf("%s: %s (%s)\nfrom %s world %+v", broken, step, because, k.temper.name, start.view)
		}
		m.now = after
	}
	m.resting, m.seen = 0, before
	return false
}

// violation names the invariant that a step has broken, if any.
func violation(before, after *world, step plan.Step) string {
	if after.fault != "" {
		return after.fault
	}
	if broken := restoreViolation(before, step); broken != "" {
		return broken
	}
	if broken := guardViolation(before, step); broken != "" {
		return broken
	}
	if broken := acceptViolation(before, step); broken != "" {
		return broken
	}
	if before.view.Restore.InPlace != "" {
		return givingViolation(before, step)
	}
	if s, creates := step.(plan.CreatePods); creates && s.Forced && !before.member(s.Names[0]).Pod.Exists() {
		return forceViolation(before)
	}
	if restartsTogether(before, step) {
		return "" // a quorum that no other member can join is given up for one that all can
	}
	hb, nb := before.voters(staysHealthy)
	ha, na := after.voters(staysHealthy)
	if before.failing() {
		hb, _ = before.voters(before.staysUp)
		ha, _ = after.voters(after.staysUp)
	}
	if (nb > 1 || na > nb) && quorum.Holds(hb, nb) && !quorum.Holds(ha, na) && before.view.Want.Size > 0 {
		return fmt.Sprintf("I1: quorum lost, %d/%d healthy voters become %d/%d", hb, nb, ha, na)
	}
	if nb > 1 && disturbs(step) && before.view.Want.Size > 0 && !before.heals(step) {
		hb, _ := before.voters(staysUndrained)
		ha, _ := after.voters(staysUndrained)
		if quorum.Holds(hb, nb) && !quorum.Holds(ha, na) {
			return "I1: a member is stopped beside one whose node is cordoned, and a drain costs the quorum"
		}
	}
	if membership(step) && before.budget > 0 && before.isDrainable(before) && !after.isDrainable(before) {
		return "I1: the Pods that may be evicted now leave no quorum behind"
	}
	if before.formed && (na-nb > 1 || nb-na > 1) {
		return fmt.Sprintf("I2: %d voters become %d at once", nb, na)
	}
	if len(after.view.Select(cluster.IsLearner)) > 1 {
		return "I2: two learners at once"
	}
	if broken := authorityViolation(before, step); broken != "" {
		return broken
	}
	if broken := corruptViolation(before, after, step); broken != "" {
		return broken
	}
	return dataViolation(before, after, step)
}

// corruptViolation guards what is good of data that differs: while the alarm is raised no good
// copy is given up, none that may be bad is handed to others, and it ends when all is good.
func corruptViolation(before, after *world, step plan.Step) string {
	if before.corrupt == 0 || before.view.Unread != "" || before.view.Want.Size == 0 || before.view.Record.Recovering != "" {
		return ""
	}
	odd := after.view.Select(cluster.IsVoter, func(m cluster.Member) bool { return after.fate(m.Name).odd })
	broken := ""
	switch s := step.(type) {
	case plan.DeleteVolume, plan.AddLearner, plan.Promote, plan.ResizePod:
		broken = step.String() + " although members have different data"
	case plan.Record:
		if s.Event == "RolledBack" {
			broken = step.String() + " although members have different data"
		}
	case plan.Downgrade:
		if s.To != "" {
			broken = step.String() + " although members have different data"
		}
	case plan.UpdateImage:
		if cluster.IsListed(before.member(s.Name)) {
			broken = step.String() + " although members have different data"
		}
	case plan.DeletePods:
		if m := before.member(s.Pods[0].Name); s.How == plan.Detached || s.How != plan.AtOnce && cluster.IsListed(m) && m.Healthy {
			broken = m.Name + " is stopped although members have different data"
		}
	case plan.RemoveMember:
		if cluster.IsVoter(before.member(s.Name)) && before.isGood(s.Name) {
			broken = s.Name + " is removed, and its data is good"
		}
		if before.goodHold() && !after.goodHold() {
			broken = "members with good data are no quorum any more"
		}
	case plan.MoveLeader:
		if m := before.member(s.To); before.fate(s.To).odd && (m.HashMismatch || m.ID == before.corrupt) {
			broken = s.To + " is to lead with bad data"
		}
	case plan.DisarmAlarm:
		if len(odd) > 0 {
			broken = "the alarm is ended while members have different data"
		}
	}
	return broken
}

// heals says whether the step stops one member to end NOSPACE, which is full or was chosen, beside voters that are all well. It does not
// wait for a drain: a node may stay cordoned for days, in which the cluster would take no writes, and an eviction is held back by the
// disruption budget as soon as the Pod is seen to end.
func (w *world) heals(step plan.Step) bool {
	s, stops := step.(plan.DeletePods)
	healthy, all := w.voters(staysHealthy)
	if !w.full || !stops || len(s.Pods) != 1 || healthy < all {
		return false
	}
	m := w.member(s.Pods[0].Name)
	return m.Name == w.view.Record.Defragmenting.Member || cluster.IsFull(m)
}

// membership says whether the step changes the voters.
func membership(step plan.Step) bool {
	_, promotes := step.(plan.Promote)
	_, removes := step.(plan.RemoveMember)
	return promotes || removes
}

// disturbs says whether the step ends what a member runs.
func disturbs(step plan.Step) bool {
	s, stops := step.(plan.DeletePods)
	_, updates := step.(plan.UpdateImage)
	return stops && s.How != plan.AtOnce || updates
}

// staysUndrained is true of a member that stays if every cordoned node is drained now.
func staysUndrained(m *cluster.Member) bool {
	return staysHealthy(m) && !m.Pod.Cordoned && !m.Pod.Settling
}

func healthy(m *cluster.Member) bool { return m.Healthy }

func staysHealthy(m *cluster.Member) bool { return m.Healthy && !m.Pod.IsTerminating() }

// staysUp is also true of a member that comes back by itself. A spec that fails elsewhere already is no
// reason to delete its Pod.
func (w *world) staysUp(m *cluster.Member) bool {
	return (m.Answers || w.fate(m.Name).away > 0) && !m.Pod.IsTerminating()
}

// authorityViolation guards what a lost authority has signed: no other authority parts the members that
// run with it, and none of them is stopped while none can start.
func authorityViolation(before *world, step plan.Step) string {
	if s, is := step.(plan.DeletePods); is && isStop(s) && before.cannotReturn() && before.member(s.Pods[0].Name).Healthy &&
		before.view.Want.Size > 0 {
		return s.Pods[0].Name + " is stopped and cannot start again"
	}
	applied, is := step.(plan.Apply)
	if !is {
		return ""
	}
	for _, lost := range before.view.Lost {
		made := slices.ContainsFunc(applied.Objects, func(o cluster.Object) bool {
			return o.String() == lost.String() && o.RotationStep.Stage != cluster.Introduce // which is beside it
		})
		if made && (lost.Holder != "" || len(before.view.Select(cluster.HasPod)) > 0) {
			return "another authority is made beside what " + lost.Name + " has signed"
		}
	}
	return ""
}

func isStop(s plan.DeletePods) bool { return s.How == plan.Plainly || s.How == plan.DryRun }

// forceViolation guards the history of a cluster: a new one may only be forced when
// its quorum is gone for good, and beside no other member that could go on.
func forceViolation(before *world) string {
	gone := before.view.Select(cluster.IsVoter, func(m cluster.Member) bool {
		return !before.fate(m.Name).data || before.fate(m.Name).damaged
	})
	_, all := before.voters(healthy)
	if quorum.Holds(all-len(gone), all) {
		return "I6: a new cluster is forced although the quorum may come back"
	}
	for _, m := range before.view.Members {
		if m.Pod.Exists() && !before.fate(m.Name).silent && !before.fate(m.Name).unreachable {
			return "I6: a new cluster is forced beside " + m.Name
		}
	}
	return ""
}

// isGood says whether the member has data, and that of the others.
func (w *world) isGood(name string) bool { return w.fate(name).data && !w.fate(name).odd }

// goodHold says whether the voters with good data are a quorum.
func (w *world) goodHold() bool {
	good, all := w.voters(func(m *cluster.Member) bool { return w.isGood(m.Name) })
	return quorum.Holds(good, all)
}

// dataViolation guards data: no step takes it from a listed member, and no first
// member is started as new on an empty volume once the cluster has formed.
func dataViolation(before, after *world, step plan.Step) string {
	for _, m := range before.view.Members {
		if before.view.Record.Recovering != "" && cluster.IsLearner(m) && m.Volume == cluster.Going {
			continue // no survivor: the cluster goes on without it
		}
		lives := m.Pod.Exists() && m.Pod.Phase != cluster.Finished
		if m.Role != cluster.Unlisted && lives && before.fate(m.Name).data && !after.fate(m.Name).data {
			return "I3: data of listed member " + m.Name + " is destroyed"
		}
	}
	recovering := before.view.Record.Recovering
	if s, is := step.(plan.Quarantine); is && before.member(s.Name).Role != cluster.Unlisted && (recovering == "" || recovering == s.Name) {
		return "I3: volume of listed member " + s.Name + " is set aside"
	}
	if s, is := step.(plan.DeleteVolume); is && before.member(s.Name).Role != cluster.Unlisted {
		return "I3: volume of listed member " + s.Name + " is deleted"
	}
	if s, is := step.(plan.DeleteVolume); is && s.Unused && before.fate(s.Name).data && before.member(s.Name).Unused {
		return "I3: volume of " + s.Name + " holds data and is deleted"
	}
	if s, is := step.(plan.Record); is && s.Event == "BootstrapPlanned" && (before.formed || len(before.view.Select(cluster.HasPod)) > 0) {
		return "I5: other first members are chosen although some may run"
	}
	if s, is := step.(plan.CreatePods); is && !s.Forced && (before.formed || before.unseen) && !before.view.Formed() {
		for _, name := range s.Names {
			if !before.fate(name).data && before.member(name).Volume == cluster.NoVolume {
				return "I5: " + name + " is started as new although the cluster has formed"
			}
		}
	}
	return ""
}
