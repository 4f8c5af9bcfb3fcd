// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
)

var (
	noon    = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	denied  = Ending{Err: errors.New("change volume a-1: forbidden: a webhook says no"), Denied: "forbidden: a webhook says no"}
	owned   = cluster.Object{Kind: "PersistentVolumeClaim", Name: "a-1", Part: cluster.Owner}
	unowned = cluster.Object{Kind: "PersistentVolumeClaim", Name: "a-2", Part: cluster.Owner}
	budget  = cluster.Object{Kind: "PodDisruptionBudget", Name: "a"}
	old     = cluster.Object{Kind: "PersistentVolumeClaim", Name: "a-7", UID: "x"}
)

// ended is a Pod that was deleted, and whose containers have all ended.
var ended = cluster.Pod{Phase: cluster.Finished, Deletion: cluster.Ended}

// seen says which objects of a view with all of them were refused a moment ago.
func (d denials) seen(c cluster.View, now time.Time) map[cluster.Object]bool {
	v := cluster.View{Misfits: []cluster.Object{owned, unowned}, Objects: []cluster.Object{budget}, Expired: []cluster.Object{old}}
	d.mark(of(c, v), now)
	seen := map[cluster.Object]bool{}
	for _, all := range [][]cluster.Object{v.Misfits, v.Objects, v.Expired} {
		for _, o := range all {
			refused := o.Denied.Stands()
			o.Denied = cluster.Denial{}
			seen[o] = refused
		}
	}
	return seen
}

func cluster1() cluster.View { return cluster.View{Name: "a", UID: "u1", Generation: 1} }

// of is the view as one of that cluster.
func of(c, v cluster.View) cluster.View {
	v.UID, v.Generation = c.UID, c.Generation
	return v
}

// TestPodThatMayNotBeDeletedAtOnceIsLeftToItsKubelet: a policy may refuse it.
func TestPodThatMayNotBeDeletedAtOnceIsLeftToItsKubelet(t *testing.T) {
	var known denials
	ends := plan.DeletePods{How: plan.AtOnce, Pods: []plan.PodRef{{Name: "a-1", UID: "x"}}}
	if e := known.note(cluster1(), ends, denied, noon); !e.Outdated {
		t.Errorf("the ending is %+v", e)
	}
	for _, test := range []struct {
		after      time.Duration
		first, two bool
	}{{askAgain - 1, false, true}, {askAgain, true, true}} {
		v := cluster.View{Members: []cluster.Member{
			{Name: "a-1", Pod: ended}, {Name: "a-2", Pod: ended},
		}}
		known.mark(of(cluster1(), v), noon.Add(test.after))
		if v.Members[0].Pod.Deletion == cluster.Ended != test.first || v.Members[1].Pod.Deletion == cluster.Ended != test.two {
			t.Errorf("after %s: %+v", test.after, v.Members)
		}
	}
}

// TestPodThatIsRefusedIsLeftForAMoment: it is asked for again soon, and not held against a Pod
// that there is, or that was to be cleared away. First members are asked for without a pause.
func TestPodThatIsRefusedIsLeftForAMoment(t *testing.T) {
	start := plan.CreatePods{Names: []string{"a-1", "a-2"}}
	formed := cluster1()
	formed.Record.ClusterID = "c1"
	var known denials
	if e := known.note(formed, start, denied, noon); !e.Outdated {
		t.Errorf("the ending is %+v", e)
	}
	if e := known.note(formed, plan.DeletePods{How: plan.AtOnce, Pods: []plan.PodRef{{Name: "a-3"}}}, denied, noon); !e.Outdated {
		t.Errorf("the ending is %+v", e)
	}
	for _, test := range []struct {
		after   time.Duration
		refused bool
	}{{startAgain - 1, true}, {startAgain, false}} {
		v := cluster.View{Members: []cluster.Member{{Name: "a-1"}, {Name: "a-2", Pod: ended}, {Name: "a-3"}}}
		known.mark(of(formed, v), noon.Add(test.after))
		if one := v.Members[0].Pod.Denied; one.Stands() != test.refused || !strings.Contains(one.Because, "a webhook says no") == test.refused {
			t.Errorf("after %s: %+v", test.after, one)
		}
		if pod := v.Members[1].Pod; pod.Denied.Stands() || pod.Deletion != cluster.Ended {
			t.Errorf("after %s, one that there is: %+v", test.after, pod)
		}
		if pod := v.Members[2].Pod; pod.Denied.Stands() {
			t.Errorf("after %s, one that may not be cleared: %+v", test.after, pod)
		}
	}
	if e := known.note(cluster1(), start, denied, noon); e.Outdated {
		t.Errorf("of first members the ending is %+v", e)
	}
}

// TestMemberThatMayNotBeChanged is passed over for a moment. A recovery of quorum waits:
// no volume may stay beside the survivor's.
func TestMemberThatMayNotBeChanged(t *testing.T) {
	for _, step := range []plan.Step{
		plan.Quarantine{Name: "a-1"},
		plan.MarkPods{Pods: []plan.PodRef{{Name: "a-1", UID: "u"}}, As: plan.Attach},
		plan.MarkPods{Pods: []plan.PodRef{{Name: "a-1", UID: "u"}}, As: plan.Detach},
		plan.MarkPods{As: plan.Existing, Pods: []plan.PodRef{{Name: "a-1", UID: "u"}}},
		plan.MarkPods{As: plan.Comparing, Pods: []plan.PodRef{{Name: "a-1", UID: "u"}}},
	} {
		var known denials
		if e := known.note(cluster1(), step, denied, noon); !e.Outdated {
			t.Errorf("%s: the ending is %+v", step, e)
		}
		for _, test := range []struct {
			after time.Duration
			fixed bool
		}{{askAgain - 1, true}, {askAgain, false}} { // in this order: then it is forgotten
			v := cluster.View{Members: []cluster.Member{{Name: "a-0"}, {Name: "a-1"}}}
			known.mark(of(cluster1(), v), noon.Add(test.after))
			if got := v.Members[1].Denied; strings.Contains(got.Because, "a webhook says no") != test.fixed || v.Members[0].Denied.Stands() {
				t.Errorf("%s, after %s: %+v", step, test.after, got)
			}
		}
	}
	recovering := cluster1()
	recovering.Record.Recovering = "a-0"
	var known denials
	if e := known.note(recovering, plan.Quarantine{Name: "a-1"}, denied, noon); e.Outdated {
		t.Errorf("beside a survivor the ending is %+v", e)
	}
}

// TestRefusalIsKnownForAMoment: of what was asked for, until it is asked for again.
func TestRefusalIsKnownForAMoment(t *testing.T) {
	for _, test := range []struct {
		step plan.Step
		of   cluster.Object
	}{
		{plan.Apply{Objects: []cluster.Object{owned}}, owned},
		{plan.Apply{Objects: []cluster.Object{budget}}, budget},
		{plan.DeleteVolume{Name: old.Name, UID: old.UID}, old},
	} {
		var known denials
		if e := known.note(cluster1(), test.step, denied, noon); !e.Outdated {
			t.Errorf("%s: the ending is %+v", test.step, e)
		}
		for after, want := range map[time.Duration]bool{0: true, askAgain - 1: true} {
			for object, is := range known.seen(cluster1(), noon.Add(after)) {
				if is != (want && object == test.of) {
					t.Errorf("%s, %s later: %s is refused: %t", test.step, after, object, is)
				}
			}
		}
		other := cluster1()
		other.UID = "u2"
		if known.seen(other, noon)[test.of] || known.seen(cluster1(), noon.Add(askAgain))[test.of] {
			t.Errorf("%s: it is known of another cluster, or for too long", test.step)
		}
	}
}

// TestRefusalEndsWithAnotherWish: a person who changes the deletion policy may delete the
// EtcdCluster a moment later.
func TestRefusalEndsWithAnotherWish(t *testing.T) {
	var known denials
	_ = known.note(cluster1(), plan.Apply{Objects: []cluster.Object{owned}}, denied, noon)
	changed := cluster1()
	changed.Generation++
	if known.seen(changed, noon)[owned] {
		t.Error("what is wanted now is not asked for")
	}
}

// TestErrorsThatStay: only what Kubernetes refuses, and only once, is put off.
func TestErrorsThatStay(t *testing.T) {
	apply := plan.Apply{Objects: []cluster.Object{owned}}
	for what, test := range map[string]struct {
		step   plan.Step
		ending Ending
		putOff bool
	}{
		"refused":             {apply, denied, true},
		"nothing is wrong":    {apply, Ending{}, false},
		"no answer":           {apply, Ending{Err: errors.New("no route to host")}, false},
		"nothing goes on":     {plan.CreatePods{Names: []string{"a-1"}}, denied, false},
		"nothing was refused": {plan.Done{}, Ending{}, false},
	} {
		var known denials
		got := known.note(cluster1(), test.step, test.ending, noon)
		if got.Outdated != test.putOff || !errors.Is(got.Err, test.ending.Err) {
			t.Errorf("%s: the ending is %+v", what, got)
		}
		if again := known.note(cluster1(), test.step, test.ending, noon); again != test.ending {
			t.Errorf("%s again: the ending is %+v", what, again)
		}
	}
}

// TestPodThatIsRefusedAgainAndAgain is asked for less and less often.
func TestPodThatIsRefusedAgainAndAgain(t *testing.T) {
	formed := cluster1()
	formed.Record.ClusterID = "c1"
	var known denials
	at := noon
	for try, pause := range []time.Duration{startAgain, 2 * startAgain, 4 * startAgain, askAgain, askAgain} {
		if e := known.note(formed, plan.CreatePods{Names: []string{"a-1"}}, denied, at); !e.Outdated {
			t.Fatal(e)
		}
		for after, refused := range map[time.Duration]bool{pause - 1: true, pause: false} {
			v := cluster.View{Members: []cluster.Member{{Name: "a-1"}}}
			if known.mark(of(formed, v), at.Add(after)); v.Members[0].Pod.Denied.Stands() != refused {
				t.Errorf("try %d: after %s: %+v", try, after, v.Members[0].Pod.Denied)
			}
		}
		at = at.Add(pause)
	}
}

// TestWhatIsChangedBackIsLeftAlone: it was applied, and a look later it is not so. It is applied
// again after pauses that grow, and at once when something else is wanted or it stayed for a while.
func TestWhatIsChangedBackIsLeftAlone(t *testing.T) {
	apply := plan.Apply{Objects: []cluster.Object{budget}}
	var known denials
	at := noon
	for try, pause := range []time.Duration{
		applyAgain, 2 * applyAgain, 4 * applyAgain, 8 * applyAgain, 16 * applyAgain, applyRarely, applyRarely,
	} {
		if e := known.note(cluster1(), apply, Ending{}, at); e.Outdated {
			t.Fatal(e)
		}
		if !known.seen(cluster1(), at)[budget] || !known.seen(cluster1(), at.Add(pause-1))[budget] {
			t.Errorf("try %d: it is applied again at once", try)
		}
		at = at.Add(pause)
		if known.seen(cluster1(), at)[budget] {
			t.Errorf("try %d: it is left alone for longer than %s", try, pause)
		}
		if known.seen(cluster1(), noon)[owned] {
			t.Error("another object is left alone")
		}
	}
	changed := cluster1()
	_ = known.note(cluster1(), apply, Ending{}, at)
	if changed.Generation++; known.seen(changed, at)[budget] {
		t.Error("another wish is not heard")
	}
	_ = known.note(cluster1(), apply, Ending{}, at)
	at = at.Add(applyAgain + applyOver)
	known.seen(cluster1(), at)
	_ = known.note(cluster1(), apply, Ending{}, at)
	if known.seen(cluster1(), at.Add(applyAgain))[budget] {
		t.Error("what stayed for a while is left alone for long")
	}
}

// TestAnotherBudgetIsAnotherWish: while a cluster grows the budget follows it, twice a second.
func TestAnotherBudgetIsAnotherWish(t *testing.T) {
	var known denials
	two, three := budget, budget
	two.Why, three.Why = "2 pods must stay", "3 pods must stay"
	for i, want := range []cluster.Object{two, three, two, three} {
		v := cluster.View{Objects: []cluster.Object{want}}
		if known.mark(of(cluster1(), v), noon); v.Objects[0].Denied.Stands() {
			t.Fatalf("step %d: %s is left alone", i, want.Why)
		}
		_ = known.note(cluster1(), plan.Apply{Objects: []cluster.Object{want}}, Ending{}, noon)
	}
}

// TestLabelThatIsChangedBack: neither a member that cannot be put back into the Service, nor one
// that cannot be taken out, nor a volume that cannot be set aside is changed at each look. One
// that was disturbed since is to be put back.
func TestLabelThatIsChangedBack(t *testing.T) {
	pod := cluster.Pod{Phase: cluster.Placed, UID: "u"}
	out := pod
	out.Clients = cluster.Leaving
	unchecked := pod
	unchecked.Unchecked = true
	again := pod
	again.DefragmentsAgain = true
	ref := []plan.PodRef{{Name: "a-1", UID: "u"}}
	for _, test := range []struct {
		step          plan.Step
		undone, as    cluster.Member
		disturbedNext plan.Step
	}{
		{plan.MarkPods{Pods: ref, As: plan.Attach}, cluster.Member{Pod: out}, cluster.Member{Pod: pod}, plan.UpdateImage{Name: "a-1"}},
		{plan.MarkPods{Pods: ref, As: plan.Detach}, cluster.Member{Pod: pod}, cluster.Member{Pod: out}, plan.DeletePods{Pods: ref}},
		{
			plan.MarkPods{Pods: append([]plan.PodRef{{Name: "a-0", UID: "v"}}, ref...), As: plan.Comparing},
			cluster.Member{Pod: unchecked},
			cluster.Member{Pod: pod},
			plan.DeletePods{Pods: ref},
		},
		{plan.MarkPods{Pods: ref, As: plan.Plain}, cluster.Member{Pod: again}, cluster.Member{Pod: pod}, plan.DeletePods{Pods: ref}},
		{plan.Quarantine{Name: "a-1"}, cluster.Member{Volume: cluster.Kept}, cluster.Member{}, nil},
	} {
		var known denials
		denied := func(m cluster.Member) cluster.Denial {
			m.Name = "a-1"
			v := cluster.View{Members: []cluster.Member{m}}
			known.mark(of(cluster1(), v), noon)
			return v.Members[0].Denied
		}
		_ = known.note(cluster1(), test.step, Ending{}, noon)
		if got := denied(test.undone); !got.Undone {
			t.Errorf("%s, and it is not so: %+v", test.step, got)
		}
		if got := denied(test.as); got.Stands() {
			t.Errorf("%s, and it is so: %+v", test.step, got)
		}
		if test.disturbedNext == nil {
			continue
		}
		if _ = known.note(cluster1(), test.disturbedNext, Ending{}, noon); denied(test.undone).Stands() {
			t.Errorf("%s is remembered after %s", test.step, test.disturbedNext)
		}
	}
}

// TestSecretIsAskedForSoon: members may wait for it.
func TestSecretIsAskedForSoon(t *testing.T) {
	secret := cluster.Object{Kind: "Secret", Name: "a-member-tls"}
	var known denials
	_ = known.note(cluster1(), plan.Apply{Objects: []cluster.Object{secret}}, denied, noon)
	for after, want := range map[time.Duration]bool{startAgain - 1: true, startAgain: false} {
		v := cluster.View{Objects: []cluster.Object{secret}}
		if known.mark(of(cluster1(), v), noon.Add(after)); v.Objects[0].Denied.Stands() != want {
			t.Errorf("after %s: %+v", after, v.Objects[0].Denied)
			continue
		}
		if !want {
			_ = known.note(cluster1(), plan.Apply{Objects: []cluster.Object{secret}}, denied, noon)
		}
	}
}

// TestWhatHeldIsAppliedAtOnce: a person edits a Service again and again. A controller that does so
// for ever wins.
func TestWhatHeldIsAppliedAtOnce(t *testing.T) {
	var known denials
	for edit := range 2 * applyEasily {
		v := cluster.View{Objects: []cluster.Object{budget}}
		if known.mark(of(cluster1(), v), noon); v.Objects[0].Denied.Stands() != (edit >= applyEasily) {
			t.Errorf("edit %d: %+v", edit, v.Objects[0].Denied)
		}
		_ = known.note(cluster1(), plan.Apply{Objects: []cluster.Object{budget}}, Ending{}, noon)
		known.mark(of(cluster1(), cluster.View{}), noon)
	}
}

// TestSuccessorOfTheSameName: what was written for another EtcdCluster is not held against it.
func TestSuccessorOfTheSameName(t *testing.T) {
	var known denials
	_ = known.note(cluster1(), plan.Apply{Objects: []cluster.Object{budget}}, Ending{}, noon)
	successor := cluster1()
	successor.UID = "another"
	if known.seen(successor, noon)[budget] {
		t.Error("it is left alone")
	}
}

// TestPodBesideOthersThatIsRefused: it is left for a moment, in which the members that serve are looked after.
func TestPodBesideOthersThatIsRefused(t *testing.T) {
	var known denials
	v := cluster1()
	v.Record.ClusterID = "c1"
	known.note(v, plan.CreatePods{Names: []string{"a-3"}, Beside: true}, denied, noon)
	for after, refused := range map[time.Duration]bool{startAgain - 1: true, startAgain: false} {
		v.Beside = []cluster.Member{{Name: "a-3"}}
		known.mark(v, noon.Add(after))
		if v.Beside[0].Pod.Denied.Stands() != refused {
			t.Errorf("after %s: refused %t, want %t", after, !refused, refused)
		}
	}
}
