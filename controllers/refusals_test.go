package controllers

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/internal/act"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/plan"
)

var (
	claims    = schema.GroupResource{Resource: "persistentvolumeclaims"}
	errDenied = fmt.Errorf("change volume a-1: %w", apierrors.NewForbidden(claims, "a-1", errors.New("a webhook says no")))
	owned     = cluster.Object{Kind: "PersistentVolumeClaim", Name: "a-1", Part: cluster.Owner}
	unowned   = cluster.Object{Kind: "PersistentVolumeClaim", Name: "a-2", Part: cluster.Owner}
	budget    = cluster.Object{Kind: "PodDisruptionBudget", Name: "a"}
	old       = cluster.Object{Kind: "PersistentVolumeClaim", Name: "a-7", UID: "x"}
)

// seen says which objects of a view with all of them were refused a moment ago.
func (r *refusals) seen(c *v1alpha1.EtcdCluster, now time.Time) map[cluster.Object]bool {
	v := cluster.View{Misfits: []cluster.Object{owned, unowned}, Objects: []cluster.Object{budget}, Expired: []cluster.Object{old}}
	r.mark(c, v, now)
	seen := map[cluster.Object]bool{}
	for _, all := range [][]cluster.Object{v.Misfits, v.Objects, v.Expired} {
		for _, o := range all {
			refused := o.Refused != ""
			o.Refused = ""
			seen[o] = refused
		}
	}
	return seen
}

func cluster1() *v1alpha1.EtcdCluster {
	return &v1alpha1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "a", Generation: 1}}
}

// TestPodThatMayNotBeClearedIsLeftToItsKubelet: a policy may let nobody delete by force.
func TestPodThatMayNotBeClearedIsLeftToItsKubelet(t *testing.T) {
	var known refusals
	ends := plan.DeletePods{How: plan.AtOnce, Pods: []plan.PodRef{{Name: "a-1", UID: "x"}}}
	if err := known.note(cluster1(), ends, errDenied, noon); !errors.Is(err, errRefused) || !isTransient(err) {
		t.Errorf("the error is %v", err)
	}
	for _, test := range []struct {
		after      time.Duration
		first, two bool
	}{{askAgain - 1, false, true}, {askAgain, true, true}} {
		v := cluster.View{Members: []cluster.Member{
			{Name: "a-1", Pod: cluster.Pod{Exists: true, Ended: true}}, {Name: "a-2", Pod: cluster.Pod{Exists: true, Ended: true}},
		}}
		known.mark(cluster1(), v, noon.Add(test.after))
		if v.Members[0].Pod.Ended != test.first || v.Members[1].Pod.Ended != test.two {
			t.Errorf("after %s: %+v", test.after, v.Members)
		}
	}
}

// TestPodThatIsRefusedIsLeftForAMoment: it is asked for again soon, and not held against a Pod
// that there is, or that was to be cleared away. First members are asked for without a pause.
func TestPodThatIsRefusedIsLeftForAMoment(t *testing.T) {
	start := plan.CreatePods{Names: []string{"a-1", "a-2"}}
	formed := cluster1()
	formed.Status.ClusterID = "c1"
	var known refusals
	if err := known.note(formed, start, errDenied, noon); !errors.Is(err, errRefused) {
		t.Errorf("the error is %v", err)
	}
	if err := known.note(formed, plan.DeletePods{How: plan.AtOnce, Pods: []plan.PodRef{{Name: "a-3"}}}, errDenied, noon); !errors.Is(err, errRefused) {
		t.Errorf("the error is %v", err)
	}
	for _, test := range []struct {
		after   time.Duration
		refused bool
	}{{startAgain - 1, true}, {startAgain, false}} {
		v := cluster.View{Members: []cluster.Member{{Name: "a-1"}, {Name: "a-2", Pod: cluster.Pod{Exists: true, Ended: true}}, {Name: "a-3"}}}
		known.mark(formed, v, noon.Add(test.after))
		if one := v.Members[0].Pod.Refused; (one != "") != test.refused || !strings.Contains(one, "a webhook says no") == test.refused {
			t.Errorf("after %s: refused %q", test.after, one)
		}
		if pod := v.Members[1].Pod; pod.Refused != "" || !pod.Ended {
			t.Errorf("after %s, one that there is: %+v", test.after, pod)
		}
		if pod := v.Members[2].Pod; pod.Refused != "" {
			t.Errorf("after %s, one that may not be cleared: %+v", test.after, pod)
		}
	}
	if err := known.note(cluster1(), start, errDenied, noon); !errors.Is(err, errDenied) {
		t.Errorf("of first members the error is %v", err)
	}
}

// TestMemberThatMayNotBeChanged is passed over for a moment. A cluster that is formed anew waits:
// no volume may stay beside the survivor's.
func TestMemberThatMayNotBeChanged(t *testing.T) {
	for _, step := range []plan.Step{
		plan.Quarantine{Name: "a-1"},
		plan.MarkPods{Pods: []plan.PodRef{{Name: "a-1", UID: "u"}}, As: plan.Attach},
		plan.MarkPods{Pods: []plan.PodRef{{Name: "a-1", UID: "u"}}, As: plan.Detach},
		plan.MarkPods{As: plan.Seal, Pods: []plan.PodRef{{Name: "a-1", UID: "u"}}},
	} {
		var known refusals
		if err := known.note(cluster1(), step, errDenied, noon); !errors.Is(err, errRefused) {
			t.Errorf("%s: the error is %v", step, err)
		}
		for _, test := range []struct {
			after time.Duration
			fixed bool
		}{{askAgain - 1, true}, {askAgain, false}} { // in this order: then it is forgotten
			v := cluster.View{Members: []cluster.Member{{Name: "a-0"}, {Name: "a-1"}}}
			known.mark(cluster1(), v, noon.Add(test.after))
			if got := v.Members[1].Fixed; strings.Contains(got, "a webhook says no") != test.fixed || v.Members[0].Fixed != "" {
				t.Errorf("%s, after %s: %q", step, test.after, got)
			}
		}
	}
	recovering := cluster1()
	recovering.Status.Recovering = "a-0"
	var known refusals
	if err := known.note(recovering, plan.Quarantine{Name: "a-1"}, errDenied, noon); !errors.Is(err, errDenied) {
		t.Errorf("beside a survivor the error is %v", err)
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
		var known refusals
		if err := known.note(cluster1(), test.step, errDenied, noon); !errors.Is(err, errRefused) || !isTransient(err) {
			t.Errorf("%s: the error is %v", test.step, err)
		}
		for after, want := range map[time.Duration]bool{0: true, askAgain - 1: true} {
			for object, is := range known.seen(cluster1(), noon.Add(after)) {
				if is != (want && object == test.of) {
					t.Errorf("%s, %s later: %s is refused: %t", test.step, after, object, is)
				}
			}
		}
		other := cluster1()
		other.Name = "b"
		if known.seen(other, noon)[test.of] || known.seen(cluster1(), noon.Add(askAgain))[test.of] {
			t.Errorf("%s: it is known of another cluster, or for too long", test.step)
		}
	}
}

// TestRefusalEndsWithAnotherWish: whoever changes the deletion policy may delete the
// EtcdCluster a moment later.
func TestRefusalEndsWithAnotherWish(t *testing.T) {
	var known refusals
	_ = known.note(cluster1(), plan.Apply{Objects: []cluster.Object{owned}}, errDenied, noon)
	changed := cluster1()
	changed.Generation++
	if known.seen(changed, noon)[owned] {
		t.Error("what is wanted now is not asked for")
	}
	_ = known.note(cluster1(), plan.Apply{Objects: []cluster.Object{owned}}, errDenied, noon)
	if known.forget(types.NamespacedName{Namespace: "x", Name: "a"}); known.seen(cluster1(), noon)[owned] {
		t.Error("it is known of a cluster that is gone")
	}
}

// TestErrorsThatStay: only what Kubernetes refuses, and only once, is put off.
func TestErrorsThatStay(t *testing.T) {
	furnish := plan.Apply{Objects: []cluster.Object{owned}}
	for what, test := range map[string]struct {
		step   plan.Step
		err    error
		putOff bool
	}{
		"refused":             {furnish, errDenied, true},
		"with others":         {furnish, errors.Join(errors.New("x"), errDenied), true},
		"invalid":             {furnish, apierrors.NewInvalid(schema.GroupKind{}, "a-1", nil), true},
		"taken":               {furnish, fmt.Errorf("create a: a Service of that name %w", act.ErrTaken), true},
		"bad":                 {furnish, apierrors.NewBadRequest("no"), true},
		"a webhook is down":   {furnish, apierrors.NewInternalError(errors.New("failed calling webhook")), true},
		"nothing is wrong":    {furnish, nil, false},
		"nobody answers":      {furnish, errors.New("no route to host"), false},
		"it was faster":       {furnish, apierrors.NewConflict(claims, "a-1", errors.New("changed")), false},
		"too much":            {furnish, apierrors.NewTooManyRequests("later", 1), false},
		"nothing goes on":     {plan.CreatePods{Names: []string{"a-1"}}, errDenied, false},
		"nothing was refused": {plan.Done{}, nil, false},
	} {
		var known refusals
		err := known.note(cluster1(), test.step, test.err, noon)
		if errors.Is(err, errRefused) != test.putOff || !test.putOff && !errors.Is(err, test.err) {
			t.Errorf("%s: the error is %v", what, err)
		}
		if again := known.note(cluster1(), test.step, test.err, noon); !errors.Is(again, test.err) {
			t.Errorf("%s again: the error is %v", what, again)
		}
	}
}

// TestPodThatIsRefusedAgainAndAgain is asked for less and less often.
func TestPodThatIsRefusedAgainAndAgain(t *testing.T) {
	formed := cluster1()
	formed.Status.ClusterID = "c1"
	var known refusals
	at := noon
	for try, pause := range []time.Duration{startAgain, 2 * startAgain, 4 * startAgain, askAgain, askAgain} {
		if err := known.note(formed, plan.CreatePods{Names: []string{"a-1"}}, errDenied, at); !errors.Is(err, errRefused) {
			t.Fatal(err)
		}
		for after, refused := range map[time.Duration]bool{pause - 1: true, pause: false} {
			v := cluster.View{Members: []cluster.Member{{Name: "a-1"}}}
			if known.mark(formed, v, at.Add(after)); (v.Members[0].Pod.Refused != "") != refused {
				t.Errorf("try %d: after %s: %q", try, after, v.Members[0].Pod.Refused)
			}
		}
		at = at.Add(pause)
	}
}

// TestWhatIsChangedBackIsLeftAlone: it was applied, and a look later it is not so. It is applied
// again after pauses that grow, and at once when something else is wanted or it stayed for a while.
func TestWhatIsChangedBackIsLeftAlone(t *testing.T) {
	apply := plan.Apply{Objects: []cluster.Object{budget}}
	var known refusals
	at := noon
	for try, pause := range []time.Duration{
		applyAgain, 2 * applyAgain, 4 * applyAgain, 8 * applyAgain, 16 * applyAgain, applyRarely, applyRarely,
	} {
		if err := known.note(cluster1(), apply, nil, at); err != nil {
			t.Fatal(err)
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
	_ = known.note(cluster1(), apply, nil, at)
	if changed.Generation++; known.seen(changed, at)[budget] {
		t.Error("another wish is not heard")
	}
	_ = known.note(cluster1(), apply, nil, at)
	at = at.Add(applyAgain + applyOver)
	known.seen(cluster1(), at)
	_ = known.note(cluster1(), apply, nil, at)
	if known.seen(cluster1(), at.Add(applyAgain))[budget] {
		t.Error("what stayed for a while is left alone for long")
	}
}

// TestAnotherBudgetIsAnotherWish: while a cluster grows the budget follows it, twice a second.
func TestAnotherBudgetIsAnotherWish(t *testing.T) {
	var known refusals
	two, three := budget, budget
	two.Why, three.Why = "2 pods must stay", "3 pods must stay"
	for i, want := range []cluster.Object{two, three, two, three} {
		v := cluster.View{Objects: []cluster.Object{want}}
		if known.mark(cluster1(), v, noon); v.Objects[0].Refused != "" {
			t.Fatalf("step %d: %s is left alone", i, want.Why)
		}
		_ = known.note(cluster1(), plan.Apply{Objects: []cluster.Object{want}}, nil, noon)
	}
}

// TestLabelThatIsChangedBack: neither a member that cannot be put back into the Service, nor one
// that cannot be taken out, nor a volume that cannot be set aside is changed at each look. One
// that was disturbed since is to be put back.
func TestLabelThatIsChangedBack(t *testing.T) {
	pod := cluster.Pod{Exists: true, UID: "u"}
	out := pod
	out.Withdrawn = true
	for _, test := range []struct {
		step          plan.Step
		undone, as    cluster.Member
		disturbedNext plan.Step
	}{
		{plan.MarkPods{Pods: []plan.PodRef{{Name: "a-1", UID: "u"}}, As: plan.Attach}, cluster.Member{Pod: out}, cluster.Member{Pod: pod}, plan.UpdateImage{Name: "a-1"}},
		{plan.MarkPods{Pods: []plan.PodRef{{Name: "a-1", UID: "u"}}, As: plan.Detach}, cluster.Member{Pod: pod}, cluster.Member{Pod: out}, plan.DeletePods{Pods: []plan.PodRef{{Name: "a-1"}}}},
		{plan.Quarantine{Name: "a-1"}, cluster.Member{Volume: cluster.Kept}, cluster.Member{}, nil},
	} {
		var known refusals
		fixed := func(m cluster.Member) string {
			m.Name = "a-1"
			v := cluster.View{Members: []cluster.Member{m}}
			known.mark(cluster1(), v, noon)
			return v.Members[0].Fixed
		}
		_ = known.note(cluster1(), test.step, nil, noon)
		if got := fixed(test.undone); got != cluster.ChangedBack {
			t.Errorf("%s, and it is not so: %q", test.step, got)
		}
		if got := fixed(test.as); got != "" {
			t.Errorf("%s, and it is so: %q", test.step, got)
		}
		if test.disturbedNext == nil {
			continue
		}
		if _ = known.note(cluster1(), test.disturbedNext, nil, noon); fixed(test.undone) != "" {
			t.Errorf("%s is remembered after %s", test.step, test.disturbedNext)
		}
	}
}

// TestSecretIsAskedForSoon: members may wait for it.
func TestSecretIsAskedForSoon(t *testing.T) {
	secret := cluster.Object{Kind: "Secret", Name: "a-member-tls"}
	var known refusals
	_ = known.note(cluster1(), plan.Apply{Objects: []cluster.Object{secret}}, errDenied, noon)
	for after, want := range map[time.Duration]bool{startAgain - 1: true, startAgain: false} {
		v := cluster.View{Objects: []cluster.Object{secret}}
		if known.mark(cluster1(), v, noon.Add(after)); (v.Objects[0].Refused != "") != want {
			t.Errorf("after %s: %q", after, v.Objects[0].Refused)
			continue
		}
		if !want {
			_ = known.note(cluster1(), plan.Apply{Objects: []cluster.Object{secret}}, errDenied, noon)
		}
	}
}

// TestWhatHeldIsAppliedAtOnce: somebody edits a Service again and again. A controller that does so
// for ever is given way to.
func TestWhatHeldIsAppliedAtOnce(t *testing.T) {
	var known refusals
	for edit := range 2 * applyEasily {
		v := cluster.View{Objects: []cluster.Object{budget}}
		if known.mark(cluster1(), v, noon); (v.Objects[0].Refused != "") != (edit >= applyEasily) {
			t.Errorf("edit %d: %q", edit, v.Objects[0].Refused)
		}
		_ = known.note(cluster1(), plan.Apply{Objects: []cluster.Object{budget}}, nil, noon)
		known.mark(cluster1(), cluster.View{}, noon)
	}
}

// TestSuccessorOfTheSameName: what was written for another EtcdCluster is not held against it.
func TestSuccessorOfTheSameName(t *testing.T) {
	var known refusals
	_ = known.note(cluster1(), plan.Apply{Objects: []cluster.Object{budget}}, nil, noon)
	successor := cluster1()
	successor.UID = "another"
	if known.seen(successor, noon)[budget] {
		t.Error("it is left alone")
	}
}
