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
	ends := plan.Clear{Pods: []plan.PodRef{{Name: "a-1", UID: "x"}}}
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
	start := plan.Start{Names: []string{"a-1", "a-2"}}
	formed := cluster1()
	formed.Status.ClusterID = "c1"
	var known refusals
	if err := known.note(formed, start, errDenied, noon); !errors.Is(err, errRefused) {
		t.Errorf("the error is %v", err)
	}
	if err := known.note(formed, plan.Clear{Pods: []plan.PodRef{{Name: "a-3"}}}, errDenied, noon); !errors.Is(err, errRefused) {
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
	for _, step := range []plan.Step{plan.Quarantine{Name: "a-1"}, plan.Readmit{Name: "a-1", UID: "u"}} {
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
		{plan.Furnish{Objects: []cluster.Object{owned}}, owned},
		{plan.Furnish{Objects: []cluster.Object{budget}}, budget},
		{plan.Discard{Name: old.Name, UID: old.UID}, old},
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
	_ = known.note(cluster1(), plan.Furnish{Objects: []cluster.Object{owned}}, errDenied, noon)
	changed := cluster1()
	changed.Generation++
	if known.seen(changed, noon)[owned] {
		t.Error("what is wanted now is not asked for")
	}
	_ = known.note(cluster1(), plan.Furnish{Objects: []cluster.Object{owned}}, errDenied, noon)
	if known.forget(types.NamespacedName{Namespace: "x", Name: "a"}); known.seen(cluster1(), noon)[owned] {
		t.Error("it is known of a cluster that is gone")
	}
}

// TestErrorsThatStay: only what Kubernetes refuses, and only once, is put off.
func TestErrorsThatStay(t *testing.T) {
	furnish := plan.Furnish{Objects: []cluster.Object{owned}}
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
		"nothing goes on":     {plan.Start{Names: []string{"a-1"}}, errDenied, false},
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
